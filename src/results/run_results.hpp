// SPDX-License-Identifier: Apache-2.0
// What a run left in its folder, read back.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <string>

#include "src/experiment/expansion.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/run_folder.hpp"

namespace faultline::app {

struct RunFacts {
  std::string experiment;
  std::string platform;  // empty: the defaults, or the run has not said it
  std::string version;   // of the program that simulated it
  std::string commit;
  std::size_t planned = 0;  // points
};

// Throws UserError, with what to do, where the folder holds no run, one of another format, or one without results.
RunFacts read_facts(const RunFolder& folder);

// The experiment of effective.toml, and who set which of its parameters ("platform exanest-qfdb, line 7").
struct EffectiveExperiment {
  Experiment experiment;
  std::map<std::string, std::string> set_by;
};
EffectiveExperiment read_effective(const RunFolder& folder, const ConfigLibrary& library, const Simulator& simulator);

// Calls `each` with every point of results.json in its order, without settings and id, and the share of the file that
// has been read. A point is forgotten when `each` returns: a large sweep's file does not fit in memory.
// Throws UserError where the file is damaged.
using EachPoint = std::function<void(Point point, PointOutcome outcome, double share)>;
void read_results(const RunFolder& folder, const Experiment& experiment, const EachPoint& each);

}  // namespace faultline::app
