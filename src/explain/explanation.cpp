// SPDX-License-Identifier: Apache-2.0
#include "src/explain/explanation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "faultline_build.hpp"
#include "models/sim/units.hpp"
#include "src/explain/glossary.hpp"

namespace faultline::explain {
namespace {

std::set<std::string> costs_of(const Json& story) {
  std::set<std::string> costs;
  for (const char* list : {"events", "told"}) {
    for (const Json& each : story.value(list, Json::array())) {
      for (const Json& cost : each.value("cost", Json::array())) costs.insert(parameter_of(cost));
    }
  }
  return costs;
}

bool names(const std::string& cost, const std::string& parameter) {
  if (!cost.ends_with('*')) return cost == parameter;
  return parameter.starts_with(cost.substr(0, cost.size() - 1));
}

// Of the parameters that times are made of: the value in each story, what it is, and where it comes from.
Json parameters_of(std::span<ToldPoint> told, const experiment::Simulator& simulator) {
  Json all = Json::object();
  for (const ToldPoint& one : told) {
    const std::set<std::string> costs = costs_of(one.story);
    const auto machine = configure(one.point, simulator);
    for (const sim::Parameter& parameter : machine->parameters().all()) {
      const bool used =
          std::ranges::any_of(costs, [&](const std::string& cost) { return names(cost, parameter.name); });
      if (!used) continue;
      Json& made = all[parameter.name];
      const std::string value = parameter.get();
      if (made.is_null()) {
        made = {{"value", value}, {"description", parameter.doc.meaning}, {"source", parameter.doc.source}};
      } else if (made["value"] != value) {
        made["value"] = fmt::format("{} and {}", made["value"].get<std::string>(), value);
      }
    }
  }
  return all;
}

Json terms_of(std::span<ToldPoint> told) {
  std::string text;
  for (const ToldPoint& one : told) {
    for (const Json& each : one.story.value("told", Json::array()))
      text += fmt::format("{} {} ", each["who"].get<std::string>(), each["text"].get<std::string>());
    for (const Json& lane : one.story.value("lanes", Json::array())) text += lane["name"].get<std::string>() + " ";
  }
  Json terms = Json::object();
  for (const Term& term : terms_in(text, glossary())) terms[term.name] = term.meaning;
  return terms;
}

}  // namespace

std::string parameter_of(const std::string& cost) { return cost.substr(cost.find_last_of(' ') + 1); }

std::string title_of(const Json& story) {
  const std::string bytes = sim::format_bytes(story["bytes"].get<std::uint64_t>());
  const auto initiator = story["initiator"].get<unsigned>();
  const auto target = story["target"].get<unsigned>();
  const std::string operation = story["operation"];
  if (operation == "message") return fmt::format("One message of {} from node {} to node {}", bytes, initiator, target);
  const bool reads = operation == "read";
  return fmt::format("One RDMA {} of {} {} node {} {} node {}{}", operation, bytes, reads ? "by" : "from", initiator,
                     reads ? "from" : "to", target, story.value("of_message", false) ? ", for a message" : "");
}

Json explanation_json(const experiment::Experiment& experiment, std::span<ToldPoint> told,
                      const experiment::Simulator& simulator) {
  const ToldPoint& first = told.front();
  Json made{{"format", "faultline-explain-1"}, {"title", title_of(first.story)},
            {"experiment", experiment.name},   {"question", experiment.question},
            {"seed", first.point.seed},        {"program", fmt::format("faultline {}", build::kVersion)},
            {"terms", terms_of(told)},         {"parameters", parameters_of(told, simulator)},
            {"stories", Json::array()}};
  for (ToldPoint& one : told) {
    Json story{{"strategy", one.point.strategy},
               {"point", one.point.label()},
               {"meaning", experiment.strategy_named(one.point.strategy).description}};
    story.update(one.story);
    made["stories"].push_back(std::move(story));
  }
  return made;
}

}  // namespace faultline::explain
