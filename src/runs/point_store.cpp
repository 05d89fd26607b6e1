// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_store.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/runs/point_result_json.hpp"
#include "src/runs/seal.hpp"

namespace faultline::runs {

namespace {

using Json = nlohmann::ordered_json;

}  // namespace

std::string file_of(const std::string& id) { return "points/" + id + ".json"; }

bool is_final(const PointOutcome& outcome) {
  return outcome.status == PointStatus::complete || outcome.status == PointStatus::misconfigured;
}

bool has_result(const Folder& folder, const std::string& id) {
  const auto text = folder.read(file_of(id));
  return text && is_sealed(*text, kJsonSeal) && text->find(Json(id).dump()) != std::string::npos;
}

PointFile result_in(const Folder& folder, const std::string& id) {
  const auto text = folder.read(file_of(id));
  if (!text) return {};
  const auto json = unsealed_json(*text);
  if (!json || json->at("id") != id) return {.outcome = {}, .damaged = true};
  PointOutcome outcome = point_outcome_from_json(*json);
  outcome.there = true;
  return {.outcome = std::move(outcome), .damaged = false};
}

std::optional<PointOutcome> PointStore::find(const experiment::Point& point) {
  const std::string file = file_of(point.id);
  const PointFile result = result_in(folder_, point.id);
  if (result.outcome && is_final(*result.outcome)) return result.outcome;
  if (result.damaged) damaged_.push_back((folder_.path() / file).string());
  if (result.damaged || result.outcome) folder_.remove(file);
  return {};
}

bool is_unfinished(const Folder& folder, const std::string& manifest, const std::vector<experiment::Point>& points) {
  if (folder.read(Folder::kManifest) != manifest) return false;
  // Written last, when a run ends by itself or is interrupted.
  const auto meta = unsealed_json(folder.read("meta.json").value_or(""));
  if (!meta || meta->at("points_final") != points.size()) return true;
  return !std::ranges::all_of(points, [&](const experiment::Point& p) { return folder.has(file_of(p.id)); });
}

void PointStore::keep(const experiment::Point& point, const PointOutcome& outcome) {
  Json json = to_json(outcome);
  json["id"] = point.id;
  json["result"]["profile"] = Json::array();  // of this run's host time
  json["result"]["traced"] = "";              // to this run's user
  try {
    // Not synced: what a power failure takes is simulated again.
    folder_.write(file_of(point.id), sealed_json(json, -1), Folder::Sync::no);
  } catch (const experiment::UserError& error) {
    if (failure_.empty()) failure_ = error.what();
  }
}

}  // namespace faultline::runs
