// SPDX-License-Identifier: Apache-2.0
#include "src/point_store.hpp"

#include <nlohmann/json.hpp>

#include "faultline_build.hpp"
#include "src/point_result_json.hpp"

namespace faultline::app {

using Json = nlohmann::ordered_json;

std::string file_of(const Point& point) { return "points/" + point.id + ".json"; }

std::string manifest(const Experiment& experiment, const std::vector<Point>& points) {
  Json json;
  json["format"] = RunFolder::kFormat;
  json["version"] = build::kVersion;
  json["commit"] = build::commit();
  json["experiment"] = experiment.name;
  json["points"] = Json::array();
  for (const Point& point : points) json["points"].push_back({{"id", point.id}, {"point", point.label()}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<PointOutcome> PointStore::find(const Point& point) const {
  const auto text = folder_.read(file_of(point));
  if (!text) return {};
  try {
    PointOutcome outcome = point_outcome_from_json(Json::parse(*text));
    outcome.there = true;
    if (outcome.status != PointStatus::host_failed && outcome.status != PointStatus::timed_out) return outcome;
  } catch (const std::exception&) {
    // Damaged: it costs a simulation, not the run.
  }
  return {};
}

void PointStore::keep(const Point& point, const PointOutcome& outcome) {
  try {
    folder_.write(file_of(point), to_json(outcome).dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  } catch (const UserError& error) {
    if (failure_.empty()) failure_ = error.what();
  }
}

}  // namespace faultline::app
