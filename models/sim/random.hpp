// SPDX-License-Identifier: Apache-2.0
// Random numbers that depend on nothing but the run's seed, the stream's name and the position in
// the stream (Random123's Philox), so that adding a consumer changes no other consumer's numbers.
#pragma once

#include <Random123/philox.h>

#include <cmath>
#include <cstdint>
#include <string_view>

namespace faultline::sim {

// What a run's random numbers depend on. Nobody but a stream can read it. So where no stream has given a number that
// could have been another one, every seed gives the same run.
class Seed {
 public:
  // `is_drawn` becomes true with the first such number. It outlives the streams.
  Seed(std::uint64_t number, bool* is_drawn = nullptr) : number_(number), is_drawn_(is_drawn) {}  // NOLINT: is one
  // Another seed of the same run.
  Seed operator+(std::uint64_t distance) const { return {number_ + distance, is_drawn_}; }

 private:
  friend class RandomStream;
  std::uint64_t number_;
  bool* is_drawn_;
};

class RandomStream {
 public:
  RandomStream(Seed seed, std::string_view name, std::uint64_t instance = 0)
      : key_{{static_cast<std::uint32_t>(seed.number_), static_cast<std::uint32_t>(seed.number_ >> 32)}},
        high_(hash(name)),
        instance_(instance),
        is_drawn_(seed.is_drawn_) {}

  // The number at a position of the stream, in any order.
  std::uint64_t at(std::uint64_t position) const {
    if (is_drawn_ != nullptr) *is_drawn_ = true;
    const r123::Philox4x32::ctr_type counter{
        {static_cast<std::uint32_t>(position), static_cast<std::uint32_t>(position >> 32),
         static_cast<std::uint32_t>(high_ ^ instance_), static_cast<std::uint32_t>((high_ >> 32) ^ (instance_ >> 32))}};
    const auto block = r123::Philox4x32{}(counter, key_);
    return std::uint64_t{block[1]} << 32 | block[0];
  }
  std::uint64_t next() { return at(position_++); }
  // Uniform in [0, bound); bound > 0. The bias is below bound / 2^64.
  std::uint64_t below(std::uint64_t bound) {
    if (bound == 1) return skip();
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{next()} * bound) >> 64);
  }
  // Whether the next number below `bound` is below `limit`, too.
  bool is_below(std::uint64_t limit, std::uint64_t bound) {
    if (limit == 0 || limit >= bound) return skip() < limit;
    return below(bound) < limit;
  }
  // True for this share of all numbers, 0 to 1. Takes none where it is 0.
  bool chance(double share) {
    constexpr std::uint64_t kScale = std::uint64_t{1} << 32;
    return share > 0.0 && is_below(static_cast<std::uint64_t>(std::llround(share * double{kScale})), kScale);
  }

 private:
  // Takes a number that nothing depends on.
  std::uint64_t skip() {
    ++position_;
    return 0;
  }
  // FNV-1a: std::hash may differ between libraries.
  static constexpr std::uint64_t hash(std::string_view text) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    return h;
  }

  r123::Philox4x32::key_type key_;
  std::uint64_t high_;
  std::uint64_t instance_;
  bool* is_drawn_;
  std::uint64_t position_ = 0;
};

}  // namespace faultline::sim
