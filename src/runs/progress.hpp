// SPDX-License-Identifier: Apache-2.0
// How far a run is: a bar with the time left on a terminal, a line now and then elsewhere, nothing for
// runs that end at once. With what has been simulated so far, and how fast in host time.
#pragma once

#include <chrono>
#include <cstddef>
#include <nlohmann/json.hpp>
#include <ostream>
#include <string>

#include "src/runs/point_runner.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::runs {

class Progress {
 public:
  using Clock = std::chrono::steady_clock;

  // columns: of the terminal; 0 if `out` is none. `what`: is counted. `there`: of the total, before the start.
  Progress(std::ostream& out, std::size_t columns, std::size_t total, Clock::time_point start,
           std::string what = "points", std::size_t there = 0)
      : out_(out),
        columns_(columns),
        total_(total),
        there_(there),
        start_(start),
        what_(std::move(what)),
        last_done_(there) {}
  // Wipes the bar, so that what follows stands on a clean line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // standing.done: since the start.
  void update(const Standing& standing, Clock::time_point now);

 private:
  void draw(std::size_t done, const std::string& text);

  std::ostream& out_;
  std::size_t columns_;
  std::size_t total_;
  std::size_t there_;
  Clock::time_point start_;
  std::string what_;
  Clock::time_point last_line_{};
  std::size_t last_done_;
  bool drawn_ = false;
};

// "0:42", "1:02:03"
std::string clock_text(double seconds);

// "12.3 M events (4.1 M/s), 3.21 M cell-hops (1.07 M/s), 1.2 ms simulated (400 us/s)": three digits each, rates per
// second of host time.
std::string speed_text(const workloads::Totals& totals, double host_seconds);

// Adds totals and rates to an object. A rate in no time is null.
void add_speed(nlohmann::ordered_json& json, const workloads::Totals& totals, double host_seconds);

}  // namespace faultline::runs
