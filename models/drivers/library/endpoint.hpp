// SPDX-License-Identifier: Apache-2.0
// A process that has opened a NIC which is made of models/nic/path: its channel, its user library, its notices. Each
// NIC's software says how the device reaches the process's memory, and how the process ends.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/drivers/library/library.hpp"
#include "models/drivers/library/notices.hpp"
#include "models/rdma/endpoint.hpp"

namespace faultline::library {

class Endpoint : public rdma::Endpoint {
 public:
  // Of the node, what the library needs beside.
  struct Device {
    soc::DdrController& ddr;
    nic::EventSource& engine;
    EventService& events;
    std::uint64_t base;  // bus address of the NIC's registers
    unsigned channels;   // that the NIC has
  };

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

  std::uint64_t keep_buffer(std::uint64_t bytes) override;
  bool has_message() const override { return library_->has_message(); }
  bool has_event() const override { return notices_->has_entry(); }
  bool has_ended(Posted posted) const override { return library_->has_ended(posted); }
  sim::Task<void> poll(cpu::Execution& thread, std::function<bool()> ready) override;

  void kill() override {
    library_->kill();
    notices_->kill();
    written_.notify_all();
  }
  bool killed() const override { return library_->killed(); }
  // Called when it has closed: another process may have the channel.
  std::function<void()> on_closed;

 protected:
  // Throws sim::RunFailure when the node has no memory or no channel left; `key`: the parameter that says how many
  // channels there are.
  Endpoint(Host host, const Device& device, const std::string& name, unsigned channel, const char* key);
  // Before anything else of the process: its library, whose channel is set up then. Takes no simulated time.
  void use(std::unique_ptr<Library> library);
  // Pages of the process which the device reads and writes for the library: present, and kept so.
  std::vector<std::uint64_t> own_pages() const;
  // The NIC takes no more of the process, ends what it has posted, and writes no more for its library.
  sim::Task<void> close_channel(cpu::Execution& kernel);
  // The kernel frees the process's memory.
  sim::Task<void> exit(cpu::Execution& kernel);
  // Bus address of the NIC's registers for the kernel.
  std::uint64_t privileged_page() const { return device_.base + reg::kChannelStride * device_.channels; }

  const Device device_;
  const unsigned channel_;
  std::unique_ptr<Library> library_;
  std::unique_ptr<Notices> notices_;

 private:
  // Kept buffers, by keep_buffer().
  std::vector<os::Range> kept_;
  sim::Signal written_;  // by the device, for the library
  bool watches_ = false;
};

}  // namespace faultline::library
