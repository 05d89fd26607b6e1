// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_store.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/runs/point_result_json.hpp"

namespace faultline::app {

using Json = nlohmann::ordered_json;

std::string file_of(const std::string& id) { return "points/" + id + ".json"; }

bool is_final(const PointOutcome& outcome) {
  return outcome.status == PointStatus::complete || outcome.status == PointStatus::misconfigured;
}

std::optional<PointOutcome> PointStore::read(const Point& point) const {
  const auto text = folder_.read(file_of(point.id));
  if (!text) return {};
  try {
    const Json json = Json::parse(*text);
    if (json.at("id") != point.id) return {};
    PointOutcome outcome = point_outcome_from_json(json);
    outcome.there = true;
    return outcome;
  } catch (const std::exception&) {
    return {};  // damaged: it costs a simulation, not the run
  }
}

std::optional<PointOutcome> PointStore::find(const Point& point) {
  if (!folder_.has(file_of(point.id))) return {};
  auto outcome = read(point);
  if (outcome && is_final(*outcome)) return outcome;
  folder_.remove(file_of(point.id));
  return {};
}

bool is_unfinished(const RunFolder& folder, const std::string& manifest, const std::vector<Point>& points) {
  if (folder.read(RunFolder::kManifest) != manifest) return false;
  // Written last, when a run ends by itself or is interrupted.
  const auto text = folder.read("meta.json");
  const Json meta = text ? Json::parse(*text, nullptr, /*allow_exceptions=*/false) : Json();
  if (!meta.is_object() || meta.value("points_final", Json()) != points.size()) return true;
  return !std::all_of(points.begin(), points.end(), [&](const Point& p) { return folder.has(file_of(p.id)); });
}

void PointStore::keep(const Point& point, const PointOutcome& outcome) {
  Json json = to_json(outcome);
  json["id"] = point.id;
  json["result"]["profile"] = Json::array();  // of this run's host time
  json["result"]["traced"] = "";              // to this run's user
  try {
    // Not synced: what a power failure takes is simulated again.
    folder_.write(file_of(point.id), json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n",
                  RunFolder::Sync::no);
  } catch (const UserError& error) {
    if (failure_.empty()) failure_ = error.what();
  }
}

}  // namespace faultline::app
