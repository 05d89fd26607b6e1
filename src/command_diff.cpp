// SPDX-License-Identifier: Apache-2.0
// faultline diff
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/results/database.hpp"
#include "src/results/difference.hpp"
#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/text_table.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostListed = 10;

bool has_both(const results::Difference::Row& row) { return row.a.count > 0 && row.b.count > 0; }

std::string noise_text(const results::Difference::Row& row) {
  if (!has_both(row)) return "-";
  switch (row.beyond_noise) {
    case results::BeyondNoise::yes: return "yes";
    case results::BeyondNoise::no: return "no";
    case results::BeyondNoise::exact: return "exact";
    case results::BeyondNoise::marked: return "marked";
    case results::BeyondNoise::unknown: break;
  }
  return "?";
}

std::string mean_text(const results::Summary& summary, const results::Failures& failures,
                      const workloads::MetricDoc& metric) {
  return (summary.count == 0 ? "-" : results::cell_text({"", summary.mean, metric.unit, "", summary.half_width})) +
         mark_of(metric.name, failures);
}

// The change of a latency is marked, too: it is one of other transfers.
std::string change_text(const results::Difference::Row& row) {
  if (!std::isfinite(row.change)) return "-";
  results::Failures both = row.failures_a;
  both += row.failures_b;
  return fmt::format("{:+.1f}", row.change) + mark_of(row.metric.name, both);
}

void print_only(const std::vector<std::string>& points, const char* side, const Console& console) {
  if (points.empty()) return;
  console.out << "\nonly in " << side << ":\n";
  for (std::size_t i = 0; i < points.size() && i < kMostListed; ++i) console.out << "  " << points[i] << "\n";
  if (points.size() > kMostListed) console.out << fmt::format("  ... and {} more\n", points.size() - kMostListed);
}

void print_configuration(const results::Difference& difference, const Console& console) {
  if (difference.configuration.empty()) {
    console.out << "the configurations are the same\n";
    return;
  }
  results::TextTable table({results::left("configuration"), results::left("A"), results::left("B")});
  for (const auto& setting : difference.configuration) table.add({setting.key, setting.a, setting.b});
  console.out << table.text();
}

void print_metrics(const results::Difference& difference, const Console& console) {
  results::TextTable table({results::left("point"), results::left("metric"), results::left("unit"), results::right("A"),
                            results::right("B"), results::right("change", "[%]"), results::left("beyond noise")});
  std::string point;
  results::Legend legend;
  std::set<std::string> told;
  for (const results::Difference::Row& row : difference.rows) {
    const bool is_new = row.point != point;
    if (is_new) table.gap();
    table.add({is_new ? row.point : "", row.metric.name, row.metric.unit == "1" ? "" : row.metric.unit,
               mean_text(row.a, row.failures_a, row.metric), mean_text(row.b, row.failures_b, row.metric),
               change_text(row), noise_text(row)});
    point = row.point;
    told.insert(noise_text(row));
  }
  for (const results::Difference::Row& pair : difference.marked) {
    legend.add(pair.point + " in A", pair.failures_a);
    legend.add(pair.point + " in B", pair.failures_b);
  }
  if (!difference.rows.empty()) console.out << "\n" << table.text();
  if (difference.compared == 0) {
    console.out << "\nnothing to compare: no point that both have has a metric on either side\n";
    return;
  }
  console.out << fmt::format("{}{} of {} metrics of {} {} are equal\n", difference.rows.empty() ? "\n" : "",
                             difference.equal, difference.compared, difference.pairs,
                             difference.pairs == 1 ? "point" : "points that both have");
  console.out << legend.text(std::max<std::size_t>(console.width, 60));
  if (told.contains("yes") || told.contains("no")) {
    console.out
        << "(\u00b1: half of the 95 % confidence interval over the seeds; beyond noise: Welch's t test at 5 %, so "
           "chance makes\n one mark in twenty)\n";
  }
  for (const auto& [mark, note] :
       {std::pair{"exact",
                  "no repetition gives another value, so there is no noise to test against; with one seed: no random "
                  "number is drawn"},
        std::pair{"marked", "no verdict: the values are of what completed, which need not be the same on both sides"},
        std::pair{"?", "one seed, so nothing is known of noise; 'repetitions' in the experiment adds some"},
        std::pair{"-", "no value on one side: the point failed, was refused or has not run, or lacks the metric"}}) {
    if (told.contains(mark)) console.out << fmt::format("({}: {})\n", mark, note);
  }
}

Json summary_json(const results::Summary& summary, const results::Failures& failures) {
  return {{"mean", summary.mean},
          {"half_width", summary.count > 1 ? Json(summary.half_width) : Json()},
          {"seeds", summary.count},
          {"exact", summary.exact},
          {"failed_transfers", failures.failed},
          {"unfinished_points", failures.unfinished}};
}

// Null where there is no test.
Json noise_json(results::BeyondNoise beyond) {
  if (beyond == results::BeyondNoise::yes) return true;
  return beyond == results::BeyondNoise::no ? Json(false) : Json();
}

Json to_json(const results::Difference& difference) {
  Json json;
  json["configuration"] = Json::array();
  for (const auto& setting : difference.configuration)
    json["configuration"].push_back({{"key", setting.key}, {"a", setting.a}, {"b", setting.b}});
  json["only_in_a"] = difference.only_a;
  json["only_in_b"] = difference.only_b;
  json["equal"] = difference.equal;
  json["marked_points"] = difference.marked.size();
  json["metrics"] = Json::array();
  for (const results::Difference::Row& row : difference.rows) {
    json["metrics"].push_back({{"point", row.point},
                               {"metric", row.metric.name},
                               {"unit", row.metric.unit},
                               {"a", summary_json(row.a, row.failures_a)},
                               {"b", summary_json(row.b, row.failures_b)},
                               {"change_percent", row.change},
                               {"beyond_noise", noise_json(row.beyond_noise)}});
  }
  return json;
}

std::string to_csv(const results::Difference& difference) {
  std::string csv =
      "point,metric,unit,a,a_half_width,a_seeds,b,b_half_width,b_seeds,change [%],beyond noise,a_failed_transfers,"
      "a_unfinished_points,b_failed_transfers,b_unfinished_points\n";
  const auto half_width = [](const results::Summary& s) { return s.count > 1 ? Json(s.half_width) : Json(); };
  for (const results::Difference::Row& row : difference.rows) {
    csv += results::csv_line({row.point, row.metric.name, row.metric.unit, row.a.mean, half_width(row.a), row.a.count,
                              row.b.mean, half_width(row.b), row.b.count, row.change,
                              row.beyond_noise == results::BeyondNoise::unknown ? "" : noise_text(row),
                              row.failures_a.failed, row.failures_a.unfinished, row.failures_b.failed,
                              row.failures_b.unfinished});
  }
  return csv;
}

}  // namespace

int diff_command(const Call& call) {
  const std::string& name_a = call.options.arguments[0];
  const std::string& name_b = call.options.arguments[1];
  results::Side a(name_a, call.options.where), b(name_b, call.options.where);
  const std::vector<std::string> metrics(call.options.arguments.begin() + 2, call.options.arguments.end());
  const results::Difference found = difference(a, b, metrics, call.options.all);
  call.console.err << a.run.failed_checks(a.points) << b.run.failed_checks(b.points);
  switch (call.options.format) {
    case Format::json: call.console.out << results::json_text(to_json(found)); break;
    case Format::csv: call.console.out << to_csv(found); break;
    case Format::table:
      call.console.out << "A: " << name_a << "\nB: " << name_b << "\n\n";
      print_configuration(found, call.console);
      print_only(found.only_a, "A", call.console);
      print_only(found.only_b, "B", call.console);
      print_metrics(found, call.console);
      break;
  }
  return kFine;
}

}  // namespace faultline::app
