// SPDX-License-Identifier: Apache-2.0
// What a run left in its folder, read back.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "src/experiment/expansion.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

// Of results.json, in meta.json.
inline constexpr const char* kResultsChecksum = "results_json_crc32";
// Throws UserError, with what to do, where the folder has no results, or they are damaged.
void check_results(const runs::Folder& folder);

// The experiment of a run folder, and who set which of its parameters ("platform exanest-qfdb, line 7").
struct EffectiveExperiment {
  experiment::Experiment experiment;
  std::map<std::string, std::string> set_by;
};
// Throws UserError as experiment_in() does.
EffectiveExperiment read_effective(const runs::Folder& folder, const runs::Manifest& manifest,
                                   const experiment::ConfigLibrary& library, const experiment::Simulator& simulator);

// Calls `each` with every point of results.json in its order, without settings and id, and the share of the file that
// has been read. A point is forgotten when `each` returns: a large sweep's file does not fit in memory.
using EachPoint = std::function<void(experiment::Point point, runs::PointOutcome outcome, double share)>;
void read_results(const runs::Folder& folder, const experiment::Experiment& experiment, const EachPoint& each);

}  // namespace faultline::results
