// SPDX-License-Identifier: Apache-2.0
// A strategy is a composition of independent policies, not a class of its own: a published system is
// a named preset of these choices (configs/strategies/*.toml).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "models/rdma/absent_page.hpp"
#include "models/rdma/pipeline.hpp"
#include "models/rdma/registration/registration.hpp"
#include "models/rdma/translation.hpp"
#include "models/sim/parameters.hpp"

namespace faultline::rdma {

// How the fault thread of the library makes the page present.
enum class Resolve {
  touch_a_page,      // one store or load
  touch_ahead,       // get_user_pages over touch_ahead_pages pages from the fault on, call_pages of them a call
  fixup_user_fault,  // handle_mm_fault for each of them, as drivers with shared virtual addressing (SVA) do
};

class Strategy {
 public:
  RegistrationChoice registration;
  UnpinConfig unpin;
  Pipeline pipeline;
  bool deferred = false;  // a thread of the library prepares and posts, and the program goes on meanwhile
  TranslationChoice translate;
  AbsentPageChoice on_source_fault;
  AbsentPageChoice on_destination_fault;
  Resolve resolve = Resolve::touch_ahead;
  unsigned touch_ahead_pages = 4;
  unsigned call_pages = 512;

  void declare(sim::ParameterTable& table);

  // The target has work to do for each transfer, so that an initiator must ask it to.
  bool asks_target() const { return registration->abilities().asks_target; }
  // A program at the target does what initiators ask for, for each transfer or now and then.
  bool serves_at_target() const { return asks_target() || registration->lease_terms().has_value(); }
  // Of a transfer of so many bytes: parts under way at a time, each of which is a descriptor of its own, and messages
  // of its initiator that may wait at its target.
  std::size_t most_posted(std::uint64_t bytes) const { return pipeline.most_parts(bytes); }
  std::size_t most_asked(std::uint64_t bytes) const {
    const std::size_t parts = pipeline.most_parts(bytes);
    return parts == 1 ? 1 : parts + 1;
  }
  // Of the memory of one transfer at an end: what is held at a time, at most, where a registration holds it for the
  // transfer. A part may begin and end within a page, which its neighbours hold, too.
  std::uint64_t most_held(std::uint64_t bytes) const {
    const std::size_t parts = pipeline.most_parts(bytes);
    return parts == 1 ? bytes : std::min(bytes, parts * pipeline.chunk) + 2 * parts * os::kPage;
  }
  // The device finds the pages of registered buffers and no others.
  bool maps_only_registered() const { return translate->registered; }
  // What happens to an access of the process that has this end of a transfer's data.
  const AbsentPage& on_fault(End end) const { return end == End::source ? *on_source_fault : *on_destination_fault; }
};

// One of the policies that a strategy is made of, or a parameter of the registration policy.
struct PolicyChoice {
  std::string key;      // the parameter that chooses it
  std::string choice;   // its value
  std::string meaning;  // what it does within this strategy, or that the strategy never uses it: a clause
  std::string adds;     // to the machine, beside time; empty: nothing
};
std::vector<PolicyChoice> made_of(const Strategy& strategy);

std::vector<sim::Conflict> conflicts(const Strategy& strategy);

}  // namespace faultline::rdma
