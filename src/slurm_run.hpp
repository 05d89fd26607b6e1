// SPDX-License-Identifier: Apache-2.0
// 'faultline run --on slurm': a run's points by workers that are the tasks of a Slurm job array.
#pragma once

#include <vector>

#include "src/application.hpp"
#include "src/experiment/experiment.hpp"

namespace faultline::app {

// Submits workers for the points that are not run, unless those of an earlier start are still in the queue,
// and follows the job to its end. Points at which a task has died get a result that says so. False: interrupted; the
// job goes on. Throws UserError where Slurm is missing or refuses, and where the tasks do not see the store's folder.
bool simulate_on_slurm(const experiment::Experiment& experiment, runs::PointStore& store,
                       std::vector<runs::PointOutcome>& outcomes, const Call& call);

}  // namespace faultline::app
