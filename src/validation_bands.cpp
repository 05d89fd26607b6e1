// SPDX-License-Identifier: Apache-2.0
#include "src/validation_bands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <memory>
#include <utility>

#include "models/sim/random.hpp"
#include "src/experiment/axes.hpp"
#include "src/experiment/quantity.hpp"
#include "src/experiment/variations.hpp"
#include "src/results/text_table.hpp"

namespace faultline::app {
namespace {

// The figure's own settings, its strategy's and --set: every layer above the platform's.
bool is_fixed(const experiment::SettingLayers& settings, const std::string& key) {
  return std::any_of(settings.begin() + (settings.empty() ? 0 : 1), settings.end(),
                     [&](const auto& layer) { return deciding(*layer, key) != nullptr; });
}

// A value outside is of another machine than the range.
bool holds(const experiment::NumberRange& range, const sim::Parameter& parameter) {
  const double now = experiment::number_of(parameter.kind, parameter.get());
  return range.low <= now && now <= range.high;
}

// What holds by construction and what is not checked has none; points that are one check have none either (BandPlan).
bool has_band(const Figure& figure) { return figure.use == Use::predicted || figure.use == Use::fit; }

// The value below or at which a share of them lies: nearest rank.
double percentile(const std::vector<double>& sorted, double share) {
  const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(sorted.size())));
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

Band band_of(std::vector<double> values, std::size_t passed) {
  Band band{values.size(), passed, 0, 0, 0, 0};
  if (values.empty()) return band;
  std::ranges::sort(values);
  band.lowest = values.front();
  band.p5 = percentile(values, 0.05);
  band.p95 = percentile(values, 0.95);
  band.highest = values.back();
  return band;
}

}  // namespace

BandPlan::BandPlan(const std::vector<Figure>& figures, unsigned samples, std::uint64_t seed,
                   const experiment::Simulator& simulator)
    : samples_(samples), seed_(seed), simulator_(simulator) {
  std::vector<Checked> all;
  std::size_t check = 0;
  for (const Figure& figure : figures) {
    if (figure.is_one_check()) ++check;
    for (std::size_t i = 0; i < figure.points.size() && !figure.is_one_check(); ++i, ++check) {
      if (!has_band(figure)) continue;
      const experiment::Point* baseline = figure.baseline.empty() ? nullptr : &figure.baseline[i];
      all.push_back({check, &figure, &figure.points[i], baseline, configure(figure.points[i], simulator),
                     baseline == nullptr ? nullptr : configure(*baseline, simulator)});
    }
  }
  // Sample by sample: what is to come then takes as long as what is done.
  for (unsigned sample = 0; sample < samples; ++sample) {
    for (const Checked& each : all) add_sample(each, sample);
  }
  for (const std::string& varied : varied_) left_out_.erase(varied);
}

void BandPlan::add_sample(const Checked& checked, unsigned sample) {
  auto point = sampled(*checked.point, sample, *checked.machine);
  std::optional<experiment::Point> baseline;
  if (checked.baseline != nullptr) baseline = sampled(*checked.baseline, sample, *checked.baseline_machine);
  if (!point || (checked.baseline != nullptr && !baseline)) return;
  rows_.push_back({checked.check, checked.figure, points_.size(), std::nullopt});
  points_.push_back(std::move(*point));
  if (!baseline) return;
  rows_.back().baseline = points_.size();
  points_.push_back(std::move(*baseline));
}

double BandPlan::share(const std::string& parameter, unsigned sample) {
  const auto [found, is_new] = shares_.try_emplace(parameter);
  // A stream for each, so that one parameter more does not change the others.
  if (is_new) found->second = experiment::drawn_shares(samples_, true, sim::RandomStream(seed_, "band " + parameter));
  return found->second[sample];
}

std::optional<experiment::Point> BandPlan::sampled(const experiment::Point& point, unsigned sample,
                                                   experiment::Machine& machine) {
  std::map<std::string, experiment::Setting> values;
  for (const sim::Parameter& parameter : machine.parameters().all()) {
    if (experiment::has_nothing_to_vary(standing_of(parameter, point.settings)) ||
        is_fixed(point.settings, parameter.name))
      continue;
    auto range = experiment::plausible_range(parameter);
    if (range && !holds(*range, parameter)) range.reset();
    (range ? varied_ : left_out_).insert(parameter.name);
    if (!range) continue;
    const sim::ParameterValue value =
        experiment::value_of(parameter.kind, experiment::at_share(*range, share(parameter.name, sample)));
    const experiment::Setting setting{parameter.name, value, {"bands", 0, 0}, {"bands", 0, 0}, "bands", "", ""};
    values.emplace(parameter.name, setting);
    experiment::apply_checked({setting}, machine.parameters());
  }
  // What does not go with the rest stays as it is: entries of a table that its ways do not divide.
  const auto own = configure(point, simulator_);
  for (auto conflicts = machine.conflicts(); !conflicts.empty(); conflicts = machine.conflicts()) {
    bool changes = false;
    for (const workloads::Conflict& conflict : conflicts) {
      for (const std::string& key : conflict.keys) {
        if (values.erase(key) == 0) continue;
        machine.parameters().find(key)->set(own->parameters().find(key)->get());
        changes = true;
      }
    }
    if (!changes) return {};
  }
  experiment::Settings layer;
  for (const auto& [name, setting] : values) layer.push_back(setting);
  experiment::Point changed = point;
  changed.settings.push_back(std::make_shared<const experiment::Settings>(std::move(layer)));
  return changed;
}

void BandPlan::add_bands(std::vector<Check>& checks, std::span<const runs::PointOutcome> outcomes) const {
  std::vector<std::vector<double>> values(checks.size());
  std::vector<std::size_t> passed(checks.size());
  for (const Row& row : rows_) {
    const runs::PointOutcome* baseline = row.baseline ? &outcomes[*row.baseline] : nullptr;
    const Check check = compare(*row.figure, points_[row.point], outcomes[row.point], baseline);
    if (!check.trouble.empty()) continue;
    values[row.check].push_back(check.measure);
    // What is known to be off passes where it is: here agreement counts.
    if (check.passed == row.figure->known_off.empty()) ++passed[row.check];
  }
  for (std::size_t i = 0; i < checks.size(); ++i) {
    if (has_band(*checks[i].figure)) checks[i].band = band_of(std::move(values[i]), passed[i]);
  }
}

std::string bands_table(const std::vector<Check>& checks, const BandPlan& plan) {
  results::TextTable table({results::left(""), results::left("use"), results::right("published"),
                            results::right("simulated"), results::right("lowest"), results::right("5 %"),
                            results::right("95 %"), results::right("highest"), results::right("holds in")});
  for (const Check& check : checks) {
    if (!check.band) continue;
    const Band& band = *check.band;
    const auto cell = [&](double value) { return band.samples == 0 ? "none" : measure_text(check, value); };
    const std::string name = check.figure->name + (check.where.empty() ? "" : " " + check.where);
    table.add({name, use_text(check.figure->use), check.published,
               check.trouble.empty() ? measure_text(check, check.measure) : "none", cell(band.lowest), cell(band.p5),
               cell(band.p95), cell(band.highest), fmt::format("{} of {}", band.passed, band.samples)});
  }
  return fmt::format(
      "Bands: {} samples of {} numbers without a published source, each over its plausible range, all at once.\n"
      "{} more, of which no range is known, whose value is outside it, or which choose between designs, stay as they "
      "are.\n\n{}",
      plan.samples(), plan.varied().size(), plan.left_out().size(), table.text());
}

}  // namespace faultline::app
