// SPDX-License-Identifier: Apache-2.0
// faultline run: a run in its folder, from its points to its tables.
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
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/effective.hpp"
#include "src/experiment/refusals.hpp"
#include "src/results/database.hpp"
#include "src/results/findings.hpp"
#include "src/results/report.hpp"
#include "src/results/results_reader.hpp"
#include "src/results/results_writer.hpp"
#include "src/runs/host.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/progress.hpp"
#include "src/runs/seal.hpp"

namespace faultline::app {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct RunFacts {
  const Call& call;
  std::time_t started;
  double seconds;
  std::size_t ended;  // points
  bool interrupted;
};

// Everything about a run that may differ from one time to the next stands here and nowhere else.
std::string meta_json(const RunFacts& facts, const results::Results& run, const std::string& results) {
  const auto& [experiment, points, outcomes, failures] = run;
  workloads::Totals totals;
  Json each = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (outcomes[i].status == runs::PointStatus::not_run || outcomes[i].shared) continue;
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
  json["command"] = facts.call.arguments;
  json["experiment"] = experiment.file;
  json["platform"] = experiment.platform;
  json["seed"] = experiment.seed;
  json["jobs"] = facts.call.options.jobs;
  json["host"] = runs::host_name();
  json["started"] = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(facts.started));
  json["host_seconds"] = facts.seconds;
  json["interrupted"] = facts.interrupted;
  json[results::kResultsChecksum] = runs::checksum_of(results);
  json["points"] = points.size();
  json["points_complete"] = facts.ended;
  json["points_final"] = std::ranges::count_if(outcomes, runs::is_final);
  json["points_shared"] = std::ranges::count_if(outcomes, [](const runs::PointOutcome& o) { return o.shared; });
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

void print(const results::Results& results, const runs::Folder& folder, const Call& call) {
  const Console& console = call.console;
  switch (call.options.format) {
    case Format::table:
      console.out << report_head(results) << "\n"
                  << findings_text(results, call.simulator, folder, console.width)
                  << report_tables(results, console.width);
      for (const std::string& axis : idle_axes(results)) console.out << "(" << axis << " changed no metric)\n";
      break;
    case Format::json: console.out << results::results_json(results.points, results.outcomes); break;
    case Format::csv: console.out << results::results_csv(results.points, results.outcomes, call.simulator); break;
  }
  console.out.flush();
}

// A configuration that cannot work at run time gets its message with the place, as one of the files would.
void report_failures(const results::Results& results, std::ostream& err) {
  const std::vector<experiment::Point>& points = results.points;
  const std::vector<runs::PointOutcome>& outcomes = results.outcomes;
  experiment::Refusals misconfigured(results.experiment);
  // One bug tends to hit every point: its first is enough, the results name them all.
  std::vector<std::pair<std::size_t, std::size_t>> told;  // the first point with an error, and how many have it
  for (std::size_t i = 0; i < points.size(); ++i) {
    const runs::PointOutcome& outcome = outcomes[i];
    if (outcome.status == runs::PointStatus::misconfigured)
      misconfigured.add(points[i], {outcome.result.error_keys, outcome.error});
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
    err << fmt::format("faultline: {}{}: {}{}\n", bug ? "a bug of the simulator, please report it: " : "",
                       points[first].label(), outcomes[first].error,
                       count > 1 ? fmt::format(" (and {} more point{})", count - 1, count > 2 ? "s" : "") : "");
  }
  experiment::Diagnostics diagnostics;
  misconfigured.tell(diagnostics);
  if (!diagnostics.empty()) err << diagnostics.text() << "\n";
}

// Why the run in a folder is another experiment's, so that its tables would be lost; empty where it goes on. Points of
// another build of the program have other ids, and the same labels.
std::string why_another(const runs::PointStore& store, const experiment::Experiment& experiment) {
  const runs::Folder& folder = store.folder();
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
  const bool goes_on = known.empty() || std::ranges::any_of(store.points(), is_known);
  return goes_on ? "" : "has none of these points";
}

// Files of before are gone before the folder has other points.
void start_over(runs::PointStore& store, const std::string& manifest, const experiment::Experiment& experiment,
                const Call& call) {
  runs::Folder& folder = store.folder();
  const Options& options = call.options;
  const auto refuse = [&](const std::string& why, const std::string& whose) {
    throw UserError("{}: {}, {} tables would be lost; name another folder with --out, or replace them with --replace",
                    folder.path().string(), why, whose);
  };
  if (const std::string why = why_another(store, experiment); !why.empty() && !options.replace)
    refuse("the run in it " + why, "and its");
  const auto before = folder.read(runs::Folder::kManifest);
  const bool had_others = before && *before != manifest;
  if (had_others && options.prepare && folder.has("results.json") && !options.replace)
    refuse("--prepare: has other points", "whose");
  if (had_others && !options.quiet) {
    call.console.err << folder.path().string()
                     << " had other points; what is the same is used, its tables are replaced\n";
  }
  for (const char* file : {"meta.json", "results.json", "results.csv", results::kDatabaseFile}) folder.remove(file);
  for (const std::string& file : folder.names_in("")) {
    const bool is_table = file.ends_with(".json") || file.ends_with(".csv");
    if (is_table && (file.starts_with("sensitivity.") || file.starts_with("sensitivity-"))) folder.remove(file);
  }
  // What a run that was named by its folder has read says who set each value, which the run does not know.
  if (before == manifest && experiment.file == (folder.path() / runs::kEffective).string()) return;
  folder.write(runs::Folder::kManifest, manifest);  // first: it says that the folder is a run's
  folder.write(runs::kEffective, sealed(effective_experiment(experiment, call.simulator), runs::kTomlSeal));
}

// For workers to come.
int prepare(const runs::PointStore& store, std::size_t missing, const Call& call) {
  store.folder().keep();
  tell_damage(store.damaged(), call.console);
  const std::string folder = store.folder().path().string();
  call.console.out << folder << "\n";
  if (!call.options.quiet) {
    call.console.err << fmt::format(
        "{} of {} points to do, by 'faultline worker {}'; then 'faultline run {}' makes the tables\n", missing,
        store.points().size(), folder, folder);
  }
  return kFine;
}

// False when the run was interrupted before it could know what there is.
bool simulate_all(const experiment::Experiment& experiment, runs::PointStore& store,
                  std::vector<runs::PointOutcome>& outcomes, std::optional<std::size_t> traced, const Call& call,
                  bool& trace_written) {
  if (call.options.on_slurm) return simulate_on_slurm(experiment, store, outcomes, call);
  if (traced && !record(*traced, store, outcomes, call, trace_written)) {
    call.console.err << "interrupted: the trace ends early\n";
    return false;
  }
  simulate_missing(store, outcomes, call);
  return true;
}

// results.* and, last, meta.json: a folder that has it is of a run that came to an end. `restore`: it has, and what
// somebody has removed or damaged since is written again.
void write_results(runs::Folder& folder, const results::Results& results, bool restore, const RunFacts& facts) {
  const experiment::Simulator& simulator = facts.call.simulator;
  const auto write = [&](const char* file, const std::string& text) {
    if (!restore || folder.read(file) != text) folder.write(file, text);
  };
  const std::string json = results::results_json(results.points, results.outcomes);
  write("results.json", json);
  write("results.csv", results::results_csv(results.points, results.outcomes, simulator));
  if (!restore || !results::has_database(folder)) write_database(folder, results, simulator);
  if (!restore) folder.write("meta.json", meta_json(facts, results, json));
}

std::optional<std::size_t> traced_of(const std::vector<experiment::Point>& points, const TraceOptions& trace) {
  if (!trace.any()) return {};
  const std::size_t traced = traced_point(points, trace);
  check_trace_files(trace);
  return traced;
}

// Files first, then what a person reads.
int conclude(const results::Results& results, bool restore, const RunFacts& facts, const runs::PointStore& store,
             const OwnTables& own) {
  const Call& call = facts.call;
  runs::Folder& folder = store.folder();
  const auto show = [&] {
    if (own.print) return own.print(results.outcomes);
    print(results, folder, call);
  };
  folder.keep();
  try {
    write_results(folder, results, restore, facts);
    if (own.write) own.write(folder, results.outcomes);
  } catch (const UserError&) {
    // A full disk must not cost what was simulated.
    show();
    throw;
  }
  show();
  if (call.options.profile)
    call.console.err << results::profile_text(results.points, results.outcomes, call.console.err_width);
  report_failures(results, call.console.err);
  if (facts.interrupted) {
    call.console.err << fmt::format(
        "interrupted: {} of {} points are complete and kept; the same command goes on from there\n", facts.ended,
        results.points.size());
  }
  if (!call.options.quiet) call.console.err << "run folder: " << folder.path().string() << "\n";
  if (!store.failure().empty()) throw UserError(store.failure());
  return exit_code(results.outcomes, facts.interrupted);
}

// A folder, and no experiment that ships: a run, which goes on.
bool names_a_folder(const Call& call) {
  const std::string& named = call.options.arguments.front();
  std::error_code ignored;
  const auto shipped = call.library.names(experiment::ConfigKind::experiment);
  return fs::is_directory(named, ignored) && std::ranges::find(shipped, named) == shipped.end();
}

int run_experiment(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                   const Call& call) {
  return call.options.dry_run ? dry_run(experiment, points, call) : run_in_folder(experiment, points, call);
}

// Such a folder has the points that it was made with, unless other values are asked for.
int go_on(Call call) {
  const std::string& named = call.options.arguments.front();
  const auto folder = runs::Folder::look_at(named);
  const runs::Manifest manifest = read_manifest(folder);
  Options options = call.options;
  if (options.out.empty()) options.out = named;
  auto experiment = experiment_in(folder, manifest, options.overrides, call.library, call.simulator);
  choose_seeds(experiment, options);
  const std::vector<experiment::Point> points = expand(experiment, call);
  const bool has_its_own = options.overrides.empty() && !options.seed && !options.repetitions;
  if (has_its_own && is_of_this_program(manifest)) check_manifest(folder, manifest, points);
  return run_experiment(experiment, points, {call.arguments, options, call.library, call.simulator, call.console});
}

}  // namespace

int run_in_folder(const experiment::Experiment& experiment, const std::vector<experiment::Point>& points,
                  const Call& call, const OwnTables& own) {
  const Options& options = call.options;
  const std::optional<std::size_t> traced = traced_of(points, options.trace);
  if (options.replace && options.out.empty())
    throw UserError("--replace: needs --out FOLDER, or a run's folder to go on with");
  const std::string list = runs::to_text(runs::manifest_of(experiment, points));
  // A trace may be made of a run that is at its end: its results are these.
  runs::Folder folder = runs::Folder::open(options.out, experiment.name, [&](const runs::Folder& last) {
    if (last.read(runs::Folder::kManifest) != list) return false;
    return traced || !has_ended(last, list, points.size()) || !has_all_files(last, points);
  });
  runs::PointStore store(folder, points);
  std::vector<runs::PointOutcome> outcomes = store.read();
  const bool finished = has_ended(folder, list, points.size()) && not_run(outcomes).empty() &&
                        is_file_sealed(folder.path() / runs::kEffective, runs::kTomlSeal);
  if (!finished) start_over(store, list, experiment, call);
  folder.tidy();
  store.make_room();
  if (options.prepare) return prepare(store, not_run(outcomes).size(), call);

  const std::time_t started = std::time(nullptr);
  const auto start = std::chrono::steady_clock::now();
  bool trace_written = true;
  const bool known = simulate_all(experiment, store, outcomes, traced, call, trace_written);
  tell_damage(store.damaged(), call.console);
  if (!known) return kInterrupted;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const std::size_t ended = points.size() - not_run(outcomes).size();
  if (ended == 0 && !options.on_slurm && !folder.is_taken(runs::Folder::kAtWork)) {
    call.console.err << "interrupted: no point was complete, nothing is kept\n";
    return kInterrupted;
  }
  const bool interrupted = ended < points.size() && !options.on_slurm;  // there, tasks have ended
  const bool all_there = std::ranges::all_of(outcomes, &runs::PointOutcome::there);
  const int code = conclude({experiment, points, outcomes}, finished && all_there,
                            {call, started, seconds, ended, interrupted}, store, own);
  return trace_written ? code : std::max<int>(code, kUsage);
}

int run_command(const Call& call) {
  if (names_a_folder(call)) return go_on(call);
  const experiment::Experiment experiment = named_experiment(call);
  return run_experiment(experiment, expand(experiment, call), call);
}

}  // namespace faultline::app
