// SPDX-License-Identifier: Apache-2.0
// The program without main(): arguments in, text and an exit code out.
#pragma once

#include <cstddef>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "src/command_line.hpp"
#include "src/experiment/config_library.hpp"
#include "src/experiment/expansion.hpp"
#include "src/experiment/simulator.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/point_store.hpp"
#include "src/runs/progress.hpp"

namespace faultline::app {

enum ExitCode : int { kFine = 0, kCheckFailed = 1, kUsage = 2, kBug = 3, kInterrupted = 130 };

// Results go to `out`; messages, progress and hints to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  std::size_t width = 160;      // of `out`
  std::size_t err_width = 160;  // of `err`

  std::size_t err_columns() const { return err_is_terminal ? err_width : 0; }  // 0: no terminal
};

// Never throws.
int run_application(const std::vector<std::string>& arguments, const experiment::Simulator& simulator,
                    const Console& console);

// One call of the program: what each command works with.
struct Call {
  const std::vector<std::string>& arguments;
  const Options& options;
  const experiment::ConfigLibrary& library;
  const experiment::Simulator& simulator;
  const Console& console;
};

// One command each; they throw UserError.
int run_command(const Call& call);
int worker_command(const Call& call);
int sensitivity_command(const Call& call);
int plot_command(const Call& call);
int list_command(const Call& call);
int config_command(const Call& call);
int query_command(const Call& call);
int diff_command(const Call& call);
int status_command(const Call& call);
int report_command(const Call& call);
int validate_command(const Call& call);

// The seeds that the command line asks for, instead of the experiment's.
void choose_seeds(experiment::Experiment& experiment, const Options& options);
// The experiment that the command line names, with its --set and choose_seeds(). Throws UserError, also where a file
// that this program has written down is damaged, or was changed.
experiment::Experiment named_experiment(const Call& call);

// The experiment's points, --max-points at most, with progress on the console's `err`.
std::vector<experiment::Point> expand(experiment::Experiment experiment, const Call& call);

// Tells on the console's `err` how many of something are planned, where that takes two seconds.
experiment::Planned planning(const Call& call, const std::string& what);

// Of something counted, with `there` of them before the start.
runs::Progress progress_of(const Call& call, std::size_t total, const std::string& what = "points",
                           std::size_t there = 0);

// One point, in this process.
workloads::PointResult simulate(const experiment::Point& point, const experiment::Simulator& simulator,
                                const workloads::Watch& watch);

// Runs points without a folder, with progress on the console's `err`.
std::vector<runs::PointOutcome> simulate_points(const std::vector<experiment::Point>& points, const Call& call);
// The store's points that are not run yet; with --profile, which is of this run's host time, all. Keeps each.
void simulate_missing(runs::PointStore& store, std::vector<runs::PointOutcome>& outcomes, const Call& call);

// What a command makes of its points' outcomes instead of the tables that the experiment asks for.
struct OwnTables {
  std::function<void(runs::Folder& folder, const std::vector<runs::PointOutcome>& outcomes)> write;  // beside results.*
  std::function<void(const std::vector<runs::PointOutcome>& outcomes)> print;
};

// Simulates the points into a run folder, or goes on with one, and prints what has come of them.
int run_in_folder(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                  const Call& call, const OwnTables& own = {});

// The worst that happened to any point.
int exit_code(const std::vector<runs::PointOutcome>& outcomes, bool interrupted);

}  // namespace faultline::app
