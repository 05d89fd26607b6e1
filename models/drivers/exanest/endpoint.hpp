// SPDX-License-Identifier: Apache-2.0
// A process that has opened the RDMA device on its node: address space, context bank, DMA channel,
// user library, fault thread. What a benchmark program is before its first transfer.
#pragma once

#include <memory>
#include <string>

#include "models/drivers/exanest/fault_thread.hpp"
#include "models/drivers/exanest/library.hpp"
#include "models/rdma/prepare.hpp"
#include "models/rdma/program_memory.hpp"
#include "models/rdma/strategy.hpp"

namespace faultline::exanest {

class Endpoint {
 public:
  // The node that it runs on.
  struct Host {
    const sim::Context& context;
    cpu::Cpu& cpu;
    os::Vm& vm;
    mmu500::SmmuDriver& smmu_driver;
    FaultService& faults;
    soc::DdrController& ddr;
    std::uint64_t engine_base;  // bus address of the engine's registers
    unsigned channels;          // that the engine has
    rdma::ProgramMemory memory{};
  };

  // Throws sim::RunFailure when the node has no memory, context bank or channel left. `on_fault`: what
  // the SMMU does with this process's faults. Takes no simulated time.
  Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, const std::string& name,
           unsigned channel, rdma::OnFault on_fault);

  // With a table of the device's own: the library's own pages into it. Await it before the first transfer.
  sim::Task<void> open();

  // Maps a buffer of the process; `offset` bytes of its first page stay unused. Takes no simulated time. A file is new,
  // and nothing of it in memory. Throws sim::RunFailure when there is no room.
  std::uint64_t map_buffer(std::uint64_t length, std::uint64_t offset);
  // The pages that a buffer lies in, whole ones of the size that its memory has: what comes and goes with it.
  os::Range pages_of(std::uint64_t address, std::uint64_t length) const;
  // The strategy's preparation of a buffer.
  std::unique_ptr<rdma::PreparePolicy> prepare(std::uint64_t address, std::uint64_t length);

  sim::NodeId node() const { return host_.context.node; }
  os::Vm& vm() { return host_.vm; }
  os::Process& process() { return process_; }
  Library& library() { return *library_; }
  cpu::Execution& thread() { return thread_; }
  // A further thread of the process.
  cpu::Execution& new_thread(const std::string& name) { return host_.cpu.new_thread(name); }
  // After a wait that belongs to the experiment and not to the program: see Cpu::keeps_core().
  void keeps_core() { host_.cpu.keeps_core(thread_); }

 private:
  static os::Process& new_process(Host& host, const std::string& name);
  void set_up_channel(unsigned channel);

  const rdma::Strategy strategy_;
  Host host_;
  os::Process& process_;
  os::PrivateTable* private_table_ = nullptr;
  os::MirroredTable* mirror_ = nullptr;
  cpu::Execution& thread_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<FaultThread> fault_thread_;
};

}  // namespace faultline::exanest
