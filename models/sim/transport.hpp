// SPDX-License-Identifier: Apache-2.0
// The calls of the data-path protocol (payload.hpp) through a socket, or the interface that a multi-socket hands out:
// trains carry absolute instants, so the delay is zero always.
#pragma once

#include <systemc>
#include <tlm>

namespace faultline::sim {

// From an initiator to its target.
void send_on(auto&& socket, tlm::tlm_generic_payload& payload, tlm::tlm_phase phase = tlm::BEGIN_REQ) {
  sc_core::sc_time delay;
  socket->nb_transport_fw(payload, phase, delay);
}

// From a target to the payload's initiator.
void send_back(auto&& socket, tlm::tlm_generic_payload& payload, tlm::tlm_phase phase) {
  sc_core::sc_time delay;
  socket->nb_transport_bw(payload, phase, delay);
}

}  // namespace faultline::sim
