// SPDX-License-Identifier: Apache-2.0
// Decodes MMIO (registers.hpp) into posts, messages and the fault FIFO's reads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tlm>
#include <vector>

#include "models/nic/path/block_scheduler.hpp"
#include "models/nic/path/event_unit.hpp"
#include "models/nic/path/fault_fifo.hpp"
#include "models/nic/path/mailbox.hpp"

namespace faultline::nic {

// Registers that a NIC has beside the path's: on the privileged page, from reg::kOwn on.
class OwnRegisters {
 public:
  virtual ~OwnRegisters() = default;
  // `offset`: within the page. False, or nothing: there is no such register, or not one that can be so accessed.
  virtual bool write(std::uint64_t offset, std::uint64_t value) = 0;
  virtual std::optional<std::uint64_t> read(std::uint64_t offset) const = 0;
};

class RegisterFile {
 public:
  RegisterFile(const PathConfig& config, BlockScheduler& scheduler, Mailbox& mailbox, FaultFifo& faults,
               EventUnit& events, OwnRegisters* own);

  // One aligned 8-byte word. An address without a register, or a write to a read-only one, gets an error response.
  void access(tlm::tlm_generic_payload& payload);

 private:
  struct Channel {
    std::optional<std::uint32_t> pdid;  // no process owns it: posts and messages are refused
    Descriptor descriptor;
    std::uint64_t status = 0;
    std::array<std::uint64_t, 8> words{};
    std::uint64_t mailbox = 0;
    std::uint64_t slots = 0;
    std::uint64_t notice_words = 0;
    std::uint64_t event_queue = 0;
    std::uint64_t event_count = 0;
  };

  bool write(std::uint64_t address, std::uint64_t value);
  bool write_channel(unsigned channel, std::uint64_t offset, std::uint64_t value);
  bool write_event(Channel& channel, std::uint64_t offset, std::uint64_t value);
  bool write_privileged(std::uint64_t offset, std::uint64_t value);
  std::optional<std::uint64_t> read(std::uint64_t address) const;
  void post(unsigned channel);
  void send_message(Channel& channel, std::uint64_t value);
  bool set_up_channel(Channel& channel, std::uint64_t offset, std::uint64_t value);
  void set_ring(const Channel& channel);
  void close(unsigned number);

  BlockScheduler& scheduler_;
  Mailbox& mailbox_;
  FaultFifo& faults_;
  EventUnit& events_;
  OwnRegisters* own_;  // null: none
  std::vector<Channel> channels_;
  std::uint64_t selected_ = 0;
};

}  // namespace faultline::nic
