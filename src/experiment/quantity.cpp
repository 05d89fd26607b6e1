// SPDX-License-Identifier: Apache-2.0
#include "src/experiment/quantity.hpp"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>

#include "models/sim/units.hpp"

namespace faultline::experiment {

using sim::ParameterKind;

std::optional<std::uint64_t> whole(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (text.empty() || error != std::errc{} || end != text.data() + text.size()) return {};
  return number;
}

bool is_number(ParameterKind kind) {
  return kind != ParameterKind::flag && kind != ParameterKind::choice && kind != ParameterKind::text;
}

double number_of(ParameterKind kind, const std::string& text) {
  if (text == sim::ParameterTable::kInherited) return std::nan("");
  switch (kind) {
    case ParameterKind::count:
    case ParameterKind::fraction: return std::strtod(text.c_str(), nullptr);
    case ParameterKind::time: return static_cast<double>(sim::parse_time(text).count());
    case ParameterKind::bytes: return static_cast<double>(sim::parse_bytes(text));
    case ParameterKind::bit_rate: return static_cast<double>(sim::parse_bit_rate(text).bits_per_second);
    case ParameterKind::byte_rate: return static_cast<double>(sim::parse_byte_rate(text).bytes_per_second);
    case ParameterKind::frequency: return static_cast<double>(sim::parse_frequency(text).hertz);
    default: throw std::logic_error("no number: " + text);
  }
}

std::string plain_unit(ParameterKind kind) {
  switch (kind) {
    case ParameterKind::count:
    case ParameterKind::fraction: return "1";
    case ParameterKind::time: return "us";
    case ParameterKind::bytes: return "B";
    case ParameterKind::bit_rate: return "b/s";
    case ParameterKind::byte_rate: return "B/s";
    case ParameterKind::frequency: return "Hz";
    default: return "";
  }
}

double plain_number(ParameterKind kind, const std::string& text) {
  constexpr double kPsPerUs = 1e6;
  return number_of(kind, text) / (kind == ParameterKind::time ? kPsPerUs : 1);
}

sim::ParameterValue value_of(ParameterKind kind, double number) {
  const auto whole = static_cast<std::int64_t>(std::llround(number));
  switch (kind) {
    case ParameterKind::count: return whole;
    case ParameterKind::fraction: return number;
    case ParameterKind::time: return sim::format_time(sim::Time{whole});
    case ParameterKind::bytes: return sim::format_bytes(static_cast<std::uint64_t>(whole));
    case ParameterKind::bit_rate: return sim::format_bit_rate(sim::BitRate{whole});
    case ParameterKind::byte_rate: return sim::format_byte_rate(sim::ByteRate{whole});
    case ParameterKind::frequency: return sim::format_frequency(sim::Frequency{whole});
    default: throw std::logic_error("no number of this kind");
  }
}

}  // namespace faultline::experiment
