// SPDX-License-Identifier: Apache-2.0
// The percentiles by which results tell how values are spread.
#pragma once

#include <array>

#include "workloads/experiment_point.hpp"

namespace faultline::results {

inline constexpr std::array<const char*, 4> kPercentiles{"p50", "p90", "p99", "p99.9"};

// These, in the distribution's unit: each the greatest value of its bucket, too great by a 64th at most.
std::array<double, kPercentiles.size()> percentiles_of(const workloads::Distribution& distribution);

}  // namespace faultline::results
