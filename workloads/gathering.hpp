// SPDX-License-Identifier: Apache-2.0
// Some who wait for each other: all go on when the last one has come.
#pragma once

#include <cstddef>
#include <functional>
#include <utility>

#include "models/sim/task.hpp"

namespace faultline::workloads {

class Gathering {
 public:
  // `complete`, if there is one, is awaited when all have come, before any of them goes on.
  Gathering(sim::EventLoop& loop, std::size_t expected, std::function<sim::Task<void>()> complete = {})
      : missing_(expected), complete_(std::move(complete)), all_here_(loop) {}

  sim::Task<void> come() {
    if (--missing_ == 0) co_await let_go();
    while (!gone_) co_await all_here_;  // NOLINT(bugprone-infinite-loop): let_go() ends it
  }
  // One of those that are expected does not come. `tasks` run what the last one would have.
  void stay_away(sim::TaskGroup& tasks) {
    if (--missing_ == 0) tasks.start(let_go());
  }

 private:
  sim::Task<void> let_go() {
    if (complete_) co_await complete_();
    gone_ = true;
    all_here_.notify_all();
  }

  std::size_t missing_;
  bool gone_ = false;
  std::function<sim::Task<void>()> complete_;
  sim::Signal all_here_;
};

}  // namespace faultline::workloads
