// SPDX-License-Identifier: Apache-2.0
// The transfers of a program in an open loop: one thread begins those that have arrived while another waits for their
// ends, so that neither holds the other up.
#pragma once

#include <cstdint>

#include "models/sim/context.hpp"
#include "models/sim/task.hpp"
#include "workloads/arrivals.hpp"

namespace faultline::workloads {

// Begins transfers, each from and to buffers of its own, and sees the oldest one's end. The two are called by two
// threads, one call each at a time.
class Paced {
 public:
  virtual ~Paced() = default;
  // The next one, which has arrived then; posted when this returns.
  virtual sim::Task<void> begin_next(sim::Time arrived) = 0;
  virtual sim::Task<void> finish_oldest() = 0;
};

// Makes that many transfers, `window` of them under way at a time at most. Ends when the last one has ended.
sim::Task<void> run_open_loop(Paced& program, Arrivals arrivals, std::uint64_t transfers, unsigned window,
                              sim::EventLoop& loop);

}  // namespace faultline::workloads
