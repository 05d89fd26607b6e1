// SPDX-License-Identifier: Apache-2.0
// A strategy is a composition of independent policies, not a class of its own: a published system is
// a named preset of these choices (configs/strategies/*.toml).
#pragma once

#include <string>
#include <vector>

#include "models/sim/parameters.hpp"

namespace faultline::rdma {

// What the owner of a buffer does so that its pages are there.
enum class Prepare {
  nothing,   // the first access of the device finds out
  ideal,     // pages are present at no cost, and nobody takes them: the bound for a transfer by itself
  touch,     // the owner touches each page before each transfer
  populate,  // MADV_POPULATE_WRITE when the buffer is mapped; before Linux 5.14 MAP_POPULATE, which hides errors
  mlock,     // mlock() when the buffer is mapped
  pin_per_transfer,  // get_user_pages pin before, unpin after each transfer
  pin_once,          // get_user_pages pin when the buffer is registered
};

// Which table the SMMU walks for the process.
enum class Translate {
  shared,    // the process's own page table
  private_,  // a table of the device's own, filled once with the frames that were pinned, or hoped to stay
  mirrored,  // a table of the device's own, filled by its faults and emptied by MMU notifiers
};

// What the SMMU does with an access that faults (SCTLR.CFCFG).
enum class OnFault {
  terminate,  // error response; the block is sent again
  stall,      // the access waits in the TBU until software resumes it
};

// How the fault thread of the library makes the page present.
enum class Resolve {
  touch_a_page,      // one store or load
  touch_ahead,       // get_user_pages over touch_ahead_pages pages from the fault on, call_pages of them a call
  fixup_user_fault,  // handle_mm_fault for each of them, as drivers with shared virtual addressing (SVA) do
};

struct Strategy {
  Prepare prepare = Prepare::nothing;
  Translate translate = Translate::shared;
  OnFault on_source_fault = OnFault::terminate;
  OnFault on_destination_fault = OnFault::terminate;
  Resolve resolve = Resolve::touch_ahead;
  unsigned touch_ahead_pages = 4;
  unsigned call_pages = 512;

  void declare(sim::ParameterTable& table);

  // True when the target has work to do for each transfer, so that the initiator must ask it to.
  bool prepares_per_transfer() const { return prepare == Prepare::touch || prepare == Prepare::pin_per_transfer; }
  bool pins() const { return prepare == Prepare::pin_per_transfer || prepare == Prepare::pin_once; }
};

std::vector<sim::Conflict> conflicts(const Strategy& strategy);

}  // namespace faultline::rdma
