// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <boost/locale/utf.hpp>
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
  line.text = shortened(std::move(line.text));
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
  return is_full() ? "" : did_you_mean(typed, candidates);
}

std::string Diagnostics::allowed(std::string_view typed, const std::vector<std::string>& names) const {
  return is_full() ? "" : allowed_names(typed, names);
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

std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates) {
  return did_you_mean(sim::nearest_name(typed, candidates));
}

std::string allowed_names(std::string_view typed, const std::vector<std::string>& names) {
  return fmt::format("allowed: {}{}", fmt::join(names, ", "), did_you_mean(typed, names));
}

std::string shortened(std::string text) {
  if (text.size() <= kMostMessageBytes) return text;
  constexpr std::size_t kEnd = kMostMessageBytes / 2;
  const std::size_t cut = text.size() - 2 * kEnd;
  return text.replace(kEnd, cut, fmt::format(" [{} more bytes] ", cut));
}

std::string joined_lines(const std::string& text) {
  return boost::replace_all_copy(boost::trim_right_copy(text), "\n", " | ");
}

std::string printable(std::string_view text, bool one_line) {
  namespace utf = boost::locale::utf;
  std::string shown;
  for (std::size_t size = 1; !text.empty(); text.remove_prefix(size)) {
    const char* next = text.data();
    const utf::code_point point = utf::utf_traits<char>::decode(next, text.data() + text.size());
    const bool is_character = point != utf::illegal && point != utf::incomplete;
    const bool is_shown = point == '\t' || (point == '\n' && !one_line);
    size = is_character ? static_cast<std::size_t>(next - text.data()) : 1;
    if (!is_character) {
      shown += fmt::format("\\x{:02X}", static_cast<unsigned char>(text[0]));
    } else if ((point < 0x20 && !is_shown) || (point >= 0x7F && point < 0xA0)) {
      shown += fmt::format("\\u{:04X}", point);
    } else {
      shown += text.substr(0, size);
    }
  }
  return shown;
}

}  // namespace faultline::experiment
