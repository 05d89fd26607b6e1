// SPDX-License-Identifier: Apache-2.0
// Packetizer and mailbox: small messages between processes, and between NICs.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>

#include "models/nic/path/config.hpp"
#include "models/nic/path/control_writer.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/deferred.hpp"
#include "models/nic/path/injector.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::nic {

struct Message {
  sim::NodeId source = 0;
  sim::NodeId destination = 0;
  std::uint32_t pdid = 0;  // at the destination; unused when for the NIC itself
  bool to_nic = false;
  unsigned count = 0;  // words: 1 to 8
  std::array<std::uint64_t, 8> words{};
};

// The NIC's own side of the mailbox.
class NicInbox {
 public:
  virtual ~NicInbox() = default;
  // Whether a message that has come is to be kept; false: it is lost, and counted by whoever loses it.
  virtual bool admits(const Message& message) = 0;
  virtual void message_waits(const Message& message) = 0;
};

class Mailbox : public ControlWriteClient {
 public:
  Mailbox(const PathConfig& config, Injector& injector, ControlWriter& writer, Counters& counters,
          const sim::Context& context);

  void connect(NicInbox& nic) { nic_ = &nic; }

  // Packetizer. Its queue has no bound of its own: software's credits bound what is under way.
  void send(Message message);
  // A message, of a process or of a NIC, whose last byte arrives at this instant.
  void receive(const network::PacketHeader& header, std::uint32_t bytes, Time at);

  // The ring of process `pdid`: `slots` slots from `address` on; none when either is 0. Starts at message 0.
  void set_ring(std::uint32_t pdid, std::uint64_t address, std::uint64_t slots);
  // The owner has consumed so many messages since.
  void set_consumed(std::uint32_t pdid, std::uint64_t messages);

  bool has_own_message() const { return !inbox_.empty(); }
  Message take_own_message();

  void control_written(std::uint64_t, bool) override {}

 private:
  struct Ring {
    std::uint64_t address = 0;
    std::uint64_t slots = 0;
    std::uint64_t written = 0;
    std::uint64_t consumed = 0;
  };

  void arrive(const Message& message, Time at);
  void deliver(const Message& message);
  void deliver_to_nic(const Message& message);
  void deliver_to_user(const Message& message);

  const PathConfig& config_;
  Injector& injector_;
  ControlWriter& writer_;
  Counters& counters_;
  const sim::Context& context_;
  Deferred<Message, Mailbox, &Mailbox::deliver> coming_;
  NicInbox* nic_ = nullptr;
  std::unordered_map<std::uint32_t, Ring> rings_;  // by PDID
  sim::Deque<Message> inbox_;
};

}  // namespace faultline::nic
