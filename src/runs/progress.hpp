// SPDX-License-Identifier: Apache-2.0
// How far a run is: a bar with the time left on a terminal, a line now and then elsewhere, nothing for
// runs that end at once. With what has been simulated so far, and the rates in host time since the start.
#pragma once

#include <chrono>
#include <cstddef>
#include <ostream>
#include <string>

#include "src/runs/point_runner.hpp"

namespace faultline::app {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // columns: of the terminal; 0 if `out` is none. `what`: is counted.
  Progress(std::ostream& out, std::size_t columns, std::size_t total, Clock::time_point start,
           std::string what = "points")
      : out_(out), columns_(columns), total_(total), start_(start), what_(std::move(what)) {}
  // Wipes the bar, so that what follows stands on a clean line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void update(const Standing& standing, Clock::time_point now);

 private:
  void draw(std::size_t done, const std::string& text);

  std::ostream& out_;
  std::size_t columns_;
  std::size_t total_;
  Clock::time_point start_;
  std::string what_;
  Clock::time_point last_line_{};
  std::size_t last_done_ = 0;
  bool drawn_ = false;
};

// "0:42", "1:02:03"
std::string clock_text(double seconds);

}  // namespace faultline::app
