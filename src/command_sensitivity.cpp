// SPDX-License-Identifier: Apache-2.0
// faultline sensitivity
#include <fmt/format.h>

#include <algorithm>

#include "src/application.hpp"
#include "src/dry_run.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/variations.hpp"
#include "src/results/sensitivity.hpp"

namespace faultline::app {
namespace {

// A slip would cost the whole analysis before it is noticed.
void check_metric(const std::string& metric, const Simulator& simulator) {
  std::vector<std::string> names;
  for (const auto& doc : simulator.metric_docs()) names.push_back(doc.name);
  if (std::find(names.begin(), names.end(), metric) != names.end()) return;
  throw UserError(fmt::format("--metric: no metric '{}'; 'faultline list metrics' shows all{}", metric,
                              did_you_mean(sim::nearest_name(metric, names))));
}

// Conditions on strategies that are not there any more: none of the points is one of theirs.
void forget_other_strategies(std::vector<Skip>& skips, const std::vector<std::string>& chosen) {
  const auto is_of_another = [&](const Condition& condition, Condition::Relation relation) {
    return condition.key == "strategy" && condition.relation == relation &&
           std::find(chosen.begin(), chosen.end(), condition.text) == chosen.end();
  };
  std::erase_if(skips, [&](const Skip& skip) {
    return std::any_of(skip.begin(), skip.end(),
                       [&](const Condition& c) { return is_of_another(c, Condition::Relation::equal); });
  });
  for (Skip& skip : skips)
    std::erase_if(skip, [&](const Condition& c) { return is_of_another(c, Condition::Relation::unequal); });
}

void choose_strategies(Experiment& experiment, const std::vector<std::string>& chosen) {
  if (chosen.empty()) return;
  std::vector<std::string> names;
  for (const Strategy& strategy : experiment.strategies) names.push_back(strategy.name);
  std::vector<Strategy> kept;
  for (const std::string& name : chosen) {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it == names.end()) {
      throw UserError(fmt::format("--strategy: {} has no strategy '{}'; allowed: {}{}", experiment.file, name,
                                  fmt::join(names, ", "), did_you_mean(sim::nearest_name(name, names))));
    }
    kept.push_back(experiment.strategies[static_cast<std::size_t>(it - names.begin())]);
  }
  experiment.strategies = std::move(kept);
  forget_other_strategies(experiment.skips, chosen);
}

}  // namespace

int sensitivity_command(const Options& options, const ConfigLibrary& library, const Simulator& simulator,
                        const Console& console, const std::vector<std::string>& arguments) {
  const std::string metric = options.metric.empty() ? "latency_mean" : options.metric;
  check_metric(metric, simulator);
  const auto path = library.resolve_experiment(options.arguments.front());
  Experiment experiment = read_experiment(path, options.overrides, library, simulator);
  experiment.seed = options.seed.value_or(experiment.seed);
  choose_strategies(experiment, options.strategies);
  experiment.most_points = options.most_points.value_or(experiment.most_points);
  const std::vector<Point> points = expand(experiment, options, simulator, console);
  const Variations variations = vary(points, experiment, simulator, options.levels);
  std::vector<Point> all = points;
  for (const Variation& variation : variations.all)
    all.insert(all.end(), variation.points.begin(), variation.points.end());
  if (options.dry_run) return dry_run(experiment, all, options, simulator, console);

  experiment.name += "-sensitivity";
  experiment.command = "sensitivity";
  // Ranks of a part would mislead.
  const auto is_whole = [](const std::vector<PointOutcome>& outcomes) {
    return std::none_of(outcomes.begin(), outcomes.end(),
                        [](const PointOutcome& o) { return o.status == PointStatus::not_run; });
  };
  OwnTables own;
  own.write = [&](RunFolder& folder, const std::vector<PointOutcome>& outcomes) {
    if (!is_whole(outcomes)) return;
    const Sensitivity ranked = rank(metric, experiment, points, variations, outcomes);
    folder.write("sensitivity.json", sensitivity_json(ranked));
    folder.write("sensitivity.csv", sensitivity_csv(ranked));
  };
  own.print = [&](const std::vector<PointOutcome>& outcomes) {
    if (!is_whole(outcomes)) return;
    const Sensitivity ranked = rank(metric, experiment, points, variations, outcomes);
    switch (options.format) {
      case Format::table: console.out << experiment.question << "\n" << tornado_text(ranked); break;
      case Format::json: console.out << sensitivity_json(ranked); break;
      case Format::csv: console.out << sensitivity_csv(ranked); break;
    }
  };
  return run_in_folder(experiment, all, options, simulator, console, arguments, own);
}

}  // namespace faultline::app
