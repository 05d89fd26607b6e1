// SPDX-License-Identifier: Apache-2.0
#include "src/results/repetitions.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/results/statistics.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/point_store.hpp"

namespace faultline::results {
namespace {

using Outcomes = std::vector<const runs::PointOutcome*>;

// What any of the outcomes has, in their order: what one alone has stands behind what it follows there.
template <typename Row, typename Same>
std::vector<Row> all_rows(const Outcomes& outcomes, std::vector<Row> workloads::PointResult::*rows, Same same) {
  std::vector<Row> all;
  for (const runs::PointOutcome* outcome : outcomes) {
    auto behind = all.begin();
    for (const Row& row : outcome->result.*rows) {
      auto found = std::ranges::find_if(all, [&](const Row& known) { return same(known, row); });
      if (found == all.end()) found = all.insert(behind, row);
      behind = found + 1;
    }
  }
  return all;
}

std::vector<workloads::Metric> average_metrics(const Outcomes& outcomes) {
  auto metrics = all_rows(outcomes, &workloads::PointResult::metrics,
                          [](const auto& a, const auto& b) { return a.name == b.name; });
  for (workloads::Metric& metric : metrics) {
    std::vector<double> values;
    for (const runs::PointOutcome* outcome : outcomes) {
      const auto* found = find_metric(*outcome, metric.name);
      if (found != nullptr) values.push_back(found->value);
    }
    const Summary summary = summary_of(values);
    if (summary.count == 0) continue;
    metric.value = summary.mean;
    metric.half_width = summary.half_width;
  }
  return metrics;
}

// Steps are means over a point's transfers: one that a point never made is 0 there, and the sum stays the latency.
std::vector<workloads::BreakdownRow> average_steps(const Outcomes& outcomes) {
  const auto same = [](const auto& a, const auto& b) { return a.step == b.step && a.where == b.where; };
  auto rows = all_rows(outcomes, &workloads::PointResult::breakdown, same);
  for (workloads::BreakdownRow& row : rows) {
    std::vector<double> times;
    std::uint64_t samples = 0;
    for (const runs::PointOutcome* outcome : outcomes) {
      times.push_back(0);
      for (const workloads::BreakdownRow& other : outcome->result.breakdown) {
        if (!same(row, other)) continue;
        times.back() += other.mean_us;
        samples += other.samples;
      }
    }
    const Summary summary = summary_of(times);
    row.mean_us = summary.mean;
    row.half_width_us = summary.half_width;
    row.samples = samples;
  }
  return rows;
}

// `measured`: those that have metrics.
runs::PointOutcome merge(const Outcomes& outcomes, const Outcomes& measured) {
  if (measured.empty()) {
    const auto said_why = [](const runs::PointOutcome* o) { return !reason_text(*o).empty(); };
    const auto told = std::ranges::find_if(outcomes, said_why);
    return told == outcomes.end() ? *outcomes.front() : **told;
  }
  runs::PointOutcome merged = *measured.front();
  merged.result.metrics = average_metrics(measured);
  merged.result.breakdown = average_steps(measured);
  for (const runs::PointOutcome* outcome : measured) {
    std::vector<std::string>& all = merged.result.failed_checks;
    for (const std::string& text : outcome->result.failed_checks) {
      if (std::ranges::find(all, text) == all.end()) all.push_back(text);
    }
  }
  return merged;
}

}  // namespace

std::string standing_text(std::size_t exact, std::size_t combinations, unsigned repetitions) {
  if (exact == 0 || repetitions < 2) return "";
  return fmt::format("{} of {} combinations draw no random number: one run of each stands for all {} repetitions",
                     exact, combinations, repetitions);
}

Merged merge_repetitions(const Results& results) {
  Merged merged;
  const std::size_t each = results.experiment.repetitions;
  for (std::size_t first = 0; first < results.points.size(); first += each) {
    Outcomes outcomes, measured;
    Failures failures;
    std::span own(&results.outcomes[first], each);
    const auto one = std::ranges::find_if(own, runs::stands_for_all);
    merged.is_exact.push_back(one != own.end());
    if (merged.is_exact.back()) own = std::span(&*one, 1);
    for (const runs::PointOutcome& outcome : own) {
      outcomes.push_back(&outcome);
      failures += failures_of(outcome);
      if (!outcome.result.metrics.empty()) measured.push_back(&outcome);
    }
    merged.points.push_back(results.points[first]);
    merged.points.back().repeated = false;
    merged.outcomes.push_back(merge(outcomes, measured));
    merged.seeds.push_back(measured.size());
    merged.failures.push_back(failures);
  }
  return merged;
}

}  // namespace faultline::results
