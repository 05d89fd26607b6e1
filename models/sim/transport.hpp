// SPDX-License-Identifier: Apache-2.0
// Sockets of the data path, and calls through them (payload.hpp).
#pragma once

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <systemc>
#include <tlm>

#include "models/sim/payload.hpp"

namespace faultline::sim {

inline constexpr unsigned kBusBits = 32;  // what the sockets' type asks for; nothing depends on it
template <typename Module>
using InitiatorSocket = tlm_utils::simple_initiator_socket<Module, kBusBits, DataPath>;
template <typename Module>
using TargetSocket = tlm_utils::passthrough_target_socket<Module, kBusBits, DataPath>;

// From an initiator to its target, through a socket or the interface that a multi-socket hands out: where the train's
// cells from `cells.from` on are.
void send_on(auto&& socket, tlm::tlm_generic_payload& payload, const Cells& cells = {}) {
  Message message{cells};
  sc_core::sc_time delay;
  socket->nb_transport_fw(payload, message, delay);
}

// From a target to the payload's initiator: Answers or Parted.
void send_back(auto&& socket, tlm::tlm_generic_payload& payload, Message message) {
  sc_core::sc_time delay;
  socket->nb_transport_bw(payload, message, delay);
}

}  // namespace faultline::sim
