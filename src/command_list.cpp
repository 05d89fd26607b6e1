// SPDX-License-Identifier: Apache-2.0
// faultline list
#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/toml_document.hpp"
#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/text_table.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;

const std::vector<std::string> kKinds{"platforms",  "strategies", "workloads", "experiments",
                                      "parameters", "metrics",    "steps"};

const std::string kUnreadable = "(cannot be read) ";

// Things of one kind, as objects with the same keys.
struct Listing {
  std::string kind;
  Json entries = Json::array();
};

// Without '*' a part of the name is enough.
bool matches(const std::string& name, const std::string& pattern) {
  if (pattern.find('*') == std::string::npos) return name.find(pattern) != std::string::npos;
  return fnmatch(pattern.c_str(), name.c_str(), FNM_NOESCAPE) == 0;
}

bool is_unreadable(const Json& entry) {
  return entry.contains("description") && entry.at("description").get<std::string>().starts_with(kUnreadable);
}

void list_experiments(const experiment::ConfigLibrary& library, Listing& listing) {
  for (const std::string& name : library.names(experiment::ConfigKind::experiment)) {
    std::string description;
    try {
      experiment::Diagnostics ignored;
      const auto path = library.path(experiment::ConfigKind::experiment, name);
      description = optional_text(experiment::read_toml(path), "question", ignored);
    } catch (const UserError& error) {
      // A broken file must not hide the others.
      description = kUnreadable + error.what();
    }
    listing.entries.push_back({{"name", name}, {"description", description}});
  }
}

bool is_of_strategies(const std::string& key) { return key.starts_with("strategy."); }

// Conflicts between parameters of a strategy alone.
std::vector<workloads::Conflict> conflicts_within(const experiment::Machine& machine) {
  std::vector<workloads::Conflict> found = machine.conflicts();
  std::erase_if(found,
                [](const workloads::Conflict& each) { return !std::ranges::all_of(each.keys, is_of_strategies); });
  return found;
}

// Each other value of the parameter that does not go with the rest of the strategy, and why: "KEY = A, B: reason;
// instead: ...". Of a range both ends are tried. `parameter` is one of the machine's: it is set to each value in turn,
// and back.
std::vector<std::string> exclusions(const sim::Parameter& parameter, const experiment::Machine& machine) {
  std::vector<std::pair<std::string, std::string>> values_and_why;
  const std::string chosen = parameter.get();
  for (const std::string& value : sim::samples(parameter)) {
    if (value == chosen) continue;
    parameter.set(value);
    for (const workloads::Conflict& conflict : conflicts_within(machine)) {
      if (std::ranges::find(conflict.keys, parameter.name) == conflict.keys.end()) continue;
      const std::string why = conflict.reason + (conflict.instead.empty() ? "" : "; instead: " + conflict.instead);
      const auto known = std::ranges::find(values_and_why, why, &std::pair<std::string, std::string>::second);
      if (known == values_and_why.end()) {
        values_and_why.emplace_back(value, why);
      } else {
        known->first += ", " + value;
      }
    }
  }
  parameter.set(chosen);
  const bool is_range = parameter.kind != sim::ParameterKind::choice && parameter.kind != sim::ParameterKind::flag;
  std::vector<std::string> texts;
  for (const auto& [values, why] : values_and_why) {
    texts.push_back(fmt::format("{} = {}{}: {}", parameter.name, values, is_range ? " (for instance)" : "", why));
  }
  return texts;
}

// What a strategy is made of, what that adds to the machine, and what it excludes, why, and what to do instead.
Json composition(experiment::Machine& machine) {
  Json made_of = Json::array(), adds = Json::array(), excludes = Json::array();
  for (const workloads::PolicyDoc& policy : machine.strategy()) {
    made_of.push_back(fmt::format("{} = {}: {}", policy.key, policy.choice, policy.meaning));
    if (!policy.adds.empty() && std::ranges::find(adds, Json(policy.adds)) == adds.end()) adds.push_back(policy.adds);
  }
  for (const sim::Parameter& parameter : machine.parameters().all()) {
    if (!is_of_strategies(parameter.name)) continue;
    for (std::string& text : exclusions(parameter, machine)) excludes.push_back(std::move(text));
  }
  return {{"made_of", made_of}, {"adds", adds}, {"excludes", excludes}};
}

// Of a strategy with a mistake: what is right of it is not what its author means.
Json no_composition() { return {{"made_of", Json::array()}, {"adds", Json::array()}, {"excludes", Json::array()}}; }

// Platforms and strategies, with all that they set, themselves or by what they are based on.
void list_presets(experiment::ConfigKind kind, const experiment::ConfigLibrary& library,
                  const experiment::Simulator& simulator, Listing& listing) {
  for (const std::string& name : library.names(kind)) {
    experiment::Diagnostics wrong;
    const experiment::Preset preset = experiment::Presets(kind, library, wrong).named(name, {}, "");
    const auto machine = simulator.machine();
    apply(preset.settings, machine->parameters(), wrong);
    Json parameters = Json::object();
    for (const sim::Parameter* each : named_by(preset.settings, machine->parameters()))
      parameters[each->name] = each->get();
    Json entry{{"name", name},
               {"description", wrong.empty() ? preset.description : kUnreadable + wrong.text()},
               {"based_on", fmt::format("{}", fmt::join(preset.bases, ", "))},
               {"parameters", parameters}};
    if (kind == experiment::ConfigKind::strategy) {
      entry.update(wrong.empty() ? composition(*machine) : no_composition());
    }
    listing.entries.push_back(std::move(entry));
  }
}

void list_parameters(const experiment::Simulator& simulator, Listing& listing) {
  const auto machine = simulator.machine();
  for (const sim::Parameter& p : machine->parameters().all()) {
    listing.entries.push_back({{"name", p.name},
                               {"kind", std::string(sim::to_string(p.kind))},
                               {"default", p.initial},
                               {"allowed", p.allowed},
                               {"meaning", p.doc.meaning},
                               {"source", p.doc.source},
                               {"standing", std::string(sim::to_string(p.doc.standing))},
                               {"plausible", fmt::format("{}", fmt::join(p.doc.plausible, " to "))}});
  }
}

Listing listing_of(const std::string& kind, const std::string& pattern, const experiment::ConfigLibrary& library,
                   const experiment::Simulator& simulator) {
  Listing listing{kind};
  if (kind == "platforms") list_presets(experiment::ConfigKind::platform, library, simulator, listing);
  if (kind == "strategies") list_presets(experiment::ConfigKind::strategy, library, simulator, listing);
  if (kind == "experiments") list_experiments(library, listing);
  if (kind == "parameters") list_parameters(simulator, listing);
  if (kind == "workloads") {
    for (const auto& doc : simulator.workload_docs())
      listing.entries.push_back({{"name", doc.name}, {"description", doc.description}});
  }
  if (kind == "metrics") {
    for (const auto& doc : simulator.metric_docs()) {
      listing.entries.push_back({{"name", doc.name},
                                 {"unit", doc.unit},
                                 {"column", results::column_title(doc.name)},
                                 {"description", doc.description}});
    }
  }
  if (kind == "steps") {
    for (const auto& doc : simulator.step_docs())
      listing.entries.push_back({{"name", doc.name}, {"description", doc.description}, {"parameters", doc.parameters}});
  }
  Json kept = Json::array();
  for (const Json& entry : listing.entries) {
    if (matches(entry.at("name").get<std::string>(), pattern)) kept.push_back(entry);
  }
  listing.entries = std::move(kept);
  return listing;
}

// "assumed: 1 to 3 us" says its standing again.
std::string standing_and_source(const std::string& standing, std::string source) {
  for (const char* end : {": ", "; "}) {
    if (source.starts_with(standing + end)) source.erase(0, standing.size() + 2);
  }
  return source.empty() || source == standing ? standing : standing + ": " + source;
}

// Too much for one line each: the name and the value, and what it means beneath.
std::string parameters_text(const Json& entries) {
  std::string text;
  for (const Json& p : entries) {
    const auto get = [&](const char* key) { return p.at(key).get<std::string>(); };
    const std::string value = get("default").empty() ? "\"\"" : get("default");
    const bool narrower = !get("plausible").empty() && get("plausible") != get("allowed");
    text += fmt::format("{} = {}   ({}; {}{})\n", get("name"), value, get("kind"), get("allowed"),
                        narrower ? "; plausible " + get("plausible") : "");
    text += "    " +
            results::wrap(get("meaning") + " [" + standing_and_source(get("standing"), get("source")) + "]", 116, 4) +
            "\n";
  }
  return text;
}

// The lines beneath a strategy: "made of", "adds", "not with".
std::string composition_text(const Json& entry, std::size_t width) {
  std::string text;
  const std::pair<const char*, const char*> titles[] = {
      {"made_of", "made of"}, {"adds", "adds"}, {"excludes", "not with"}};
  for (const auto& [key, title] : titles) {
    std::string_view shown = title;
    for (const Json& line : entry.value(key, Json::array())) {
      const std::size_t room = std::max<std::size_t>(width, 54) - 14;
      text += fmt::format("    {:<8}  {}\n", shown, results::wrap(line.get<std::string>(), room, 14));
      shown = "";
    }
  }
  return text;
}

// `whole`: also what platforms and strategies set, and what strategies are made of.
std::string plain_text(const Listing& listing, std::size_t width, bool whole) {
  if (listing.kind == "parameters") return parameters_text(listing.entries);
  std::size_t names = 0;
  for (const Json& entry : listing.entries)
    names = std::max(names, results::shown_width(entry.at("name").get<std::string>()));
  std::string text;
  for (const Json& entry : listing.entries) {
    const auto optional = [&](const char* key) {
      return entry.contains(key) && entry.at(key).is_string() ? entry.at(key).get<std::string>() : "";
    };
    std::string unit = optional("unit").empty() || optional("unit") == "1" ? "" : " [" + optional("unit") + "]";
    if (!optional("column").empty() && entry.at("column") != entry.at("name"))
      unit += " (column " + optional("column") + ")";
    if (!optional("based_on").empty()) unit += " (based on " + optional("based_on") + ")";
    if (!optional("parameters").empty()) unit += " [" + optional("parameters") + "]";
    const std::size_t room = std::max<std::size_t>(width > names + 4 ? width - names - 4 : 0, 40);
    text += fmt::format("  {:<{}}  {}\n", entry.at("name").get<std::string>(), names,
                        results::wrap(entry.at("description").get<std::string>() + unit, room, names + 4));
    if (whole && entry.contains("based_on")) {
      for (const auto& [key, value] : entry.at("parameters").items())
        text += fmt::format("    {} = {}\n", key, value.get<std::string>());
    }
    if (whole) text += composition_text(entry, width);
  }
  return text;
}

std::string csv_text(const Json& entries) {
  if (entries.empty()) return "name\n";
  std::vector<Json> names;
  for (const auto& [key, value] : entries.front().items()) names.push_back(key);
  std::string text = results::csv_line(names);
  for (const Json& entry : entries) text += results::csv_line({entry.begin(), entry.end()});
  return text;
}

}  // namespace

int list_command(const Call& call) {
  const std::string kind = call.options.arguments.empty() ? "" : call.options.arguments[0];
  const std::string pattern = call.options.arguments.size() > 1 ? call.options.arguments[1] : "";
  if (!kind.empty() && std::ranges::find(kKinds, kind) == kKinds.end()) {
    throw UserError("list: nothing is called '{}'; {}", kind, experiment::allowed_names(kind, kKinds));
  }
  if (kind.empty() && call.options.format == Format::csv) {
    throw UserError("list --format csv: needs a kind; allowed: {}", fmt::join(kKinds, ", "));
  }
  std::vector<Listing> listings;
  for (const std::string& each : kKinds) {
    const bool overview = kind.empty() && (call.options.format == Format::json ||
                                           (each != "parameters" && each != "metrics" && each != "steps"));
    if (each == kind || overview) listings.push_back(listing_of(each, pattern, call.library, call.simulator));
  }
  if (!pattern.empty() && listings.front().entries.empty())
    throw UserError("list {}: none matches '{}'{}", kind, pattern,
                    kind == "strategies" ? "; 'faultline config EXPERIMENT' shows an experiment's own strategies" : "");
  if (call.options.format == Format::json) {
    Json all = Json::object();
    for (const Listing& listing : listings) all[listing.kind] = listing.entries;
    call.console.out << results::json_text(kind.empty() ? all : all[kind]);
  } else if (call.options.format == Format::csv) {
    call.console.out << csv_text(listings.front().entries);
  } else {
    for (const Listing& listing : listings) {
      if (kind.empty()) call.console.out << (&listing == &listings.front() ? "" : "\n") << listing.kind << "\n";
      call.console.out << plain_text(listing, call.console.width, !pattern.empty());
    }
    if (kind == "strategies" && pattern.empty())
      call.console.out << "\n'faultline list strategies NAME' tells what it is made of, adds and excludes.\n";
    if (kind.empty())
      call.console.out
          << "\n'faultline list parameters', 'faultline list metrics' and 'faultline list steps' are longer.\n";
  }
  // Who names one wants to know whether it is right.
  const bool is_wrong = !pattern.empty() && std::ranges::any_of(listings.front().entries, is_unreadable);
  return is_wrong ? kUsage : kFine;
}

}  // namespace faultline::app
