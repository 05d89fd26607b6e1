// SPDX-License-Identifier: Apache-2.0
// A sensitivity analysis as a table with bars, as JSON and as CSV.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <utility>

#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/sensitivity.hpp"
#include "src/results/text_table.hpp"
#include "src/results/turns.hpp"
#include "src/runs/seal.hpp"

namespace faultline::results {
namespace {

using Json = nlohmann::ordered_json;

constexpr int kHalfBar = 12;
constexpr std::size_t kTroublesShown = 12;
constexpr const char* kHalfToDouble = "half to double";

double change(const Effect& effect, const Response& other) { return *other.metric - *effect.initial.metric; }

// What one parameter does at one point, as a bar of a tornado shows it: the ends of its range; of choices, where the
// metric is least and greatest.
struct Bar {
  Bar(const RankedParameter& ranked, const Effect& shown) : parameter(ranked), effect(shown) {
    if (parameter.range != "choices") {
      // The initial value may be an end of the range itself.
      if (!effect.others.empty() && effect.others.front().below) low = &effect.others.front();
      if (!effect.others.empty() && !effect.others.back().below) high = &effect.others.back();
      return;
    }
    for (const Response& other : effect.others) {
      if (!other.metric || !effect.initial.metric) continue;
      const Response*& end = change(effect, other) < 0 ? low : high;
      if (end == nullptr || std::abs(change(effect, other)) > std::abs(change(effect, *end))) end = &other;
    }
  }

  const RankedParameter& parameter;
  const Effect& effect;
  const Response* low = nullptr;
  const Response* high = nullptr;
};

// Each parameter that does something, where it does most.
std::vector<Bar> bars_of(const Sensitivity& sensitivity) {
  std::vector<Bar> bars;
  for (const RankedParameter& parameter : sensitivity.parameters) {
    if (parameter.at().span > 0) bars.emplace_back(parameter, parameter.at());
  }
  return bars;
}

// Those of one point have a common middle: the point at which the greatest effect of all is.
std::vector<Bar> bars_at_one_point(const Sensitivity& sensitivity) {
  using Shown = std::pair<const RankedParameter*, const Effect*>;
  std::vector<Shown> shown;
  const std::size_t base = sensitivity.parameters.empty() ? 0 : sensitivity.parameters.front().at().base;
  for (const RankedParameter& parameter : sensitivity.parameters) {
    const auto effect = std::ranges::find(parameter.effects, base, &Effect::base);
    if (effect != parameter.effects.end() && effect->span > 0) shown.emplace_back(&parameter, &*effect);
  }
  std::ranges::stable_sort(shown, std::greater(), [](const Shown& each) { return each.second->span; });
  std::vector<Bar> bars;
  for (const auto& [parameter, effect] : shown) bars.emplace_back(*parameter, *effect);
  return bars;
}

// What a bar does not show: its mark, in a figure's legend, and under the table.
struct Mark {
  const char* mark;
  const char* legend;
  const char* note;
  bool (*applies)(const Bar&);
};
constexpr std::array kMarks{
    Mark{"*", "range: half of the default to double",
         "nobody has said what is plausible; from half of the default to double, as far as that is legal",
         [](const Bar& bar) { return bar.parameter.range == kHalfToDouble; }},
    Mark{"~", "within the confidence intervals", "less than the 95 % confidence intervals over the seeds",
         [](const Bar& bar) { return bar.effect.within_noise; }},
    Mark{"^", "not monotonic over the range",
         "not monotonic: the metric does not only rise or only fall from low by the default to high",
         [](const Bar& bar) { return !bar.effect.monotonic; }},
    Mark{"!", "transfers failed, or seeds have no result",
         "so many transfers failed, and are in no value; !!: so many seeds have no result", [](const Bar& bar) {
           return std::ranges::any_of(std::array{&bar.effect.initial, bar.low, bar.high},
                                      [](const Response* end) { return end != nullptr && !end->mark.empty(); });
         }}};

bool is_used(const Mark& mark, const std::vector<Bar>& bars) { return std::ranges::any_of(bars, mark.applies); }

std::string marks_of(const Bar& bar) {
  std::string marks;
  for (const Mark& mark : kMarks) marks += mark.applies(bar) ? mark.mark : "";
  return marks;
}

// What is less than the initial metric to the left of the middle, what is more to the right; light for the low end of
// the parameter's range, dark for the high one. `largest`: the greatest effect of all, in percent.
std::string drawn(const Bar& bar, double largest) {
  const Effect& effect = bar.effect;
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
  add(bar.low, "\u2591");
  add(bar.high, "\u2588");
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

double largest_percent(const std::vector<Bar>& bars) {
  double largest = 0;
  for (const Bar& bar : bars) {
    if (std::isfinite(bar.effect.percent)) largest = std::max(largest, bar.effect.percent);
  }
  return largest > 0 ? largest : 1;
}

// "latency_mean [us]", "latency_mean/resident"
std::string title_of(const Sensitivity& sensitivity) {
  const std::string name = sensitivity.measure().name();
  return sensitivity.baseline.empty() ? name + " [" + sensitivity.unit + "]" : name;
}

TextTable table_of(const Sensitivity& sensitivity, const std::vector<Bar>& bars) {
  const std::string unit = sensitivity.baseline.empty() ? "[" + sensitivity.unit + "]" : "[ratio]";
  std::vector<Column> columns{left("parameter"),
                              left("standing"),
                              right("low"),
                              right("default"),
                              right("high"),
                              right("at low", unit),
                              right("at default", unit),
                              right("at high", unit),
                              right("effect", "[%]"),
                              left("\u2591 low, \u2588 high value")};
  const bool several = sensitivity.points.size() > 1;
  if (several) columns.push_back(left("greatest at"));
  TextTable table(std::move(columns));
  const double largest = largest_percent(bars);
  const auto metric = [&](const Response* response) {
    if (response == nullptr) return std::string();
    if (!response->metric) return std::string("failed");
    return cell_text({sensitivity.metric, *response->metric, sensitivity.unit, "", 0}) + response->mark;
  };
  const auto text = [](const Response* response) { return response == nullptr ? "" : response->text; };
  for (const Bar& bar : bars) {
    const Effect& effect = bar.effect;
    const std::string percent = std::isfinite(effect.percent) ? fixed(effect.percent, 2) : "from 0";
    std::vector<std::string> cells{
        bar.parameter.name + (kMarks[0].applies(bar) ? " *" : ""),
        bar.parameter.standing,
        text(bar.low),
        effect.initial.text,
        text(bar.high),
        metric(bar.low),
        metric(&effect.initial),
        metric(bar.high),
        (effect.within_noise ? "~ " : "") + std::string(effect.monotonic ? "" : "^ ") + percent,
        drawn(bar, largest)};
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
std::string notes_of(const Sensitivity& sensitivity, const std::vector<Bar>& bars) {
  std::string text;
  for (const Mark& mark : kMarks) {
    if (is_used(mark, bars)) text += fmt::format("({}: {})\n", mark.mark, mark.note);
  }
  const std::size_t nothing = sensitivity.parameters.size() - bars.size();
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

Json end_json(const Response* response) { return response == nullptr ? Json() : response_json(*response); }

// All that the figure shows, in its order.
Json tornado_json(const Sensitivity& sensitivity) {
  const std::vector<Bar> bars = bars_at_one_point(sensitivity);
  Json json{{"point", bars.empty() ? Json() : Json(sensitivity.points[bars.front().effect.base].label())}};
  json["low"] = "low end of the range";
  json["high"] = "high end";
  json["marks"] = Json::object();
  for (const Mark& mark : kMarks) {
    if (is_used(mark, bars)) json["marks"][mark.mark] = mark.legend;
  }
  json["bars"] = Json::array();
  for (const Bar& bar : bars) {
    json["bars"].push_back({{"name", bar.parameter.name},
                            {"marks", marks_of(bar)},
                            {"effect", bar.effect.span},
                            {"low", end_json(bar.low)},
                            {"default", response_json(bar.effect.initial)},
                            {"high", end_json(bar.high)}});
  }
  return json;
}

Json parameter_json(const RankedParameter& parameter, const std::vector<experiment::Point>& points) {
  const Effect& greatest = parameter.at();
  const Bar bar(parameter, greatest);
  Json json{{"name", parameter.name},          {"standing", parameter.standing},
            {"range", parameter.range},        {"effect_percent", number(greatest.percent)},
            {"effect", greatest.span},         {"within_noise", greatest.within_noise},
            {"monotonic", greatest.monotonic}, {"greatest_at", points[greatest.base].label()},
            {"low", end_json(bar.low)},        {"default", response_json(greatest.initial)},
            {"high", end_json(bar.high)}};
  for (const Effect& effect : parameter.effects) {
    Json& point = json["points"].emplace_back(
        Json{{"point", points[effect.base].label()}, {"default", response_json(effect.initial)}});
    point["monotonic"] = effect.monotonic;
    for (const Response& other : effect.others) point["others"].push_back(response_json(other));
  }
  return json;
}

}  // namespace

std::string tornado_text(const Sensitivity& sensitivity) {
  const std::vector<Bar> bars = bars_of(sensitivity);
  const std::string title = fmt::format(
      "{}, where each parameter without a published source goes through its range, one at a time{}\n",
      title_of(sensitivity), sensitivity.points.size() == 1 ? ": " + sensitivity.points.front().label() : "");
  const std::string turns = turns_text(sensitivity.assumptions);
  return title + (bars.empty() ? "" : table_of(sensitivity, bars).text()) + notes_of(sensitivity, bars) +
         (turns.empty() ? "" : wrap("* " + turns, 120, 2) + "\n");
}

std::string sensitivity_json(const Sensitivity& sensitivity) {
  Json json{{"measure", sensitivity.measure().name()}, {"metric", sensitivity.metric}};
  if (!sensitivity.baseline.empty()) json["baseline"] = sensitivity.baseline;
  json["unit"] = sensitivity.unit;
  for (const experiment::Point& point : sensitivity.points) json["points"].push_back(point.label());
  json["parameters"] = Json::array();
  for (const RankedParameter& parameter : sensitivity.parameters)
    json["parameters"].push_back(parameter_json(parameter, sensitivity.points));
  json["not_varied"] = sensitivity.left_out;
  json["assumptions"] = sensitivity.assumptions;
  json["tornado"] = tornado_json(sensitivity);
  return runs::sealed_json(json, 2);
}

std::string sensitivity_csv(const Sensitivity& sensitivity) {
  std::vector<Json> heads{"rank", "parameter", "standing", "range", "strategy"};
  for (const experiment::NamedText& axis : sensitivity.points.front().axes) heads.push_back(axis.name);
  heads.insert(heads.end(), {"default", "value", title_of(sensitivity), "half_width", "at_default", "change [%]",
                             "monotonic", "trouble", "default_trouble"});
  std::string csv = csv_line(heads);
  for (std::size_t i = 0; i < sensitivity.parameters.size(); ++i) {
    const RankedParameter& parameter = sensitivity.parameters[i];
    for (const Effect& effect : parameter.effects) {
      const experiment::Point& at = sensitivity.points[effect.base];
      std::vector<Json> point{i + 1, parameter.name, parameter.standing, parameter.range, at.strategy};
      for (const experiment::NamedText& axis : at.axes) point.push_back(axis.text);
      const double initial = effect.initial.metric.value_or(NAN);
      for (const Response& other : effect.others) {
        const double value = other.metric.value_or(NAN);
        std::vector<Json> fields = point;
        fields.insert(fields.end(), {effect.initial.text, other.text, value, other.half_width, initial,
                                     100 * (value - initial) / std::abs(initial), effect.monotonic ? "yes" : "no",
                                     other.trouble, effect.initial.trouble});
        csv += csv_line(fields);
      }
    }
  }
  return csv;
}

}  // namespace faultline::results
