// SPDX-License-Identifier: Apache-2.0
#include "src/validation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/text_table.hpp"

namespace faultline::app {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

double metric_of(const std::string& name, const runs::PointOutcome& outcome, std::string& trouble) {
  const auto* metric = results::find_metric(outcome, name);
  if (metric == nullptr) trouble = "the point has no " + name;
  return metric == nullptr ? kNothing : metric->value;
}

double sum_of_steps(const std::vector<std::string>& steps, const runs::PointOutcome& outcome, std::string& trouble) {
  double sum = 0;
  for (const std::string& step : steps) {
    bool found = false;
    for (const auto& row : outcome.result.breakdown) {
      if (row.step != step) continue;
      sum += row.mean_us;
      found = true;
    }
    if (!found) trouble = "the point has no step '" + step + "'";
  }
  return sum;
}

double measured(const Figure& figure, const runs::PointOutcome& outcome, std::string& trouble) {
  if (outcome.status != runs::PointStatus::complete) {
    trouble = outcome.error.empty() ? "not run" : outcome.error;
    return kNothing;
  }
  if (!outcome.result.failed_checks.empty()) trouble = outcome.result.failed_checks.front();
  double value =
      figure.metric.empty() ? sum_of_steps(figure.steps, outcome, trouble) : metric_of(figure.metric, outcome, trouble);
  if (!figure.over.empty()) {
    const double divisor = metric_of(figure.over, outcome, trouble);
    if (divisor == 0) trouble = figure.over + " is 0";
    value /= divisor;
  }
  return value * figure.scale;
}

std::string with_unit(double value, const std::string& unit) {
  return fmt::format("{:.4g}{}", value, unit.empty() ? "" : " " + unit);
}

std::string published_text(const Figure& figure) {
  const Published& published = figure.published;
  if (published.value) return with_unit(*published.value, figure.unit);
  if (!published.at_most) return ">= " + with_unit(published.at_least.value_or(0), figure.unit);
  if (!published.at_least) return "<= " + with_unit(*published.at_most, figure.unit);
  return fmt::format("{:.4g} to {}", *published.at_least, with_unit(*published.at_most, figure.unit));
}

void compare_ordering(const Figure& figure, double value, double baseline, Check& check) {
  const bool less = figure.compare == Comparison::less;
  check.published = fmt::format("{} {}", less ? "<" : ">", with_unit(baseline, figure.unit));
  check.value = value;
  check.simulated = with_unit(value, figure.unit);
  check.measure = 100 * (value / baseline - 1);
  check.error = fmt::format("{:+.1f} %", check.measure);
  check.passed = less ? value < baseline : value > baseline;
}

std::string error_text(const Figure& figure, double error, double of) {
  if (of != 0) return fmt::format("{:+.1f} %", 100 * error / std::abs(of));
  return fmt::format("{:+.2f} {}", error, figure.unit == "%" ? "points" : figure.unit);
}

void compare_value(const Figure& figure, double value, Check& check) {
  const Published& published = figure.published;
  check.value = check.measure = value;
  check.simulated = with_unit(value, figure.unit);
  if (published.value) {
    const Tolerance& tolerance = published.tolerance;
    const double error = value - *published.value;
    check.error = error_text(figure, error, tolerance.relative ? *published.value : 0);
    const double allowed = tolerance.amount * (tolerance.relative ? std::abs(*published.value) / 100 : 1);
    check.passed = std::abs(error) <= allowed;
    return;
  }
  const bool above = !published.at_least || value >= *published.at_least;
  const bool below = !published.at_most || value <= *published.at_most;
  check.passed = above && below;
  // Of one end how far it is away, of two where the value lies.
  const bool is_range = published.at_least && published.at_most;
  const double end = published.at_least && (!is_range || !above) ? *published.at_least : published.at_most.value_or(0);
  check.error = is_range && check.passed ? "inside" : error_text(figure, value - end, end);
}

// 1 where the points are on a straight line that rises; 0 or less where they do not rise somewhere.
double straightness(const std::vector<double>& positions, const std::vector<double>& values) {
  double least = std::numeric_limits<double>::infinity();
  double greatest = 0;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const double slope = (values[i] - values[i - 1]) / (positions[i] - positions[i - 1]);
    least = std::min(least, slope);
    greatest = std::max(greatest, slope);
  }
  return greatest > 0 ? least / greatest : 0;
}

// Where a line between neighbours meets the baseline's; with linear costs that is where they cross. NaN where the
// values are not first the baseline's or more, and then less, once.
double crossover(const std::vector<double>& positions, const std::vector<double>& values,
                 const std::vector<double>& baseline) {
  std::vector<double> above;
  for (std::size_t i = 0; i < values.size(); ++i) above.push_back(values[i] - baseline[i]);
  const auto is_less = [](double difference) { return difference < 0; };
  if (is_less(above.front()) || !is_less(above.back()) || !std::ranges::is_partitioned(above, std::not_fn(is_less)))
    return kNothing;
  const auto i = static_cast<std::size_t>(std::ranges::find_if(above, is_less) - above.begin());
  return positions[i - 1] + (positions[i] - positions[i - 1]) * above[i - 1] / (above[i - 1] - above[i]);
}

// `outcomes`: of the figure's points, and of its baseline's behind them.
Check compare_together(const Figure& figure, std::span<const runs::PointOutcome> outcomes) {
  Check check;
  check.figure = &figure;
  const auto text = [&](const experiment::Point& point) { return point.axes.front().text; };
  check.where = text(figure.points.front()) + " to " + text(figure.points.back());
  check.published = published_text(figure);
  std::vector<double> values;
  for (const runs::PointOutcome& outcome : outcomes) values.push_back(measured(figure, outcome, check.trouble));
  if (!check.trouble.empty()) return check;
  if (figure.compare == Comparison::linear) {
    compare_value(figure, straightness(figure.positions, values), check);
  } else {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(figure.points.size());
    const double at = crossover(figure.positions, {values.begin(), middle}, {middle, values.end()});
    if (std::isnan(at)) {
      check.trouble = "no point from which on it is less than the baseline's, and was not before";
      return check;
    }
    compare_value(figure, at * figure.scale, check);
  }
  if (!figure.known_off.empty()) check.passed = !check.passed;
  return check;
}

using Json = nlohmann::ordered_json;

constexpr std::size_t kWidth = 120;

bool is_ordering(const Figure& figure) {
  return figure.compare == Comparison::less || figure.compare == Comparison::greater;
}

std::string tolerance_text(const Figure& figure) {
  if (!figure.published.value) return "";
  const Tolerance& tolerance = figure.published.tolerance;
  return fmt::format("{:g} {}", tolerance.amount, tolerance.relative ? "%" : figure.unit);
}

std::string measure_unit(const Figure& figure) { return is_ordering(figure) ? "%" : figure.unit; }

std::string verdict(const Check& check) {
  if (!counts(check)) return check.passed ? "agrees" : "differs";
  if (!check.passed) return "FAIL";
  if (!check.figure->known_off.empty()) return "off";
  return check.figure->use == Use::construction ? "holds" : "pass";
}

Json band_json(const Check& check) {
  const Band& band = *check.band;
  const auto number = [&](double value) { return band.samples == 0 ? Json() : Json(value); };
  return {{"samples", band.samples},        {"passed", band.passed}, {"unit", measure_unit(*check.figure)},
          {"lowest", number(band.lowest)},  {"p5", number(band.p5)}, {"p95", number(band.p95)},
          {"highest", number(band.highest)}};
}

}  // namespace

Check compare(const Figure& figure, const experiment::Point& point, const runs::PointOutcome& outcome,
              const runs::PointOutcome* baseline) {
  Check check;
  check.figure = &figure;
  for (const experiment::NamedText& axis : point.axes) check.where += (check.where.empty() ? "" : ", ") + axis.text;
  check.published = published_text(figure);
  const double value = measured(figure, outcome, check.trouble);
  const double base = baseline == nullptr ? kNothing : measured(figure, *baseline, check.trouble);
  if (!check.trouble.empty()) return check;
  switch (figure.compare) {
    case Comparison::linear:  // each point's own is not compared
    case Comparison::crossover:
    case Comparison::value: compare_value(figure, value, check); break;
    case Comparison::difference: compare_value(figure, value - base, check); break;
    case Comparison::ratio: compare_value(figure, value / base, check); break;
    case Comparison::overhead: compare_value(figure, 100 * (value / base - 1), check); break;
    case Comparison::less:
    case Comparison::greater: compare_ordering(figure, value, base, check); break;
  }
  if (!figure.known_off.empty()) check.passed = !check.passed;
  return check;
}

bool counts(const Check& check) { return check.figure->use != Use::reading || !check.trouble.empty(); }

std::vector<experiment::Point> points_of(const std::vector<Figure>& figures) {
  std::vector<experiment::Point> all;
  for (const Figure& figure : figures) {
    all.insert(all.end(), figure.points.begin(), figure.points.end());
    all.insert(all.end(), figure.baseline.begin(), figure.baseline.end());
  }
  return all;
}

std::vector<Check> compare(const std::vector<Figure>& figures, std::span<const runs::PointOutcome> outcomes) {
  std::vector<Check> checks;
  std::size_t at = 0;
  for (const Figure& figure : figures) {
    const std::size_t outcomes_of_it = figure.points.size() + figure.baseline.size();
    if (figure.is_one_check()) checks.push_back(compare_together(figure, outcomes.subspan(at, outcomes_of_it)));
    for (std::size_t i = 0; i < figure.points.size() && !figure.is_one_check(); ++i) {
      const runs::PointOutcome* baseline = figure.baseline.empty() ? nullptr : &outcomes[at + figure.points.size() + i];
      checks.push_back(compare(figure, figure.points[i], outcomes[at + i], baseline));
    }
    at += outcomes_of_it;
  }
  return checks;
}

std::string use_text(Use use) {
  switch (use) {
    case Use::predicted: return "predicted";
    case Use::fit: return "fit";
    case Use::construction: return "by construction";
    case Use::reading: return "other reading";
  }
  return "";
}

std::string measure_text(const Check& check, double measure) {
  if (is_ordering(*check.figure)) return fmt::format("{:+.1f} %", measure);
  return with_unit(measure, check.figure->unit);
}

std::string checks_table(const std::vector<Check>& checks) {
  results::TextTable table({results::left(""), results::left("quantity"), results::left("at"), results::left("use"),
                            results::right("published"), results::right("simulated"), results::right("error"),
                            results::right("allowed"), results::left("")});
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    table.add({figure.name, figure.quantity, check.where, use_text(figure.use), check.published,
               check.trouble.empty() ? check.simulated : "none", check.error, tolerance_text(figure), verdict(check)});
  }
  return table.text();
}

std::string figures_text(const std::vector<Check>& checks) {
  std::string text;
  const Figure* last = nullptr;
  for (const Check& check : checks) {
    if (!check.trouble.empty()) text += fmt::format("{}: {}\n", check.figure->name, check.trouble);
    if (check.figure == last) continue;
    last = check.figure;
    text += results::wrap(fmt::format("{}: {}", last->name, last->source), kWidth, 4) + "\n";
    const auto add = [&](const std::string& line) { text += "    " + results::wrap(line, kWidth - 4, 4) + "\n"; };
    if (!last->fitted.empty()) add(fmt::format("fitted: {}", fmt::join(last->fitted, ", ")));
    if (!last->fails_if.empty()) add("fails if " + last->fails_if);
    if (!last->known_off.empty()) add("known to be off: " + last->known_off);
    if (!last->note.empty()) add(last->note);
  }
  return text;
}

std::string checks_json(const std::vector<Check>& checks) {
  Json list = Json::array();
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    list.push_back({{"name", figure.name},
                    {"quantity", figure.quantity},
                    {"at", check.where},
                    {"use", use_text(figure.use)},
                    {"published", check.published},
                    {"simulated", check.simulated},
                    {"value", check.trouble.empty() ? Json(check.value) : Json()},
                    {"unit", figure.unit},
                    {"error", check.error},
                    {"allowed", tolerance_text(figure)},
                    {"counts", counts(check)},
                    {"passed", check.passed},
                    {"known_off", figure.known_off},
                    {"trouble", check.trouble},
                    {"source", figure.source},
                    {"fitted", figure.fitted},
                    {"fails_if", figure.fails_if},
                    {"note", figure.note}});
    if (check.band) list.back()["band"] = band_json(check);
  }
  return results::json_text(list);
}

std::string checks_csv(const std::vector<Check>& checks) {
  const bool has_bands = std::ranges::any_of(checks, [](const Check& check) { return check.band.has_value(); });
  std::string csv =
      "name,quantity,at,use,published,simulated,error,allowed,counts,passed,trouble,source,fails_if,known_off,note";
  csv += has_bands ? ",band_unit,band_lowest,band_p5,band_p95,band_highest,band_passed,band_samples\n" : "\n";
  for (const Check& check : checks) {
    const Figure& figure = *check.figure;
    std::vector<Json> fields{figure.name,     figure.quantity,  check.where,   use_text(figure.use),
                             check.published, check.simulated,  check.error,   tolerance_text(figure),
                             counts(check),   check.passed,     check.trouble, figure.source,
                             figure.fails_if, figure.known_off, figure.note};
    if (const auto& band = check.band) {
      fields.push_back(measure_unit(figure));
      for (const double value : {band->lowest, band->p5, band->p95, band->highest})
        fields.push_back(band->samples == 0 ? "" : fmt::format("{:.6g}", value));
      fields.push_back(band->passed);
      fields.push_back(band->samples);
    } else if (has_bands) {
      fields.resize(fields.size() + 7);
    }
    csv += results::csv_line(fields);
  }
  return csv;
}

}  // namespace faultline::app
