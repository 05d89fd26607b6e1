// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace faultline::app {

std::string Place::text() const { return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column); }

void Diagnostics::add(const Place& place, const std::string& key, const std::string& message) {
  add_line({place, place.text() + ": " + (key.empty() ? "" : key + ": ") + message});
}

void Diagnostics::add_text(const std::string& file, const std::string& text) { add_line({{file, 0, 0}, text}); }

void Diagnostics::add_line(Line line) {
  const bool known = std::any_of(lines_.begin(), lines_.end(), [&](const Line& l) { return l.text == line.text; });
  if (!known) lines_.push_back(std::move(line));
}

std::string Diagnostics::text() const {
  std::vector<std::string> files;
  for (const Line& line : lines_) {
    if (std::find(files.begin(), files.end(), line.place.file) == files.end()) files.push_back(line.place.file);
  }
  const auto rank = [&](const Line& line) {
    return std::make_tuple(std::find(files.begin(), files.end(), line.place.file) - files.begin(), line.place.line,
                           line.place.column);
  };
  std::vector<Line> sorted = lines_;
  std::stable_sort(sorted.begin(), sorted.end(), [&](const Line& a, const Line& b) { return rank(a) < rank(b); });
  std::string all;
  for (const Line& line : sorted) all += (all.empty() ? "" : "\n") + line.text;
  return all;
}

void Diagnostics::raise() const {
  if (!empty()) throw UserError(text());
}

std::string did_you_mean(const std::string& nearest) {
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace faultline::app
