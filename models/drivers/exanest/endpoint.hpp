// SPDX-License-Identifier: Apache-2.0
// A process that has opened ExaNeSt's engine on its node: address space, context bank, DMA channel, user library, fault
// thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "models/drivers/exanest/fault_thread.hpp"
#include "models/drivers/exanest/library.hpp"
#include "models/drivers/exanest/notices.hpp"
#include "models/rdma/endpoint.hpp"

namespace faultline::exanest {

class Endpoint final : public rdma::Endpoint {
 public:
  // Of the node, what the engine's software needs beside.
  struct Device {
    mmu500::SmmuDriver& smmu_driver;
    FaultService& faults;
    soc::DdrController& ddr;
    EventSource& engine;
    EventService& events;
    std::uint64_t engine_base;  // bus address of the engine's registers
    unsigned channels;          // that the engine has
  };

  // Throws sim::RunFailure when the node has no memory, context bank or channel left. `end`: of its transfers' data,
  // which decides what the SMMU does with this process's faults. Takes no simulated time.
  Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, Device device,
           const std::string& name, unsigned channel, rdma::End end);

  // With a table of the device's own: the library's own pages into it.
  sim::Task<void> open() override;
  sim::Task<Posted> post(cpu::Execution& thread, Operation operation, std::uint64_t local, RemoteBuffer remote,
                         std::uint64_t length, rdma::Notice notice) override {
    return library_->post(thread, operation, local, remote, length, notice);
  }
  sim::Task<Status> wait(cpu::Execution& thread, Posted posted) override { return library_->wait(thread, posted); }
  sim::Task<void> send(cpu::Execution& thread, sim::NodeId node, std::uint32_t process, Message message,
                       unsigned words) override {
    return library_->send(thread, node, process, message, words);
  }
  sim::Task<Message> take(cpu::Execution& thread) override { return library_->take(thread); }
  sim::Task<void> give_back(cpu::Execution& thread) override { return library_->give_back(thread); }

  void expect(rdma::NoticeKind kind, unsigned words) override { notices_->expect(kind, words); }
  sim::Task<std::optional<std::uint16_t>> learn(cpu::Execution& thread, rdma::Awaited awaited) override {
    return notices_->learn(thread, awaited);
  }
  sim::Task<bool> poll_byte(cpu::Execution& thread, std::uint64_t address, std::uint8_t before) override {
    return notices_->poll_byte(thread, address, before);
  }
  void nothing_will_come() override { notices_->nothing_will_come(); }

  void kill() override {
    library_->kill();
    notices_->kill();
  }
  bool killed() const override { return library_->killed(); }
  sim::Task<void> close(cpu::Execution& kernel) override;
  // Called when it has: another process may have the channel.
  std::function<void()> on_closed;

  Library& library() { return *library_; }

 private:
  // The table that the SMMU walks for the process.
  std::uint64_t make_table(rdma::Translate translate);
  // Makes the private table have a page of the library's own, for the life of the process. It is no buffer of the
  // program, so that it counts in no cache.
  sim::Task<os::Error> hold(std::uint64_t page);
  void set_up_channel(unsigned channel);
  // Bus address of the engine's registers for the kernel.
  std::uint64_t privileged_page() const;

  Device device_;
  bool pins_ = false;  // so the strategy does; else it locks, if it has a private table
  os::PrivateTable* private_table_ = nullptr;
  os::MirroredTable* mirror_ = nullptr;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Notices> notices_;
  std::unique_ptr<FaultThread> fault_thread_;
};

}  // namespace faultline::exanest
