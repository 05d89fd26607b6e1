// SPDX-License-Identifier: Apache-2.0
// Simulated time and the rates it is derived from. Everything is a whole number of picoseconds, so
// that sums are associative and a run gives the same bytes on every compiler.
#pragma once

#include <chrono>
#include <cstdint>
#include <systemc>

namespace faultline::sim {

using namespace std::chrono_literals;

// An instant (since the start of the simulation) or a duration, in picoseconds.
// std::chrono's literals (3us, 120ns) convert to it without loss.
using Time = std::chrono::duration<std::int64_t, std::pico>;

// Later than every event that can happen.
inline constexpr Time kNever = Time::max();

inline constexpr std::int64_t kPicosecondsPerSecond = 1'000'000'000'000;

// The node's clock is SystemC's, whose resolution is 1 ps (checked by EventLoop's constructor).
inline sc_core::sc_time to_sc_time(Time t) {
  return sc_core::sc_time::from_value(static_cast<sc_dt::uint64>(t.count()));
}
inline Time from_sc_time(const sc_core::sc_time& t) { return Time{static_cast<std::int64_t>(t.value())}; }

// numerator / denominator. Processors divide numbers of 32 bits several times as fast.
constexpr std::int64_t divide(std::int64_t numerator, std::int64_t denominator) {
  if (((numerator | denominator) >> 32) == 0) {
    return static_cast<std::uint32_t>(numerator) / static_cast<std::uint32_t>(denominator);
  }
  return numerator / denominator;
}
// The same rounded up: hardware takes the whole cycle or bit slot.
constexpr std::int64_t divide_up(std::int64_t numerator, std::int64_t denominator) {
  return divide(numerator + denominator - 1, denominator);
}

// A clock. Range 1 Hz to 10 GHz.
struct Frequency {
  std::int64_t hertz = 1;
  constexpr Time cycles(std::int64_t n) const {
    // n is at most a few million cycles, so the product stays below 2^63 for up to 9 million.
    return Time{divide_up(n * kPicosecondsPerSecond, hertz)};
  }
  constexpr auto operator<=>(const Frequency&) const = default;
};

// A serial line's rate in bits per second.
struct BitRate {
  std::int64_t bits_per_second = 1;
  constexpr Time time_for(std::uint64_t bytes) const {
    // Whole bytes per call are at most a cell (288 B) or a page, so 8e12 * bytes fits for 1 MiB.
    return Time{divide_up(static_cast<std::int64_t>(bytes) * 8 * kPicosecondsPerSecond, bits_per_second)};
  }
  constexpr auto operator<=>(const BitRate&) const = default;
};

// A memory's bandwidth in bytes per second.
struct ByteRate {
  std::int64_t bytes_per_second = 1;
  constexpr Time time_for(std::uint64_t bytes) const {
    // Split so that whole huge pages (2 MiB) do not overflow 64 bits.
    const auto whole = static_cast<std::int64_t>(bytes) / 4096;
    const Time rest{divide_up(static_cast<std::int64_t>(bytes) % 4096 * kPicosecondsPerSecond, bytes_per_second)};
    if (whole == 0) return rest;
    const std::int64_t page = 4096 * kPicosecondsPerSecond;
    return Time{whole * (page / bytes_per_second) + divide_up(whole * (page % bytes_per_second), bytes_per_second)} +
           rest;
  }
  constexpr auto operator<=>(const ByteRate&) const = default;
};

}  // namespace faultline::sim
