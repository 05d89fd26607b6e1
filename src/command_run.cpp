// SPDX-License-Identifier: Apache-2.0
// faultline run
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "faultline_build.hpp"
#include "src/application.hpp"
#include "src/dry_run.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/effective.hpp"
#include "src/results/database.hpp"
#include "src/results/idle_axes.hpp"
#include "src/results/profile_view.hpp"
#include "src/results/report.hpp"
#include "src/results/results_reader.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/schema.hpp"
#include "src/runs/folder.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/point_store.hpp"
#include "src/runs/process_name.hpp"
#include "src/runs/seal.hpp"
#include "src/runs/speed.hpp"
#include "src/slurm_run.hpp"
#include "src/traced_point.hpp"
#include "src/work.hpp"

namespace faultline::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct RunFacts {
  const std::vector<std::string>& arguments;
  const experiment::Experiment& experiment;
  unsigned jobs;
  std::time_t started;
  double seconds;
  std::size_t complete;
  bool interrupted;
};

// Everything about a run that may differ from one time to the next stands here and nowhere else.
std::string meta_json(const RunFacts& facts, const std::vector<experiment::Point>& points,
                      const std::vector<runs::PointOutcome>& outcomes, const std::string& results) {
  workloads::Totals totals;
  Json each = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (outcomes[i].status == runs::PointStatus::not_run) continue;
    if (!outcomes[i].there) totals += outcomes[i].totals;
    Json& point = each.emplace_back(Json{{"point", points[i].label()},
                                         {"host_seconds", outcomes[i].host_seconds},
                                         {"cpu_seconds", outcomes[i].cpu_seconds},
                                         {"peak_mib", outcomes[i].peak_mib}});
    runs::add_speed(point, outcomes[i].totals, outcomes[i].host_seconds);
  }
  Json json;
  json["program"] = "faultline";
  json["version"] = build::kVersion;
  json["commit"] = build::commit();
  json["compiler"] = build::kCompiler;
  json["build_type"] = build::kBuildType;
  json["systemc"] = build::kSystemcVersion;
  json["command"] = facts.arguments;
  json["experiment"] = facts.experiment.file;
  json["platform"] = facts.experiment.platform;
  json["seed"] = facts.experiment.seed;
  json["jobs"] = facts.jobs;
  json["host"] = runs::host_name();
  json["started"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(facts.started));
  json["host_seconds"] = facts.seconds;
  json["interrupted"] = facts.interrupted;
  json[results::kResultsChecksum] = runs::checksum_of(results);
  json["points"] = points.size();
  json["points_complete"] = facts.complete;
  json["points_final"] = std::ranges::count_if(outcomes, runs::is_final);
  json["points_there"] = std::ranges::count_if(outcomes, [](const runs::PointOutcome& o) { return o.there; });
  runs::add_speed(json, totals, facts.seconds);
  json["each_point"] = each;
  for (const auto& row : results::profile_by_part(outcomes)) {
    json["profile"].push_back({{"part", row.part},
                               {"events", row.events},
                               {"calls", row.calls},
                               {"host_seconds", static_cast<double>(row.host_ns) / 1e9}});
  }
  return runs::sealed_json(json, 2);
}

void print(const results::Results& results, Format format, const experiment::Simulator& simulator,
           const Console& console) {
  switch (format) {
    case Format::table:
      console.out << report_head(results) << "\n" << report_tables(results, console.width);
      for (const std::string& axis : idle_axes(results)) console.out << "(" << axis << " changed no metric)\n";
      break;
    case Format::json: console.out << results::results_json(results.points, results.outcomes); break;
    case Format::csv: console.out << results::results_csv(results.points, results.outcomes, simulator); break;
  }
  console.out.flush();
}

// A configuration that cannot work at run time gets its message with the place, as one of the files would.
void report_failures(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                     const std::vector<runs::PointOutcome>& outcomes, const Console& console) {
  experiment::Conflicts misconfigured(experiment.file);
  // One bug tends to hit every point: its first is enough, the results name them all.
  std::vector<std::pair<std::size_t, std::size_t>> told;  // the first point with an error, and how many have it
  for (std::size_t i = 0; i < points.size(); ++i) {
    const runs::PointOutcome& outcome = outcomes[i];
    if (outcome.status == runs::PointStatus::misconfigured) {
      misconfigured.add(points[i], outcome.result.error_keys, outcome.error);
    }
    const bool failed = outcome.status == runs::PointStatus::bug || outcome.status == runs::PointStatus::host_failed ||
                        outcome.status == runs::PointStatus::timed_out;
    if (!failed) continue;
    const auto known =
        std::ranges::find_if(told, [&](const auto& each) { return outcomes[each.first].error == outcome.error; });
    if (known == told.end()) {
      told.emplace_back(i, 1);
    } else {
      ++known->second;
    }
  }
  for (const auto& [first, count] : told) {
    const bool bug = outcomes[first].status == runs::PointStatus::bug;
    console.err << fmt::format("faultline: {}{}: {}{}\n", bug ? "a bug of the simulator, please report it: " : "",
                               points[first].label(), outcomes[first].error,
                               count > 1 ? fmt::format(" (and {} more point{})", count - 1, count > 2 ? "s" : "") : "");
  }
  experiment::Diagnostics diagnostics;
  misconfigured.tell(diagnostics);
  if (!diagnostics.empty()) console.err << diagnostics.text() << "\n";
}

// Why the run in a folder is another experiment's, so that its tables would be lost; empty where it goes on. Points of
// another build of the program have other ids, and the same labels.
std::string why_another(const runs::Folder& folder, const experiment::Experiment& experiment,
                        const std::vector<experiment::Point>& points) {
  if (const auto command = command_of(folder); command.value_or(experiment.command) != experiment.command)
    return fmt::format("is of 'faultline {}'", *command);
  const auto before = find_manifest(folder);
  if (before && before->experiment != experiment.name)
    return fmt::format("is of the experiment '{}'", before->experiment);
  std::set<std::string> known;
  const bool by_label = before && !is_of_this_program(*before);
  if (before) {
    for (const runs::Manifest::Entry& point : before->points) known.insert(by_label ? point.label : point.id);
  } else {  // the files that are there are all that is known
    for (const std::string& file : folder.names_in("points")) known.insert(fs::path(file).stem());
  }
  const auto is_known = [&](const experiment::Point& p) { return known.contains(by_label ? p.label() : p.id); };
  const bool goes_on = known.empty() || std::ranges::any_of(points, is_known);
  return goes_on ? "" : "has none of these points";
}

// Files of before are gone before the folder has other points.
void start_over(runs::Folder& folder, const std::string& manifest, const experiment::Experiment& experiment,
                const std::vector<experiment::Point>& points, const experiment::Simulator& simulator,
                const Options& options, const Console& console) {
  if (const std::string why = why_another(folder, experiment, points); !why.empty() && !options.replace) {
    throw experiment::UserError(
        fmt::format("{}: the run in it {}, and its tables would be lost; name another folder with --out, or "
                    "replace them with --replace",
                    folder.path().string(), why));
  }
  const auto before = folder.read(runs::Folder::kManifest);
  if (options.prepare && before && *before != manifest && folder.has("results.json") && !options.replace) {
    throw experiment::UserError(
        folder.path().string() +
        ": --prepare: has other points, whose tables would be lost; name another folder with --out, or "
        "replace them with --replace");
  }
  if (before && *before != manifest && !options.quiet) {
    console.err << folder.path().string() << " had other points; what is the same is used, its tables are replaced\n";
  }
  for (const char* file : {"meta.json", "results.json", "results.csv", results::kDatabaseFile}) folder.remove(file);
  for (const std::string& file : folder.names_in("")) {
    const bool is_table = file.ends_with(".json") || file.ends_with(".csv");
    if (is_table && (file.starts_with("sensitivity.") || file.starts_with("sensitivity-"))) folder.remove(file);
  }
  // What a run that was named by its folder has read says who set each value, which the run does not know.
  if (before == manifest && experiment.file == (folder.path() / "effective.toml").string()) return;
  folder.write(runs::Folder::kManifest, manifest);  // first: it says that the folder is a run's
  folder.write("effective.toml", sealed(effective_experiment(experiment, simulator), runs::kTomlSeal));
}

// For workers to come.
int prepare(runs::Folder& folder, runs::PointStore& store, const std::vector<experiment::Point>& points,
            const Options& options, const Console& console) {
  folder.keep();
  const auto there =
      std::ranges::count_if(points, [&](const experiment::Point& p) { return store.find(p).has_value(); });
  tell_damage(store.damaged(), console);
  console.out << folder.path().string() << "\n";
  if (!options.quiet) {
    console.err << fmt::format(
        "{} of {} points to do, by 'faultline worker {}'; then 'faultline run {}' makes the tables\n",
        points.size() - static_cast<std::size_t>(there), points.size(), folder.path().string(), folder.path().string());
  }
  return kFine;
}

std::vector<runs::PointOutcome> read_all(const runs::Folder& folder, const std::vector<experiment::Point>& points) {
  std::vector<runs::PointOutcome> outcomes;
  for (const experiment::Point& point : points)
    outcomes.push_back(result_in(folder, point.id).outcome.value_or(runs::PointOutcome{}));
  return outcomes;
}

// What the command line names: a run folder, which then goes on, or an experiment.
experiment::Experiment experiment_of(Options& options, const experiment::ConfigLibrary& library,
                                     const experiment::Simulator& simulator) {
  const std::string& named = options.arguments.front();
  const std::vector<std::string> shipped = library.names(experiment::ConfigKind::experiment);
  std::error_code ignored;
  if (!std::filesystem::is_directory(named, ignored) || std::ranges::find(shipped, named) != shipped.end()) {
    return read_experiment(library.resolve_experiment(named), options.overrides, library, simulator);
  }
  const runs::Folder folder = runs::Folder::look_at(named);
  const runs::Manifest manifest = read_manifest(folder);
  if (options.out.empty()) options.out = named;
  return experiment_in(folder, manifest, options.overrides, library, simulator);
}

// A folder that goes on by its name has the points that it was made with, unless other values are asked for.
void check_continued(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                     const Options& options) {
  const std::filesystem::path named = options.arguments.front();
  if (experiment.file != (named / "effective.toml").string() || !options.overrides.empty() || options.seed) return;
  const runs::Folder folder = runs::Folder::look_at(named);
  const runs::Manifest manifest = read_manifest(folder);
  if (is_of_this_program(manifest)) check_manifest(folder, manifest, points);
}

// Nothing when the run was interrupted before it could know what there is.
std::optional<std::vector<runs::PointOutcome>> outcomes_of(const experiment::Experiment& experiment,
                                                           const std::vector<experiment::Point>& points,
                                                           std::optional<std::size_t> traced, const Options& options,
                                                           const experiment::Simulator& simulator,
                                                           const Console& console, runs::PointStore& store) {
  if (options.on_slurm) {
    if (!simulate_on_slurm(points, experiment, options, console, store)) return {};
    return read_all(store.folder(), points);
  }
  std::optional<KnownOutcome> recorded;
  if (traced) {
    recorded.emplace(*traced, record(points[*traced], options, simulator, store, console));
    if (recorded->second.status == runs::PointStatus::not_run) {
      console.err << "interrupted: the trace ends early\n";
      return {};
    }
  }
  return simulate_points(points, options, simulator, console, &store, recorded);
}

// results.* and, last, meta.json: a folder that has it is of a run that came to an end.
void write_results(runs::Folder& folder, const results::Results& results, const RunFacts& facts,
                   const experiment::Simulator& simulator) {
  const std::string json = results::results_json(results.points, results.outcomes);
  folder.write("results.json", json);
  folder.write("results.csv", results::results_csv(results.points, results.outcomes, simulator));
  write_database(folder, results, simulator);
  folder.write("meta.json", meta_json(facts, results.points, results.outcomes, json));
}

// Of a run that came to an end: what somebody has removed or damaged since.
void restore_results(runs::Folder& folder, const results::Results& results, const experiment::Simulator& simulator) {
  const auto restore = [&](const char* file, const std::string& text) {
    if (folder.read(file) != text) folder.write(file, text);
  };
  restore("results.json", results::results_json(results.points, results.outcomes));
  restore("results.csv", results::results_csv(results.points, results.outcomes, simulator));
  if (!results::has_database(folder)) write_database(folder, results, simulator);
}

}  // namespace

int run_command(Options options, const experiment::ConfigLibrary& library, const experiment::Simulator& simulator,
                const Console& console, const std::vector<std::string>& arguments) {
  experiment::Experiment experiment = experiment_of(options, library, simulator);
  experiment.seed = options.seed.value_or(experiment.seed);
  const std::vector<experiment::Point> points = expand(experiment, options, simulator, console);
  check_continued(experiment, points, options);
  if (options.dry_run) return dry_run(experiment, points, options, simulator, console);
  return run_in_folder(experiment, points, options, simulator, console, arguments);
}

int run_in_folder(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                  const Options& options, const experiment::Simulator& simulator, const Console& console,
                  const std::vector<std::string>& arguments, const OwnTables& own) {
  std::optional<std::size_t> traced;
  if (options.trace.any()) {
    traced = traced_point(points, options.trace);
    check_trace_files(options.trace);
  }
  if (options.replace && options.out.empty())
    throw experiment::UserError("--replace: needs --out FOLDER, or a run's folder to go on with");
  const std::string list = runs::to_text(runs::manifest_of(experiment, points));
  // A trace may be made of a run that is at its end: its results are these.
  runs::Folder folder = runs::Folder::open(options.out, experiment.name, [&](const runs::Folder& last) {
    return is_unfinished(last, list, points) || (traced && last.read(runs::Folder::kManifest) == list);
  });
  const bool finished = folder.read(runs::Folder::kManifest) == list && !is_unfinished(folder, list, points) &&
                        is_sealed(folder.read("effective.toml").value_or(""), runs::kTomlSeal);
  if (!finished) start_over(folder, list, experiment, points, simulator, options, console);
  folder.tidy();
  runs::PointStore store(folder);
  if (options.prepare) return prepare(folder, store, points, options, console);

  const std::time_t started = std::time(nullptr);
  const auto start = std::chrono::steady_clock::now();
  const auto known = outcomes_of(experiment, points, traced, options, simulator, console, store);
  tell_damage(store.damaged(), console);
  if (!known) return kInterrupted;
  const std::vector<runs::PointOutcome>& outcomes = *known;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();

  const auto ended = [](const runs::PointOutcome& o) { return o.status != runs::PointStatus::not_run; };
  const auto complete = static_cast<std::size_t>(std::ranges::count_if(outcomes, ended));
  const bool interrupted = complete < points.size() && !options.on_slurm;  // there, tasks have ended
  if (complete == 0 && !options.on_slurm && !folder.is_taken(runs::Folder::kAtWork)) {
    console.err << "interrupted: no point was complete, nothing is kept\n";
    return kInterrupted;
  }
  folder.keep();
  const results::Results results{experiment, points, outcomes};
  const auto show = [&] {
    if (own.print) return own.print(outcomes);
    print(results, options.format, simulator, console);
  };
  try {
    const bool all_there = std::ranges::all_of(outcomes, [](const runs::PointOutcome& o) { return o.there; });
    if (!finished || !all_there) {
      const RunFacts facts{arguments, experiment, options.jobs, started, seconds, complete, interrupted};
      write_results(folder, results, facts, simulator);
    } else {
      restore_results(folder, results, simulator);
    }
    if (own.write) own.write(folder, outcomes);
  } catch (const experiment::UserError&) {
    // A full disk must not cost what was simulated.
    show();
    throw;
  }
  show();
  if (options.profile) console.err << results::profile_text(points, outcomes, console.err_width);
  report_failures(experiment, points, outcomes, console);
  if (interrupted) {
    console.err << fmt::format(
        "interrupted: {} of {} points are complete and kept; the same command goes on from there\n", complete,
        points.size());
  }
  if (!options.quiet) console.err << "run folder: " << folder.path().string() << "\n";
  if (!store.failure().empty()) throw experiment::UserError(store.failure());
  return exit_code(outcomes, interrupted);
}

}  // namespace faultline::app
