// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <initializer_list>
#include <map>
#include <optional>

#include "src/experiment/quantity.hpp"
#include "src/validation.hpp"

namespace faultline::app {
namespace {

const std::vector<std::string> kKeys{"name",       "quantity", "value",    "at_least", "at_most",   "tolerance",
                                     "unit",       "source",   "use",      "fails_if", "known_off", "note",
                                     "fitted",     "platform", "strategy", "workload", "axes",      "baseline",
                                     "parameters", "compare",  "metric",   "over",     "steps",     "scale"};

// The names that files use for the values of an enumeration.
template <typename Enum>
using Names = std::vector<std::pair<std::string, Enum>>;

const Names<Use> kUses{
    {"predicted", Use::predicted}, {"fit", Use::fit}, {"construction", Use::construction}, {"reading", Use::reading}};
const Names<Comparison> kComparisons{{"value", Comparison::value},   {"difference", Comparison::difference},
                                     {"ratio", Comparison::ratio},   {"overhead", Comparison::overhead},
                                     {"less", Comparison::less},     {"greater", Comparison::greater},
                                     {"linear", Comparison::linear}, {"crossover", Comparison::crossover}};

class FigureReader {
 public:
  FigureReader(const std::vector<std::string>& overrides, const experiment::ConfigLibrary& library,
               const experiment::Simulator& simulator, experiment::Diagnostics& diagnostics)
      : overrides_(overrides), library_(library), simulator_(simulator), diagnostics_(diagnostics) {
    for (const auto& doc : simulator.metric_docs()) {
      metrics_.push_back(doc.name);
      units_[doc.name] = doc.unit;
    }
  }

  // The figure, and in `experiment` what has to run for it.
  Figure read(const experiment::Node& node, experiment::Experiment& experiment) {
    Figure figure;
    if (!is_table(node, "figure", "[[figure]]", diagnostics_)) return figure;
    refuse_unknown_keys(node, kKeys, "", diagnostics_);
    figure.name = needed_text(node, "name");
    figure.quantity = needed_text(node, "quantity");
    figure.source = needed_text(node, "source");
    figure.note = optional_text(node, "note", diagnostics_);
    figure.use = one_of<Use>(node, "use", kUses, std::nullopt);
    figure.compare = one_of<Comparison>(node, "compare", kComparisons, Comparison::value);
    read_fails_if(node, figure);
    read_fitted(node, figure);
    read_measure(node, figure);
    read_published(node, figure);
    read_known_off(node, figure);
    read_points(node, figure, experiment);
    return figure;
  }

 private:
  void missing(const experiment::Node& node, const std::string& key, const std::string& allowed) {
    diagnostics_.add(node.place, key, "is missing; allowed: " + allowed);
  }

  std::string needed_text(const experiment::Node& node, const std::string& key) {
    if (node.find(key) == nullptr) missing(node, key, "text in quotes");
    return optional_text(node, key, diagnostics_);
  }

  // `otherwise`: without the key; nothing: the key must be there. Of a mistake, which is told, it is the first value.
  template <typename Enum>
  Enum one_of(const experiment::Node& node, const std::string& key, const Names<Enum>& names,
              std::optional<Enum> otherwise) {
    std::vector<std::string> allowed;
    for (const auto& [name, value] : names) allowed.push_back(name);
    const experiment::Node* given = node.find(key);
    if (given == nullptr) {
      if (!otherwise) missing(node, key, fmt::format("{}", fmt::join(allowed, ", ")));
      return otherwise.value_or(names.front().second);
    }
    const std::string text = optional_text(node, key, diagnostics_);
    for (const auto& [name, value] : names) {
      if (name == text) return value;
    }
    if (given->is_text()) {
      diagnostics_.add(given->place, key, "'{}' is not one of the choices; {}", text,
                       diagnostics_.allowed(text, allowed));
    }
    return names.front().second;
  }

  std::optional<double> number(const experiment::Node& node, const std::string& key) {
    const experiment::Node* value = node.find(key);
    if (value == nullptr) return {};
    if (value->kind == experiment::Node::Kind::value) {
      if (const auto* whole = std::get_if<std::int64_t>(&value->value)) return static_cast<double>(*whole);
      if (const auto* real = std::get_if<double>(&value->value)) return *real;
    }
    diagnostics_.add(value->place, key, describe(*value) + " is not a number");
    return {};
  }

  // Keys that say nothing beside the others.
  void refuse_useless(const experiment::Node& node, std::initializer_list<const char*> keys, const char* allowed) {
    for (const char* key : keys) {
      if (const experiment::Node* useless = node.find(key))
        diagnostics_.add(useless->place, key, "is useless; allowed: {}", allowed);
    }
  }

  void read_fails_if(const experiment::Node& node, Figure& figure) {
    if (figure.use != Use::reading) {
      figure.fails_if = needed_text(node, "fails_if");
    } else {
      refuse_useless(node, {"fails_if"}, "not with use = reading, which is not checked");
    }
  }

  void read_fitted(const experiment::Node& node, Figure& figure) {
    const auto machine = simulator_.machine();
    for (const experiment::Node* name : optional_texts(node, "fitted", diagnostics_)) {
      figure.fitted.push_back(name->text());
      if (machine->parameters().find(name->text()) != nullptr) continue;
      diagnostics_.add(name->place, "fitted", "no such parameter '{}'{}", name->text(),
                       experiment::did_you_mean(machine->parameters().nearest(name->text())));
    }
    if (figure.use == Use::fit && figure.fitted.empty())
      missing(node, "fitted", "the parameters that were fitted to this figure");
  }

  void read_measure(const experiment::Node& node, Figure& figure) {
    for (const experiment::Node* step : optional_texts(node, "steps", diagnostics_))
      figure.steps.push_back(step->text());
    figure.metric = metric(node, "metric");
    figure.over = metric(node, "over");
    if (figure.metric.empty() == figure.steps.empty())
      diagnostics_.add(node.place, "metric", "give either a metric or steps");
    figure.scale = number(node, "scale").value_or(1);
  }

  std::string metric(const experiment::Node& node, const std::string& key) {
    std::string name = optional_text(node, key, diagnostics_);
    if (!name.empty() && std::ranges::find(metrics_, name) == metrics_.end()) {
      diagnostics_.add(node.find(key)->place, key, "no metric '{}'; allowed: {}{}", name, fmt::join(metrics_, ", "),
                       experiment::did_you_mean(name, metrics_));
    }
    return name;
  }

  void read_published(const experiment::Node& node, Figure& figure) {
    Published& published = figure.published;
    figure.unit = optional_text(node, "unit", diagnostics_);
    if (figure.compare == Comparison::less || figure.compare == Comparison::greater) {
      // No published number: the measured ones are compared in their own unit.
      if (figure.unit.empty()) figure.unit = figure.metric.empty() ? "us" : units_[figure.metric];
      return refuse_useless(node, {"value", "at_least", "at_most", "tolerance"}, "not with compare = less or greater");
    }
    published.value = number(node, "value");
    published.at_least = number(node, "at_least");
    published.at_most = number(node, "at_most");
    const bool has_ends = node.find("at_least") != nullptr || node.find("at_most") != nullptr;
    if ((node.find("value") != nullptr) == has_ends)
      diagnostics_.add(node.place, "value", "give either a value or what it is at_least, at_most or both");
    if (published.at_least && published.at_most && *published.at_least > *published.at_most)
      diagnostics_.add(node.find("at_most")->place, "at_most", "is below at_least");
    if (node.find("unit") == nullptr) missing(node, "unit", "the published number's unit");
    read_tolerance(node, has_ends, published.tolerance);
  }

  void read_tolerance(const experiment::Node& node, bool has_ends, Tolerance& tolerance) {
    const experiment::Node* given = node.find("tolerance");
    if (has_ends) {
      refuse_useless(node, {"tolerance"}, "only with a value");
    } else if (given == nullptr) {
      missing(node, "tolerance", "\"5 %\", or a number in the figure's unit");
    } else if (given->is_text()) {
      read_percent(*given, tolerance);
    } else {
      tolerance.amount = number(node, "tolerance").value_or(0);
    }
  }

  // A reason takes the place of a wider tolerance: who mends the cause has to take it away.
  void read_known_off(const experiment::Node& node, Figure& figure) {
    figure.known_off = optional_text(node, "known_off", diagnostics_);
    if (!figure.known_off.empty() && figure.use != Use::predicted)
      refuse_useless(node, {"known_off"}, "only with use = predicted");
  }

  void read_percent(const experiment::Node& node, Tolerance& tolerance) {
    const std::string& text = node.text();
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), tolerance.amount);
    const std::string rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
    tolerance.relative = true;
    if (error == std::errc{} && (rest == "%" || rest == " %") && tolerance.amount >= 0) return;
    diagnostics_.add(node.place, "tolerance",
                     "'{}' is no tolerance; allowed: \"5 %\", or a number in the figure's unit", text);
  }

  // Points that are one check are along one axis, of at least three numbers that rise.
  void read_positions(const experiment::Node& node, const std::vector<experiment::Axis>& axes, Figure& figure) {
    if (axes.size() == 1) figure.positions = numbers(axes.front());
    const std::vector<double>& at = figure.positions;
    if (at.size() < 3 || !std::ranges::is_sorted(at, std::less_equal{}))
      diagnostics_.add(node.place, "axes", "compare = {} takes one axis of three or more numbers that rise",
                       figure.compare == Comparison::linear ? "linear" : "crossover");
  }
  // None where they are no numbers.
  std::vector<double> numbers(const experiment::Axis& axis) {
    const auto machine = simulator_.machine();
    const sim::Parameter* parameter = machine->parameters().find(axis.key);
    std::vector<double> found;
    if (parameter == nullptr || !experiment::is_number(parameter->kind)) return found;
    for (const experiment::Setting& value : axis.values) {
      experiment::Diagnostics elsewhere;  // check_values() tells what is wrong with a value
      if (experiment::apply(value, machine->parameters(), elsewhere))
        found.push_back(experiment::plain_number(parameter->kind, parameter->get()));
    }
    return found;
  }

  // By its name, or a table of what it sets (based_on = "NAME", and parameters).
  experiment::Strategy strategy(const experiment::Node& node, const std::string& key) {
    const experiment::Node* given = node.find(key);
    if (given == nullptr) return {"default", "", {}};
    std::vector<experiment::Preset> own;
    std::string name = key;
    if (given->kind == experiment::Node::Kind::table) {
      own.push_back(experiment::read_own_strategy(*given, diagnostics_));
    } else {
      name = optional_text(node, key, diagnostics_);
      if (name.empty()) return {"default", "", {}};
    }
    const experiment::Presets strategies(experiment::ConfigKind::strategy, library_, diagnostics_, std::move(own));
    return strategies.named(name, given->place, key);
  }

  void read_points(const experiment::Node& node, Figure& figure, experiment::Experiment& experiment) {
    experiment.name = figure.name;
    experiment.file = node.place.file;
    const std::string origin = "figure " + figure.name;
    read_common(node, origin, library_, experiment, diagnostics_);
    experiment.strategies.push_back(strategy(node, "strategy"));
    const bool needs_baseline = figure.compare != Comparison::value && figure.compare != Comparison::linear;
    if (needs_baseline != (node.find("baseline") != nullptr)) {
      diagnostics_.add(
          node.place, "baseline",
          needs_baseline
              ? "is missing; allowed: the strategy that is compared with"
              : "is useless; allowed: only with compare = difference, ratio, overhead, less, greater or crossover");
    }
    if (needs_baseline) experiment.strategies.push_back(strategy(node, "baseline"));
    if (const experiment::Node* axes = node.find("axes"))
      experiment.axes = read_axes(*axes, origin, simulator_.machine()->parameters(), diagnostics_);
    if (figure.is_one_check()) read_positions(node, experiment.axes, figure);
    experiment.overrides = parse_overrides(overrides_, diagnostics_);
    check_values(experiment, simulator_, diagnostics_);
  }

  const std::vector<std::string>& overrides_;
  const experiment::ConfigLibrary& library_;
  const experiment::Simulator& simulator_;
  experiment::Diagnostics& diagnostics_;
  std::vector<std::string> metrics_;
  std::map<std::string, std::string> units_;
};

}  // namespace

std::vector<Figure> read_figures(const std::filesystem::path& path, const std::vector<std::string>& overrides,
                                 const experiment::ConfigLibrary& library, const experiment::Simulator& simulator) {
  const experiment::Node file = experiment::read_toml(path);
  experiment::Diagnostics diagnostics;
  refuse_unknown_keys(file, {"figure"}, "", diagnostics);
  const experiment::Node* list = file.find("figure");
  if (list == nullptr || list->kind != experiment::Node::Kind::list) {
    diagnostics.add(list == nullptr ? file.place : list->place, "figure",
                    "is missing; allowed: one or more [[figure]]");
    diagnostics.raise();
  }
  FigureReader reader(overrides, library, simulator, diagnostics);
  std::vector<Figure> figures;
  std::vector<experiment::Experiment> experiments(list->children.size());
  for (std::size_t i = 0; i < list->children.size(); ++i)
    figures.push_back(reader.read(list->children[i], experiments[i]));
  diagnostics.raise();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    std::vector<experiment::Point> points = expand(experiments[i], simulator);
    const bool has_baseline = experiments[i].strategies.size() == 2;
    const auto middle = points.begin() + static_cast<std::ptrdiff_t>(has_baseline ? points.size() / 2 : points.size());
    figures[i].baseline.assign(middle, points.end());
    figures[i].points.assign(points.begin(), middle);
  }
  return figures;
}

}  // namespace faultline::app
