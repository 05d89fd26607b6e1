// SPDX-License-Identifier: Apache-2.0
// What a person is told when something that they wrote is wrong: where, which key, why, what is
// allowed. All mistakes of a file are collected before anything is refused.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace faultline::app {

// A spot in a file, or an option of the command line (then line is 0).
struct Place {
  std::string file;
  unsigned line = 0;
  unsigned column = 0;

  std::string text() const;  // "mine.toml:3:12"
};

// The user's mistake, not ours: exit code 2. what() is the whole message, perhaps of several lines.
struct UserError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

class Diagnostics {
 public:
  // key may be empty when the message is about the file as a whole. The same message twice counts once
  // (a strategy that two files name is read twice).
  void add(const Place& place, const std::string& key, const std::string& message);
  // A message that already names its place in `file`.
  void add_text(const std::string& file, const std::string& text);
  bool empty() const { return lines_.empty(); }
  std::size_t size() const { return lines_.size(); }
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
};

// "; did you mean 'x'?", or nothing when no candidate is near.
std::string did_you_mean(const std::string& nearest);

}  // namespace faultline::app
