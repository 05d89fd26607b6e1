// SPDX-License-Identifier: Apache-2.0
// The program without main(): arguments in, text and an exit code out.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "src/command_line.hpp"
#include "src/experiment/config_library.hpp"
#include "src/experiment/expansion.hpp"
#include "src/experiment/simulator.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/point_store.hpp"

namespace faultline::app {

enum ExitCode : int { kFine = 0, kCheckFailed = 1, kUsage = 2, kBug = 3, kInterrupted = 130 };

// Results go to `out`; messages, progress and hints to `err`.
struct Console {
  std::ostream& out;
  std::ostream& err;
  bool err_is_terminal = false;
  std::size_t width = 160;      // of `out`
  std::size_t err_width = 160;  // of `err`
};

// Never throws.
int run_application(const std::vector<std::string>& arguments, const experiment::Simulator& simulator,
                    const Console& console);

// One command each; they throw UserError.
int run_command(Options options, const experiment::ConfigLibrary& library, const experiment::Simulator& simulator,
                const Console& console, const std::vector<std::string>& arguments);
int worker_command(const Options& options, const experiment::ConfigLibrary& library,
                   const experiment::Simulator& simulator, const Console& console);
int sensitivity_command(const Options& options, const experiment::ConfigLibrary& library,
                        const experiment::Simulator& simulator, const Console& console,
                        const std::vector<std::string>& arguments);
int plot_command(const Options& options, const Console& console);
int list_command(const Options& options, const experiment::ConfigLibrary& library,
                 const experiment::Simulator& simulator, const Console& console);
int config_command(const Options& options, const experiment::ConfigLibrary& library,
                   const experiment::Simulator& simulator, const Console& console);
int query_command(const Options& options, const Console& console);
int diff_command(const Options& options, const Console& console);
int status_command(const Options& options, const Console& console);
int report_command(const Options& options, const experiment::ConfigLibrary& library,
                   const experiment::Simulator& simulator, const Console& console);
int validate_command(const Options& options, const experiment::ConfigLibrary& library,
                     const experiment::Simulator& simulator, const Console& console);

// The experiment's points, --max-points at most, with progress on the console's `err`.
std::vector<experiment::Point> expand(experiment::Experiment experiment, const Options& options,
                                      const experiment::Simulator& simulator, const Console& console);

// Tells on the console's `err` how many of something are planned, where that takes two seconds.
experiment::Planned planning(const Options& options, const Console& console, const std::string& what);

// One point, in this process.
workloads::PointResult simulate(const experiment::Point& point, const experiment::Simulator& simulator,
                                const workloads::Watch& watch);

// Runs the points with progress on the console's `err`. With a store: those that it does not have, and keeps each.
// `known`: a point whose outcome there is already.
using KnownOutcome = std::pair<std::size_t, runs::PointOutcome>;
std::vector<runs::PointOutcome> simulate_points(const std::vector<experiment::Point>& points, const Options& options,
                                                const experiment::Simulator& simulator, const Console& console,
                                                runs::PointStore* store = nullptr,
                                                std::optional<KnownOutcome> known = {});

// What a command makes of its points' outcomes instead of the tables that the experiment asks for.
struct OwnTables {
  std::function<void(runs::Folder& folder, const std::vector<runs::PointOutcome>& outcomes)> write;  // beside results.*
  std::function<void(const std::vector<runs::PointOutcome>& outcomes)> print;
};

// Simulates the points into a run folder, or goes on with one, and prints what has come of them.
int run_in_folder(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                  const Options& options, const experiment::Simulator& simulator, const Console& console,
                  const std::vector<std::string>& arguments, const OwnTables& own = {});

// The worst that happened to any point.
int exit_code(const std::vector<runs::PointOutcome>& outcomes, bool interrupted);

}  // namespace faultline::app
