// SPDX-License-Identifier: Apache-2.0
// Where time goes: of the host by part of the model and by process, of one transfer step by step as a stacked bar.
#include "src/results/report.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "src/results/text_table.hpp"

namespace faultline::results {
namespace {

constexpr std::size_t kMostProcesses = 20;

double ratio(double part, double whole) { return whole > 0 ? part / whole : std::numeric_limits<double>::quiet_NaN(); }

std::uint64_t time_of(const std::vector<sim::Profile::Row>& rows) {
  return std::accumulate(rows.begin(), rows.end(), std::uint64_t{0},
                         [](std::uint64_t sum, const auto& row) { return sum + row.host_ns; });
}

std::string parts_table(const std::vector<sim::Profile::Row>& rows) {
  TextTable table({left("part"), right("events"), right("calls"), right("host time", "[ms]"), right("share", "[%]"),
                   right("each", "[ns]")});
  const std::uint64_t all = time_of(rows);
  const std::uint64_t all_events = std::accumulate(rows.begin(), rows.end(), std::uint64_t{0},
                                                   [](std::uint64_t sum, const auto& row) { return sum + row.events; });
  const auto add = [&](const sim::Profile::Row& row, std::uint64_t times) {
    const auto time = static_cast<double>(row.host_ns);
    table.add({row.part, std::to_string(row.events), std::to_string(row.calls), fixed(time / 1e6, 2),
               fixed(100 * ratio(time, static_cast<double>(all)), 1),
               fixed(ratio(time, static_cast<double>(times)), 0)});
  };
  std::uint64_t calls = 0;
  for (const auto& row : rows) {
    // The loop is called once a wake-up and works for every event.
    add(row, row.part == "event loop" ? all_events : row.events + row.calls);
    calls += row.calls;
  }
  table.gap();
  add({"all", all_events, calls, all}, all_events);
  return table.text();
}

std::string processes_table(const std::vector<experiment::Point>& points,
                            const std::vector<runs::PointOutcome>& outcomes) {
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (outcomes[i].status != runs::PointStatus::not_run) order.push_back(i);
  }
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return outcomes[a].host_seconds > outcomes[b].host_seconds; });
  TextTable table({left("process of point"), right("host time", "[s]"), right("CPU time", "[s]"),
                   right("memory", "[MiB]"), right("events"), right("an event", "[ns]"), right("cell-hops"),
                   right("simulated", "[us]")});
  for (std::size_t n = 0; n < std::min(order.size(), kMostProcesses); ++n) {
    const runs::PointOutcome& outcome = outcomes[order[n]];
    const workloads::Totals& totals = outcome.totals;
    table.add({points[order[n]].label(), fixed(outcome.host_seconds, 3), fixed(outcome.cpu_seconds, 3),
               fixed(outcome.peak_mib, 1), std::to_string(totals.events),
               fixed(ratio(outcome.host_seconds * 1e9, static_cast<double>(totals.events)), 0),
               std::to_string(totals.cell_hops), fixed(static_cast<double>(totals.simulated_ps) / 1e6, 2)});
  }
  std::string text = table.text();
  if (order.size() > kMostProcesses) {
    text += fmt::format("and {} more, each faster; meta.json has them all\n", order.size() - kMostProcesses);
  }
  return text;
}

std::string bar(double from, double length, double total, std::size_t width) {
  if (!(total > 0)) return "";
  const auto cells = [&](double value) {
    return static_cast<std::size_t>(std::lround(value / total * static_cast<double>(width)));
  };
  const std::size_t begin = std::min(cells(from), width);
  const std::size_t end = std::min(std::max(cells(from + length), begin), width);
  // A step too short for a cell still shows where it lies.
  const std::string fill = end > begin ? std::string(end - begin, '#') : "|";
  return std::string(begin, ' ') + fill;
}

std::string breakdown_table(const std::vector<workloads::BreakdownRow>& rows) {
  double total = 0;
  for (const auto& row : rows) total += row.mean_us;
  TextTable table({left("step"), left("where"), right("time", "[us]"), right("cumulative", "[us]"),
                   right("share", "[%]"), right("samples"), left("|" + std::string(38, '-') + "|")});
  double before = 0;
  for (const auto& row : rows) {
    const std::string range = row.half_width_us > 0 ? " \u00b1" + fixed(row.half_width_us, 3) : "";
    table.add({row.step, row.where, fixed(row.mean_us, 3) + range, fixed(before + row.mean_us, 3),
               total > 0 ? fixed(100 * row.mean_us / total, 1) : "-", std::to_string(row.samples),
               bar(before, row.mean_us, total, 40)});
    before += row.mean_us;
  }
  return table.text();
}

}  // namespace

std::vector<sim::Profile::Row> profile_by_part(const std::vector<runs::PointOutcome>& outcomes) {
  std::vector<sim::Profile::Row> sum;
  for (const runs::PointOutcome& outcome : outcomes) {
    for (const auto& row : outcome.result.profile) {
      const auto known = std::ranges::find_if(sum, [&](const auto& have) { return have.part == row.part; });
      if (known == sum.end()) {
        sum.push_back(row);
        continue;
      }
      known->events += row.events;
      known->calls += row.calls;
      known->host_ns += row.host_ns;
    }
  }
  std::ranges::stable_sort(sum, [](const auto& a, const auto& b) { return a.host_ns > b.host_ns; });
  return sum;
}

std::string profile_text(const std::vector<experiment::Point>& points, const std::vector<runs::PointOutcome>& outcomes,
                         std::size_t width) {
  const std::string note = wrap(
      "(A part's time is its own: what it calls in another part is the other's. events: its own in the event loop; "
      "calls: by other parts; each: host time of one of either, of the event loop and of all together that of an "
      "event. software: what a simulated thread runs until it next "
      "waits. Reading the clock twice for each of them is in these times.)",
      width, 1);
  return "Host time by part of the model, all complete points together\n\n" + parts_table(profile_by_part(outcomes)) +
         note + "\n\nHost time by process: each point has one of its own\n\n" + processes_table(points, outcomes);
}

std::string breakdown_view(const Results& results) {
  std::string text;
  for (std::size_t i = 0; i < results.points.size(); ++i) {
    const auto& rows = results.outcomes[i].result.breakdown;
    if (rows.empty()) continue;
    const Failures failures = results.failures_at(i);
    const std::string besides = failures.any() ? fmt::format(" (!: {}; no step has them)", text_of(failures)) : "";
    text +=
        fmt::format("{}{}{}\n{}", text.empty() ? "" : "\n", results.points[i].label(), besides, breakdown_table(rows));
  }
  return text.empty() ? "no point measured a breakdown\n" : text;
}

}  // namespace faultline::results
