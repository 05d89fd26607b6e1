// SPDX-License-Identifier: Apache-2.0
// Programs that measure a kernel, after lmbench's: what each does, and how what it prints comes from what it times.
// Real processes on a node's cores, scheduler and memory manager.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "models/os/ipc.hpp"
#include "models/platform/node.hpp"
#include "models/sim/task.hpp"
#include "workloads/kernel_cost/program_config.hpp"

namespace faultline::workloads {

// Where a program runs, and its arguments.
struct ProgramPlace {
  platform::Node& node;
  ProgramConfig config;
  std::uint64_t size = 0;  // bytes of an array, a file, a range
  bool huge_advice = false;
  sim::Seed seed = 0;
  sim::TaskGroup& tasks;  // owns the threads that the program starts beside its own
};

class KernelProgram {
 public:
  explicit KernelProgram(const ProgramPlace& place);
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;
  virtual ~KernelProgram() = default;

  // Simulated, but not part of the measured time: set_up() and tear_down() once, before() and after() around each
  // round.
  virtual sim::Task<void> set_up() { co_return; }
  virtual sim::Task<void> before() { co_return; }
  virtual sim::Task<void> after() { co_return; }
  virtual sim::Task<void> tear_down() { co_return; }
  // The measured parts. The program prints (round - overheads() * overhead) / units(), of the means of both.
  virtual sim::Task<void> round() = 0;
  virtual sim::Task<void> overhead() { co_return; }
  virtual unsigned overheads() const { return 0; }
  virtual unsigned units() const { return 1; }
  // Bytes that a round moves; 0: the program measures a time and no rate.
  virtual std::uint64_t bytes() const { return 0; }

 protected:
  os::Vm& vm() const { return place_.node.vm; }
  cpu::Cpu& cpu() const { return place_.node.cpu; }
  const os::OsConfig& costs() const { return vm().config(); }
  os::Process& new_process(const std::string& name) const;
  // Throw sim::RunFailure where a call has failed: too little memory, or memory that does not allow the call.
  void check(os::Error error) const;
  template <typename T>
  const T& check(const os::Result<T>& result) const {
    check(result.error);
    return result.value;
  }
  sim::Task<os::VirtualAddress> map(cpu::Execution& thread, os::Process& process, os::MmapOptions options);
  // How an array is mapped: so that it gets huge pages where they are asked for.
  os::MmapOptions of_array() const;
  // An array of the process's own memory, written once.
  sim::Task<os::VirtualAddress> map_array(cpu::Execution& thread, os::Process& process);
  // A file of that many bytes, all of it in the page cache.
  sim::Task<os::File*> write_file(std::uint64_t bytes);

  const ProgramPlace place_;
  os::Process& process_;
  cpu::Execution& thread_;
};

std::unique_ptr<KernelProgram> make_kernel_program(const ProgramPlace& place);

}  // namespace faultline::workloads
