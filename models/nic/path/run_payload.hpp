// SPDX-License-Identifier: Apache-2.0
// Runs of an issue queue as payloads: how they are made, and for accesses to memory which run a payload is and how one
// becomes two.
//
// Details of a run have the member `payload`, those of an access also `id`, the number of the first of all cells that
// the queue announced.
#pragma once

#include <algorithm>
#include <cstdint>
#include <tlm>

#include "models/sim/context.hpp"
#include "models/sim/payload.hpp"
#include "models/soc/axi.hpp"

namespace faultline::nic {

struct RunTag : tlm::tlm_extension<RunTag> {
  std::uint64_t id = 0;
  tlm::tlm_extension_base* clone() const override { return new RunTag(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const RunTag&>(other); }
};

// The payload of a run that was announced, with all but its content.
template <typename Run>
tlm::tlm_generic_payload& make_payload(Run& run, tlm::tlm_command command, std::uint64_t address,
                                       std::uint32_t cell_bytes, const sim::Context& context) {
  tlm::tlm_generic_payload& payload = context.payloads.acquire();
  run.details.payload = &payload;
  sim::Train& train = sim::train_of(payload);
  train.times = run.issued;
  train.cell_bytes = cell_bytes;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  return payload;
}

// Of an access to memory.
template <typename Run>
tlm::tlm_generic_payload& make_access(Run& run, tlm::tlm_command command, std::uint64_t address,
                                      std::uint32_t cell_bytes, std::uint32_t master_id, const sim::Context& context) {
  tlm::tlm_generic_payload& payload = make_payload(run, command, address, cell_bytes, context);
  auto& axi = sim::extension<soc::AxiAttributes>(payload);
  axi = {};
  axi.master_id = master_id;
  sim::extension<RunTag>(payload).id = run.details.id;
  return payload;
}

// The run with this id; nullptr if it has been forgotten.
template <typename Queue>
typename Queue::Run* find_run(Queue& queue, std::uint64_t id) {
  auto& runs = queue.runs();
  const auto at = std::lower_bound(runs.begin(), runs.end(), id,
                                   [](const auto& run, std::uint64_t wanted) { return run.details.id < wanted; });
  return at == runs.end() || at->details.id != id ? nullptr : &*at;
}
template <typename Queue>
typename Queue::Run& run_of(Queue& queue, tlm::tlm_generic_payload& payload) {
  return *find_run(queue, sim::extension<RunTag>(payload).id);
}

// The payload has parted: its run becomes two.
template <typename Queue>
void part_run(Queue& queue, tlm::tlm_generic_payload& payload, tlm::tlm_generic_payload& rest) {
  const std::uint32_t cells = sim::train_of(payload).cells();
  auto& details = queue.part(run_of(queue, payload), cells).details;
  details.id = sim::extension<RunTag>(payload).id + cells;
  details.payload = &rest;
  sim::extension<RunTag>(rest).id = details.id;
}

}  // namespace faultline::nic
