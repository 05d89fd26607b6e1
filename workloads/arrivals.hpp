// SPDX-License-Identifier: Apache-2.0
// When a program has the next transfer to make: as soon as the one before is done (a closed loop), after a time in
// which it thinks, or when somebody else wants it (an open loop), however many are waiting.
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"
#include "models/sim/random.hpp"
#include "models/sim/time.hpp"
#include "workloads/field_conflict.hpp"

namespace faultline::workloads {

enum class ArrivalKind : std::uint8_t {
  closed,    // one is wanted when a buffer is free
  periodic,  // at equal distances
  poisson,   // at distances that are drawn from an exponential distribution
};

struct ArrivalConfig {
  ArrivalKind arrivals = ArrivalKind::closed;
  sim::Time interval{0};
  unsigned burst = 1;
  sim::Time think_time{0};

  bool operator==(const ArrivalConfig&) const = default;
  bool is_open() const { return arrivals != ArrivalKind::closed; }
  // In the group that is open.
  void declare_arrivals(sim::ParameterTable& table);
};

// nullptr: they go together.
const FieldConflict* conflict_of(const ArrivalConfig& config);

// When the transfers of one sender are wanted. The same for the same seed and sender.
class Arrivals {
 public:
  Arrivals(const ArrivalConfig& config, sim::Seed seed, std::uint64_t sender)
      : config_(config), draws_(seed, "arrivals", sender) {}

  // Of the next one, from when the sender could make the first one on. Requires an open loop.
  sim::Time next();

 private:
  const ArrivalConfig config_;
  sim::RandomStream draws_;
  sim::Time at_{0};
  std::uint64_t number_ = 0;
};

// Exponentially distributed with this mean, 0 or more. The same on every compiler and library: von Neumann's method
// compares uniform numbers and needs no logarithm (von Neumann, "Various techniques used in connection with random
// digits", 1951).
sim::Time draw_exponential(sim::RandomStream& draws, sim::Time mean);

}  // namespace faultline::workloads
