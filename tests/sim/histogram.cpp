// SPDX-License-Identifier: Apache-2.0
// The histogram's buckets: they cover every value once, and are as narrow as it says.
#include "models/sim/histogram.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <cmath>

using faultline::sim::Histogram;

TEST_CASE("buckets follow each other without gap or overlap, and are a 64th of their values wide") {
  for (std::size_t i = 0; i < 3712; ++i) {
    const std::uint64_t lower = Histogram::lower_of(i);
    REQUIRE(Histogram::index_of(lower) == i);
    if (i > 0) REQUIRE(Histogram::index_of(lower - 1) == i - 1);
    const double width = static_cast<double>(Histogram::lower_of(i + 1) - lower);
    if (i >= 64) REQUIRE(width <= Histogram::kRelativeError * static_cast<double>(lower));
    if (i < 64) REQUIRE(width == 1);
  }
  CHECK(Histogram::index_of(UINT64_MAX) == 3775);
}

TEST_CASE("a quantile is that of the values themselves, but for a 64th of it") {
  CHECK(rc::check([] {
    auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<std::uint64_t>>(
        rc::gen::map(rc::gen::inRange<std::uint64_t>(0, 40'000), [](std::uint64_t v) { return v * v * v; })));
    Histogram histogram;
    for (const std::uint64_t value : values) histogram.add(value);
    std::sort(values.begin(), values.end());
    RC_ASSERT(histogram.count() == values.size());
    RC_ASSERT(histogram.min() == values.front());
    RC_ASSERT(histogram.max() == values.back());
    const auto buckets = histogram.buckets();
    for (const auto& bucket : buckets) {
      RC_ASSERT(Histogram::index_of(bucket.upper) == Histogram::index_of(bucket.lower));
      RC_ASSERT(Histogram::lower_of(Histogram::index_of(bucket.upper) + 1) == bucket.upper + 1);
    }
    for (const double share : {0.001, 0.25, 0.5, 0.9, 0.99, 1.0}) {
      const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
      const auto exact = static_cast<double>(values[std::max<std::size_t>(rank, 1) - 1]);
      const auto found = static_cast<double>(quantile(buckets, histogram.count(), histogram.max(), share));
      RC_ASSERT(found >= exact);
      RC_ASSERT(found <= exact * (1 + Histogram::kRelativeError));
    }
  }));
}
