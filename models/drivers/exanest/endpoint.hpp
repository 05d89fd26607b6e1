// SPDX-License-Identifier: Apache-2.0
// A process that has opened ExaNeSt's engine on its node: address space, context bank, DMA channel, user library, fault
// thread.
#pragma once

#include <memory>
#include <string>

#include "models/drivers/exanest/fault_thread.hpp"
#include "models/drivers/exanest/library.hpp"
#include "models/drivers/library/endpoint.hpp"

namespace faultline::exanest {

class Endpoint final : public library::Endpoint {
 public:
  // Of the node, what the engine's software needs beside.
  struct Device : library::Endpoint::Device {
    mmu500::SmmuDriver& smmu_driver;
    FaultService& faults;
  };

  // Throws sim::RunFailure when the node has no memory, context bank or channel left. `end`: of its transfers' data,
  // which decides what the SMMU does with this process's faults. Takes no simulated time.
  Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, const Device& device,
           const std::string& name, unsigned channel, rdma::End end);

  // With a table of the device's own: the library's own pages into it.
  sim::Task<void> open() override;
  sim::Task<void> close(cpu::Execution& kernel) override;

  Library& library() { return static_cast<Library&>(*library_); }

 private:
  // The table that the SMMU walks for the process.
  std::uint64_t make_table(const rdma::Translation& translation);
  // Makes the private table have a page of the library's own, for the life of the process. It is no buffer of the
  // program, so that it counts in no cache.
  sim::Task<os::Error> hold(std::uint64_t page);

  mmu500::SmmuDriver& smmu_driver_;
  FaultService& faults_;
  bool pins_ = false;  // so the strategy does; else it locks, if it has a private table
  os::PrivateTable* private_table_ = nullptr;
  os::MirroredTable* mirror_ = nullptr;
  std::unique_ptr<FaultThread> fault_thread_;
};

}  // namespace faultline::exanest
