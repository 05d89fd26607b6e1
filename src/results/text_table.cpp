// SPDX-License-Identifier: Apache-2.0
#include "src/results/text_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

#include "src/experiment/diagnostics.hpp"

namespace faultline::results {
namespace {

constexpr std::size_t kBetween = 2;

// Of the marks behind a number (" !2", " !!1"), so that numbers stand below each other.
std::size_t marks_width(const std::string& cell) {
  const std::size_t at = cell.find(" !");
  return at == std::string::npos ? 0 : shown_width(cell.substr(at));
}

// Makes room where others of the column have marks.
void align_marks(std::vector<std::vector<std::string>>& rows, std::size_t column) {
  std::size_t widest = 0;
  for (const auto& row : rows) {
    if (!row.empty()) widest = std::max(widest, marks_width(row[column]));
  }
  for (auto& row : rows) {
    if (!row.empty()) row[column] += std::string(widest - marks_width(row[column]), ' ');
  }
}

std::string padded(const std::string& text, std::size_t width, Align align) {
  const std::string space(width - std::min(width, shown_width(text)), ' ');
  return align == Align::left ? text + space : space + text;
}

}  // namespace

void TextTable::add(std::vector<std::string> cells) {
  if (cells.size() != columns_.size()) throw std::logic_error("a table row of another width");
  for (std::string& cell : cells) cell = experiment::printable(cell, /*one_line=*/true);
  rows_.push_back(std::move(cells));
}

void TextTable::gap() {
  if (!rows_.empty()) rows_.emplace_back();
}

std::vector<std::size_t> TextTable::widths(const Rows& rows) const {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t width = std::max(shown_width(columns_[c].title), shown_width(columns_[c].unit));
    for (const auto& row : rows) {
      if (!row.empty()) width = std::max(width, shown_width(row[c]));
    }
    widths.push_back(width);
  }
  return widths;
}

TextTable::Rows TextTable::aligned() const {
  Rows rows = rows_;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    if (columns_[c].align == Align::right) align_marks(rows, c);
  }
  return rows;
}

std::size_t TextTable::width() const {
  std::size_t sum = 0;
  for (const std::size_t width : widths(aligned())) sum += width + kBetween;
  return sum < kBetween ? 0 : sum - kBetween;
}

std::string TextTable::text() const {
  const Rows rows = aligned();
  const std::vector<std::size_t> wide = widths(rows);
  std::string all;
  const auto line = [&](const auto& cell_of) {
    std::string text;
    for (std::size_t c = 0; c < columns_.size(); ++c)
      text += padded(cell_of(c), wide[c], columns_[c].align) + std::string(kBetween, ' ');
    text.erase(text.find_last_not_of(' ') + 1);
    all += text + "\n";
  };
  line([&](std::size_t c) { return columns_[c].title; });
  const bool has_units = std::ranges::any_of(columns_, [](const Column& c) { return !c.unit.empty(); });
  if (has_units) line([&](std::size_t c) { return columns_[c].unit; });
  all += std::string(width(), '-') + "\n";
  for (const auto& row : rows) line([&](std::size_t c) { return row.empty() ? std::string() : row[c]; });
  return all;
}

std::size_t shown_width(const std::string& text) {
  // Continuation bytes of UTF-8 take no room.
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

std::string fixed(double value, int decimals) {
  if (!std::isfinite(value)) return "-";
  return fmt::format("{:.{}f}", value, decimals);
}

int decimals_of(const std::string& unit) {
  return unit == "1" || unit == "B" || unit == "count" || unit.empty() ? 0 : 2;
}

std::string wrap(const std::string& text, std::size_t width, std::size_t indent) {
  std::istringstream words(text);
  std::string all;
  std::size_t used = 0;
  for (std::string word; words >> word;) {
    const std::size_t length = shown_width(word);
    if (used > 0 && used + 1 + length > width) {
      all += "\n" + std::string(indent, ' ');
      used = 0;
    } else if (used > 0) {
      all += ' ';
      ++used;
    }
    all += word;
    used += length;
  }
  return all;
}

}  // namespace faultline::results
