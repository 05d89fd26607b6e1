// SPDX-License-Identifier: Apache-2.0
// The program without main(): arguments in, text and an exit code out.
#pragma once

#include <cstddef>
#include <filesystem>
#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "src/command_line.hpp"
#include "src/experiment/config_library.hpp"
#include "src/experiment/expansion.hpp"
#include "src/experiment/experiment.hpp"
#include "src/experiment/simulator.hpp"
#include "src/runs/claimed_points.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/point_store.hpp"
#include "src/runs/progress.hpp"
#include "src/runs/worker_record.hpp"

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
int explain_command(const Call& call);
int quiz_command(const Call& call);

// The seeds that the command line asks for, instead of the experiment's.
void choose_seeds(experiment::Experiment& experiment, const Options& options);
// The experiment that the command line names, with its --set and choose_seeds(). Prints a remark for each value that is
// beyond what is plausible on the console's `err`, unless --quiet is given. Throws UserError, also where a file that
// this program has written down is damaged, or was changed.
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

// Runs points without a folder, with progress on the console's `err`; with `story` only as far as that goes.
std::vector<runs::PointOutcome> simulate_points(const std::vector<experiment::Point>& points, const Call& call,
                                                const std::optional<workloads::StoryRequest>& story = {});
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

// New, empty, or one whose first bytes `is_alike` knows as of the kind that is to be written: nothing else is written
// over. Throws UserError that names the option; `what`: "trace".
void check_output(const std::string& option, const std::filesystem::path& file, const std::string& what,
                  const std::function<bool(std::string_view)>& is_alike);

// Prints the points, the first one's configuration, and an estimate from a few of them that are simulated.
int dry_run(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points, const Call& call);

// Submits workers for the points that are not run, unless those of an earlier start are still in the queue,
// and follows the job to its end. Points at which a task has died get a result that says so. False: interrupted; the
// job goes on. Throws UserError where Slurm is missing or refuses, and where the tasks do not see the store's folder.
bool simulate_on_slurm(const experiment::Experiment& experiment, runs::PointStore& store,
                       std::vector<runs::PointOutcome>& outcomes, const Call& call);

// The point that `name` is of: its number in the list, or its id, or how that begins. Throws UserError, with the
// option's name and the list.
std::size_t named_point(const std::string& option, const std::string& name,
                        const std::vector<experiment::Point>& points);
// The point that is recorded: the only one, or the one that is named. Throws UserError with the list when there are
// several and none is.
std::size_t traced_point(const std::vector<experiment::Point>& points, const TraceOptions& options);

// Throws UserError when a file cannot be made: before hours of simulation, not after.
void check_trace_files(const TraceOptions& options);

// Simulates the point for its trace, whether its outcome is there or not, and keeps a final one that is not. Says on
// the console what was recorded, or why it ends early: then `is_written` is false. False: interrupted.
bool record(std::size_t index, runs::PointStore& store, std::vector<runs::PointOutcome>& outcomes, const Call& call,
            bool& is_written);

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
