// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_result_json.hpp"

#include <limits>

namespace faultline::app {
namespace {

// JSON has no NaN; a metric that has no value (the latency of no transfer) is null.
double number(const nlohmann::ordered_json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

}  // namespace

nlohmann::ordered_json to_json(const workloads::PointResult& result) {
  nlohmann::ordered_json json;
  json["metrics"] = nlohmann::ordered_json::array();
  for (const auto& m : result.metrics) {
    json["metrics"].push_back({{"name", m.name}, {"value", m.value}, {"unit", m.unit}, {"description", m.description}});
  }
  json["breakdown"] = nlohmann::ordered_json::array();
  for (const auto& row : result.breakdown) {
    json["breakdown"].push_back({{"step", row.step},
                                 {"where", row.where},
                                 {"mean_us", row.mean_us},
                                 {"samples", row.samples},
                                 {"description", row.description}});
  }
  json["notes"] = result.notes;
  json["events"] = result.events;
  json["cell_hops"] = result.cell_hops;
  json["simulated_ps"] = result.simulated_ps;
  json["profile"] = nlohmann::ordered_json::array();
  for (const auto& row : result.profile) {
    json["profile"].push_back(
        {{"part", row.part}, {"events", row.events}, {"calls", row.calls}, {"host_ns", row.host_ns}});
  }
  json["failed_checks"] = result.failed_checks;
  json["refused"] = result.refused;
  json["error"] = result.error;
  json["error_keys"] = result.error_keys;
  return json;
}

workloads::PointResult point_result_from_json(const nlohmann::ordered_json& json) {
  workloads::PointResult result;
  for (const auto& m : json.at("metrics")) {
    result.metrics.push_back({m.at("name"), number(m.at("value")), m.at("unit"), m.at("description")});
  }
  for (const auto& row : json.at("breakdown")) {
    result.breakdown.push_back(
        {row.at("step"), row.at("where"), number(row.at("mean_us")), row.at("samples"), row.at("description")});
  }
  result.notes = json.at("notes").get<std::vector<std::string>>();
  result.events = json.at("events");
  result.cell_hops = json.at("cell_hops");
  result.simulated_ps = json.at("simulated_ps");
  for (const auto& row : json.at("profile")) {
    result.profile.push_back({row.at("part"), row.at("events"), row.at("calls"), row.at("host_ns")});
  }
  json.at("failed_checks").get_to(result.failed_checks);
  result.refused = json.at("refused");
  result.error = json.at("error");
  result.error_keys = json.at("error_keys").get<std::vector<std::string>>();
  return result;
}

nlohmann::ordered_json to_json(const PointOutcome& outcome) {
  return {{"status", to_string(outcome.status)},
          {"result", to_json(outcome.result)},
          {"error", outcome.error},
          {"totals", {outcome.totals.events, outcome.totals.cell_hops, outcome.totals.simulated_ps}},
          {"host_seconds", outcome.host_seconds},
          {"cpu_seconds", outcome.cpu_seconds},
          {"peak_mib", outcome.peak_mib}};
}

PointOutcome point_outcome_from_json(const nlohmann::ordered_json& json) {
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

}  // namespace faultline::app
