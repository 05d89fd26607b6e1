// SPDX-License-Identifier: Apache-2.0
// The engine's way into the router: data cells in one lane, control cells (acknowledgements, messages) in another, as
// the router has one injection queue of slots for each. The datapath's rate is the router's to model (its port 0).
#pragma once

#include <cstdint>
#include <tlm>

#include "models/network/packet.hpp"
#include "models/nic/path/axi_writer.hpp"
#include "models/nic/path/config.hpp"
#include "models/sim/context.hpp"
#include "models/sim/issue_queue.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::nic {

// Cells that share a header; `ready` says when each may go.
struct Outgoing {
  network::PacketHeader header;
  std::uint32_t cell_bytes = 0;
  sim::TimeSequence ready;
  sim::Content content;
  std::uint64_t tag = 0;     // the listener's
  std::uint64_t number = 0;  // the queue's

  // Keeps the cells before `first` and returns the others.
  Outgoing split(std::uint32_t first);
};

class SendListener {
 public:
  virtual ~SendListener() = default;
  // The next cells of this tag leave the engine for the router at these instants.
  virtual void cells_leave(std::uint64_t tag, const sim::TimeSequence& instants) = 0;
  // The last of them, which were to leave at these instants, do not.
  virtual void cells_stay(std::uint64_t tag, const sim::TimeSequence& instants) = 0;
};

class Injector {
 public:
  Injector(const PathConfig& config, Forward& port, const sim::Context& context);

  void listen(SendListener& listener) { listener_ = &listener; }
  void send_data(Outgoing cells) { submit(data_, std::move(cells)); }
  void send_control(Outgoing cell) { submit(control_, std::move(cell)); }
  // Cells that leave by then have left.
  sim::Time settled() const { return context_.loop.settled(turn_); }
  // The last data cells of this tag are not to be sent. Throws std::logic_error if they have left.
  void recall_data(std::uint64_t tag, std::uint32_t cells);
  // When the router's slots of one of our payloads are free again.
  void answered(tlm::tlm_generic_payload& payload, const sim::Answers& slots);

 private:
  struct Injected {
    tlm::tlm_generic_payload* payload = nullptr;
    sim::TimeSequence freed;
  };
  using Queue = sim::IssueQueue<Outgoing, Injected, Injector>;
  friend Queue;

  void submit(Queue& lane, Outgoing cells);
  void wake(const Queue& lane);
  void pump();
  void advance(Queue& lane);
  void send(Queue& lane);
  void taken_back(Queue::Run& run, const Outgoing& rest, const sim::TimeSequence& instants);
  Queue& lane_of(const tlm::tlm_generic_payload& payload);
  Queue::Run& run_of(Queue& lane, const tlm::tlm_generic_payload& payload);
  // Slots of the run's cells from this one on do not come free as was said.
  static void void_slots(Queue& lane, Injected& injected, std::uint32_t from);
  void forget(Queue& lane);

  Forward& port_;
  const sim::Context& context_;
  const sim::Port turn_;
  SendListener* listener_ = nullptr;
  Queue control_;
  Queue data_;
  sim::Wakeup<Injector, &Injector::pump> wakeup_;
};

}  // namespace faultline::nic
