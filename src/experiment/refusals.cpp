// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/refusals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace faultline::experiment {
namespace {

constexpr std::size_t kMostNamed = 12;  // strategies

bool is_of_strategy(const Setting& setting) { return setting.origin.starts_with("strategy "); }

void add_once(std::vector<std::string>& texts, const std::string& text) {
  if (std::ranges::find(texts, text) == texts.end()) texts.push_back(text);
}

struct Blamed {
  std::string key;
  const Setting* setting = nullptr;  // nullptr: all are defaults
};

// Of the parameters that somebody set the first of the layer that has the last word: not the platform's memory when
// the experiment asks for too much of it. A strategy, which may ship, is to blame only where the experiment says
// nothing.
Blamed blamed_of(const Point& point, const std::vector<std::string>& keys) {
  Blamed blamed{keys.empty() ? "" : keys.front()};
  std::size_t most = 0;
  for (const std::string& key : keys) {
    for (std::size_t layer = point.settings.size(); layer-- > 0;) {
      const Setting* by = deciding(*point.settings[layer], key);
      if (by == nullptr) continue;
      const std::size_t rank = is_of_strategy(*by) ? 2 : 2 * layer + 1;
      const bool is_same = blamed.setting != nullptr && by->origin == blamed.setting->origin;
      if (rank > most && !is_same) {
        most = rank;
        blamed = {key, by};
      }
      break;
    }
  }
  return blamed;
}

// Who they are stands at the end of the line.
std::string setters_text(const std::vector<std::string>& setters) {
  const auto is_strategy = [](const std::string& setter) { return setter.starts_with("strategy "); };
  if (setters.size() > 1 && std::ranges::all_of(setters, is_strategy)) return "the strategies";
  return fmt::format("{}", fmt::join(setters, "; "));
}

}  // namespace

Refusals::Line& Refusals::line_of(const Point& point, const workloads::Conflict& conflict) {
  const auto [key, setting] = blamed_of(point, conflict.keys);
  Line line{setting == nullptr ? Place{experiment_.file, 0, 0} : setting->place, key, conflict.reason,
            conflict.instead};
  line.of_strategy = setting != nullptr && is_of_strategy(*setting);
  line.of_axis = setting != nullptr && (setting->origin == "axis" || setting->origin == "sample");
  for (Line& known : lines_) {
    const bool same_place = known.place.text() == line.place.text() || (known.of_strategy && line.of_strategy);
    if (known.key == line.key && known.reason == line.reason && same_place) return known;
  }
  for (const std::string& other : conflict.keys) {
    if (other != key) line.others.emplace_back(other, std::vector<std::string>{});
  }
  return lines_.emplace_back(std::move(line));
}

void Refusals::add(const Point& point, const workloads::Conflict& conflict) {
  Line& line = line_of(point, conflict);
  for (auto& [other, setters] : line.others) {
    const Setting* by = deciding(point.settings, other);
    add_once(setters, by == nullptr ? "default" : by->set_by());
  }
  add_once(line.strategies, point.strategy);
}

std::string Refusals::advice(const Line& line) const {
  if (line.instead.empty()) return "";
  std::string text = "; instead: " + line.instead;
  if (line.of_axis) {
    text += ", or leave these combinations out by 'skip'";
  } else if (line.strategies.size() < experiment_.strategies.size()) {
    text += ", or leave these strategies out";
  }
  return text;
}

void Refusals::tell(Diagnostics& diagnostics) const {
  std::set<std::string> advised;  // each value on an axis has a line, and all of them one advice
  for (const Line& line : lines_) {
    std::string others;
    for (const auto& [key, setters] : line.others) {
      others += fmt::format("{}{} ({})", others.empty() ? "; decided also by " : ", ", key, setters_text(setters));
    }
    const std::string instead = advice(line);
    const std::size_t all = line.strategies.size();
    const auto end = line.strategies.begin() + static_cast<std::ptrdiff_t>(std::min(all, kMostNamed));
    diagnostics.add(line.place, line.key, "{}{}{} [{} {}{}]", line.reason, others,
                    advised.insert(instead).second ? instead : "", all == 1 ? "strategy" : "strategies",
                    fmt::join(line.strategies.begin(), end, ", "),
                    all > kMostNamed ? fmt::format(" and {} more", all - kMostNamed) : "");
  }
}

}  // namespace faultline::experiment
