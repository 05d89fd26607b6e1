// SPDX-License-Identifier: Apache-2.0
// What both adapters need to speak the TLM-2.0 base protocol (IEEE 1666-2011, clauses 11 to 16).
#pragma once

#include <algorithm>
#include <systemc>
#include <tlm>

#include "models/sim/time.hpp"

namespace faultline::adapters {

// What a socket has that asks for nothing else. The width is a part of the sockets' types, and two sockets that differ
// in it cannot be bound; nothing else depends on it here.
inline constexpr unsigned kUsualBusBits = 32;

// A model of somebody else's has broken a rule of the base protocol: an error of SystemC's in the process that called.
inline void complain(const char* what) { SC_REPORT_ERROR("/faultline/tlm", what); }

// Processes of SystemC run at its own clock, which the event loop may be ahead of: until then.
inline sc_core::sc_time until(sim::Time when) {
  const sc_core::sc_time& now = sc_core::sc_time_stamp();
  return std::max(sim::to_sc_time(when), now) - now;
}

// The instant that a call with this delay speaks of.
inline sim::Time effective(const sc_core::sc_time& delay) {
  return sim::from_sc_time(sc_core::sc_time_stamp() + delay);
}

}  // namespace faultline::adapters
