// SPDX-License-Identifier: Apache-2.0
// The plain router, for cells that go each by itself (simulation.cells_per_train = 1): the reference that the router
// for trains is compared with. A cell keeps its payload from its source to its destination.
#pragma once

#include <array>
#include <boost/circular_buffer.hpp>
#include <deque>
#include <vector>

#include "models/network/cell_switch.hpp"
#include "models/network/router.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::network {

class CellRouter final : public Router, CellSwitch::Owner {
 public:
  CellRouter(sc_core::sc_module_name name, const RouterConfig& config, const sim::Context& context,
             const Topology& topology);

 private:
  // Of one of port 0's queues.
  struct Injection {
    sim::SerialServer datapath;               // the NI's, into the queue
    boost::circular_buffer<sim::Time> slots;  // when the last injection_cells cells left it
  };
  // To the node. It may look at the payload until the slot is free.
  struct Given {
    tlm::tlm_generic_payload* payload;
    sim::Time freed;
  };

  void accept(unsigned port, tlm::tlm_generic_payload& payload, sim::Train& train, PacketHeader& header) override;
  void change(unsigned port, tlm::tlm_generic_payload& payload, sim::Train& train, std::uint32_t from) override;
  void slots(unsigned port, tlm::tlm_generic_payload& payload, const sim::Answers& slots) override;
  sim::Time work_left(unsigned port) const override { return switch_.work_left(port); }
  void starts(unsigned queue, const CellSwitch::Cell& cell, sim::Time departure, bool lost) override;
  void check_slot(Injection& injection, sim::Time sent, sim::Time departure) const;
  void forget();

  sim::TimeSequence freed_;  // what is told of a slot, in place
  CellSwitch switch_;
  std::array<Injection, kLocalQueues> injections_;
  sim::Deque<Given> given_;
};

}  // namespace faultline::network
