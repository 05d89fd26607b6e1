// SPDX-License-Identifier: Apache-2.0
#include "src/results/run_results.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/experiment/diagnostics.hpp"
#include "src/results/percentiles.hpp"
#include "src/runs/recorded_run.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;

// A metric without a value is null.
double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

Point point_of(const Json& json, const Experiment& experiment) {
  Point point;
  point.strategy = json.at("strategy");
  point.seed = json.at("seed");
  point.repeated = experiment.repetitions > 1;
  for (const Axis& axis : experiment.axes) {
    point.axes.push_back({axis.key, json.at("parameters").at(axis.key).get<std::string>()});
  }
  return point;
}

// As metrics, so that whatever shows those shows how values are spread: "latency p99.9".
void add_distributions(const Json& json, std::vector<workloads::Metric>& metrics) {
  if (!json.contains("distributions")) return;
  for (const auto& [name, d] : json.at("distributions").items()) {
    for (const char* share : kPercentiles) {
      metrics.push_back({name + " " + share, number(d.at(share)), d.at("unit"), d.at("description")});
    }
  }
}

void add_series(const Json& json, std::vector<workloads::Series>& series) {
  if (!json.contains("series")) return;
  for (const auto& [name, s] : json.at("series").items()) {
    workloads::Series& one = series.emplace_back();
    one = {name, s.at("unit"), s.at("description"), s.at("interval").at("value"), {}};
    for (const Json& value : s.at("values")) one.values.push_back(number(value));
  }
}

PointOutcome outcome_of(const Json& json) {
  PointOutcome outcome;
  outcome.status = point_status(json.at("status"));
  outcome.error = json.value("error", "");
  workloads::PointResult& result = outcome.result;
  for (const auto& [name, metric] : json.at("metrics").items()) {
    result.metrics.push_back({name, number(metric.at("value")), metric.at("unit"), metric.at("description")});
  }
  add_distributions(json, result.metrics);
  add_series(json, result.series);
  for (const Json& row : json.at("breakdown")) {
    result.breakdown.push_back({row.at("step"), row.at("where"), number(row.at("mean").at("value")), row.at("samples"),
                                row.at("description")});
  }
  result.notes = json.at("notes").get<std::vector<std::string>>();
  result.failed_checks = json.at("failed_checks").get<std::vector<std::string>>();
  result.refused = json.value("refused", "");
  return outcome;
}

[[noreturn]] void refuse_damaged(const RunFolder& folder, const std::string& why) {
  throw UserError(
      fmt::format("{}: is damaged: {}; remove it and start the same 'faultline run' again with --out {}, "
                  "which writes it anew from points/ and simulates only what is missing",
                  (folder.path() / "results.json").string(), why, folder.path().string()));
}

}  // namespace

void check_results(const RunFolder& folder) {
  if (folder.has("results.json")) return;
  throw UserError(fmt::format(
      "{0}: has no results yet: {1}; 'faultline status {0}' says how far it is", folder.path().string(),
      folder.is_taken() ? "a run is at work in it" : "its run was ended, and the same 'faultline run' goes on"));
}

EffectiveExperiment read_effective(const RunFolder& folder, const Manifest& manifest, const ConfigLibrary& library,
                                   const Simulator& simulator) {
  EffectiveExperiment effective{recorded_experiment(folder, manifest, {}, library, simulator), {}};
  std::istringstream lines(folder.read("effective.toml").value_or(""));
  for (std::string line; std::getline(lines, line);) {
    static constexpr std::string_view kBefore = "; set by ";
    const std::size_t comment = line.find("  # default ");
    const std::size_t by = comment == std::string::npos ? comment : line.find(kBefore, comment);
    const std::size_t key = line.find(" = ");
    if (by == std::string::npos || key == std::string::npos || key > comment) continue;
    effective.set_by[line.substr(0, key)] = line.substr(by + kBefore.size());
  }
  return effective;
}

void read_results(const RunFolder& folder, const Experiment& experiment, const EachPoint& each) {
  const auto path = folder.path() / "results.json";
  std::ifstream stream(path, std::ios::binary);
  std::error_code ignored;
  const auto size = static_cast<double>(std::max<std::uintmax_t>(1, std::filesystem::file_size(path, ignored)));
  bool is_list = false;
  std::size_t count = 0;
  const auto on_event = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth == 0 && event == Json::parse_event_t::array_start) is_list = true;
    if (depth != 1 || event != Json::parse_event_t::object_end || !is_list) return true;
    ++count;
    Point point = point_of(parsed, experiment);
    PointOutcome outcome = outcome_of(parsed);
    each(std::move(point), std::move(outcome), static_cast<double>(stream.tellg()) / size);
    return false;  // forgets it
  };
  try {
    [[maybe_unused]] const Json nothing = Json::parse(stream, on_event);
  } catch (const Json::parse_error& error) {
    refuse_damaged(folder, fmt::format("no JSON from byte {} on, behind {} points", error.byte, count));
  } catch (const Json::exception& error) {
    refuse_damaged(folder, fmt::format("point {}: {}", count, error.what()));
  } catch (const std::invalid_argument& error) {
    refuse_damaged(folder, fmt::format("point {}: {}", count, error.what()));
  }
  if (!is_list) refuse_damaged(folder, "it is no list of points");
}

}  // namespace faultline::app
