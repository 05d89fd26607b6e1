// SPDX-License-Identifier: Apache-2.0
// What 'faultline run' and 'faultline worker' do alike: simulate points of a run folder that others may be at work in.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "src/application.hpp"
#include "src/runs/claimed_points.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {

struct Work {
  const std::vector<experiment::Point>& points;
  std::vector<std::size_t> missing;  // of those
  runs::ClaimedPoints::Others others;
  unsigned jobs;
  std::optional<std::chrono::seconds> timeout;
  bool quiet;
  bool log = false;  // into the run folder
};

// Simulates what is missing and nobody else is at, keeps each result in the store, and hands it on. Ends early when a
// result cannot be kept: hours whose results nobody can keep are lost. Returns what this process has done.
runs::WorkerState work_on(const Work& work, runs::PointStore& store, const experiment::Simulator& simulator,
                          const Console& console,
                          const std::function<void(std::size_t index, runs::PointOutcome outcome)>& ended);

// Of points' files.
void tell_damage(const std::vector<std::string>& files, const Console& console);

}  // namespace faultline::app
