// SPDX-License-Identifier: Apache-2.0
// A table for people: headers of two lines (name, unit), columns as wide as they need to be. Behind numbers
// there may be marks (failures.hpp).
#pragma once

#include <string>
#include <vector>

namespace faultline::results {

enum class Align { left, right };

struct Column {
  std::string title;
  std::string unit;  // under the title; may be empty
  Align align = Align::right;
};
inline Column left(const std::string& title) { return {title, "", Align::left}; }
inline Column right(const std::string& title, const std::string& unit = "") { return {title, unit, Align::right}; }

// As one of several that are listed: in quotes where a comma would make it look like two.
inline std::string in_list(const std::string& text) {
  return text.find(',') == std::string::npos ? text : '\'' + text + '\'';
}

class TextTable {
 public:
  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  // As many cells as columns.
  void add(std::vector<std::string> cells);
  // A blank line before the next row.
  void gap();
  std::string text() const;
  // Of the widest line.
  std::size_t width() const;

 private:
  using Rows = std::vector<std::vector<std::string>>;
  std::vector<std::size_t> widths(const Rows& rows) const;
  Rows aligned() const;
  std::vector<Column> columns_;
  Rows rows_;  // an empty row is a gap
};

// Characters that a terminal shows, for UTF-8 text of one column a code point.
std::size_t shown_width(const std::string& text);

// With `decimals` decimals; "-" for NaN.
std::string fixed(double value, int decimals);

// A column's decimals by its unit: times and rates have two, counts and bytes none.
int decimals_of(const std::string& unit);

// Text broken at spaces into lines of at most `width`, each after the first behind `indent` spaces.
std::string wrap(const std::string& text, std::size_t width, std::size_t indent);

}  // namespace faultline::results
