// SPDX-License-Identifier: Apache-2.0
// An experiment as its file says, with the platform and strategies that it names read in. Everything
// about the text has been checked; whether values go together is the expansion's business.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "src/experiment/axes.hpp"
#include "src/experiment/conditions.hpp"
#include "src/experiment/config_library.hpp"
#include "src/experiment/labels.hpp"
#include "src/experiment/settings.hpp"
#include "src/experiment/simulator.hpp"
#include "src/experiment/slurm_settings.hpp"

namespace faultline::experiment {

using Strategy = Preset;  // resolved

enum class View { points, matrix, verdict, breakdown };

struct ReportSpec {
  View view = View::points;
  std::vector<std::string> columns;       // points: metrics, empty for the usual ones
  std::string metric = "latency_mean";    // matrix
  std::string rows;                       // matrix, verdict: an axis; empty for the first
  std::string columns_axis = "strategy";  // matrix, verdict: an axis or "strategy"
  std::string baseline;                   // matrix: show values relative to this strategy's; empty: as they are
  // verdict: only the points that have this value on this axis (or this strategy); empty: all.
  std::string only_axis = {};
  std::string only_value = {};
  Place only_place = {};
};

// More points than these are a slip in an axis, unless somebody says that they are meant.
inline constexpr std::size_t kMostPoints = 1'000'000;

struct Experiment {
  std::string name;  // the file's, without folder and ".toml"
  std::string file;
  std::string question;
  std::string platform;  // empty: the defaults
  std::vector<std::string> platform_bases;
  std::string command = "run";  // whose points these are: another one's are more than the axes give
  std::uint64_t seed = 1;
  unsigned repetitions = 1;  // of each combination, with the seeds from `seed` on
  std::size_t most_points = kMostPoints;
  Settings platform_settings;
  Settings parameters;
  std::vector<Strategy> strategies;  // at least one
  std::vector<Axis> axes;
  std::shared_ptr<const Labels> labels = std::make_shared<const Labels>();  // of their values
  std::vector<Skip> skips;
  Settings overrides;  // --set
  std::vector<ReportSpec> reports;
  SlurmSettings slurm;

  // What is set, lowest first; axes are between the last two.
  std::vector<const Settings*> layers() const;
  // In the order in which they are named; empty: one without a name.
  std::vector<std::string> programs() const;
  // With every parameter at its default, and those of programs that it names.
  std::unique_ptr<Machine> machine(const Simulator& simulator) const;
  // What its points can measure: of each program its own.
  std::vector<workloads::MetricDoc> metrics(const Simulator& simulator) const;
  // The metric of this name, or where each program has its own the first program's.
  std::string metric_or_first(const std::string& metric, const Simulator& simulator) const;

  // Of one of `strategies`: its place there. Throws std::logic_error where it is none of them.
  std::size_t place_of_strategy(const std::string& strategy) const;
  const Strategy& strategy_named(const std::string& strategy) const { return strategies[place_of_strategy(strategy)]; }
};

// Reads the file and what it names, checks every key and value against the declarations, and throws a
// UserError with all mistakes at once. --set shrinks an axis of the same key to the one value. Of axes that are
// zipped all must be set or none, and the group is then one combination; of sampled ones each may, and the others keep
// what was drawn.
Experiment read_experiment(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                           const ConfigLibrary& library, const Simulator& simulator);
// Likewise from an already parsed table.
Experiment read_experiment(const Node& file, const std::string& name, const std::vector<std::string>& overrides,
                           const ConfigLibrary& library, const Simulator& simulator);

// What every combination has: platform, parameters and workload of a table. `origin`: who sets them, for people.
void read_common(const Node& file, const std::string& origin, const ConfigLibrary& library, Experiment& experiment,
                 Diagnostics& diagnostics);

// A table of what a strategy sets and is based on, which is not resolved; its name is the table's key.
Preset read_own_strategy(const Node& table, Diagnostics& diagnostics);

// Every value against the declarations, layer by layer.
void check_values(const Experiment& experiment, const Simulator& simulator, Diagnostics& diagnostics);

}  // namespace faultline::experiment
