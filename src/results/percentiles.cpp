// SPDX-License-Identifier: Apache-2.0
#include "src/results/percentiles.hpp"

#include "models/sim/histogram.hpp"

namespace faultline::results {

std::array<double, kPercentiles.size()> percentiles_of(const workloads::Distribution& distribution) {
  const auto at = [&](double share) {
    return sim::quantile(distribution.buckets, distribution.count, distribution.max, share);
  };
  return {at(0.5), at(0.9), at(0.99), at(0.999)};
}

}  // namespace faultline::results
