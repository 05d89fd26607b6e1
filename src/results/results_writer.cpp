// SPDX-License-Identifier: Apache-2.0
#include "src/results/results_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <cmath>

#include "models/sim/histogram.hpp"
#include "src/experiment/quantity.hpp"
#include "src/results/report.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

namespace {

using Json = nlohmann::ordered_json;

Json distribution_json(const workloads::Distribution& d) {
  Json json{{"unit", d.unit}, {"description", d.description}, {"count", d.count}, {"min", d.min}};
  const auto values = percentiles_of(d);
  for (std::size_t i = 0; i < values.size(); ++i) json[kPercentiles[i]] = values[i];
  json["max"] = d.max;
  json["relative_error"] = sim::Histogram::kRelativeError;
  return json;
}

Json point_json(const experiment::Point& point, const runs::PointOutcome& outcome) {
  Json json;
  json["strategy"] = point.strategy;
  json["seed"] = point.seed;
  json["parameters"] = Json::object();
  for (const experiment::NamedText& parameter : point.parameters()) json["parameters"][parameter.name] = parameter.text;
  for (const experiment::NamedText& axis : point.axes) {
    if (const std::string* label = point.label_on(axis)) json["labels"][axis.name] = *label;
  }
  json["metrics"] = Json::object();
  for (const auto& metric : outcome.result.metrics) {
    json["metrics"][metric.name] = {
        {"value", metric.value}, {"unit", metric.unit}, {"description", metric.description}};
  }
  for (const auto& part : outcome.result.parts) {
    Json& of = json["parts"][part.part];
    if (!part.about.empty()) of["about"] = part.about;
    for (const auto& metric : part.metrics) of[metric.name] = {{"value", metric.value}, {"unit", metric.unit}};
  }
  if (const std::string limit = workloads::limit_of(outcome.result).text(); !limit.empty()) json["limit"] = limit;
  json["breakdown"] = Json::array();
  for (const auto& row : outcome.result.breakdown) {
    json["breakdown"].push_back({{"step", row.step},
                                 {"where", row.where},
                                 {"mean", {{"value", row.mean_us}, {"unit", "us"}}},
                                 {"samples", row.samples},
                                 {"description", row.description}});
  }
  for (const auto& d : outcome.result.distributions) json["distributions"][d.name] = distribution_json(d);
  for (const auto& s : outcome.result.series) {
    json["series"][s.name] = {{"unit", s.unit},
                              {"description", s.description},
                              {"interval", {{"value", s.interval_us}, {"unit", "us"}}},
                              {"values", s.values}};
  }
  json["notes"] = outcome.result.notes;
  // What a point that failed had done is this run's alone: meta.json.
  const bool ended = outcome.status == runs::PointStatus::complete;
  json["events"] = ended ? Json(outcome.result.events) : Json();
  json["simulated_time"] = {{"value", ended ? Json(outcome.result.simulated_ps) : Json()}, {"unit", "ps"}};
  json["draws"] = outcome.result.draws;  // if not, every seed gives this result
  json["status"] = status_text(outcome);
  json["failed_checks"] = outcome.result.failed_checks;
  if (!outcome.result.refused.empty()) json["refused"] = outcome.result.refused;
  if (!outcome.error.empty()) json["error"] = outcome.error;
  return json;
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  return '"' + boost::replace_all_copy(text, "\"", "\"\"") + '"';
}

std::string csv_number(double value) {
  if (!std::isfinite(value)) return "";
  // Whole numbers without an exponent: spreadsheets take 4.1943e+06 for text in some locales.
  return std::floor(value) == value && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

Json plain_value(sim::ParameterKind kind, const std::string& text) {
  const std::string unit = experiment::plain_unit(kind);
  return unit.empty() || unit == "1" ? Json(text) : Json(experiment::plain_number(kind, text));
}

bool has_labels(const experiment::Point& point, const std::string& axis) {
  return point.labels != nullptr && point.labels->contains(axis);
}

struct MetricColumn {
  std::string name;
  std::string unit;
};

std::vector<MetricColumn> metric_columns(const std::vector<runs::PointOutcome>& outcomes) {
  std::vector<MetricColumn> columns;
  for (const runs::PointOutcome& outcome : outcomes) {
    for (const auto& metric : outcome.result.metrics) {
      const auto known = [&](const MetricColumn& c) { return c.name == metric.name; };
      if (std::ranges::none_of(columns, known)) columns.push_back({metric.name, metric.unit});
    }
  }
  return columns;
}

std::string titled(const std::string& name, const std::string& unit) {
  return unit.empty() || unit == "1" ? name : name + " [" + unit + "]";
}

}  // namespace

std::string results_json(const std::vector<experiment::Point>& points,
                         const std::vector<runs::PointOutcome>& outcomes) {
  // A point at a time: the tree of a hundred thousand would take more memory than they do.
  std::string text = "[";
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (outcomes[i].status == runs::PointStatus::not_run) continue;
    text += text.size() == 1 ? "\n  " : ",\n  ";
    const std::string point = point_json(points[i], outcomes[i]).dump(2, ' ', false, Json::error_handler_t::replace);
    text += boost::replace_all_copy(point, "\n", "\n  ");
  }
  return text + (text.size() == 1 ? "]\n" : "\n]\n");
}

std::string json_text(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

std::string csv_line(const std::vector<Json>& fields) {
  std::string line;
  for (const Json& field : fields) {
    if (&field != &fields.front()) line += ",";
    if (field.is_number_float()) {
      line += csv_number(field.get<double>());
    } else if (!field.is_null()) {
      line += csv_field(field.is_string() ? field.get<std::string>() : field.dump());
    }
  }
  return line + "\n";
}

std::string results_csv(const std::vector<experiment::Point>& points, const std::vector<runs::PointOutcome>& outcomes,
                        const experiment::Simulator& simulator) {
  const auto machine = simulator.machine();
  std::vector<sim::ParameterKind> kinds;  // of the axes
  std::vector<Json> heads{"strategy"};
  if (!points.empty()) {
    for (const experiment::NamedText& axis : points.front().axes) {
      kinds.push_back(machine->parameters().find(axis.name)->kind);
      heads.push_back(titled(axis.name, experiment::plain_unit(kinds.back())));
      if (has_labels(points.front(), axis.name)) heads.push_back(axis.name + " label");
    }
  }
  heads.push_back("seed");
  const std::vector<MetricColumn> metrics = metric_columns(outcomes);
  for (const MetricColumn& metric : metrics) heads.push_back(titled(metric.name, metric.unit));
  heads.insert(heads.end(), {"status", "error"});
  std::string csv = csv_line(heads);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (outcomes[i].status == runs::PointStatus::not_run) continue;
    std::vector<Json> fields{points[i].strategy};
    for (std::size_t a = 0; a < kinds.size(); ++a) {
      const experiment::NamedText& axis = points[i].axes[a];
      fields.push_back(plain_value(kinds[a], axis.text));
      if (!has_labels(points[i], axis.name)) continue;
      const std::string* label = points[i].label_on(axis);
      fields.push_back(label == nullptr ? Json() : Json(*label));
    }
    fields.push_back(points[i].seed);
    for (const MetricColumn& column : metrics) {
      const auto* metric = find_metric(outcomes[i], column.name);
      fields.push_back(metric == nullptr ? Json() : Json(metric->value));
    }
    fields.insert(fields.end(), {status_text(outcomes[i]), reason_text(outcomes[i])});
    csv += csv_line(fields);
  }
  return csv;
}

std::array<double, kPercentiles.size()> percentiles_of(const workloads::Distribution& distribution) {
  const auto at = [&](double share) {
    return sim::quantile(distribution.buckets, distribution.count, distribution.max, share);
  };
  return {at(0.5), at(0.9), at(0.99), at(0.999)};
}

}  // namespace faultline::results
