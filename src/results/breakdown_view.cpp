// SPDX-License-Identifier: Apache-2.0
// Where the time of one transfer went, step by step, as a stacked bar.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "src/results/report.hpp"
#include "src/results/text_table.hpp"

namespace faultline::results {
namespace {

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
