// SPDX-License-Identifier: Apache-2.0
// The user-level RDMA library of one process: posts descriptors to its DMA channel, waits for
// completions by polling memory, and exchanges small messages through the packetizer and mailbox.
// It talks to the hardware by MMIO and memory only; no call enters the kernel.
#pragma once

#include <array>
#include <cstdint>
#include <memory>

#include "models/cpu/cpu.hpp"
#include "models/drivers/library/config.hpp"
#include "models/os/vm/vm.hpp"
#include "models/rdma/completion/polled_word.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/context.hpp"
#include "models/sim/task.hpp"
#include "models/soc/ddr.hpp"

namespace faultline::library {

using rdma::Message;
using rdma::Operation;
using rdma::Posted;
using rdma::RemoteBuffer;
using rdma::Status;

class Library {
 public:
  // Outstanding transfers of one process: each has a notification word of its own.
  static constexpr unsigned kNotifySlots = rdma::PolledWord::kWords;
  // Messages that wait in a process's mailbox.
  static constexpr unsigned kMailboxSlots = 64;
  static constexpr unsigned kOwnPages = 2;  // of completion words, and of the mailbox

  // Maps the notification page and the mailbox ring into the process; both are locked and resident.
  // `channel` is the process's DMA channel, `engine_base` the bus address of the engine's registers.
  Library(const LibraryConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm, os::Process& process,
          soc::DdrController& memory, std::uint64_t engine_base, unsigned channel);

  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;
  virtual ~Library() = default;

  // What the kernel sets the channel up with when the process opens the device.
  std::uint64_t notify_page() const { return notification_->page(); }
  std::uint64_t mailbox_ring() const { return mailbox_ring_; }
  unsigned mailbox_slots() const { return kMailboxSlots; }
  unsigned channel() const { return channel_; }
  os::Process& process() { return process_; }

  // Posts one transfer of 1 B to 4 GiB. At most kNotifySlots may be under way.
  sim::Task<Posted> post(cpu::Execution& thread, Operation operation, std::uint64_t local, RemoteBuffer remote,
                         std::uint64_t length, rdma::Notice notice = {});
  // Polls the notification word until the transfer has ended.
  sim::Task<Status> wait(cpu::Execution& thread, Posted posted);

  // Sends up to seven words to the mailbox of another process.
  sim::Task<void> send(cpu::Execution& thread, sim::NodeId node, std::uint32_t pdid, Message message, unsigned words);
  // Polls the mailbox until a message is there. Its slot stays occupied until give_back().
  sim::Task<Message> take(cpu::Execution& thread);
  sim::Task<void> give_back(cpu::Execution& thread);
  // What take() and wait() wait for has come.
  bool has_message() const;
  bool has_ended(Posted posted) const { return notification_->load(posted.cookie) >> 8 == posted.cookie; }

  // Calls of the program that wait end with ProcessKilled, and so do all later ones.
  void kill() {
    killed_ = true;
    memory_written_.notify_all();
  }
  bool killed() const { return killed_; }
  // Before the process's memory goes.
  void unwatch() { memory_.unwatch(memory_written_); }

  const LibraryConfig& config() const { return config_; }

 protected:
  // Sends words to the NIC of a node itself, after `cost` of user code.
  sim::Task<void> send_to_nic(cpu::Execution& thread, sim::Time cost, sim::NodeId node,
                              std::array<std::uint64_t, 3> words, unsigned count);
  sim::Context context_;

 private:
  sim::Task<void> write_register(cpu::Execution& thread, std::uint64_t offset, std::uint64_t value);
  void check_alive() const {
    if (killed_) throw rdma::ProcessKilled();
  }
  std::uint64_t map_shared_page();
  std::uint64_t word_at(std::uint64_t address) const;
  std::uint64_t next_slot() const { return mailbox_ring_ + reg::kSlotBytes * (messages_received_ % kMailboxSlots); }

  const LibraryConfig config_;
  cpu::Cpu& cpu_;
  os::Vm& vm_;
  os::Process& process_;
  soc::DdrController& memory_;
  std::uint64_t registers_;
  unsigned channel_;
  std::uint64_t mailbox_ring_ = 0;
  std::uint64_t next_cookie_ = 1;
  std::uint64_t messages_received_ = 0;
  bool killed_ = false;
  // Threads of the process share the channel's registers, which take a descriptor or a message word by word.
  sim::Semaphore descriptor_lock_;
  sim::Semaphore message_lock_;
  sim::Signal memory_written_;
  std::unique_ptr<rdma::PolledWord> notification_;
};

}  // namespace faultline::library
