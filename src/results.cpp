// SPDX-License-Identifier: Apache-2.0
#include "src/results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "models/sim/units.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;

std::string to_string(PointStatus status) {
  switch (status) {
    case PointStatus::complete: return "complete";
    case PointStatus::misconfigured: return "misconfigured";
    case PointStatus::host_failed: return "host failed";
    case PointStatus::bug: return "bug";
    case PointStatus::not_run: return "not run";
  }
  return "?";
}

Json point_json(const Point& point, const PointOutcome& outcome) {
  Json json;
  json["strategy"] = point.strategy;
  json["parameters"] = Json::object();
  for (const NamedText& parameter : point.parameters) json["parameters"][parameter.name] = parameter.text;
  json["metrics"] = Json::object();
  for (const auto& metric : outcome.result.metrics) {
    json["metrics"][metric.name] = {
        {"value", metric.value}, {"unit", metric.unit}, {"description", metric.description}};
  }
  json["breakdown"] = Json::array();
  for (const auto& row : outcome.result.breakdown) {
    json["breakdown"].push_back({{"step", row.step},
                                 {"where", row.where},
                                 {"mean", {{"value", row.mean_us}, {"unit", "us"}}},
                                 {"samples", row.samples},
                                 {"description", row.description}});
  }
  json["notes"] = outcome.result.notes;
  json["events"] = outcome.result.events;
  json["simulated_time"] = {{"value", outcome.result.simulated_ps}, {"unit", "ps"}};
  json["status"] = to_string(outcome.status);
  json["failed_checks"] = outcome.result.failed_checks;
  if (!outcome.result.refused.empty()) json["refused"] = outcome.result.refused;
  if (!outcome.error.empty()) json["error"] = outcome.error;
  return json;
}

struct PlainUnit {
  std::string unit;
  double (*read)(const std::string&);
};

// The unit in which a kind of quantity stands in a CSV column; none for what is plain already.
PlainUnit plain_unit(sim::ParameterKind kind) {
  switch (kind) {
    case sim::ParameterKind::time:
      return {"us", [](const std::string& t) { return static_cast<double>(sim::parse_time(t).count()) / 1e6; }};
    case sim::ParameterKind::bytes:
      return {"B", [](const std::string& t) { return static_cast<double>(sim::parse_bytes(t)); }};
    case sim::ParameterKind::bit_rate:
      return {"b/s", [](const std::string& t) { return static_cast<double>(sim::parse_bit_rate(t).bits_per_second); }};
    case sim::ParameterKind::byte_rate:
      return {"B/s",
              [](const std::string& t) { return static_cast<double>(sim::parse_byte_rate(t).bytes_per_second); }};
    case sim::ParameterKind::frequency:
      return {"Hz", [](const std::string& t) { return static_cast<double>(sim::parse_frequency(t).hertz); }};
    default: return {"", nullptr};
  }
}

std::string number(double value) {
  if (!std::isfinite(value)) return "";
  // Whole numbers without an exponent: spreadsheets take 4.1943e+06 for text in some locales.
  return std::floor(value) == value && std::abs(value) < 1e15 ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
}

struct MetricColumn {
  std::string name;
  std::string unit;
};

std::vector<MetricColumn> metric_columns(const std::vector<PointOutcome>& outcomes) {
  std::vector<MetricColumn> columns;
  for (const PointOutcome& outcome : outcomes) {
    for (const auto& metric : outcome.result.metrics) {
      const auto known = [&](const MetricColumn& c) { return c.name == metric.name; };
      if (std::none_of(columns.begin(), columns.end(), known)) columns.push_back({metric.name, metric.unit});
    }
  }
  return columns;
}

std::string titled(const std::string& name, const std::string& unit) {
  return csv_field(unit.empty() || unit == "1" ? name : name + " [" + unit + "]");
}

}  // namespace

std::string results_json(const std::vector<Point>& points, const std::vector<PointOutcome>& outcomes) {
  Json list = Json::array();
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (outcomes[i].status != PointStatus::not_run) list.push_back(point_json(points[i], outcomes[i]));
  }
  return list.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

std::string results_csv(const std::vector<Point>& points, const std::vector<PointOutcome>& outcomes,
                        const Simulator& simulator) {
  const auto machine = simulator.machine();
  std::vector<PlainUnit> units;
  std::string csv = "strategy";
  if (!points.empty()) {
    for (const NamedText& axis : points.front().axes) {
      units.push_back(plain_unit(machine->parameters().find(axis.name)->kind));
      csv += "," + titled(axis.name, units.back().unit);
    }
  }
  const std::vector<MetricColumn> metrics = metric_columns(outcomes);
  for (const MetricColumn& metric : metrics) csv += "," + titled(metric.name, metric.unit);
  csv += ",status,error\n";
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (outcomes[i].status == PointStatus::not_run) continue;
    csv += csv_field(points[i].strategy);
    for (std::size_t a = 0; a < units.size(); ++a) {
      const std::string& text = points[i].axes[a].text;
      csv += "," + (units[a].read == nullptr ? csv_field(text) : number(units[a].read(text)));
    }
    for (const MetricColumn& column : metrics) {
      const auto& have = outcomes[i].result.metrics;
      const auto it = std::find_if(have.begin(), have.end(), [&](const auto& m) { return m.name == column.name; });
      csv += "," + (it == have.end() ? std::string() : number(it->value));
    }
    const std::string& refused = outcomes[i].result.refused;
    csv += "," + (refused.empty() ? to_string(outcomes[i].status) : "refused");
    csv += "," + csv_field(refused.empty() ? outcomes[i].error : refused) + "\n";
  }
  return csv;
}

}  // namespace faultline::app
