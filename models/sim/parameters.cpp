// SPDX-License-Identifier: Apache-2.0
#include "models/sim/parameters.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <numeric>

#include "models/sim/units.hpp"

namespace faultline::sim {
namespace {

std::string show(const ParameterValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) return "'" + *text + "'";
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return std::to_string(*whole);
  return fmt::format("{}", std::get<double>(value));
}

[[noreturn]] void refuse(const std::string& what, const std::string& allowed) {
  throw BadParameterValue(what, allowed);
}

// --set gives every value as text; files give numbers as numbers.
std::uint64_t to_count(const ParameterValue& value, const std::string& allowed) {
  if (const auto* whole = std::get_if<std::int64_t>(&value)) {
    if (*whole < 0) refuse(fmt::format("{} is negative", *whole), allowed);
    return static_cast<std::uint64_t>(*whole);
  }
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    if (error == std::errc{} && end == text->data() + text->size()) return number;
  }
  refuse(show(value) + " is not a whole number", allowed);
}

double to_fraction(const ParameterValue& value, const std::string& allowed) {
  if (const auto* number = std::get_if<double>(&value)) return *number;
  if (const auto* whole = std::get_if<std::int64_t>(&value)) return static_cast<double>(*whole);
  if (const auto* text = std::get_if<std::string>(&value)) {
    try {
      return parse_fraction(*text);
    } catch (const BadQuantity& error) {
      refuse(error.what(), allowed);
    }
  }
  refuse(show(value) + " is not a number", allowed);
}

bool to_flag(const ParameterValue& value, const std::string& allowed) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag;
  if (const auto* text = std::get_if<std::string>(&value)) {
    if (*text == "true" || *text == "on" || *text == "yes") return true;
    if (*text == "false" || *text == "off" || *text == "no") return false;
  }
  refuse(show(value) + " is neither true nor false", allowed);
}

// Reads a quantity with its unit, checks the range, stores.
template <typename T, typename Parse>
std::function<void(const ParameterValue&)> quantity_setter(T& field, Range<T> legal, std::string allowed, Parse parse) {
  return [&field, legal, allowed = std::move(allowed), parse](const ParameterValue& value) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) refuse(show(value) + " has no unit", allowed);
    T parsed{};
    try {
      parsed = parse(*text);
    } catch (const BadQuantity& error) {
      refuse(error.what(), allowed);
    }
    if (parsed < legal.low || legal.high < parsed) refuse(fmt::format("'{}' is out of range", *text), allowed);
    field = parsed;
  };
}

template <typename T>
std::function<void(const ParameterValue&)> count_setter(T& field, Range<T> legal, std::string allowed) {
  return [&field, legal, allowed = std::move(allowed)](const ParameterValue& value) {
    const std::uint64_t number = to_count(value, allowed);
    if (number < legal.low || number > legal.high) refuse(fmt::format("{} is out of range", number), allowed);
    field = static_cast<T>(number);
  };
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t substitute = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({substitute, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::string_view to_string(Standing s) {
  switch (s) {
    case Standing::setting: return "setting";
    case Standing::published: return "published";
    case Standing::derived: return "derived";
    case Standing::fitted: return "fitted";
    case Standing::assumed: return "assumed";
  }
  return "?";
}

std::string_view to_string(ParameterKind k) {
  switch (k) {
    case ParameterKind::flag: return "true/false";
    case ParameterKind::count: return "count";
    case ParameterKind::fraction: return "fraction";
    case ParameterKind::time: return "time";
    case ParameterKind::bytes: return "bytes";
    case ParameterKind::bit_rate: return "bit rate";
    case ParameterKind::byte_rate: return "byte rate";
    case ParameterKind::frequency: return "frequency";
    case ParameterKind::choice: return "choice";
    case ParameterKind::text: return "text";
  }
  return "?";
}

ParameterTable::Group::Group(ParameterTable& table, std::string_view name)
    : table_(table), length_(table.prefix_.size()) {
  table_.prefix_ += std::string(name) + ".";
}

void ParameterTable::add(std::string_view name, ParameterKind kind, std::string allowed, ParameterDoc doc,
                         std::function<std::string()> get, std::function<void(const ParameterValue&)> set) {
  std::string full = prefix_ + std::string(name);
  if (find(full) != nullptr) throw std::logic_error("parameter declared twice: " + full);
  std::string initial = get();
  parameters_.push_back(
      {std::move(full), kind, std::move(allowed), std::move(initial), std::move(doc), std::move(get), std::move(set)});
}

void ParameterTable::add_flag(std::string_view name, bool& field, ParameterDoc doc) {
  const std::string allowed = "true or false";
  add(
      name, ParameterKind::flag, allowed, std::move(doc), [&field] { return std::string(field ? "true" : "false"); },
      [&field, allowed](const ParameterValue& v) { field = to_flag(v, allowed); });
}

void ParameterTable::add_count(std::string_view name, unsigned& field, Range<unsigned> legal, ParameterDoc doc) {
  const std::string allowed = fmt::format("{} to {}", legal.low, legal.high);
  add(
      name, ParameterKind::count, allowed, std::move(doc), [&field] { return std::to_string(field); },
      count_setter(field, legal, allowed));
}

void ParameterTable::add_count(std::string_view name, std::uint64_t& field, Range<std::uint64_t> legal,
                               ParameterDoc doc) {
  const std::string allowed = fmt::format("{} to {}", legal.low, legal.high);
  add(
      name, ParameterKind::count, allowed, std::move(doc), [&field] { return std::to_string(field); },
      count_setter(field, legal, allowed));
}

void ParameterTable::add_fraction(std::string_view name, double& field, Range<double> legal, ParameterDoc doc) {
  const std::string allowed = fmt::format("{} to {}", legal.low, legal.high);
  add(
      name, ParameterKind::fraction, allowed, std::move(doc), [&field] { return fmt::format("{}", field); },
      [&field, legal, allowed](const ParameterValue& v) {
        const double number = to_fraction(v, allowed);
        // Written so that a NaN is refused, too.
        if (!(number >= legal.low && number <= legal.high)) refuse(show(v) + " is out of range", allowed);
        field = number == 0.0 ? 0.0 : number;  // no "-0" in any output
      });
}

void ParameterTable::add_time(std::string_view name, Time& field, Range<Time> legal, ParameterDoc doc) {
  const std::string allowed = format_time(legal.low) + " to " + format_time(legal.high);
  add(
      name, ParameterKind::time, allowed, std::move(doc), [&field] { return format_time(field); },
      quantity_setter(field, legal, allowed, parse_time));
}

void ParameterTable::add_bytes(std::string_view name, std::uint64_t& field, Range<std::uint64_t> legal,
                               ParameterDoc doc) {
  const std::string allowed = format_bytes(legal.low) + " to " + format_bytes(legal.high);
  add(
      name, ParameterKind::bytes, allowed, std::move(doc), [&field] { return format_bytes(field); },
      quantity_setter(field, legal, allowed, parse_bytes));
}

void ParameterTable::add_bit_rate(std::string_view name, BitRate& field, Range<BitRate> legal, ParameterDoc doc) {
  const std::string allowed = format_bit_rate(legal.low) + " to " + format_bit_rate(legal.high);
  add(
      name, ParameterKind::bit_rate, allowed, std::move(doc), [&field] { return format_bit_rate(field); },
      quantity_setter(field, legal, allowed, parse_bit_rate));
}

void ParameterTable::add_byte_rate(std::string_view name, ByteRate& field, Range<ByteRate> legal, ParameterDoc doc) {
  const std::string allowed = format_byte_rate(legal.low) + " to " + format_byte_rate(legal.high);
  add(
      name, ParameterKind::byte_rate, allowed, std::move(doc), [&field] { return format_byte_rate(field); },
      quantity_setter(field, legal, allowed, parse_byte_rate));
}

void ParameterTable::add_frequency(std::string_view name, Frequency& field, Range<Frequency> legal, ParameterDoc doc) {
  const std::string allowed = format_frequency(legal.low) + " to " + format_frequency(legal.high);
  add(
      name, ParameterKind::frequency, allowed, std::move(doc), [&field] { return format_frequency(field); },
      quantity_setter(field, legal, allowed, parse_frequency));
}

void ParameterTable::add_text(std::string_view name, std::string& field, ParameterDoc doc) {
  add_text(
      name, field, "text", [](const std::string&) {}, std::move(doc));
}

void ParameterTable::add_text(std::string_view name, std::string& field, std::string allowed,
                              std::function<void(const std::string&)> check, ParameterDoc doc) {
  add(
      name, ParameterKind::text, allowed, std::move(doc), [&field] { return field; },
      [&field, allowed, check = std::move(check)](const ParameterValue& v) {
        const auto* text = std::get_if<std::string>(&v);
        if (text == nullptr) refuse(show(v) + " is not text", allowed);
        check(*text);
        field = *text;
      });
}

void ParameterTable::add_choice(std::string_view name, std::size_t& field, const std::vector<std::string>& names,
                                ParameterDoc doc) {
  std::vector<std::pair<std::string, int>> numbered;
  for (const std::string& each : names) numbered.emplace_back(each, static_cast<int>(numbered.size()));
  add_choice_as_int(
      name, [&field] { return static_cast<int>(field); }, [&field](int v) { field = static_cast<std::size_t>(v); },
      std::move(numbered), std::move(doc));
}

void ParameterTable::add_choice_as_int(std::string_view name, std::function<int()> get, std::function<void(int)> set,
                                       std::vector<std::pair<std::string, int>> choices, ParameterDoc doc) {
  std::string allowed;
  for (const auto& choice : choices) allowed += (allowed.empty() ? "" : ", ") + choice.first;
  const auto text_of = [choices, get] {
    const auto it = std::find_if(choices.begin(), choices.end(), [v = get()](const auto& c) { return c.second == v; });
    return it == choices.end() ? std::string("?") : it->first;
  };
  add(name, ParameterKind::choice, allowed, std::move(doc), text_of, [choices, set, allowed](const ParameterValue& v) {
    if (const auto* text = std::get_if<std::string>(&v)) {
      for (const auto& choice : choices) {
        if (choice.first == *text) return set(choice.second);
      }
    }
    const bool number = !std::holds_alternative<std::string>(v) && !std::holds_alternative<bool>(v);
    refuse(show(v) + (number ? ", a number, is not one of the choices: they are texts, in quotes"
                             : " is not one of the choices"),
           allowed);
  });
}

const Parameter* ParameterTable::find(std::string_view name) const {
  const auto it = std::find_if(parameters_.begin(), parameters_.end(), [&](const auto& p) { return p.name == name; });
  if (it != parameters_.end()) return &*it;
  for (const auto& [family, make] : families_) {
    if (!name.starts_with(family)) continue;
    if (std::optional<Parameter> made = make(name)) return &parameters_.emplace_back(std::move(*made));
  }
  return nullptr;
}

void ParameterTable::add_family(std::string_view family, Make make) {
  families_.emplace_back(std::string(family) + ".", std::move(make));
}

std::string ParameterTable::nearest(std::string_view name) const {
  std::vector<std::string> names;
  for (const Parameter& p : parameters_) names.push_back(p.name);
  return nearest_name(name, names);
}

// Takes apart what add_...() has written into `allowed`: "a, b, c" of a choice, "low to high" of a range.
std::vector<std::string> samples(const Parameter& parameter) {
  if (parameter.kind == ParameterKind::text) return {};
  if (parameter.kind == ParameterKind::flag) return {"true", "false"};
  const std::string_view between = parameter.kind == ParameterKind::choice ? ", " : " to ";
  std::vector<std::string> values;
  std::string_view left = parameter.allowed;
  for (std::size_t at = 0; (at = left.find(between)) != std::string_view::npos;) {
    values.emplace_back(left.substr(0, at));
    left.remove_prefix(at + between.size());
  }
  values.emplace_back(left);
  return values;
}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = name.size() / 3 + 2;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace faultline::sim
