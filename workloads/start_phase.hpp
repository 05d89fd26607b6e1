// SPDX-License-Identifier: Apache-2.0
// When senders begin: not all at one instant, and not always at the same distance from what else recurs.
#pragma once

#include <cstdint>

#include "models/sim/random.hpp"
#include "models/sim/time.hpp"

namespace faultline::workloads {

// The pauses of one sender, each from 0 to `spread`, every picosecond as likely. The same for the same seed and sender.
class StartPhase {
 public:
  StartPhase(sim::Time spread, sim::Seed seed, std::uint64_t sender)
      : spread_(spread), draws_(seed, "start phase", sender) {}

  sim::Time next() {
    if (spread_ == sim::Time{0}) return spread_;
    return sim::Time{static_cast<std::int64_t>(draws_.below(static_cast<std::uint64_t>(spread_.count()) + 1))};
  }

 private:
  sim::Time spread_;
  sim::RandomStream draws_;
};

}  // namespace faultline::workloads
