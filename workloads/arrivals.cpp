// SPDX-License-Identifier: Apache-2.0
#include "workloads/arrivals.hpp"

namespace faultline::workloads {

using namespace std::chrono_literals;

void ArrivalConfig::declare_arrivals(sim::ParameterTable& table) {
  table.add_choice(
      "arrivals", arrivals,
      {{"closed", ArrivalKind::closed}, {"periodic", ArrivalKind::periodic}, {"poisson", ArrivalKind::poisson}},
      {"when the program has a transfer to make: as soon as it has a free buffer (a closed loop), or when "
       "somebody wants it, at equal or at exponentially distributed distances (an open loop: latency then "
       "counts from that instant, its waiting for a buffer included)",
       "",
       {}});
  table.add_time("interval", interval, {0ns, 1000s},
                 {"mean time from one arrival of a transfer to the next, of each sender", "", {}});
  table.add_count("burst", burst, {1u, 100'000u},
                  {"transfers that arrive at one instant; bursts are burst times the interval apart", "", {}});
  table.add_time(
      "think_time", think_time, {0ns, 1000s},
      {"closed loop: from the end of a transfer to the begin of the next one that it makes room for; no part "
       "of latency, and part of the time that goodput is over",
       "",
       {}});
}

const FieldConflict* conflict_of(const ArrivalConfig& config) {
  static constexpr FieldConflict kNoInterval{"interval", "an open loop needs the mean time between arrivals",
                                             "set it to more than 0"};
  static constexpr FieldConflict kThinks{
      "think_time", "arrivals do not wait for the program to think",
      "set think_time to 0, or arrivals to closed: only a closed loop has a think time"};
  static constexpr FieldConflict kClosedInterval{"interval", "a closed loop has no arrivals",
                                                 "set arrivals to periodic or poisson, or think_time for a pause"};
  static constexpr FieldConflict kClosedBurst{"burst", "a closed loop has no arrivals that could come in bursts",
                                              "set arrivals to periodic or poisson"};
  if (config.is_open()) {
    if (config.interval == sim::Time{0}) return &kNoInterval;
    if (config.think_time > sim::Time{0}) return &kThinks;
    return nullptr;
  }
  if (config.interval > sim::Time{0}) return &kClosedInterval;
  if (config.burst > 1) return &kClosedBurst;
  return nullptr;
}

sim::Time Arrivals::next() {
  if (number_++ % config_.burst == 0) {
    const sim::Time mean = config_.interval * config_.burst;
    if (config_.arrivals == ArrivalKind::poisson) {
      at_ += draw_exponential(draws_, mean);
    } else if (number_ > 1) {
      at_ += mean;
    }
  }
  return at_;
}

// Of uniform numbers u(1) > u(2) > ... > u(n) <= u(n+1) the run's length n is odd with probability exp(-u(1)). Then
// u(1) is the fraction; each run of even length before adds 1.
sim::Time draw_exponential(sim::RandomStream& draws, sim::Time mean) {
  for (std::int64_t whole = 0;; ++whole) {
    const std::uint64_t first = draws.next();
    bool odd = true;
    for (std::uint64_t last = first, next = draws.next(); next < last; last = next, next = draws.next()) odd = !odd;
    if (!odd) continue;
    // The upper 64 of 128 bits of the product: the fraction of the mean, rounded down.
    __extension__ using Wide = unsigned __int128;
    const auto fraction = static_cast<std::int64_t>((Wide{first} * static_cast<std::uint64_t>(mean.count())) >> 64);
    return mean * whole + sim::Time{fraction};
  }
}

}  // namespace faultline::workloads
