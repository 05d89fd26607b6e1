// SPDX-License-Identifier: Apache-2.0
// A sensitivity analysis as a table with bars, as JSON and as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/sensitivity.hpp"
#include "src/results/text_table.hpp"
#include "src/runs/seal.hpp"

namespace faultline::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHalfBar = 12;
constexpr std::size_t kTroublesShown = 12;
constexpr const char* kHalfToDouble = "half to double";

bool does_something(const RankedParameter& parameter) { return parameter.at().span > 0; }

double change(const Effect& effect, const Response& other) { return *other.metric - *effect.initial.metric; }

// The ends of a range; of choices, where the metric is least and greatest.
struct Ends {
  const Response* low = nullptr;
  const Response* high = nullptr;
};

Ends ends_of(const RankedParameter& parameter) {
  const Effect& effect = parameter.at();
  Ends ends;
  if (parameter.range != "choices") {
    // The initial value may be an end of the range itself.
    if (!effect.others.empty() && effect.others.front().below) ends.low = &effect.others.front();
    if (!effect.others.empty() && !effect.others.back().below) ends.high = &effect.others.back();
    return ends;
  }
  for (const Response& other : effect.others) {
    if (!other.metric) continue;
    const Response*& end = change(effect, other) < 0 ? ends.low : ends.high;
    if (end == nullptr || std::abs(change(effect, other)) > std::abs(change(effect, *end))) end = &other;
  }
  return ends;
}

// What is less than the initial metric to the left of the middle, what is more to the right; light for the low end of
// the parameter's range, dark for the high one. `largest`: the greatest effect of all, in percent.
std::string bar(const Effect& effect, const Ends& ends, double largest) {
  std::vector<std::string> cells(2 * kHalfBar + 1, " ");
  cells[kHalfBar] = "\u2502";
  struct Part {
    double percent;
    const char* glyph;
  };
  std::vector<Part> parts;
  const auto add = [&](const Response* end, const char* glyph) {
    if (end != nullptr && end->metric)
      parts.push_back({100 * change(effect, *end) / std::abs(*effect.initial.metric), glyph});
  };
  add(ends.low, "\u2591");
  add(ends.high, "\u2588");
  // The longer one first: where both are at one side, the shorter one stays visible.
  std::ranges::stable_sort(parts,
                           [](const Part& a, const Part& b) { return std::abs(a.percent) > std::abs(b.percent); });
  for (const Part& part : parts) {
    const double share = std::isfinite(part.percent) ? std::abs(part.percent) / largest : 1;
    const int length = std::min(kHalfBar, static_cast<int>(std::lround(share * kHalfBar)));
    for (int i = 1; i <= length; ++i)
      cells[static_cast<std::size_t>(part.percent < 0 ? kHalfBar - i : kHalfBar + i)] = part.glyph;
  }
  std::string text;
  for (const std::string& cell : cells) text += cell;
  return text;
}

double largest_percent(const Sensitivity& sensitivity) {
  double largest = 0;
  for (const RankedParameter& parameter : sensitivity.parameters) {
    if (std::isfinite(parameter.at().percent)) largest = std::max(largest, parameter.at().percent);
  }
  return largest > 0 ? largest : 1;
}

// "latency_mean [us]", "latency_mean/resident"
std::string title_of(const Sensitivity& sensitivity) {
  const std::string name = Measure{sensitivity.metric, sensitivity.baseline}.name();
  return sensitivity.baseline.empty() ? name + " [" + sensitivity.unit + "]" : name;
}

TextTable table_of(const Sensitivity& sensitivity) {
  const std::string unit = sensitivity.baseline.empty() ? "[" + sensitivity.unit + "]" : "[ratio]";
  std::vector<Column> columns{{"parameter", "", Align::left},
                              {"standing", "", Align::left},
                              {"low", ""},
                              {"default", ""},
                              {"high", ""},
                              {"at low", unit},
                              {"at default", unit},
                              {"at high", unit},
                              {"effect", "[%]"},
                              {"\u2591 low, \u2588 high value", "", Align::left}};
  const bool several = sensitivity.points.size() > 1;
  if (several) columns.push_back({"greatest at", "", Align::left});
  TextTable table(std::move(columns));
  const double largest = largest_percent(sensitivity);
  for (const RankedParameter& parameter : sensitivity.parameters) {
    if (!does_something(parameter)) continue;
    const Effect& effect = parameter.at();
    const Ends ends = ends_of(parameter);
    const auto metric = [&](const Response* response) {
      if (response == nullptr) return std::string();
      if (!response->metric) return std::string("failed");
      return cell_text({sensitivity.metric, *response->metric, sensitivity.unit, "", 0});
    };
    const auto text = [](const Response* response) { return response == nullptr ? "" : response->text; };
    const std::string percent = std::isfinite(effect.percent) ? fixed(effect.percent, 2) : "from 0";
    std::vector<std::string> cells{
        parameter.name + (parameter.range == kHalfToDouble ? " *" : ""),
        parameter.standing,
        text(ends.low),
        effect.initial.text,
        text(ends.high),
        metric(ends.low),
        metric(&effect.initial),
        metric(ends.high),
        (effect.within_noise ? "~ " : "") + std::string(effect.monotonic ? "" : "^ ") + percent,
        bar(effect, ends, largest)};
    if (several) cells.push_back(sensitivity.points[effect.base].label());
    table.add(std::move(cells));
  }
  return table;
}

std::string troubles_of(const Sensitivity& sensitivity) {
  std::string text;
  std::size_t count = 0;
  for (const RankedParameter& parameter : sensitivity.parameters) {
    for (const Effect& effect : parameter.effects) {
      for (const Response& other : effect.others) {
        if (other.trouble.empty() || ++count > kTroublesShown) continue;
        text += fmt::format("{}: {} = {} [{}]: {}\n", other.metric ? "with trouble" : "not compared", parameter.name,
                            other.text, sensitivity.points[effect.base].label(), other.trouble);
      }
    }
  }
  if (count > kTroublesShown)
    text += fmt::format("... and {} more (all of them: --format csv)\n", count - kTroublesShown);
  return text;
}

// What stands under the table.
std::string notes_of(const Sensitivity& sensitivity) {
  const auto count = [&](const auto& test) { return std::ranges::count_if(sensitivity.parameters, test); };
  const auto any_effect = [](const RankedParameter& p, const auto& test) {
    return std::ranges::any_of(p.effects, test);
  };
  std::string text;
  if (count([](const auto& p) { return does_something(p) && p.range == kHalfToDouble; }) > 0)
    text += "(*: nobody has said what is plausible; from half of the default to double, as far as that is legal)\n";
  if (count([&](const auto& p) { return any_effect(p, [](const Effect& e) { return e.within_noise; }); }) > 0)
    text += "(~: less than the 95 % confidence intervals over the seeds)\n";
  if (count([](const auto& p) { return !p.at().monotonic; }) > 0)
    text += "(^: not monotonic: the metric does not only rise or only fall from low by the default to high)\n";
  const auto nothing = count([](const auto& p) { return !does_something(p); });
  if (nothing > 0)
    text += fmt::format("{} parameter{} change{} nothing\n", nothing, nothing == 1 ? "" : "s", nothing == 1 ? "s" : "");
  if (!sensitivity.left_out.empty())
    text += fmt::format("not varied, because they have no range: {}\n", fmt::join(sensitivity.left_out, ", "));
  return text + troubles_of(sensitivity);
}

Json number(double value) { return std::isfinite(value) ? Json(value) : Json(); }

Json response_json(const Response& response) {
  Json json{{"value", response.text}, {"metric", response.metric ? Json(*response.metric) : Json()}};
  json["half_width"] = response.half_width;
  if (!response.trouble.empty()) json["trouble"] = response.trouble;
  return json;
}

}  // namespace

std::string tornado_text(const Sensitivity& sensitivity) {
  const std::string title = fmt::format(
      "{}, where each parameter without a published source goes through its range, one at a time{}\n",
      title_of(sensitivity), sensitivity.points.size() == 1 ? ": " + sensitivity.points.front().label() : "");
  const bool any = std::ranges::any_of(sensitivity.parameters, does_something);
  return title + (any ? table_of(sensitivity).text() : "") + notes_of(sensitivity);
}

std::string sensitivity_json(const Sensitivity& sensitivity) {
  Json json{{"metric", sensitivity.metric}};
  if (!sensitivity.baseline.empty()) json["baseline"] = sensitivity.baseline;
  json["unit"] = sensitivity.unit;
  for (const experiment::Point& point : sensitivity.points) json["points"].push_back(point.label());
  json["parameters"] = Json::array();
  for (const RankedParameter& parameter : sensitivity.parameters) {
    const Ends ends = ends_of(parameter);
    const auto end = [](const Response* response) { return response == nullptr ? Json() : response_json(*response); };
    Json& entry = json["parameters"].emplace_back(Json{{"name", parameter.name},
                                                       {"standing", parameter.standing},
                                                       {"range", parameter.range},
                                                       {"effect_percent", number(parameter.at().percent)},
                                                       {"effect", parameter.at().span},
                                                       {"within_noise", parameter.at().within_noise},
                                                       {"monotonic", parameter.at().monotonic},
                                                       {"greatest_at", sensitivity.points[parameter.at().base].label()},
                                                       {"low", end(ends.low)},
                                                       {"default", response_json(parameter.at().initial)},
                                                       {"high", end(ends.high)}});
    for (const Effect& effect : parameter.effects) {
      Json& point = entry["points"].emplace_back(
          Json{{"point", sensitivity.points[effect.base].label()}, {"default", response_json(effect.initial)}});
      point["monotonic"] = effect.monotonic;
      for (const Response& other : effect.others) point["others"].push_back(response_json(other));
    }
  }
  json["not_varied"] = sensitivity.left_out;
  return runs::sealed_json(json, 2);
}

std::string sensitivity_csv(const Sensitivity& sensitivity) {
  std::string csv = "rank,parameter,standing,range,strategy";
  for (const experiment::NamedText& axis : sensitivity.points.front().axes) csv += "," + csv_field(axis.name);
  csv += fmt::format(",default,value,{},half_width,at_default,change [%],monotonic,trouble\n",
                     csv_field(title_of(sensitivity)));
  for (std::size_t i = 0; i < sensitivity.parameters.size(); ++i) {
    const RankedParameter& parameter = sensitivity.parameters[i];
    const std::string row =
        fmt::format("{},{},{},{}", i + 1, parameter.name, parameter.standing, csv_field(parameter.range));
    for (const Effect& effect : parameter.effects) {
      const experiment::Point& at = sensitivity.points[effect.base];
      std::string point = csv_field(at.strategy);
      for (const experiment::NamedText& axis : at.axes) point += "," + csv_field(axis.text);
      const double initial = effect.initial.metric.value_or(NAN);
      for (const Response& other : effect.others) {
        const double value = other.metric.value_or(NAN);
        csv += fmt::format("{},{},{},{},{},{},{},{},{},{}\n", row, point, csv_field(effect.initial.text),
                           csv_field(other.text), csv_number(value), csv_number(other.half_width), csv_number(initial),
                           csv_number(100 * (value - initial) / std::abs(initial)), effect.monotonic ? "yes" : "no",
                           csv_field(other.trouble));
      }
    }
  }
  return csv;
}

}  // namespace faultline::results
