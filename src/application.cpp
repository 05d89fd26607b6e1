// SPDX-License-Identifier: Apache-2.0
#include "src/application.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "faultline_build.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/runs/progress.hpp"
#include "src/work.hpp"

namespace faultline::app {
namespace {

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
  const experiment::ConfigLibrary library = experiment::ConfigLibrary::find(options.configs);
  if (options.verbose)
    console.err << "configs: " << (library.folder().empty() ? "none found" : library.folder().string()) << "\n";
  if (options.command == "run") return run_command(options, library, simulator, console, arguments);
  if (options.command == "worker") return worker_command(options, library, simulator, console);
  if (options.command == "sensitivity") return sensitivity_command(options, library, simulator, console, arguments);
  if (options.command == "plot") return plot_command(options, console);
  if (options.command == "status") return status_command(options, console);
  if (options.command == "query") return query_command(options, console);
  if (options.command == "diff") return diff_command(options, console);
  if (options.command == "report") return report_command(options, library, simulator, console);
  if (options.command == "list") return list_command(options, library, simulator, console);
  if (options.command == "config") return config_command(options, library, simulator, console);
  if (options.command == "validate") return validate_command(options, library, simulator, console);
  throw std::logic_error("nothing does the command " + options.command);
}

// All of `missing`, whoever else is at them: without a folder, or because what is asked for is this run's host time.
void simulate_alone(const std::vector<experiment::Point>& points, const std::vector<std::size_t>& missing,
                    const Options& options, const experiment::Simulator& simulator, const Console& console,
                    runs::PointStore* store, const std::function<void(std::size_t, runs::PointOutcome)>& ended) {
  const auto one = [&](std::size_t index, const runs::Heartbeat& heartbeat) {
    if (store != nullptr) store->leave();
    return simulate(points[index], simulator, {heartbeat, options.profile, {}});
  };
  const auto keep = [&](std::size_t index, runs::PointOutcome outcome) {
    if (store != nullptr) store->keep(points[index], outcome);
    ended(index, std::move(outcome));
    return store == nullptr || store->failure().empty();
  };
  runs::Progress progress(console.err, console.err_is_terminal ? console.err_width : 0, points.size(),
                          runs::Progress::Clock::now(), "points", points.size() - missing.size());
  runs::run_points(runs::each_of(missing), one, {options.jobs, options.timeout}, keep,
                   [&](const runs::Standing& standing) {
                     if (!options.quiet) progress.update(standing, runs::Progress::Clock::now());
                   });
}

}  // namespace

int run_application(const std::vector<std::string>& arguments, const experiment::Simulator& simulator,
                    const Console& console) {
  try {
    const int code = dispatch(arguments, simulator, console);
    console.out.flush();
    if (!console.out) {
      console.err << "faultline: standard output cannot be written\n";
      return kUsage;
    }
    return code;
  } catch (const experiment::UserError& error) {
    console.err << experiment::printable(error.what()) << "\n";
    return kUsage;
  } catch (const std::filesystem::filesystem_error& error) {
    console.err << "faultline: " << experiment::printable(error.what()) << "\n";
    return kUsage;
  } catch (const std::bad_alloc&) {
    console.err << "faultline: the host has no memory left\n";
    return kUsage;
  } catch (const std::exception& error) {
    console.err << "faultline: a bug of the simulator, please report it: " << experiment::printable(error.what())
                << "\n";
    return kBug;
  }
}

std::vector<experiment::Point> expand(experiment::Experiment experiment, const Options& options,
                                      const experiment::Simulator& simulator, const Console& console) {
  experiment.most_points = options.most_points.value_or(experiment.most_points);
  return expand(experiment, simulator, planning(options, console, "combinations"));
}

experiment::Planned planning(const Options& options, const Console& console, const std::string& what) {
  if (options.quiet) return {};
  const auto progress = std::make_shared<std::optional<runs::Progress>>();
  return [&console, progress, what, start = runs::Progress::Clock::now()](std::size_t planned, std::size_t all) {
    if (!*progress) progress->emplace(console.err, console.err_is_terminal ? console.err_width : 0, all, start, what);
    (*progress)->update({.done = planned}, runs::Progress::Clock::now());
  };
}

workloads::PointResult simulate(const experiment::Point& point, const experiment::Simulator& simulator,
                                const workloads::Watch& watch) {
  return configure(point, simulator)->run(point.seed, watch);
}

std::vector<runs::PointOutcome> simulate_points(const std::vector<experiment::Point>& points, const Options& options,
                                                const experiment::Simulator& simulator, const Console& console,
                                                runs::PointStore* store, std::optional<KnownOutcome> known) {
  std::vector<runs::PointOutcome> outcomes(points.size());
  std::vector<std::size_t> missing;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (known && known->first == i && is_final(known->second) && !options.profile) {
      outcomes[i] = std::move(known->second);
      continue;
    }
    // A profile is of this run's host time.
    auto found = store == nullptr || options.profile ? std::nullopt : store->find(points[i]);
    if (found) {
      outcomes[i] = std::move(*found);
    } else {
      missing.push_back(i);
    }
  }
  const auto there = std::ranges::count_if(outcomes, [](const runs::PointOutcome& o) { return o.there; });
  if (there > 0 && !options.quiet) {
    console.err << fmt::format("{} of {} points are there already\n", there, points.size());
  }
  if (options.verbose) console.err << fmt::format("{} points, {} at a time\n", missing.size(), options.jobs);
  const auto ended = [&](std::size_t index, runs::PointOutcome outcome) { outcomes[index] = std::move(outcome); };
  if (store == nullptr || options.profile) {
    simulate_alone(points, missing, options, simulator, console, store, ended);
  } else {
    work_on({points, missing, runs::ClaimedPoints::Others::wait, options.jobs, options.timeout, options.quiet}, *store,
            simulator, console, ended);
  }
  // What workers have done, and a profile that was interrupted.
  for (std::size_t i = 0; store != nullptr && i < points.size(); ++i) {
    if (outcomes[i].status == runs::PointStatus::not_run)
      outcomes[i] = result_in(store->folder(), points[i].id).outcome.value_or(runs::PointOutcome{});
  }
  return outcomes;
}

int exit_code(const std::vector<runs::PointOutcome>& outcomes, bool interrupted) {
  const auto any = [&](auto test) { return std::ranges::any_of(outcomes, test); };
  if (interrupted) return kInterrupted;
  if (any([](const runs::PointOutcome& o) { return o.status == runs::PointStatus::bug; })) return kBug;
  if (any([](const runs::PointOutcome& o) { return o.status != runs::PointStatus::complete; })) return kUsage;
  if (any([](const runs::PointOutcome& o) { return !o.result.failed_checks.empty(); })) return kCheckFailed;
  return kFine;
}

}  // namespace faultline::app
