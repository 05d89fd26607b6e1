// SPDX-License-Identifier: Apache-2.0
#include "src/results/report.hpp"

#include <fmt/format.h>

#include <algorithm>
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

}  // namespace faultline::results
