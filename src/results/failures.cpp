// SPDX-License-Identifier: Apache-2.0
#include "src/results/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "src/results/report.hpp"
#include "src/results/text_table.hpp"

namespace faultline::results {
namespace {

// How their names begin.
constexpr std::array<std::string_view, 6> kOfCompleted{"latency",   "goodput",           "kernel_cost",
                                                       "delay_max", "transfers_delayed", "queueing_mean"};
constexpr std::size_t kMostNamed = 6;

// "victim" of "victim.latency_mean"; empty: nobody's alone.
std::string program_of(const std::string& metric) {
  const std::size_t name = workloads::metric_in_program(metric).size();
  return name == metric.size() ? "" : metric.substr(0, metric.size() - name - 1);
}

std::uint64_t count_of(const runs::PointOutcome& outcome, const char* metric) {
  const auto* found = find_metric(outcome, metric);
  return found == nullptr ? 0 : static_cast<std::uint64_t>(std::llround(found->value));
}

}  // namespace

Failures& Failures::operator+=(const Failures& other) {
  failed += other.failed;
  transfers += other.transfers;
  unfinished += other.unfinished;
  points += other.points;
  for (const auto& [program, count] : other.failed_of) failed_of[program] += count;
  return *this;
}

Failures failures_of(const runs::PointOutcome& outcome) {
  if (outcome.result.metrics.empty()) return {0, 0, 1, 1};
  Failures all{count_of(outcome, "transfers_failed"), count_of(outcome, "transfers"), 0, 1};
  for (const workloads::Metric& metric : outcome.result.metrics) {
    const std::string program = program_of(metric.name);
    if (program.empty() || workloads::metric_in_program(metric.name) != "transfers_failed") continue;
    all.failed_of[program] = static_cast<std::uint64_t>(std::llround(metric.value));
  }
  return all;
}

bool is_of_completed(std::string_view metric) {
  const std::string_view name = workloads::metric_in_program(metric);
  return std::ranges::any_of(kOfCompleted, [&](std::string_view begin) { return name.starts_with(begin); });
}

std::string mark_of(const std::string& metric, const Failures& failures) {
  if (!is_of_completed(metric) || !failures.any()) return "";
  const auto own = failures.failed_of.find(program_of(metric));
  const std::uint64_t failed = own == failures.failed_of.end() ? failures.failed : own->second;
  std::string mark = failed > 0 ? fmt::format(" !{}", failed) : "";
  if (failures.unfinished > 0) mark += fmt::format(" !!{}", failures.unfinished);
  return mark;
}

std::string text_of(const Failures& failures) {
  std::string text;
  if (failures.failed > 0) text = fmt::format("{} of {} transfers failed", failures.failed, failures.transfers);
  if (failures.unfinished == 0) return text;
  return fmt::format("{}{}{} of {} points {} no result", text, text.empty() ? "" : ", ", failures.unfinished,
                     failures.points, failures.unfinished == 1 ? "has" : "have");
}

void Legend::Kind::add(const std::string& row, std::uint64_t count, std::uint64_t of) {
  if (count == 0) return;
  if (++rows <= kMostNamed) named += fmt::format("{}{}: {} of {}", named.empty() ? "" : "; ", row, count, of);
}

std::string Legend::Kind::text(const std::string& meaning, std::size_t width) const {
  if (rows == 0) return "";
  const std::string more = rows > kMostNamed ? fmt::format("; and {} more", rows - kMostNamed) : "";
  return wrap(fmt::format("({}: {}{})", meaning, named, more), width, 1) + "\n";
}

void Legend::add(const std::string& row, const Failures& failures) {
  if (!failures.any()) return;
  failed_.add(row, failures.failed, failures.transfers);
  unfinished_.add(row, failures.unfinished, failures.points);
}

std::string Legend::text(std::size_t width) const {
  return failed_.text("!: so many transfers failed, and are in no latency and no goodput", width) +
         unfinished_.text("!!: so many points have no result, and are in no mean", width);
}

}  // namespace faultline::results
