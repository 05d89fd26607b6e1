// SPDX-License-Identifier: Apache-2.0
#include "src/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/results/report.hpp"
#include "src/results/results.hpp"
#include "src/results/text_table.hpp"

namespace faultline::app {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double measured(const Figure& figure, const PointOutcome& outcome, std::string& trouble) {
  if (outcome.status != PointStatus::complete) {
    trouble = outcome.error.empty() ? "not run" : outcome.error;
    return kNothing;
  }
  if (!outcome.result.failed_checks.empty()) trouble = outcome.result.failed_checks.front();
  if (!figure.metric.empty()) {
    const auto* metric = find_metric(outcome, figure.metric);
    if (metric == nullptr) trouble = "the point has no " + figure.metric;
    return metric == nullptr ? kNothing : metric->value * figure.scale;
  }
  double sum = 0;
  for (const std::string& step : figure.steps) {
    bool found = false;
    for (const auto& row : outcome.result.breakdown) {
      if (row.step != step) continue;
      sum += row.mean_us;
      found = true;
    }
    if (!found) trouble = "the point has no step '" + step + "'";
  }
  return trouble.empty() ? sum * figure.scale : kNothing;
}

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{:.4g}{}", value, unit.empty() ? "" : " " + unit);
}

void compare_ordering(const Figure& figure, double value, double baseline, Check& check) {
  const bool less = figure.compare == Comparison::less;
  check.published = fmt::format("{} {}", less ? "<" : ">", with_unit(baseline, figure.unit));
  check.value = value;
  check.simulated = with_unit(value, figure.unit);
  check.error = fmt::format("{:+.1f} %", 100 * (value / baseline - 1));
  check.passed = less ? value < baseline : value > baseline;
}

void compare_value(const Figure& figure, double value, Check& check) {
  const double error = value - figure.value;
  check.value = value;
  check.simulated = with_unit(value, figure.unit);
  check.error = figure.tolerance.relative && figure.value != 0
                    ? fmt::format("{:+.1f} %", 100 * error / figure.value)
                    : fmt::format("{:+.2f} {}", error, figure.unit == "%" ? "points" : figure.unit);
  const double allowed = figure.tolerance.amount * (figure.tolerance.relative ? std::abs(figure.value) / 100 : 1);
  check.passed = (std::abs(error) <= allowed) == figure.known_off.empty();
}

std::string tolerance_text(const Figure& figure) {
  if (figure.compare == Comparison::less || figure.compare == Comparison::greater) return "";
  return fmt::format("{:g} {}", figure.tolerance.amount, figure.tolerance.relative ? "%" : figure.unit);
}

Check compare_one(const Figure& figure, const Point& point, const PointOutcome& outcome, const PointOutcome* baseline) {
  Check check;
  check.figure = &figure;
  for (const NamedText& axis : point.axes) check.where += (check.where.empty() ? "" : ", ") + axis.text;
  check.published = with_unit(figure.value, figure.unit);
  const double value = measured(figure, outcome, check.trouble);
  const double base = baseline == nullptr ? kNothing : measured(figure, *baseline, check.trouble);
  if (!check.trouble.empty()) return check;
  switch (figure.compare) {
    case Comparison::value: compare_value(figure, value, check); break;
    case Comparison::difference: compare_value(figure, value - base, check); break;
    case Comparison::ratio: compare_value(figure, value / base, check); break;
    case Comparison::overhead: compare_value(figure, 100 * (value / base - 1), check); break;
    case Comparison::less:
    case Comparison::greater: compare_ordering(figure, value, base, check); break;
  }
  return check;
}

std::string verdict(const Check& check) {
  if (!check.passed) return "FAIL";
  return check.figure->known_off.empty() ? "pass" : "off";
}

}  // namespace

std::vector<Point> points_of(const std::vector<Figure>& figures) {
  std::vector<Point> all;
  for (const Figure& figure : figures) {
    all.insert(all.end(), figure.points.begin(), figure.points.end());
    all.insert(all.end(), figure.baseline.begin(), figure.baseline.end());
  }
  return all;
}

std::vector<Check> compare(const std::vector<Figure>& figures, const std::vector<PointOutcome>& outcomes) {
  std::vector<Check> checks;
  std::size_t at = 0;
  for (const Figure& figure : figures) {
    for (std::size_t i = 0; i < figure.points.size(); ++i) {
      const PointOutcome* baseline = figure.baseline.empty() ? nullptr : &outcomes.at(at + figure.points.size() + i);
      checks.push_back(compare_one(figure, figure.points[i], outcomes.at(at + i), baseline));
    }
    at += figure.points.size() + figure.baseline.size();
  }
  return checks;
}

std::string checks_table(const std::vector<Check>& checks) {
  TextTable table({{"", "", Align::left},
                   {"quantity", "", Align::left},
                   {"at", "", Align::left},
                   {"use", "", Align::left},
                   {"published", "", Align::right},
                   {"simulated", "", Align::right},
                   {"error", "", Align::right},
                   {"allowed", "", Align::right},
                   {"", "", Align::left}});
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    table.add({figure.name, figure.quantity, check.where, figure.use, check.published,
               check.trouble.empty() ? check.simulated : "none", check.error, tolerance_text(figure), verdict(check)});
  }
  std::string text = table.text() + "\n";
  const Figure* last = nullptr;
  for (const Check& check : checks) {
    if (!check.trouble.empty()) text += fmt::format("{}: {}\n", check.figure->name, check.trouble);
    if (check.figure == last) continue;
    last = check.figure;
    text += fmt::format("{}: {}{}{}\n", last->name, last->source,
                        last->fitted.empty() ? "" : fmt::format("; fitted: {}", fmt::join(last->fitted, ", ")),
                        last->known_off.empty() ? "" : "; known to be off: " + last->known_off);
  }
  return text;
}

std::string checks_json(const std::vector<Check>& checks) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    list.push_back({{"name", figure.name},
                    {"quantity", figure.quantity},
                    {"at", check.where},
                    {"use", figure.use},
                    {"published", check.published},
                    {"simulated", check.simulated},
                    {"value", check.trouble.empty() ? nlohmann::ordered_json(check.value) : nlohmann::ordered_json()},
                    {"unit", figure.unit},
                    {"error", check.error},
                    {"allowed", tolerance_text(figure)},
                    {"passed", check.passed},
                    {"known_off", figure.known_off},
                    {"trouble", check.trouble},
                    {"source", figure.source},
                    {"fitted", figure.fitted}});
  }
  return list.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

std::string checks_csv(const std::vector<Check>& checks) {
  std::string csv = "name,quantity,at,use,published,simulated,error,allowed,passed,trouble,source\n";
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    std::string line;
    for (const std::string& field :
         {figure.name, figure.quantity, check.where, figure.use, check.published, check.simulated, check.error,
          tolerance_text(figure), std::string(check.passed ? "true" : "false"), check.trouble, figure.source}) {
      line += (line.empty() ? "" : ",") + csv_field(field);
    }
    csv += line + "\n";
  }
  return csv;
}

}  // namespace faultline::app
