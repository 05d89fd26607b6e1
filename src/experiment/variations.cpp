// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/variations.hpp"

#include <algorithm>
#include <cmath>
#include <span>

#include "src/experiment/quantity.hpp"

namespace faultline::experiment {

std::string standing_of(const sim::Parameter& parameter, const SettingLayers& settings) {
  const Setting* setting = deciding(settings, parameter.name);
  if (setting != nullptr && !setting->standing.empty()) return setting->standing;
  return std::string(sim::to_string(parameter.doc.standing));
}

bool has_nothing_to_vary(const std::string& standing) { return standing == "published" || standing == "setting"; }

std::optional<NumberRange> plausible_range(const sim::Parameter& parameter) {
  if (!is_number(parameter.kind) || parameter.doc.plausible.size() != 2) return {};
  return NumberRange{number_of(parameter.kind, parameter.doc.plausible.front()),
                     number_of(parameter.kind, parameter.doc.plausible.back())};
}

double at_share(const NumberRange& range, double share) {
  if (share <= 0) return range.low;
  if (share >= 1) return range.high;
  if (range.low > 0) return range.low * std::pow(range.high / range.low, share);
  return range.low + (range.high - range.low) * share;
}

namespace {

using sim::Parameter;
using sim::ParameterKind;

std::pair<std::string, std::string> ends_of(const std::string& range) {
  const auto to = range.find(" to ");
  return {range.substr(0, to), range.substr(to + 4)};
}

struct Candidates {
  std::string range;
  std::vector<sim::ParameterValue> values;
};

std::vector<double> spread(const NumberRange& range, unsigned levels) {
  std::vector<double> numbers;
  for (unsigned i = 0; i < levels; ++i) numbers.push_back(at_share(range, static_cast<double>(i) / (levels - 1)));
  return numbers;
}

Candidates candidates_for_number(const Parameter& parameter, unsigned levels) {
  Candidates candidates{"plausible", {}};
  auto range = plausible_range(parameter);
  if (!range) {
    candidates.range = "half to double";
    const double now = number_of(parameter.kind, parameter.get());
    if (now == 0) return candidates;
    const auto [lowest, highest] = ends_of(parameter.allowed);
    range = {std::max(now / 2, number_of(parameter.kind, lowest)),
             std::min(now * 2, number_of(parameter.kind, highest))};
  }
  for (const double each : spread(*range, levels)) candidates.values.push_back(value_of(parameter.kind, each));
  return candidates;
}

Candidates candidates_for(const Parameter& parameter, unsigned levels) {
  if (is_number(parameter.kind)) return candidates_for_number(parameter, levels);
  Candidates candidates{"choices", {}};
  if (parameter.kind == ParameterKind::flag) candidates.values = {false, true};
  if (parameter.kind == ParameterKind::choice) {
    const bool stated = !parameter.doc.plausible.empty();
    for (const std::string& choice : stated ? parameter.doc.plausible : split_list(parameter.allowed))
      candidates.values.emplace_back(choice);
  }
  return candidates;
}

// As the parameter writes them, without the one that it has, each once.
std::vector<std::string> other_texts(const Parameter& parameter, const Candidates& candidates) {
  const std::string now = parameter.get();
  std::vector<std::string> texts;
  for (const sim::ParameterValue& value : candidates.values) {
    parameter.set(value);
    const std::string text = parameter.get();
    if (text != now && std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
  }
  parameter.set(now);
  return texts;
}

void refuse_many(const Variations& variations, const Experiment& experiment, std::size_t points) {
  if (variations.all.size() * experiment.repetitions <= experiment.most_points) return;
  throw UserError(
      "{}: with every value of every parameter without a published source it is more than {} points; --set and "
      "--strategy choose fewer of the experiment's {}, --max-points allows more",
      experiment.file, experiment.most_points, points);
}

// One point with its repetitions; `machine` has its values.
void vary_point(const std::vector<Point>& points, std::size_t base, const Experiment& experiment, Machine& machine,
                unsigned levels, Variations& variations) {
  const std::span<const Point> repetitions =
      std::span(points).subspan(base * experiment.repetitions, experiment.repetitions);
  for (const Parameter& parameter : machine.parameters().all()) {
    const std::string standing = standing_of(parameter, repetitions.front().settings);
    const bool is_axis =
        std::ranges::any_of(experiment.axes, [&](const Axis& axis) { return axis.key == parameter.name; });
    if (is_axis || has_nothing_to_vary(standing)) continue;
    const Candidates candidates = candidates_for(parameter, levels);
    const std::vector<std::string> texts = other_texts(parameter, candidates);
    if (texts.empty() && base == 0) variations.left_out.push_back(parameter.name);
    for (const std::string& text : texts) {
      const std::string initial = parameter.get();
      Variation variation{base, parameter.name, standing, candidates.range, initial, text, false, {}, ""};
      variation.below =
          is_number(parameter.kind) && number_of(parameter.kind, text) < number_of(parameter.kind, initial);
      const Setting setting{parameter.name, text, {"sensitivity", 0, 0}, {"sensitivity", 0, 0}, "sensitivity", "", ""};
      Changed changed = with_value(repetitions, setting, machine);
      variation.points = std::move(changed.points);
      variation.conflict = std::move(changed.conflict);
      variations.all.push_back(std::move(variation));
      refuse_many(variations, experiment, points.size());
    }
  }
}

}  // namespace

Variations vary(const std::vector<Point>& points, const Experiment& experiment, const Simulator& simulator,
                unsigned levels, const Planned& planned) {
  Variations variations;
  const std::size_t bases = points.size() / experiment.repetitions;
  for (std::size_t base = 0; base < bases; ++base) {
    const auto machine = configure(points[base * experiment.repetitions], simulator);
    vary_point(points, base, experiment, *machine, levels, variations);
    if (planned) planned(base + 1, bases);
  }
  return variations;
}

}  // namespace faultline::experiment
