// SPDX-License-Identifier: Apache-2.0
// The engine's way into the router: data cells in one lane, control cells (acknowledgements, messages) in another, as
// the router has one injection queue of slots for each. The datapath's rate is the router's to model (its port 0).
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <tlm>

#include "models/dma/axi_writer.hpp"
#include "models/dma/config.hpp"
#include "models/dma/wakeup.hpp"
#include "models/interconnect/packet.hpp"
#include "models/sim/context.hpp"
#include "models/sim/credit_pool.hpp"

namespace faultline::dma {

// Cells that share a header; `ready` says when each may go.
struct Outgoing {
  interconnect::PacketHeader header;
  std::uint32_t cell_bytes = 0;
  sim::TimeSequence ready;
  sim::Content content;
  std::uint64_t tag = 0;  // the listener's
};

class SendListener {
 public:
  virtual ~SendListener() = default;
  // These data cells leave the engine for the router when they are `ready`.
  virtual void cells_sent(const Outgoing& cells) = 0;
};

class Injector {
 public:
  Injector(const DmaConfig& config, Forward& port, const sim::Context& context);

  void listen(SendListener& listener) { listener_ = &listener; }
  void send_data(Outgoing cells) { submit(data_, std::move(cells)); }
  void send_control(Outgoing cell) { submit(control_, std::move(cell)); }
  // SLOTS_FREED of one of our payloads.
  void slots_freed(tlm::tlm_generic_payload& payload);

 private:
  struct Lane {
    explicit Lane(unsigned slots) : credits(slots) {}
    sim::CreditPool credits;
    std::deque<Outgoing> queue;
    std::optional<Outgoing> staged;  // ready: the departures
  };
  void submit(Lane& lane, Outgoing cells);
  void pump();
  void advance(Lane& lane);
  bool stage(Lane& lane);
  void send_staged(Lane& lane);

  Forward& port_;
  const sim::Context& context_;
  SendListener* listener_ = nullptr;
  Lane control_;
  Lane data_;
  Wakeup<Injector, &Injector::pump> wakeup_;
};

}  // namespace faultline::dma
