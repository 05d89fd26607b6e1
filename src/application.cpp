// SPDX-License-Identifier: Apache-2.0
#include "src/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "faultline_build.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/remarks.hpp"
#include "src/runs/cost_estimate.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/worker_record.hpp"

namespace faultline::app {
namespace {

using Clock = runs::Progress::Clock;

std::string version_line() {
  return fmt::format("faultline {} (commit {}, {}, {}, SystemC {})\n", build::kVersion, build::commit(),
                     build::kCompiler, build::kBuildType, build::kSystemcVersion);
}

int dispatch(const std::vector<std::string>& arguments, const experiment::Simulator& simulator,
             const Console& console) {
  const Options options = parse_command_line(arguments);
  if (options.version) {
    console.out << version_line();
    return kFine;
  }
  if (options.command == "help" || options.help) {
    const bool general = options.command == "help" && (options.arguments.empty() || options.help);
    console.out << (general ? general_help()
                            : command_help(options.help ? options.command : options.arguments.front()));
    return kFine;
  }
  const auto library = experiment::ConfigLibrary::find(options.configs);
  if (options.verbose)
    console.err << "configs: " << (library.folder().empty() ? "none found" : library.folder().string()) << "\n";
  static const std::map<std::string, int (*)(const Call&)> kCommands{
      {"run", run_command},       {"worker", worker_command},     {"sensitivity", sensitivity_command},
      {"plot", plot_command},     {"status", status_command},     {"query", query_command},
      {"diff", diff_command},     {"report", report_command},     {"list", list_command},
      {"config", config_command}, {"validate", validate_command}, {"explain", explain_command},
      {"quiz", quiz_command}};
  return kCommands.at(options.command)({arguments, options, library, simulator, console});
}

// `simulates`: a point, in its own process.
void simulate_alone(const std::vector<experiment::Point>& points, const std::vector<std::size_t>& missing,
                    const Call& call, const runs::PointFunction& simulates, const runs::OutcomeFunction& ended) {
  auto progress = progress_of(call, points.size(), "points", points.size() - missing.size());
  const std::vector<runs::PlannedPoint> plan = runs::planned(points);
  runs::CostEstimate costs(plan);
  const auto keep = [&](std::size_t index, runs::PointOutcome outcome) {
    costs.ended(index, outcome.host_seconds, /*stands_for_all=*/false);
    return ended(index, std::move(outcome));
  };
  runs::run_points(runs::each_of(telling_order(plan, missing)), simulates, {call.options.jobs, call.options.timeout},
                   keep, [&](runs::Standing standing) {
                     if (call.options.quiet) return;
                     standing.seconds_left = costs.seconds_left(standing.at, call.options.jobs);
                     progress.update(standing, Clock::now());
                   });
}

constexpr auto kBetweenLooks = std::chrono::seconds(10);

// What others have simulated since.
void look_at_others(const runs::PointStore& store, runs::CostEstimate& costs) {
  const std::set<std::string> files = store.folder().names_in("points");
  for (std::size_t i = 0; i < store.points().size(); ++i) {
    const std::string& id = store.points()[i].id;
    if (costs.is_done(i) || !files.contains(id + ".json")) continue;
    const auto outcome = result_in(store.folder(), id).outcome;
    if (outcome) costs.ended(i, outcome->host_seconds, stands_for_all(*outcome));
  }
}

}  // namespace

int run_application(const std::vector<std::string>& arguments, const experiment::Simulator& simulator,
                    const Console& console) {
  const auto tell = [&](const std::string& what, int code) {
    console.err << experiment::printable(what) << "\n";
    return code;
  };
  try {
    const int code = dispatch(arguments, simulator, console);
    console.out.flush();
    return console.out ? code : tell("faultline: standard output cannot be written", kUsage);
  } catch (const UserError& error) {
    return tell(error.what(), kUsage);
  } catch (const std::filesystem::filesystem_error& error) {
    return tell(std::string("faultline: ") + error.what(), kUsage);
  } catch (const std::bad_alloc&) {
    console.err << "faultline: the host has no memory left\n";
    return kUsage;
  } catch (const std::exception& error) {
    return tell(std::string("faultline: a bug of the simulator, please report it: ") + error.what(), kBug);
  }
}

void choose_seeds(experiment::Experiment& experiment, const Options& options) {
  experiment.seed = options.seed.value_or(experiment.seed);
  experiment.repetitions = options.repetitions.value_or(experiment.repetitions);
}

experiment::Experiment named_experiment(const Call& call) {
  const auto path = call.library.resolve_experiment(call.options.arguments.front());
  runs::check_own_toml(path);
  auto experiment = read_experiment(path, call.options.overrides, call.library, call.simulator);
  choose_seeds(experiment, call.options);
  if (!call.options.quiet) {
    for (const std::string& line : implausible_values(experiment, call.simulator)) call.console.err << line << "\n";
  }
  return experiment;
}

std::vector<experiment::Point> expand(experiment::Experiment experiment, const Call& call) {
  experiment.most_points = call.options.most_points.value_or(experiment.most_points);
  return expand(experiment, call.simulator, planning(call, "combinations"));
}

experiment::Planned planning(const Call& call, const std::string& what) {
  if (call.options.quiet) return {};
  const auto progress = std::make_shared<std::optional<runs::Progress>>();
  return [&console = call.console, progress, what, start = Clock::now()](std::size_t planned, std::size_t all) {
    if (!*progress) progress->emplace(console.err, console.err_columns(), all, start, what);
    (*progress)->update({.done = planned}, Clock::now());
  };
}

runs::Progress progress_of(const Call& call, std::size_t total, const std::string& what, std::size_t there) {
  return {call.console.err, call.console.err_columns(), total, Clock::now(), what, there};
}

workloads::PointResult simulate(const experiment::Point& point, const experiment::Simulator& simulator,
                                const workloads::Watch& watch) {
  return configure(point, simulator)->run(point.seed, watch);
}

std::vector<runs::PointOutcome> simulate_points(const std::vector<experiment::Point>& points, const Call& call,
                                                const std::optional<workloads::StoryRequest>& story) {
  std::vector<runs::PointOutcome> outcomes(points.size());
  const auto ended = [&](std::size_t index, runs::PointOutcome outcome) {
    outcomes[index] = std::move(outcome);
    return true;
  };
  const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
    return simulate(points[index], call.simulator, {heartbeat, call.options.profile, /*trace=*/{}, story});
  };
  simulate_alone(points, not_run(outcomes), call, one, ended);
  return outcomes;
}

void simulate_missing(runs::PointStore& store, std::vector<runs::PointOutcome>& outcomes, const Call& call) {
  const Options& options = call.options;
  const auto missing = not_run(options.profile ? std::vector<runs::PointOutcome>(outcomes.size()) : outcomes);
  const std::size_t there = outcomes.size() - missing.size();
  if (there > 0 && !options.quiet)
    call.console.err << fmt::format("{} of {} points are there already\n", there, outcomes.size());
  if (options.verbose) call.console.err << fmt::format("{} points, {} at a time\n", missing.size(), options.jobs);
  const auto ended = [&](std::size_t index, runs::PointOutcome outcome) { outcomes[index] = std::move(outcome); };
  const auto keep = [&](std::size_t index, runs::PointOutcome outcome) {
    store.keep(index, outcome);
    ended(index, std::move(outcome));
    return store.failure().empty();
  };
  if (options.profile) {  // whoever else is at them
    const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
      store.leave();
      return simulate(store.points()[index], call.simulator, {heartbeat, /*profile=*/true});
    };
    simulate_alone(store.points(), missing, call, one, keep);
  } else {
    work_on({missing, runs::ClaimedPoints::Others::wait, options.jobs, options.quiet}, store, call, ended);
  }
  store.read_rest(outcomes);  // what workers have done
}

int exit_code(const std::vector<runs::PointOutcome>& outcomes, bool interrupted) {
  const auto any = [&](auto test) { return std::ranges::any_of(outcomes, test); };
  if (interrupted) return kInterrupted;
  if (any([](const runs::PointOutcome& o) { return o.status == runs::PointStatus::bug; })) return kBug;
  if (any([](const runs::PointOutcome& o) { return o.status != runs::PointStatus::complete; })) return kUsage;
  if (any([](const runs::PointOutcome& o) { return !o.result.failed_checks.empty(); })) return kCheckFailed;
  return kFine;
}

namespace fs = std::filesystem;

void check_output(const std::string& option, const fs::path& file, const std::string& what,
                  const std::function<bool(std::string_view)>& is_alike) {
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return;
  const auto refuse = [&](const std::string& why) { throw UserError("{}: {}: {}", file.string(), option, why); };
  if (fs::is_directory(file, ignored)) refuse("is a folder; name a file");
  if (!fs::is_regular_file(file, ignored)) refuse("is no regular file; name another");
  std::array<char, 64> first{};
  std::ifstream in(file, std::ios::binary);
  if (!in) refuse("is there and cannot be read; name another file");
  in.read(first.data(), first.size());
  const std::string_view begin(first.data(), static_cast<std::size_t>(in.gcount()));
  if (!begin.empty() && !is_alike(begin)) refuse("is there and is no " + what + "; name another file");
}

runs::WorkerState work_on(const Work& work, runs::PointStore& store, const Call& call,
                          const std::function<void(std::size_t, runs::PointOutcome)>& ended) {
  const std::vector<experiment::Point>& points = store.points();
  const std::vector<runs::PlannedPoint> plan = runs::planned(points);
  runs::ClaimedPoints claims(store, telling_order(plan, work.missing), work.others);
  runs::CostEstimate costs(plan);
  std::vector<bool> is_missing(points.size());
  for (const std::size_t index : work.missing) is_missing[index] = true;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!is_missing[i]) costs.is_there(i);
  }
  runs::WorkerRecord record(store.folder(), work.jobs);
  std::optional<runs::WorkerLog> log;
  if (work.log) log.emplace(store.folder(), record.state());
  const auto next = [&] {
    const runs::NextPoint found = claims.next();
    if (found.what != runs::NextPoint::What::point) return found;
    const experiment::Point& point = points[found.index];
    record.begins(point.id, point.label());
    if (log) log->begins(point.label());
    return found;
  };
  const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
    store.leave();
    return simulate(points[index], call.simulator, {heartbeat, /*profile=*/false, /*trace=*/{}});
  };
  const auto keep = [&](std::size_t index, runs::PointOutcome outcome) {
    store.keep(index, outcome);
    claims.let_go(index);
    costs.ended(index, outcome.host_seconds, stands_for_all(outcome));
    record.ended(points[index].id, outcome.status != runs::PointStatus::complete);
    if (log) log->ended(points[index].label(), outcome);
    ended(index, std::move(outcome));
    return store.failure().empty();
  };
  const std::size_t there = points.size() - work.missing.size();
  auto progress = progress_of(call, points.size(), "points", there);
  double jobs = work.jobs;
  std::string silent;
  Clock::time_point looked;
  runs::run_points(next, one, {work.jobs, call.options.timeout}, keep, [&](runs::Standing standing) {
    const auto now = Clock::now();
    record.keep();
    claims.have_drawn(standing.drawing);
    if (!work.quiet && now - looked > kBetweenLooks) {
      looked = now;
      silent = silent_workers(store.folder());
      jobs = std::max<double>(work.jobs, jobs_at_work(store.folder()));
      if (jobs > work.jobs) look_at_others(store, costs);
    }
    standing.elsewhere = silent;
    if (log) log->heartbeat(standing, record.state(), now);
    standing.done = costs.done() - there;
    standing.shared = costs.shared();
    if (work.quiet) return;
    standing.seconds_left = costs.seconds_left(standing.at, jobs);
    progress.update(standing, now);
  });
  if (log) log->ends(record.state());
  return record.state();
}

void tell_damage(const std::vector<std::string>& files, const Console& console) {
  for (const std::string& file : files) console.err << file << ": was damaged; its point is simulated again\n";
}

}  // namespace faultline::app
