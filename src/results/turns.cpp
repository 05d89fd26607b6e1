// SPDX-License-Identifier: Apache-2.0
#include "src/results/turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "src/experiment/quantity.hpp"
#include "src/results/ranking.hpp"
#include "src/runs/seal.hpp"

namespace faultline::results {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kParametersNamed = 3;

std::string place_of(const experiment::Point& point) {
  std::vector<std::string> texts;
  for (const experiment::NamedText& axis : point.axes) texts.push_back(axis.name + " = " + axis.text);
  return fmt::format("{}", fmt::join(texts, ", "));
}

// What strategies, by number, have at one place with one value of a parameter.
using Values = std::map<std::size_t, Value>;

class Ranks {
 public:
  Ranks(const Sensitivity& sensitivity, const experiment::Experiment& experiment, Better better)
      : sensitivity_(sensitivity), strategies_(experiment.strategies), better_(better) {}

  void add_turns(const RankedParameter& parameter, Json& turns) const {
    std::map<std::string, std::vector<const Effect*>> places;
    std::vector<std::string> texts;
    for (const Effect& effect : parameter.effects) {
      places[place_of(sensitivity_.points[effect.base])].push_back(&effect);
      for (const Response& other : effect.others) {
        if (std::ranges::find(texts, other.text) == texts.end()) texts.push_back(other.text);
      }
    }
    for (const std::string& text : texts) {
      for (const auto& [place, effects] : places) add_turn(parameter.name, text, place, effects, turns);
    }
  }

 private:
  void add_turn(const std::string& parameter, const std::string& text, const std::string& place,
                const std::vector<const Effect*>& effects, Json& turns) const {
    Values before, after;
    for (const Effect* effect : effects) {
      add(before, *effect, effect->initial);
      if (effect->initial.text == text) add(after, *effect, effect->initial);
      for (const Response& other : effect->others) {
        if (other.text == text) add(after, *effect, other);
      }
    }
    // A strategy that is missing at one of the values would look as if it had lost.
    std::erase_if(before, [&](const auto& each) { return !after.contains(each.first); });
    std::erase_if(after, [&](const auto& each) { return !before.contains(each.first); });
    add_baseline(before);
    add_baseline(after);
    if (before.size() < 2) return;
    const First first = first_of(before, better_), then = first_of(after, better_);
    std::vector<std::size_t> common;
    std::ranges::set_intersection(first.strategies, then.strategies, std::back_inserter(common));
    if (!common.empty()) return;
    turns.push_back({{"parameter", parameter},
                     {"value", text},
                     {"default", effects.front()->initial.text},
                     {"place", place},
                     {"first", names(then)},
                     {"instead_of", names(first)}});
  }

  std::size_t number_of(const std::string& strategy) const {
    return static_cast<std::size_t>(std::ranges::find(strategies_, strategy, &experiment::Strategy::name) -
                                    strategies_.begin());
  }
  void add(Values& values, const Effect& effect, const Response& response) const {
    const std::size_t number = number_of(sensitivity_.points[effect.base].strategy);
    if (response.metric && response.trouble.empty() && !is_bound(strategies_[number]))
      values[number] = {*response.metric, response.half_width};
  }
  void add_baseline(Values& values) const {
    if (sensitivity_.baseline.empty()) return;
    const std::size_t number = number_of(sensitivity_.baseline);
    if (!is_bound(strategies_[number])) values[number] = {1, 0};
  }
  std::string names(const First& first) const {
    std::vector<std::string> texts;
    for (const std::size_t number : first.strategies) texts.push_back(strategies_[number].name);
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  const Sensitivity& sensitivity_;
  const std::vector<experiment::Strategy>& strategies_;
  Better better_;
};

// Of one run folder: the files that a sensitivity analysis leaves there.
void add_sentences(const runs::Folder& folder, const std::vector<std::string>& metrics,
                   std::vector<std::string>& sentences) {
  for (const std::string& file : folder.names_in("")) {
    if (!file.starts_with("sensitivity") || !file.ends_with(".json")) continue;
    const auto json = runs::unsealed_json(folder.read(file).value_or(""));
    if (!json || !json->contains("assumptions")) continue;
    const std::string metric = json->value("metric", "");
    if (std::ranges::find(metrics, metric) == metrics.end()) continue;
    if (const std::string text = turns_text(json->at("assumptions")); !text.empty())
      sentences.push_back(json->value("measure", metric) + ": " + text);
  }
}

bool knows_all(const runs::Manifest& analysis, const runs::Manifest& run) {
  std::set<std::string> known;
  for (const runs::Manifest::Entry& point : analysis.points) known.insert(point.id);
  return analysis.command == "sensitivity" &&
         std::ranges::all_of(run.points, [&](const runs::Manifest::Entry& point) { return known.contains(point.id); });
}

}  // namespace

Json turns_of(const Sensitivity& sensitivity, const experiment::Experiment& experiment) {
  const auto better = better_of(sensitivity.metric);
  const auto rivals = std::ranges::count_if(experiment.strategies, [](const auto& s) { return !is_bound(s); });
  if (!better || rivals < 2) return {};
  const Ranks ranks(sensitivity, experiment, *better);
  Json turns = Json::array();
  for (const RankedParameter& parameter : sensitivity.parameters) ranks.add_turns(parameter, turns);
  return {{"of", sensitivity.parameters.size()}, {"turns", turns}};
}

std::string turns_text(const Json& turns) {
  if (turns.is_null()) return "";
  std::vector<std::string> order;
  std::map<std::string, std::vector<const Json*>> by_parameter;
  for (const Json& turn : turns.at("turns")) {
    const std::string parameter = turn.at("parameter");
    if (!by_parameter.contains(parameter)) order.push_back(parameter);
    by_parameter[parameter].push_back(&turn);
  }
  const std::size_t of = turns.at("of");
  if (order.empty()) {
    return fmt::format(
        "none of {} parameters without a published source turns the order within its range, one at a time", of);
  }
  std::string text = fmt::format(
      "of {} parameters without a published source, {} can turn the order, one at a time: ", of, order.size());
  for (std::size_t i = 0; i < std::min(order.size(), kParametersNamed); ++i) {
    const std::vector<const Json*>& all = by_parameter[order[i]];
    const auto field = [&](const char* name) { return all.front()->at(name).get<std::string>(); };
    const std::string place = field("place");
    text +=
        fmt::format("{}with {} = {} in place of {}{}, {} before {}", i == 0 ? "" : "; ", order[i], field("value"),
                    field("default"), place.empty() ? "" : " (at " + place + ")", field("first"), field("instead_of"));
    if (all.size() > 1) text += fmt::format(", and {} more", all.size() - 1);
  }
  return order.size() > kParametersNamed ? text + "; the others are in sensitivity.json" : text;
}

std::vector<std::string> assumptions(const runs::Folder& run, const runs::Manifest& manifest,
                                     const std::vector<std::string>& metrics) {
  std::vector<std::string> sentences;
  add_sentences(run, metrics, sentences);
  if (!sentences.empty()) return sentences;
  std::error_code ignored;
  const fs::path place = fs::absolute(run.path()).lexically_normal();
  const fs::path parent = (place.has_filename() ? place : place.parent_path()).parent_path();
  std::map<unsigned long, fs::path> analyses;  // by number
  const std::string begin = manifest.experiment + "-sensitivity-";
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(begin) || !entry.is_directory(ignored)) continue;
    if (const auto number = experiment::whole(name.substr(begin.size()))) analyses[*number] = entry.path();
  }
  for (auto analysis = analyses.rbegin(); analysis != analyses.rend() && sentences.empty(); ++analysis) {
    const runs::Folder folder = runs::Folder::look_at(analysis->second);
    const auto other = find_manifest(folder);
    if (other && knows_all(*other, manifest)) add_sentences(folder, metrics, sentences);
  }
  return sentences;
}

}  // namespace faultline::results
