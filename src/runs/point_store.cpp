// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_store.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
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

bool stands_for_all(const PointOutcome& outcome) { return is_final(outcome) && !outcome.result.draws; }

void share(std::vector<PointOutcome>& outcomes, const std::vector<experiment::Point>& points) {
  for (const std::size_t i : not_run(outcomes)) {
    const PointOutcome& first = outcomes[i - points[i].repetition];
    if (!stands_for_all(first)) continue;
    PointOutcome& outcome = outcomes[i] = first;
    outcome.shared = true;
    outcome.result.profile.clear();
    outcome.result.traced.clear();
    outcome.totals = {};
    outcome.host_seconds = outcome.cpu_seconds = outcome.peak_mib = 0;
  }
}

bool Sharing::is_shared(std::size_t index) {
  if (points_[index].repetition == 0) return false;
  const std::size_t first = index - points_[index].repetition;
  if (const auto known = known_.find(first); known != known_.end()) return known->second;
  const auto outcome = result_in(folder_, points_[first].id).outcome;
  return outcome && (known_[first] = stands_for_all(*outcome));
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

bool has_ended(const Folder& folder, const std::string& manifest, std::size_t points) {
  if (folder.read(Folder::kManifest) != manifest) return false;
  // Written last, when a run ends by itself or is interrupted.
  const auto meta = unsealed_json(folder.read("meta.json").value_or(""));
  return meta && meta->at("points_final") == points;
}

bool has_all_files(const Folder& folder, const std::vector<experiment::Point>& points) {
  const std::set<std::string> there = folder.names_in("points");
  Sharing sharing(folder, points);
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!there.contains(points[i].id + ".json") && !sharing.is_shared(i)) return false;
  }
  return true;
}

std::vector<std::size_t> not_run(const std::vector<PointOutcome>& outcomes) {
  std::vector<std::size_t> indices;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].status == PointStatus::not_run) indices.push_back(i);
  }
  return indices;
}

std::vector<PointOutcome> PointStore::read() {
  std::vector<PointOutcome> outcomes(points_.size());
  for (std::size_t i = 0; i < points_.size(); ++i) {
    PointFile file = result_in(folder_, points_[i].id);
    if (file.outcome && is_final(*file.outcome)) {
      outcomes[i] = *std::move(file.outcome);
    } else if (file.outcome || file.damaged) {
      unfit_.push_back(file_of(points_[i].id));
      if (file.damaged) damaged_.push_back((folder_.path() / unfit_.back()).string());
    }
  }
  share(outcomes, points_);
  return outcomes;
}

void PointStore::make_room() {
  for (const std::string& file : unfit_) folder_.remove(file);
}

void PointStore::read_rest(std::vector<PointOutcome>& outcomes) const {
  for (const std::size_t i : not_run(outcomes)) {
    if (auto outcome = result_in(folder_, points_[i].id).outcome) outcomes[i] = *std::move(outcome);
  }
  share(outcomes, points_);
}

void PointStore::keep(std::size_t index, const PointOutcome& outcome) {
  if (!folder_.has(Folder::kManifest)) {
    throw UserError("{}: its {} is gone: somebody has removed the run folder, or moved it; the points end here",
                    folder_.path().string(), Folder::kManifest);
  }
  Json json = to_json(outcome);
  json["id"] = points_[index].id;
  json["result"]["profile"] = Json::array();  // of this run's host time
  json["result"]["traced"] = "";              // to this run's user
  try {
    // Not synced: what a power failure takes is simulated again.
    folder_.write(file_of(points_[index].id), sealed_json(json, -1), Folder::Sync::no);
  } catch (const UserError& error) {
    if (failure_.empty()) failure_ = error.what();
  }
}

}  // namespace faultline::runs
