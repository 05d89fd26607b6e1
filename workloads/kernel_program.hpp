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
#include "workloads/program_config.hpp"

namespace faultline::workloads {

// Where a program runs, and what it is told.
struct ProgramPlace {
  platform::Node& node;
  ProgramConfig config;
  std::uint64_t size = 0;  // bytes of an array, a file, a range
  bool huge_advice = false;
  std::uint64_t seed = 0;
  sim::TaskGroup& tasks;  // of what it starts beside itself
};

class KernelProgram {
 public:
  explicit KernelProgram(const ProgramPlace& place);
  KernelProgram(const KernelProgram&) = delete;
  KernelProgram& operator=(const KernelProgram&) = delete;
  virtual ~KernelProgram() = default;

  // Simulated, and not timed: once, before and after each round, and at the end.
  virtual sim::Task<void> set_up() { co_return; }
  virtual sim::Task<void> before() { co_return; }
  virtual sim::Task<void> after() { co_return; }
  virtual sim::Task<void> tear_down() { co_return; }
  // What is timed. The program prints (round - overheads() * overhead) / units(), where both are means.
  virtual sim::Task<void> round() = 0;
  virtual sim::Task<void> overhead() { co_return; }
  virtual unsigned overheads() const { return 0; }
  virtual unsigned units() const { return 1; }
  // That a round moves.
  virtual std::uint64_t bytes() const { return 0; }

 protected:
  os::Vm& vm() const { return place_.node.vm; }
  cpu::Cpu& cpu() const { return place_.node.cpu; }
  const os::OsConfig& costs() const { return vm().config(); }
  os::Process& new_process(const std::string& name) const;
  // Throw sim::RunFailure: there is not enough memory, or it is not to be used so.
  void check(os::Error error) const;
  template <typename T>
  const T& check(const os::Result<T>& result) const {
    check(result.error);
    return result.value;
  }
  sim::Task<os::VirtualAddress> map(cpu::Execution& thread, os::Process& process, os::MmapOptions options);
  // Of a process's own, written once.
  sim::Task<os::VirtualAddress> map_array(cpu::Execution& thread, os::Process& process);
  // Of `size` bytes, all of it in the page cache.
  sim::Task<os::File*> write_file(std::uint64_t bytes);

  const ProgramPlace place_;
  os::Process& process_;
  cpu::Execution& thread_;
};

std::unique_ptr<KernelProgram> make_kernel_program(const ProgramPlace& place);

}  // namespace faultline::workloads
