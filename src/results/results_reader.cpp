// SPDX-License-Identifier: Apache-2.0
#include "src/results/results_reader.hpp"

#include <algorithm>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "src/experiment/diagnostics.hpp"
#include "src/results/results_writer.hpp"
#include "src/runs/manifest.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/seal.hpp"

namespace faultline::results {
namespace {

using Json = nlohmann::ordered_json;

// A metric without a value is null.
double number(const Json& json) {
  return json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}

experiment::Point point_of(const Json& json, const experiment::Experiment& experiment) {
  experiment::Point point;
  point.strategy = json.at("strategy");
  point.seed = json.at("seed");
  point.repeated = experiment.repetitions > 1;
  point.labels = experiment.labels;
  point.repetition = static_cast<unsigned>(point.seed - experiment.seed);
  const Json& parameters = json.at("parameters");
  for (const experiment::Axis& axis : experiment.axes)
    point.axes.push_back({axis.key, parameters.at(axis.key).get<std::string>()});
  std::vector<experiment::NamedText> changed;
  for (const auto& [name, text] : parameters.items()) {
    if (std::ranges::find(experiment.axes, name, &experiment::Axis::key) == experiment.axes.end())
      changed.push_back({name, text.get<std::string>()});
  }
  point.changed = std::make_shared<const std::vector<experiment::NamedText>>(std::move(changed));
  return point;
}

// As metrics, so that whatever shows those shows how values are spread: "latency p99.9".
void add_distributions(const Json& json, std::vector<workloads::Metric>& metrics) {
  if (!json.contains("distributions")) return;
  for (const auto& [name, d] : json.at("distributions").items()) {
    for (const char* share : kPercentiles)
      metrics.push_back({name + " " + share, number(d.at(share)), d.at("unit"), d.at("description")});
  }
}

void add_parts(const Json& json, std::vector<workloads::PartResult>& parts) {
  if (!json.contains("parts")) return;
  for (const auto& [name, of] : json.at("parts").items()) {
    workloads::PartResult& part = parts.emplace_back(workloads::PartResult{name, of.value("about", ""), {}});
    for (const auto& [metric, value] : of.items()) {
      if (metric != "about") part.metrics.push_back({metric, number(value.at("value")), value.at("unit"), ""});
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

runs::PointOutcome outcome_of(const Json& json) {
  runs::PointOutcome outcome;
  const std::string status = json.at("status");
  const bool is_at_its_end = status == runs::kStatusRefused || status == runs::kStatusCheckFailed;
  outcome.status = is_at_its_end ? runs::PointStatus::complete : runs::point_status(status);
  outcome.error = json.value("error", "");
  workloads::PointResult& result = outcome.result;
  for (const auto& [name, metric] : json.at("metrics").items())
    result.metrics.push_back({name, number(metric.at("value")), metric.at("unit"), metric.at("description")});
  add_distributions(json, result.metrics);
  add_parts(json, result.parts);
  add_series(json, result.series);
  for (const Json& row : json.at("breakdown")) {
    result.breakdown.push_back({row.at("step"), row.at("where"), number(row.at("mean").at("value")), row.at("samples"),
                                row.at("description")});
  }
  result.notes = json.at("notes").get<std::vector<std::string>>();
  result.failed_checks = json.at("failed_checks").get<std::vector<std::string>>();
  result.draws = json.at("draws");
  result.refused = json.value("refused", "");
  return outcome;
}

}  // namespace

void check_results(const runs::Folder& folder) {
  const std::string path = folder.path().string();
  const auto damaged = [&](const char* file) {
    return UserError(
        "{0}/{1}: is damaged; the same 'faultline run' with --out {0} writes it again from the points that are there",
        path, file);
  };
  if (!folder.has("results.json") || !folder.has("meta.json")) {
    throw UserError(
        "{0}: has no results yet: {1}; 'faultline status {0}' says how far it is", path,
        folder.is_taken() ? "a run is at work in it" : "its run was ended, and the same 'faultline run' goes on");
  }
  const auto meta = runs::unsealed_json(folder.read("meta.json").value_or(""));
  if (!meta || !meta->contains(kResultsChecksum)) throw damaged("meta.json");
  if (meta->at(kResultsChecksum) != runs::checksum_of_file(folder.path() / "results.json"))
    throw damaged("results.json");
}

EffectiveExperiment read_effective(const runs::Folder& folder, const runs::Manifest& manifest,
                                   const experiment::ConfigLibrary& library, const experiment::Simulator& simulator) {
  EffectiveExperiment effective{experiment_in(folder, manifest, {}, library, simulator), {}};
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

void read_results(const runs::Folder& folder, const experiment::Experiment& experiment, const EachPoint& each) {
  const auto path = folder.path() / "results.json";
  std::ifstream stream(path, std::ios::binary);
  std::error_code ignored;
  const auto size = static_cast<double>(std::max<std::uintmax_t>(1, std::filesystem::file_size(path, ignored)));
  const auto on_event = [&](int depth, Json::parse_event_t event, Json& parsed) {
    if (depth != 1 || event != Json::parse_event_t::object_end) return true;
    each(point_of(parsed, experiment), outcome_of(parsed), static_cast<double>(stream.tellg()) / size);
    return false;  // forgets it
  };
  [[maybe_unused]] const Json nothing = Json::parse(stream, on_event);
}

}  // namespace faultline::results
