// SPDX-License-Identifier: Apache-2.0
// A pin of a buffer as a driver makes it: the frames, and where the device walks a private table their descriptors.
#pragma once

#include "models/rdma/registration/registration.hpp"

namespace faultline::rdma {

// A pin that nothing finds any more: it is still to be let go.
struct Gone {
  os::PinId pinned;
  std::uint64_t bytes;
};
using GoneOnes = sim::SmallVector<Gone, 8>;

// The pages are pinned to be written whatever the transfer does with them, as verbs' registrations with local write
// access are. An error leaves nothing pinned.
sim::Task<os::Result<os::PinId>> pin(cpu::Execution& thread, const Registration::Owner& owner, Buffer buffer,
                                     os::PinCharge charge = os::PinCharge::now);
sim::Task<os::Error> unpin(cpu::Execution& thread, const Registration::Owner& owner, os::PinId pinned,
                           os::Caller caller = os::Caller::program);
// Several pins in one call of the driver.
sim::Task<os::Error> unpin(cpu::Execution& thread, const Registration::Owner& owner, sim::Vector<os::PinId> pinned,
                           os::Caller caller = os::Caller::program);

}  // namespace faultline::rdma
