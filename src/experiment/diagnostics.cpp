// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/diagnostics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/string/replace.hpp>
#include <boost/algorithm/string/trim.hpp>
#include <tuple>

#include "models/sim/parameters.hpp"
#include "src/experiment/input_limits.hpp"

namespace faultline::experiment {
namespace {

// Of the UTF-8 character that the text begins with, in bytes; 0 where it begins with none: a lone byte, a character in
// more bytes than it needs, a surrogate, or one beyond U+10FFFF.
std::size_t size_of_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const std::size_t size = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return 0;
  }
  const bool is_overlong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xF0 && byte(1) < 0x90);
  const bool is_beyond = (first == 0xED && byte(1) > 0x9F) || (first == 0xF4 && byte(1) > 0x8F);
  return is_overlong || is_beyond ? 0 : size;
}

}  // namespace

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
  return is_full() ? "" : did_you_mean(sim::nearest_name(typed, candidates));
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

std::string allowed_names(std::string_view typed, const std::vector<std::string>& names) {
  return fmt::format("allowed: {}{}", fmt::join(names, ", "), did_you_mean(sim::nearest_name(typed, names)));
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
  std::string shown;
  for (std::size_t size = 1; !text.empty(); text.remove_prefix(size)) {
    const auto first = static_cast<unsigned char>(text[0]);
    size = std::max<std::size_t>(1, size_of_character(text));
    const std::string_view character = text.substr(0, size);
    if (first >= 0x80 && size == 1) {
      shown += fmt::format("\\x{:02X}", first);  // of no character; many terminals take 0x80 to 0x9F for controls
    } else if (size == 2 && character < "\u00A0") {
      shown += fmt::format("\\u{:04X}", static_cast<unsigned char>(text[1]));  // U+0080 to U+009F: controls, too
    } else if ((first < 0x20 && first != '\t' && (first != '\n' || one_line)) || first == 0x7F) {
      shown += fmt::format("\\u{:04X}", first);
    } else {
      shown += character;
    }
  }
  return shown;
}

}  // namespace faultline::experiment
