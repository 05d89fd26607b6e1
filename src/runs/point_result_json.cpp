// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_result_json.hpp"

#include <limits>

namespace faultline::runs {
namespace {

using Json = nlohmann::ordered_json;

// JSON has no NaN; a metric that has no value (the latency of no transfer) is null.
double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Json to_json(const workloads::Distribution& d) {
  Json buckets = Json::array();
  for (const auto& b : d.buckets) buckets.push_back({b.lower, b.upper, b.count});
  return {{"name", d.name}, {"unit", d.unit},    {"description", d.description}, {"count", d.count}, {"min", d.min},
          {"max", d.max},   {"buckets", buckets}};
}

workloads::Distribution distribution_from_json(const Json& json) {
  workloads::Distribution d{
      json.at("name"), json.at("unit"), json.at("description"), json.at("count"), json.at("min"), json.at("max"), {}};
  for (const auto& b : json.at("buckets")) d.buckets.push_back({b.at(0), b.at(1), b.at(2)});
  return d;
}

Json metrics_to_json(const std::vector<workloads::Metric>& metrics) {
  Json json = Json::array();
  for (const auto& m : metrics) {
    json.push_back({{"name", m.name}, {"value", m.value}, {"unit", m.unit}, {"description", m.description}});
  }
  return json;
}

std::vector<workloads::Metric> metrics_from_json(const Json& json) {
  std::vector<workloads::Metric> metrics;
  for (const auto& m : json) {
    metrics.push_back({m.at("name"), number(m.at("value")), m.at("unit"), m.at("description")});
  }
  return metrics;
}

}  // namespace

Json to_json(const workloads::PointResult& result) {
  Json json;
  json["metrics"] = metrics_to_json(result.metrics);
  json["parts"] = Json::array();
  for (const auto& part : result.parts) {
    json["parts"].push_back({{"part", part.part}, {"about", part.about}, {"metrics", metrics_to_json(part.metrics)}});
  }
  json["breakdown"] = Json::array();
  for (const auto& row : result.breakdown) {
    json["breakdown"].push_back({{"step", row.step},
                                 {"where", row.where},
                                 {"mean_us", row.mean_us},
                                 {"samples", row.samples},
                                 {"description", row.description}});
  }
  json["distributions"] = Json::array();
  for (const auto& d : result.distributions) json["distributions"].push_back(to_json(d));
  json["series"] = Json::array();
  for (const auto& s : result.series) {
    json["series"].push_back({{"name", s.name},
                              {"unit", s.unit},
                              {"description", s.description},
                              {"interval_us", s.interval_us},
                              {"values", s.values}});
  }
  json["notes"] = result.notes;
  json["events"] = result.events;
  json["cell_hops"] = result.cell_hops;
  json["simulated_ps"] = result.simulated_ps;
  json["draws"] = result.draws;
  json["profile"] = Json::array();
  for (const auto& row : result.profile) {
    json["profile"].push_back(
        {{"part", row.part}, {"events", row.events}, {"calls", row.calls}, {"host_ns", row.host_ns}});
  }
  json["traced"] = result.traced;
  json["failed_checks"] = result.failed_checks;
  json["refused"] = result.refused;
  json["error"] = result.error;
  json["error_keys"] = result.error_keys;
  return json;
}

workloads::PointResult point_result_from_json(const Json& json) {
  workloads::PointResult result;
  result.metrics = metrics_from_json(json.at("metrics"));
  for (const auto& part : json.at("parts")) {
    result.parts.push_back({part.at("part"), part.at("about"), metrics_from_json(part.at("metrics"))});
  }
  for (const auto& row : json.at("breakdown")) {
    result.breakdown.push_back(
        {row.at("step"), row.at("where"), number(row.at("mean_us")), row.at("samples"), row.at("description")});
  }
  for (const auto& d : json.at("distributions")) result.distributions.push_back(distribution_from_json(d));
  for (const auto& s : json.at("series")) {
    result.series.push_back({s.at("name"), s.at("unit"), s.at("description"), s.at("interval_us"),
                             s.at("values").get<std::vector<double>>()});
  }
  result.notes = json.at("notes").get<std::vector<std::string>>();
  result.events = json.at("events");
  result.cell_hops = json.at("cell_hops");
  result.simulated_ps = json.at("simulated_ps");
  result.draws = json.at("draws");
  for (const auto& row : json.at("profile")) {
    result.profile.push_back({row.at("part"), row.at("events"), row.at("calls"), row.at("host_ns")});
  }
  result.traced = json.at("traced");
  json.at("failed_checks").get_to(result.failed_checks);
  result.refused = json.at("refused");
  result.error = json.at("error");
  result.error_keys = json.at("error_keys").get<std::vector<std::string>>();
  return result;
}

Json to_json(const PointOutcome& outcome) {
  return {{"status", to_string(outcome.status)},
          {"result", to_json(outcome.result)},
          {"error", outcome.error},
          {"totals", {outcome.totals.events, outcome.totals.cell_hops, outcome.totals.simulated_ps}},
          {"host_seconds", outcome.host_seconds},
          {"cpu_seconds", outcome.cpu_seconds},
          {"peak_mib", outcome.peak_mib}};
}

PointOutcome point_outcome_from_json(const Json& json) {
  PointOutcome outcome;
  outcome.status = point_status(json.at("status"));
  outcome.result = point_result_from_json(json.at("result"));
  outcome.error = json.at("error");
  const auto& totals = json.at("totals");
  outcome.totals = {totals.at(0), totals.at(1), totals.at(2)};
  outcome.host_seconds = json.at("host_seconds");
  outcome.cpu_seconds = json.at("cpu_seconds");
  outcome.peak_mib = json.at("peak_mib");
  return outcome;
}

}  // namespace faultline::runs
