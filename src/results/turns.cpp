// SPDX-License-Identifier: Apache-2.0
#include "src/results/turns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <set>

#include "src/results/ranking.hpp"
#include "src/runs/seal.hpp"

namespace faultline::results {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kParametersNamed = 3;

std::string place_of(const experiment::Point& point) {
  std::vector<std::string> texts;
  for (const experiment::NamedText& axis : point.axes) {
    const std::string* label = point.label_on(axis);
    texts.push_back(axis.name + " = " + (label == nullptr ? axis.text : *label));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

// What strategies, by number, have at one place with one value of a parameter.
using Values = std::map<std::size_t, Value>;

class Ranks {
 public:
  Ranks(const Sensitivity& sensitivity, const experiment::Experiment& experiment, std::set<std::string> rivals,
        Better better)
      : sensitivity_(sensitivity), experiment_(experiment), rivals_(std::move(rivals)), better_(better) {}

  // Whether anybody could be compared.
  bool add_turns(const RankedParameter& parameter, Json& turns) const {
    std::map<std::string, std::vector<const Effect*>> places;
    std::vector<std::string> texts;
    for (const Effect& effect : parameter.effects) {
      places[place_of(sensitivity_.points[effect.base])].push_back(&effect);
      for (const Response& other : effect.others) {
        if (std::ranges::find(texts, other.text) == texts.end()) texts.push_back(other.text);
      }
    }
    bool compared = false;
    for (const std::string& text : texts) {
      for (const auto& [place, effects] : places)
        compared = add_turn(parameter.name, text, place, effects, turns) || compared;
    }
    return compared;
  }

 private:
  bool add_turn(const std::string& parameter, const std::string& text, const std::string& place,
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
    if (before.size() < 2) return false;
    std::vector<std::size_t> order;
    for (const auto& [strategy, value] : before) order.push_back(strategy);
    std::ranges::stable_sort(
        order, [&](std::size_t a, std::size_t b) { return is_better(before.at(a), before.at(b), better_); });
    for (const std::size_t overtaken : order) {
      std::vector<std::string> ahead;
      for (const std::size_t other : order) {
        if (is_ahead(before, overtaken, other) && is_ahead(after, other, overtaken))
          ahead.push_back(experiment_.strategies[other].name);
      }
      if (ahead.empty()) continue;
      turns.push_back({{"parameter", parameter},
                       {"value", text},
                       {"default", effects.front()->initial.text},
                       {"place", place},
                       {"point", sensitivity_.points[effects.front()->base].id},
                       {"ahead", fmt::format("{}", fmt::join(ahead, ", "))},
                       {"overtaken", experiment_.strategies[overtaken].name},
                       {"was_first", first_of(before, better_).strategies.contains(overtaken)}});
      break;
    }
    return true;
  }

  bool is_ahead(const Values& values, std::size_t a, std::size_t b) const {
    return is_better(values.at(a), values.at(b), better_) && relation(values.at(a), values.at(b)) == Relation::apart;
  }
  void add(Values& values, const Effect& effect, const Response& response) const {
    const experiment::Point& point = sensitivity_.points[effect.base];
    if (response.metric && response.trouble.empty() && rivals_.contains(point.strategy))
      values[experiment_.place_of_strategy(point.strategy)] = {*response.metric, response.half_width,
                                                               experiment_.repetitions};
  }
  void add_baseline(Values& values) const {
    if (rivals_.contains(sensitivity_.baseline))
      values[experiment_.place_of_strategy(sensitivity_.baseline)] = {1, 0, experiment_.repetitions};
  }

  const Sensitivity& sensitivity_;
  const experiment::Experiment& experiment_;
  std::set<std::string> rivals_;
  Better better_;
};

std::set<std::string> ids_of(const runs::Manifest& manifest) {
  std::set<std::string> ids;
  for (const runs::Manifest::Entry& point : manifest.points) ids.insert(point.id);
  return ids;
}

// Of the files that a sensitivity analysis leaves in a folder, if they know all of the points. nullptr: whichever.
std::vector<std::string> sentences_of(const runs::Folder& folder, const std::set<std::string>* points,
                                      const std::vector<std::string>& metrics) {
  std::map<std::size_t, std::vector<std::string>> sentences;  // by metric
  for (const std::string& file : folder.names_in("")) {
    if (!file.starts_with("sensitivity") || !file.ends_with(".json")) continue;
    const auto json = runs::unsealed_json(folder.read(file).value_or(""));
    // Another version of the program has written others.
    if (!json || !json->contains("assumptions") || !json->at("assumptions").contains("points")) continue;
    const auto metric = std::ranges::find(metrics, json->value("metric", ""));
    Json turns = json->at("assumptions");
    const auto known = turns.at("points").get<std::set<std::string>>();
    if (metric == metrics.end() || (points != nullptr && !std::ranges::includes(known, *points))) continue;
    Json there = Json::array();
    for (const Json& turn : turns.at("turns")) {
      if (points == nullptr || points->contains(turn.at("point").get<std::string>())) there.push_back(turn);
    }
    turns["turns"] = there;
    if (const std::string text = turns_text(turns, file); !text.empty())
      sentences[static_cast<std::size_t>(metric - metrics.begin())].push_back(json->value("measure", *metric) + ": " +
                                                                              text);
  }
  std::vector<std::string> all;
  for (const auto& [metric, texts] : sentences) all.insert(all.end(), texts.begin(), texts.end());
  return all;
}

}  // namespace

Json turns_of(const Sensitivity& sensitivity, const experiment::Experiment& experiment,
              const std::vector<experiment::Point>& points) {
  const auto better = better_of(sensitivity.metric);
  std::set<std::string> rivals;
  for (const experiment::Point& point : points) {
    if (!role_of(point).is_bound) rivals.insert(point.strategy);
  }
  if (!better || rivals.size() < 2) return {};
  const Ranks ranks(sensitivity, experiment, rivals, *better);
  Json turns = Json::array();
  const auto of = std::ranges::count_if(
      sensitivity.parameters, [&](const RankedParameter& parameter) { return ranks.add_turns(parameter, turns); });
  Json ids = Json::array();
  for (const experiment::Point& point : points) ids.push_back(point.id);
  return {{"points", ids}, {"of", of}, {"turns", turns}};
}

std::string turns_text(const Json& turns, const std::string& file) {
  if (turns.is_null() || turns.at("of") == 0) return "";
  std::vector<std::string> order;  // those that turn who is first before the others
  std::map<std::string, std::vector<const Json*>> by_parameter;
  std::size_t first = 0;
  for (const bool was_first : {true, false}) {
    for (const Json& turn : turns.at("turns")) {
      if (turn.at("was_first") != was_first) continue;
      std::vector<const Json*>& all = by_parameter[turn.at("parameter")];
      if (all.empty()) order.push_back(turn.at("parameter"));
      all.push_back(&turn);
    }
    if (was_first) first = order.size();
  }
  const std::string parameters =
      fmt::format("of {} parameters without a published source", turns.at("of").get<std::size_t>());
  if (order.empty()) return fmt::format("none {} turns the order within its range, one at a time", parameters);
  std::string text = fmt::format("{}, {} can turn the order, one at a time ({} of them who is first): ", parameters,
                                 order.size(), first == 0 ? "none" : std::to_string(first));
  for (std::size_t i = 0; i < std::min(order.size(), kParametersNamed); ++i) {
    const std::vector<const Json*>& all = by_parameter[order[i]];
    const auto field = [&](const char* name) { return all.front()->at(name).get<std::string>(); };
    const std::string place = field("place");
    text +=
        fmt::format("{}with {} = {} in place of {}{}, {} before {}", i == 0 ? "" : "; ", order[i], field("value"),
                    field("default"), place.empty() ? "" : " (at " + place + ")", field("ahead"), field("overtaken"));
    if (all.size() > 1) text += fmt::format(", and {} more", all.size() - 1);
  }
  return order.size() > kParametersNamed ? text + "; the others are in " + file : text;
}

std::vector<std::string> assumptions(const runs::Folder& run, const runs::Manifest& manifest,
                                     const std::vector<std::string>& metrics) {
  // A sensitivity analysis has other points than its experiment's.
  if (manifest.command == "sensitivity") return sentences_of(run, nullptr, metrics);
  const std::set<std::string> points = ids_of(manifest);
  if (const auto own = sentences_of(run, &points, metrics); !own.empty()) return own;
  std::error_code ignored;
  const fs::path place = fs::absolute(run.path()).lexically_normal();
  const fs::path parent = (place.has_filename() ? place : place.parent_path()).parent_path();
  std::vector<std::pair<fs::file_time_type, fs::path>> others;
  for (const auto& entry : fs::directory_iterator(parent, ignored)) {
    if (entry.is_directory(ignored)) others.emplace_back(entry.last_write_time(ignored), entry.path());
  }
  std::ranges::sort(others, std::greater());
  for (const auto& [time, folder] : others) {
    const auto sentences = sentences_of(runs::Folder::look_at(folder), &points, metrics);
    if (!sentences.empty()) return sentences;
  }
  return {};
}

}  // namespace faultline::results
