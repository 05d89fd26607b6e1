// SPDX-License-Identifier: Apache-2.0
// What a person is told when something that they wrote is wrong: where, which key, why, what is
// allowed. All mistakes of a file are collected before anything is refused.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

namespace faultline {

// What every room throws: the user's mistake, not ours: exit code 2. what() is the whole message, perhaps of several
// lines.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
  template <typename... Values>
  explicit UserError(fmt::format_string<Values...> text, Values&&... values)
      : std::runtime_error(fmt::format(text, std::forward<Values>(values)...)) {}
};

}  // namespace faultline

namespace faultline::experiment {

using faultline::UserError;

// A spot in a file, or an option of the command line (then line is 0).
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  std::string text() const;  // "mine.toml:3:12"
};

class Diagnostics {
 public:
  // key may be empty when the message is about the file as a whole. The same message twice counts once
  // (a strategy that two files name is read twice). Of more than kMostMistakes the number alone is kept.
  void add(const Place& place, const std::string& key, const std::string& message);
  template <typename Value, typename... Values>
  void add(const Place& place, const std::string& key, fmt::format_string<Value, Values...> text, Value&& value,
           Values&&... values) {
    add(place, key, fmt::format(text, std::forward<Value>(value), std::forward<Values>(values)...));
  }
  // A message that already names its place in `file`.
  void add_text(const std::string& file, const std::string& text);
  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return lines_.size() + more_; }
  // did_you_mean() the nearest of the candidates; nothing when the message would not be kept: the search takes long.
  std::string hint(std::string_view typed, const std::vector<std::string>& candidates) const;
  // Likewise behind all of them, as allowed_names().
  std::string allowed(std::string_view typed, const std::vector<std::string>& names) const;
  // No further message is kept.
  bool is_full() const;
  // One line a mistake, in the order of files as read and of places in a file.
  std::string text() const;
  // Throws UserError with text() unless empty.
  void raise() const;

 private:
  struct Line {
    Place place;
    std::string text;
  };
  void add_line(Line line);
  std::vector<Line> lines_;
  std::unordered_set<std::string> known_;  // their texts
  std::size_t more_ = 0;
};

// "; did you mean 'x'?", or nothing when no candidate is near.
std::string did_you_mean(const std::string& nearest);
std::string did_you_mean(std::string_view typed, const std::vector<std::string>& candidates);
// "allowed: a, b, c", and the nearest of them, for a name that is none.
std::string allowed_names(std::string_view typed, const std::vector<std::string>& names);

// Of a text that is longer than kMostMessageBytes its beginning and its end.
std::string shortened(std::string text);

// Lines become one, "first | second", without blanks at its end: for tables and CSV cells.
std::string joined_lines(const std::string& text);

// For terminals: control characters, whose sequences could do anything there, as TOML writes them, "\u001B"; bytes that
// are no UTF-8 as "\x9B". Tabs and, unless it has to be one line, ends of lines stay.
std::string printable(std::string_view text, bool one_line = false);

}  // namespace faultline::experiment
