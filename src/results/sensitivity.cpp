// SPDX-License-Identifier: Apache-2.0
#include "src/results/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "src/experiment/diagnostics.hpp"
#include "src/results/outcome_text.hpp"
#include "src/results/repetitions.hpp"
#include "src/results/report.hpp"

namespace faultline::app {
namespace {

std::string trouble_of(const PointOutcome& outcome) {
  const std::string why = reason_text(outcome), checks = failed_checks_text(outcome);
  if (!outcome.result.refused.empty()) return "refused: " + why;
  if (!why.empty()) return why;
  if (outcome.status != PointStatus::complete) return status_text(outcome);
  return checks.empty() ? "" : "CHECK FAILED: " + checks;
}

Response response_of(const std::string& text, bool below, const std::string& metric, const PointOutcome& outcome) {
  Response response{text, below, {}, 0, trouble_of(outcome)};
  const workloads::Metric* found = find_metric(outcome, metric);
  if (found != nullptr && std::isfinite(found->value)) {
    response.metric = found->value;
    response.half_width = found->half_width;
  } else if (response.trouble.empty()) {
    response.trouble = "has no " + metric;
  }
  return response;
}

void measure(Effect& effect) {
  if (!effect.initial.metric) return;
  const Response* least = &effect.initial;
  const Response* most = &effect.initial;
  for (const Response& other : effect.others) {
    if (!other.metric) continue;
    if (*other.metric < *least->metric) least = &other;
    if (*other.metric > *most->metric) most = &other;
  }
  effect.span = *most->metric - *least->metric;
  const double magnitude = std::abs(*effect.initial.metric);
  if (effect.span > 0)
    effect.percent = magnitude > 0 ? 100 * effect.span / magnitude : std::numeric_limits<double>::infinity();
  effect.within_noise = effect.span > 0 && effect.span <= least->half_width + most->half_width;
}

RankedParameter& entry_of(std::vector<RankedParameter>& parameters, const Variation& variation) {
  const auto it = std::find_if(parameters.begin(), parameters.end(),
                               [&](const RankedParameter& p) { return p.name == variation.parameter; });
  if (it != parameters.end()) return *it;
  return parameters.emplace_back(RankedParameter{variation.parameter, variation.standing, variation.range, {}, 0});
}

// Where percents are infinite, by the spans themselves.
bool is_greater(const Effect& a, const Effect& b) {
  return a.percent != b.percent ? a.percent > b.percent : std::isinf(a.percent) && a.span > b.span;
}

void sort(std::vector<RankedParameter>& parameters) {
  for (RankedParameter& parameter : parameters) {
    const auto greatest = std::min_element(parameter.effects.begin(), parameter.effects.end(), is_greater);
    parameter.greatest = static_cast<std::size_t>(greatest - parameter.effects.begin());
  }
  std::sort(parameters.begin(), parameters.end(), [](const RankedParameter& a, const RankedParameter& b) {
    if (is_greater(a.at(), b.at()) || is_greater(b.at(), a.at())) return is_greater(a.at(), b.at());
    return a.name < b.name;
  });
}

// One outcome a variation, its repetitions averaged.
std::vector<PointOutcome> outcomes_of(const Variations& variations, const Experiment& experiment, std::size_t first,
                                      const std::vector<PointOutcome>& outcomes) {
  std::vector<PointOutcome> merged;
  for (const Variation& variation : variations.all) {
    if (variation.points.empty()) {
      merged.emplace_back().error = variation.conflict;
      continue;
    }
    const auto from = outcomes.begin() + static_cast<std::ptrdiff_t>(first);
    first += variation.points.size();
    const std::vector<PointOutcome> own(from, from + static_cast<std::ptrdiff_t>(variation.points.size()));
    merged.push_back(merge_repetitions({experiment, variation.points, own}).outcomes.front());
  }
  return merged;
}

}  // namespace

Sensitivity rank(const std::string& metric, const Experiment& experiment, const std::vector<Point>& points,
                 const Variations& variations, const std::vector<PointOutcome>& outcomes) {
  Sensitivity result{metric, "", {}, {}, variations.left_out};
  const std::vector<PointOutcome> own(outcomes.begin(), outcomes.begin() + static_cast<std::ptrdiff_t>(points.size()));
  const Results results{experiment, points, own};
  const Merged bases = merge_repetitions(results);
  for (const Point& point : bases.points) result.points.push_back(point.label());
  const workloads::Metric* first = first_of(results, metric);
  if (first == nullptr) {
    const std::string trouble = trouble_of(bases.outcomes.front());
    throw UserError(fmt::format("{}: no point has {}{}", experiment.file, metric,
                                trouble.empty() ? "" : fmt::format(" ({}: {})", result.points.front(), trouble)));
  }
  result.unit = first->unit;
  const std::vector<PointOutcome> others = outcomes_of(variations, experiment, points.size(), outcomes);
  for (std::size_t i = 0; i < others.size(); ++i) {
    const Variation& variation = variations.all[i];
    std::vector<Effect>& effects = entry_of(result.parameters, variation).effects;
    if (effects.empty() || effects.back().base != variation.base) {
      effects.push_back({variation.base,
                         response_of(variation.initial, false, metric, bases.outcomes[variation.base]),
                         {},
                         0,
                         0,
                         false});
    }
    effects.back().others.push_back(response_of(variation.text, variation.below, metric, others[i]));
  }
  for (RankedParameter& parameter : result.parameters) {
    for (Effect& effect : parameter.effects) measure(effect);
  }
  sort(result.parameters);
  return result;
}

}  // namespace faultline::app
