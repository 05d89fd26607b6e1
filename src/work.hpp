// SPDX-License-Identifier: Apache-2.0
// What 'faultline run' and 'faultline worker' do alike: simulate points of a run folder that others may be at work in.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "src/application.hpp"
#include "src/runs/claimed_points.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {

struct Work {
  std::vector<std::size_t> missing;  // of the store's points
  runs::ClaimedPoints::Others others;
  unsigned jobs;
  bool quiet;
  bool log = false;  // into the run folder
};

// Simulates what is missing and nobody else is at, keeps each result in the store, and hands it on. Ends early when a
// result cannot be kept: hours whose results nobody can keep are lost. Returns what this process has done.
runs::WorkerState work_on(const Work& work, runs::PointStore& store, const Call& call,
                          const std::function<void(std::size_t index, runs::PointOutcome outcome)>& ended);

// Of points' files.
void tell_damage(const std::vector<std::string>& files, const Console& console);

}  // namespace faultline::app
