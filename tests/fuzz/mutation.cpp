// SPDX-License-Identifier: Apache-2.0
#include "tests/fuzz/mutation.hpp"

#include <algorithm>
#include <sstream>

namespace faultline::test {
namespace {

using Lines = std::vector<std::string>;

Lines lines_of(const std::string& text) {
  Lines lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  if (lines.empty()) lines.emplace_back();
  return lines;
}

// What no parameter expects, or only just.
const std::vector<std::string>& hostile_values() {
  static const std::vector<std::string> values{
      "0",
      "-1",
      "1",
      "2",
      "18446744073709551616",
      "9223372036854775807",
      "-9223372036854775808",
      "1e308",
      "-1e-308",
      "nan",
      "inf",
      "-inf",
      "0.5",
      "true",
      "false",
      "[]",
      "{}",
      "\"\"",
      "\" \"",
      "\"0 B\"",
      "\"-1 KiB\"",
      "\"1e99 s\"",
      "\"9999999999999999999 GiB\"",
      "\"1 parsec\"",
      "\"4 KiB 4 KiB\"",
      "\"\\u001B[31mred\"",
      "\"\\u009B31m\"",
      "\"\\u202Eabc\"",
      "\"a\\nb\"",
      "\"a\\tb\"",
      "'$(id)'",
      "'=1+1'",
      "'@x'",
      "'../../x'",
      "'%s%n'",
      "'\\'",
      "[[[[1]]]]",
      "[1, \"a\"]",
      "{ value = 1 }",
      "{ value = \"1 B\", label = \"x\" }",
      "[1, 1]",
      "1979-05-27T07:32:00Z",
      "0x7fffffff",
      "0b1",
      "\"\"\"\na\n\"\"\"",
      "[\"64 B\", \"4 KiB\"]",
      "[0, 0.5, 1]",
      "\"flows\"",
      "\"write\"",
      "\"0>1 64B\"",
      "\"auto\"",
      "[{ view = \"matrix\" }]",
      "\"\xc3\xa9\xe2\x82\xac\"",
      "'\xff'",
      "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9]",
  };
  return values;
}

std::string& any_line(Lines& lines, Dice& dice) { return lines[dice.below(lines.size())]; }

std::string line_of(const std::string& text, Dice& dice) {
  Lines lines = lines_of(text);
  return any_line(lines, dice);
}

void replace_value(Lines& lines, const std::vector<std::string>& others, Dice& dice) {
  std::string& line = any_line(lines, dice);
  const std::size_t equals = line.find('=');
  if (equals == std::string::npos) return;
  std::string value = dice.one_of(hostile_values());
  if (dice.percent(30)) {
    const std::string other = line_of(dice.one_of(others), dice);
    if (other.find('=') != std::string::npos) value = other.substr(other.find('=') + 1);
  }
  line = line.substr(0, equals + 1) + ' ' + value;
}

// A number in a line becomes another one.
void change_number(Lines& lines, Dice& dice) {
  std::string& line = any_line(lines, dice);
  const std::size_t digit = line.find_first_of("0123456789", dice.below(line.size() + 1));
  if (digit == std::string::npos) return;
  const std::size_t end = std::min(line.find_first_not_of("0123456789", digit), line.size());
  static const std::vector<std::string> numbers{
      "0", "1", "-1", "2", "3", "7", "255", "256", "65536", "4294967296", "00", "1.5", "99999999999999999999"};
  line.replace(digit, end - digit, dice.one_of(numbers));
}

void change_lines(std::string& text, const std::vector<std::string>& others, Dice& dice) {
  Lines lines = lines_of(text);
  switch (dice.below(9)) {
    case 0: lines.erase(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size()))); break;
    case 1:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size())), any_line(lines, dice));
      break;
    case 2: std::swap(any_line(lines, dice), any_line(lines, dice)); break;
    case 3:
      lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(dice.below(lines.size() + 1)),
                   line_of(dice.one_of(others), dice));
      break;
    case 4: change_byte(any_line(lines, dice), dice); break;
    case 5: change_number(lines, dice); break;
    default: replace_value(lines, others, dice);
  }
  text.clear();
  for (const std::string& line : lines) text += line + '\n';
}

void change_bytes(std::string& text, const std::vector<std::string>& others, Dice& dice) {
  switch (dice.below(6)) {
    case 0: text.resize(dice.below(text.size() + 1)); break;
    case 1: {
      const std::string& other = dice.one_of(others);
      const std::size_t at = dice.below(other.size() + 1);
      text.insert(dice.below(text.size() + 1), other.substr(at, dice.below(80)));
      break;
    }
    case 2: text.erase(dice.below(text.size() + 1), dice.below(80)); break;
    default: change_byte(text, dice);
  }
}

}  // namespace

void change_byte(std::string& text, Dice& dice) {
  static const std::string characters = "\"'[]{}=.,#\\\n\t \x01\x1b\x7f\x80\xc2\xff-+0_azA$%@:;>";
  const std::size_t at = dice.below(text.size() + 1);
  const bool chosen = dice.percent(60);
  const char other = chosen ? characters[dice.below(characters.size())] : static_cast<char>(dice.below(256));
  if (at == text.size() || dice.percent(30)) {
    text.insert(at, 1, other);
  } else if (dice.percent(30)) {
    text.erase(at, 1);
  } else if (dice.percent(30)) {
    text.insert(at, 1, text[at]);
  } else {
    text[at] = other;
  }
}

std::string mutated(const std::string& text, const std::vector<std::string>& others, Dice& dice) {
  std::string changed = text;
  for (unsigned n = dice.few(4); n > 0; --n) {
    if (dice.percent(65)) {
      change_lines(changed, others, dice);
    } else {
      change_bytes(changed, others, dice);
    }
  }
  return changed;
}

}  // namespace faultline::test
