// SPDX-License-Identifier: Apache-2.0
#include "src/repetitions.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>

namespace faultline::app {
namespace {

constexpr double kConfidence = 0.95;

double half_width(const std::vector<double>& values, double mean) {
  const std::size_t n = values.size();
  if (n < 2) return 0;
  double squares = 0;
  for (const double value : values) squares += (value - mean) * (value - mean);
  const boost::math::students_t distribution(static_cast<double>(n - 1));
  const double t = quantile(distribution, (1 + kConfidence) / 2);
  return t * std::sqrt(squares / static_cast<double>(n - 1) / static_cast<double>(n));
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

// Of a metric, in all outcomes that have it.
void average_metrics(PointOutcome& merged, const std::vector<const PointOutcome*>& outcomes) {
  for (workloads::Metric& metric : merged.result.metrics) {
    std::vector<double> values;
    for (const PointOutcome* outcome : outcomes) {
      const auto* found = find_metric(*outcome, metric.name);
      if (found != nullptr && std::isfinite(found->value)) values.push_back(found->value);
    }
    if (values.empty()) continue;
    metric.value = mean_of(values);
    metric.half_width = half_width(values, metric.value);
  }
}

// Of the steps, weighted by how often each was measured. A step that one point never made counts nothing there.
void average_steps(PointOutcome& merged, const std::vector<const PointOutcome*>& outcomes) {
  for (workloads::BreakdownRow& row : merged.result.breakdown) {
    double sum = 0;
    std::uint64_t samples = 0;
    for (const PointOutcome* outcome : outcomes) {
      for (const workloads::BreakdownRow& other : outcome->result.breakdown) {
        if (other.step != row.step || other.where != row.where) continue;
        sum += other.mean_us * static_cast<double>(other.samples);
        samples += other.samples;
      }
    }
    if (samples > 0) row.mean_us = sum / static_cast<double>(samples);
    row.samples = samples;
  }
}

PointOutcome merge(const std::vector<const PointOutcome*>& outcomes) {
  const auto is_worse = [](const PointOutcome* o) { return !o->error.empty() || !o->result.refused.empty(); };
  const auto measured =
      std::find_if(outcomes.begin(), outcomes.end(), [](const PointOutcome* o) { return !o->result.metrics.empty(); });
  if (measured == outcomes.end()) {
    const auto told = std::find_if(outcomes.begin(), outcomes.end(), is_worse);
    return told == outcomes.end() ? *outcomes.front() : **told;
  }
  PointOutcome merged = **measured;
  average_metrics(merged, outcomes);
  average_steps(merged, outcomes);
  return merged;
}

}  // namespace

Merged merge_repetitions(const Results& results) {
  Merged merged;
  const std::size_t each = results.experiment.repetitions;
  for (std::size_t first = 0; first < results.points.size(); first += each) {
    std::vector<const PointOutcome*> outcomes;
    for (std::size_t i = first; i < first + each; ++i) outcomes.push_back(&results.outcomes[i]);
    merged.points.push_back(results.points[first]);
    merged.points.back().repeated = false;
    merged.outcomes.push_back(merge(outcomes));
  }
  return merged;
}

}  // namespace faultline::app
