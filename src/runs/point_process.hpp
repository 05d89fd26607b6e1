// SPDX-License-Identifier: Apache-2.0
// The process that simulates one point.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <chrono>

#include "src/runs/point_runner.hpp"

namespace faultline::runs {

class PointProcess {
 public:
  // Forks. The child never returns from here.
  PointProcess(std::size_t index, const PointFunction& point);
  ~PointProcess();  // kills the child if it still runs, and waits for it
  PointProcess(PointProcess&& other) noexcept;
  PointProcess& operator=(PointProcess&&) = delete;

  std::size_t index() const { return index_; }
  // Readable when the child has written something or has ended.
  int descriptor() const { return result_; }
  // What the child has simulated as far as it has told.
  workloads::Totals last_beat() const;
  // Takes what can be read; true at the end of the child's text.
  bool drain();
  double seconds() const;  // since its start
  double resident_mib() const;
  // Ends the child, which has taken longer than it may.
  PointOutcome stop(std::chrono::seconds limit);
  // After drain() was true: waits for the child's end and says what became of the point.
  PointOutcome finish();

 private:
  // Shared with the child, which alone writes.
  struct Beat {
    std::atomic<std::uint64_t> events;
    std::atomic<std::uint64_t> cell_hops;
    std::atomic<std::uint64_t> simulated_ps;
    std::atomic<bool> draws;
    std::atomic<double> seconds_in_all;
    void tell(const workloads::Totals& totals);
  };
  static_assert(std::atomic<std::uint64_t>::is_always_lock_free);  // a lock would be each process's own

  std::size_t index_;
  pid_t process_ = -1;
  int result_ = -1;  // the pipe's end that is read
  int output_ = -1;  // the file that holds what the child printed
  Beat* beat_ = nullptr;
  std::string text_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace faultline::runs
