// SPDX-License-Identifier: Apache-2.0
// Trains of AXI accesses on their way through an MMU, the system's or one in a device: how a train parts, and what goes
// on to memory of it.
#pragma once

#include <cstdint>
#include <tlm>

#include "models/sim/payload.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::soc {

// The train keeps its first `first` cells. Returns the payload of the others, of which its initiator is still to be
// told (sim::Parted).
tlm::tlm_generic_payload& part_train(tlm::tlm_generic_payload& train, std::uint32_t first, sim::PayloadPool& payloads);

// Makes `request` what goes to memory of a train: its cells at these instants, from a physical address on, with the
// epoch of the translation. Content, direction and master are the train's.
void translate_train(tlm::tlm_generic_payload& request, const tlm::tlm_generic_payload& train, std::uint64_t address,
                     sim::TimeSequence times, std::uint64_t epoch);

// The last cells of such a request do not go: it keeps `cells`.
void shorten_train(tlm::tlm_generic_payload& request, std::uint32_t cells);

}  // namespace faultline::soc
