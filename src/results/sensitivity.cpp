// SPDX-License-Identifier: Apache-2.0
#include "src/results/sensitivity.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "src/experiment/diagnostics.hpp"
#include "src/results/repetitions.hpp"
#include "src/results/report.hpp"
#include "src/results/statistics.hpp"
#include "src/results/turns.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {
namespace {

std::string trouble_of(const runs::PointOutcome& outcome) {
  const std::string why = reason_text(outcome), status = status_text(outcome);
  if (status == runs::kStatusRefused) return "refused: " + why;
  if (status == runs::kStatusCheckFailed) return "CHECK FAILED: " + why;
  if (!why.empty()) return why;
  return outcome.status == runs::PointStatus::complete ? "" : status;
}

Response response_of(const std::string& metric, const Merged& of, std::size_t point) {
  const runs::PointOutcome& outcome = of.outcomes[point];
  const Failures& failures = of.failures[point];
  Response response{"", false, {}, 0, trouble_of(outcome), mark_of(metric, failures)};
  if (response.trouble.empty() && !response.mark.empty()) response.trouble = text_of(failures);
  const workloads::Metric* found = find_metric(outcome, metric);
  if (found != nullptr && std::isfinite(found->value)) {
    response.metric = found->value;
    response.half_width = found->half_width;
  } else if (response.trouble.empty()) {
    response.trouble = "has no " + metric;
  }
  return response;
}

// Noise is what two confidence intervals cover.
bool is_monotonic(const Effect& effect) {
  std::vector<const Response*> in_order;
  for (const Response& other : effect.others) {
    if (other.below && other.metric) in_order.push_back(&other);
  }
  in_order.push_back(&effect.initial);
  for (const Response& other : effect.others) {
    if (!other.below && other.metric) in_order.push_back(&other);
  }
  bool rises = false, falls = false;
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    for (std::size_t j = i + 1; j < in_order.size(); ++j) {
      const double change = *in_order[j]->metric - *in_order[i]->metric;
      const double noise = in_order[j]->half_width + in_order[i]->half_width;
      rises = rises || change > noise;
      falls = falls || -change > noise;
    }
  }
  return !(rises && falls);
}

void measure(Effect& effect, bool is_of_numbers) {
  if (!effect.initial.metric) return;
  effect.monotonic = !is_of_numbers || is_monotonic(effect);
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

RankedParameter& entry_of(std::vector<RankedParameter>& parameters, const experiment::Variation& variation) {
  const auto it = std::ranges::find(parameters, variation.parameter, &RankedParameter::name);
  if (it != parameters.end()) return *it;
  return parameters.emplace_back(RankedParameter{variation.parameter, variation.standing, variation.range, {}, 0});
}

// Where percents are infinite, by the spans themselves.
bool is_greater(const Effect& a, const Effect& b) {
  return a.percent != b.percent ? a.percent > b.percent : std::isinf(a.percent) && a.span > b.span;
}

void sort(std::vector<RankedParameter>& parameters) {
  for (RankedParameter& parameter : parameters) {
    const auto greatest = std::ranges::min_element(parameter.effects, is_greater);
    parameter.greatest = static_cast<std::size_t>(greatest - parameter.effects.begin());
  }
  std::ranges::sort(parameters, [](const RankedParameter& a, const RankedParameter& b) {
    if (is_greater(a.at(), b.at()) || is_greater(b.at(), a.at())) return is_greater(a.at(), b.at());
    return a.name < b.name;
  });
}

// One outcome a variation, its repetitions averaged.
Merged outcomes_of(const experiment::Variations& variations, const experiment::Experiment& experiment,
                   std::size_t first, const std::vector<runs::PointOutcome>& outcomes) {
  Merged merged;
  for (const experiment::Variation& variation : variations.all) {
    if (variation.points.empty()) {
      merged.outcomes.emplace_back().error = variation.conflict;
      merged.failures.emplace_back();
      continue;
    }
    const auto from = outcomes.begin() + static_cast<std::ptrdiff_t>(first);
    first += variation.points.size();
    const std::vector<runs::PointOutcome> own(from, from + static_cast<std::ptrdiff_t>(variation.points.size()));
    const Merged one = merge_repetitions({experiment, variation.points, own});
    merged.outcomes.push_back(one.outcomes.front());
    merged.failures.push_back(one.failures.front());
  }
  return merged;
}

// What is compared at each point and each variation.
class Responses {
 public:
  Responses(Measure measure, const experiment::Variations& variations, const Merged& bases, Merged others)
      : measure_(std::move(measure)), variations_(variations.all), bases_(bases), others_(std::move(others)) {
    if (measure_.baseline.empty()) return;
    for (std::size_t i = 0; i < bases_.points.size(); ++i) {
      if (bases_.points[i].strategy == measure_.baseline) baselines_[axes_of(i)] = i;
    }
    for (std::size_t i = 0; i < variations_.size(); ++i)
      numbers_[{variations_[i].base, variations_[i].parameter, variations_[i].text}] = i;
  }

  bool is_ranked(std::size_t base) const {
    return measure_.baseline.empty() || bases_.points[base].strategy != measure_.baseline;
  }
  Response initial(const experiment::Variation& variation) const {
    Response response = response_of(measure_.metric, bases_, variation.base);
    if (!measure_.baseline.empty()) {
      const auto base = baselines_.find(axes_of(variation.base));
      relate(response, base == baselines_.end() ? std::nullopt : std::optional(of_base(base->second)));
    }
    response.text = variation.initial;
    return response;
  }
  Response varied(std::size_t number) const {
    const experiment::Variation& variation = variations_[number];
    Response response = response_of(measure_.metric, others_, number);
    if (!measure_.baseline.empty()) relate(response, baseline_of(variation));
    response.text = variation.text;
    response.below = variation.below;
    return response;
  }

 private:
  std::string axes_of(std::size_t base) const {
    std::string text;
    for (const experiment::NamedText& axis : bases_.points[base].axes) text += axis.text + '\n';
    return text;
  }
  Response of_base(std::size_t base) const { return response_of(measure_.metric, bases_, base); }
  // The baseline with the same value of the parameter: varied as well, or what it has anyway.
  std::optional<Response> baseline_of(const experiment::Variation& variation) const {
    const auto base = baselines_.find(axes_of(variation.base));
    if (base == baselines_.end()) return {};
    const auto number = numbers_.find({base->second, variation.parameter, variation.text});
    if (number != numbers_.end()) return response_of(measure_.metric, others_, number->second);
    const bool has_it = std::ranges::any_of(variations_, [&](const experiment::Variation& other) {
      return other.base == base->second && other.parameter == variation.parameter && other.initial == variation.text;
    });
    return has_it ? std::optional(of_base(base->second)) : std::nullopt;
  }
  void relate(Response& response, const std::optional<Response>& base) const {
    if (!response.metric) return;
    const auto refuse = [&](const std::string& why) {
      response.metric.reset();
      response.trouble = measure_.baseline + ": " + why;
    };
    if (!base) return refuse("has no such point");
    if (!base->metric) return refuse(base->trouble);
    if (*base->metric == 0) return refuse(measure_.metric + " is 0");
    const double ratio = *response.metric / *base->metric;
    response.half_width = ratio_half_width(response.half_width, ratio, *base->metric, base->half_width);
    response.metric = ratio;
    if (base->mark.empty()) return;
    response.mark += base->mark;
    response.trouble += fmt::format("{}{}: {}", response.trouble.empty() ? "" : "; ", measure_.baseline, base->trouble);
  }

  Measure measure_;
  const std::vector<experiment::Variation>& variations_;
  const Merged& bases_;
  Merged others_;
  std::map<std::string, std::size_t> baselines_;  // by the values of their axes
  std::map<std::tuple<std::size_t, std::string, std::string>, std::size_t> numbers_;
};

}  // namespace

Sensitivity rank(const Measure& measured, const experiment::Experiment& experiment,
                 const std::vector<experiment::Point>& points, const experiment::Variations& variations,
                 const std::vector<runs::PointOutcome>& outcomes) {
  Sensitivity result{measured.metric, measured.baseline, "", {}, {}, variations.left_out, {}};
  const std::vector<runs::PointOutcome> own(outcomes.begin(),
                                            outcomes.begin() + static_cast<std::ptrdiff_t>(points.size()));
  const Results results{experiment, points, own};
  const Merged bases = merge_repetitions(results);
  const workloads::Metric* first = first_of(results, measured.metric);
  if (first == nullptr) {
    const std::string trouble = trouble_of(bases.outcomes.front());
    throw UserError("{}: no point has {}{}", experiment.file, measured.metric,
                    trouble.empty() ? "" : fmt::format(" ({}: {})", bases.points.front().label(), trouble));
  }
  result.unit = measured.baseline.empty() ? first->unit : "1";
  const Responses responses(measured, variations, bases, outcomes_of(variations, experiment, points.size(), outcomes));
  std::vector<std::size_t> ranked(bases.points.size());  // their numbers among those that are ranked
  for (std::size_t i = 0; i < bases.points.size(); ++i) {
    ranked[i] = result.points.size();
    if (responses.is_ranked(i)) result.points.push_back(bases.points[i]);
  }
  for (std::size_t i = 0; i < variations.all.size(); ++i) {
    const experiment::Variation& variation = variations.all[i];
    if (!responses.is_ranked(variation.base)) continue;
    std::vector<Effect>& effects = entry_of(result.parameters, variation).effects;
    if (effects.empty() || effects.back().base != ranked[variation.base]) {
      Effect& effect = effects.emplace_back();
      effect.base = ranked[variation.base];
      effect.initial = responses.initial(variation);
    }
    effects.back().others.push_back(responses.varied(i));
  }
  for (RankedParameter& parameter : result.parameters) {
    for (Effect& effect : parameter.effects) measure(effect, parameter.range != "choices");
  }
  sort(result.parameters);
  result.assumptions = turns_of(result, experiment, points);
  return result;
}

}  // namespace faultline::results
