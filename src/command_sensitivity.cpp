// SPDX-License-Identifier: Apache-2.0
// faultline sensitivity
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/variations.hpp"
#include "src/results/sensitivity.hpp"
#include "src/runs/seal.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kFirstFile = "sensitivity";

// A slip would cost the whole analysis before it is noticed.
void check_metric(const std::string& metric, const experiment::Experiment& experiment,
                  const experiment::Simulator& simulator) {
  std::vector<std::string> names;
  for (const auto& doc : experiment.metrics(simulator)) names.push_back(doc.name);
  if (std::ranges::find(names, metric) != names.end()) return;
  throw UserError("--metric: no metric '{}'; 'faultline list metrics' shows all{}", metric,
                  experiment::did_you_mean(metric, names));
}

const experiment::Strategy& strategy_of(const experiment::Experiment& experiment, const std::string& option,
                                        const std::string& name) {
  std::vector<std::string> names;
  for (const experiment::Strategy& strategy : experiment.strategies) names.push_back(strategy.name);
  const auto it = std::ranges::find(names, name);
  if (it == names.end()) {
    throw UserError("{}: {} has no strategy '{}'; {}", option, experiment.file, name,
                    experiment::allowed_names(name, names));
  }
  return experiment.strategies[static_cast<std::size_t>(it - names.begin())];
}

// The baseline is one of them whether it was chosen or not.
void choose_strategies(experiment::Experiment& experiment, std::vector<std::string> chosen,
                       const std::string& baseline) {
  if (!baseline.empty()) {
    strategy_of(experiment, "--baseline", baseline);
    const auto is_baseline = [&](const auto& name) { return name == baseline; };
    const bool has_others =
        chosen.empty() ? experiment.strategies.size() > 1 : !std::ranges::all_of(chosen, is_baseline);
    if (!has_others) throw UserError("--baseline: there is no other strategy whose metric could be related to it");
    if (!chosen.empty() && std::ranges::none_of(chosen, is_baseline)) chosen.push_back(baseline);
  }
  if (chosen.empty()) return;
  std::vector<experiment::Strategy> kept;
  for (const std::string& name : chosen) kept.push_back(strategy_of(experiment, "--strategy", name));
  experiment.strategies = std::move(kept);
  forget_other_strategies(experiment.skips, chosen);
}

// "sensitivity" for the first measure that a folder ranks; what it ranked stays when another one is asked for.
std::string file_name(const runs::Folder& folder, const results::Measure& measure, const Console& console) {
  const std::string first = std::string(kFirstFile) + ".json";
  const auto text = folder.read(first);
  if (!text) return kFirstFile;
  const auto json = runs::unsealed_json(*text);
  if (!json) {
    console.err << (folder.path() / first).string() << ": was damaged; " << measure.name() << " takes its place\n";
    return kFirstFile;
  }
  if (json->value("measure", "") == measure.name()) return kFirstFile;
  std::string name =
      std::string(kFirstFile) + "-" + measure.metric + (measure.baseline.empty() ? "" : "-to-" + measure.baseline);
  std::ranges::replace(name, '/', '-');
  return name;
}

}  // namespace

int sensitivity_command(const Call& call) {
  experiment::Experiment experiment = named_experiment(call);
  const std::string usual = experiment.metric_or_first("latency_mean", call.simulator);
  const results::Measure measure{call.options.metric.empty() ? usual : call.options.metric, call.options.baseline};
  check_metric(measure.metric, experiment, call.simulator);
  choose_strategies(experiment, call.options.strategies, call.options.baseline);
  experiment.most_points = call.options.most_points.value_or(experiment.most_points);
  const std::vector<experiment::Point> points = expand(experiment, call);
  if (std::ranges::all_of(points, [&](const experiment::Point& p) { return p.strategy == call.options.baseline; }))
    throw UserError("--baseline: skip leaves points of '{}' alone, and none to relate to them", call.options.baseline);
  const experiment::Variations variations =
      vary(points, experiment, call.simulator, call.options.levels, planning(call, "points of the plan"));
  std::vector<experiment::Point> all = points;
  for (const experiment::Variation& variation : variations.all)
    all.insert(all.end(), variation.points.begin(), variation.points.end());
  if (call.options.dry_run) return dry_run(experiment, all, call);

  experiment.name += "-sensitivity";
  experiment.command = "sensitivity";
  // Ranks of a part would mislead.
  const auto is_whole = [](const std::vector<runs::PointOutcome>& outcomes) {
    return std::ranges::none_of(outcomes,
                                [](const runs::PointOutcome& o) { return o.status == runs::PointStatus::not_run; });
  };
  std::optional<results::Sensitivity> known;
  const auto ranked = [&](const std::vector<runs::PointOutcome>& outcomes) -> const results::Sensitivity& {
    if (!known) known = rank(measure, experiment, points, variations, outcomes);
    return *known;
  };
  OwnTables own;
  own.write = [&](runs::Folder& folder, const std::vector<runs::PointOutcome>& outcomes) {
    if (!is_whole(outcomes)) return;
    const std::string name = file_name(folder, measure, call.console);
    folder.write(name + ".json", sensitivity_json(ranked(outcomes)));
    folder.write(name + ".csv", sensitivity_csv(ranked(outcomes)));
    if (!call.options.quiet && name != kFirstFile)
      call.console.err << fmt::format("ranked: {}/{}.csv\n", folder.path().string(), name);
  };
  own.print = [&](const std::vector<runs::PointOutcome>& outcomes) {
    if (!is_whole(outcomes)) return;
    switch (call.options.format) {
      case Format::table: call.console.out << experiment.question << "\n" << tornado_text(ranked(outcomes)); break;
      case Format::json: call.console.out << sensitivity_json(ranked(outcomes)); break;
      case Format::csv: call.console.out << sensitivity_csv(ranked(outcomes)); break;
    }
  };
  return run_in_folder(experiment, all, call, own);
}

}  // namespace faultline::app
