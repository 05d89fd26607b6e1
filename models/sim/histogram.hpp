// SPDX-License-Identifier: Apache-2.0
// A log-linear histogram (as HdrHistogram's): each octave is cut into 64 equal buckets, and what is below 64 has a
// bucket for each value. So a value is known to 1/64 of itself, whatever its size, and any number of values takes
// 30 KiB at most.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace faultline::sim {

class Histogram {
 public:
  static constexpr unsigned kBits = 6;
  // A bucket is this part of its values wide, or less: what a quantile is wrong by at most.
  static constexpr double kRelativeError = 1.0 / (1 << kBits);

  struct Bucket {
    std::uint64_t lower;  // the least value that belongs here
    std::uint64_t upper;  // the greatest
    std::uint64_t count;
  };

  void add(std::uint64_t value) {
    const std::size_t index = index_of(value);
    if (index >= counts_.size()) counts_.resize(index + 1);
    ++counts_[index];
    ++count_;
    min_ = std::min(min_, value);
    max_ = std::max(max_, value);
  }

  std::uint64_t count() const { return count_; }
  std::uint64_t min() const { return min_; }  // of none: UINT64_MAX
  std::uint64_t max() const { return max_; }

  // Those that hold a value, lowest first.
  std::vector<Bucket> buckets() const {
    std::vector<Bucket> filled;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      if (counts_[i] > 0) filled.push_back({lower_of(i), lower_of(i + 1) - 1, counts_[i]});
    }
    return filled;
  }

  // Octave e of values that begin with bit kBits + e has the indices from 64 * (e + 1) on.
  static std::size_t index_of(std::uint64_t value) {
    const unsigned octave = std::max(static_cast<unsigned>(std::bit_width(value)), kBits + 1) - (kBits + 1);
    return (std::size_t{octave} << kBits) + static_cast<std::size_t>(value >> octave);
  }
  static std::uint64_t lower_of(std::size_t index) {
    if (index < (std::size_t{2} << kBits)) return index;
    const unsigned octave = static_cast<unsigned>(index >> kBits) - 1;
    return ((index & ((1U << kBits) - 1)) + (std::uint64_t{1} << kBits)) << octave;
  }

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t min_ = UINT64_MAX;
  std::uint64_t max_ = 0;
};

// The nearest-rank quantile, 0 < share <= 1, of what buckets count: the greatest value of its bucket, or what was
// greatest at all. No buckets: 0.
template <typename Buckets>
auto quantile(const Buckets& buckets, std::uint64_t count, decltype(buckets[0].upper) max, double share) {
  std::uint64_t seen = 0;
  for (const auto& bucket : buckets) {
    seen += bucket.count;
    if (static_cast<double>(seen) >= share * static_cast<double>(count)) return std::min(bucket.upper, max);
  }
  return max;
}

}  // namespace faultline::sim
