// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "models/sim/parameters.hpp"
#include "src/experiment/input_limits.hpp"

namespace faultline::experiment {

std::string Place::text() const { return line == 0 ? file : fmt::format("{}:{}:{}", file, line, column); }

void Diagnostics::add(const Place& place, const std::string& key, const std::string& message) {
  add_line({place, place.text() + ": " + (key.empty() ? "" : key + ": ") + message});
}

void Diagnostics::add_text(const std::string& file, const std::string& text) { add_line({{file, 0, 0}, text}); }

void Diagnostics::add_line(Line line) {
  if (line.text.size() > kMostMessageBytes) {
    constexpr std::size_t kEnd = kMostMessageBytes / 2;
    const std::size_t cut = line.text.size() - 2 * kEnd;
    line.text.replace(kEnd, cut, fmt::format(" [{} more bytes] ", cut));
  }
  if (known_.count(line.text) != 0) return;
  if (is_full()) {
    ++more_;
    return;
  }
  known_.insert(line.text);
  lines_.push_back(std::move(line));
}

bool Diagnostics::is_full() const { return lines_.size() >= kMostMistakes; }

std::string Diagnostics::hint(std::string_view typed, const std::vector<std::string>& candidates) const {
  return is_full() ? "" : did_you_mean(sim::nearest_name(typed, candidates));
}

std::string Diagnostics::text() const {
  std::vector<std::string> files;
  for (const Line& line : lines_) {
    if (std::ranges::find(files, line.place.file) == files.end()) files.push_back(line.place.file);
  }
  const auto rank = [&](const Line& line) {
    return std::make_tuple(std::ranges::find(files, line.place.file) - files.begin(), line.place.line,
                           line.place.column);
  };
  std::vector<Line> sorted = lines_;
  std::ranges::stable_sort(sorted, [&](const Line& a, const Line& b) { return rank(a) < rank(b); });
  std::string all;
  for (const Line& line : sorted) all += (all.empty() ? "" : "\n") + line.text;
  if (more_ > 0) all += fmt::format("\nand {} more", more_);
  return all;
}

void Diagnostics::raise() const {
  if (!empty()) throw UserError(text());
}

std::string did_you_mean(const std::string& nearest) {
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

std::string printable(std::string_view text, bool one_line) {
  std::string shown;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    const unsigned next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0;
    if (c == 0xC2 && next >= 0x80 && next < 0xA0) {  // U+0080 to U+009F: control characters, too
      shown += fmt::format("\\u{:04X}", next);
      ++i;
    } else if ((c < 0x20 && c != '\t' && (c != '\n' || one_line)) || c == 0x7F) {
      shown += fmt::format("\\u{:04X}", c);
    } else {
      shown += text[i];
    }
  }
  return shown;
}

}  // namespace faultline::experiment
