// SPDX-License-Identifier: Apache-2.0
#include "models/sim/units.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <span>

namespace faultline::sim {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t scale;
};

// Largest first: format() takes the first unit in which the value is a short decimal.
constexpr std::array kTimeUnits{Unit{"s", 1'000'000'000'000}, Unit{"ms", 1'000'000'000}, Unit{"us", 1'000'000},
                                Unit{"ns", 1'000}, Unit{"ps", 1}};
constexpr std::array kByteUnits{
    Unit{"GiB", 1 << 30},  Unit{"MiB", 1 << 20}, Unit{"KiB", 1 << 10}, Unit{"GB", 1'000'000'000},
    Unit{"MB", 1'000'000}, Unit{"kB", 1'000},    Unit{"B", 1}};
constexpr std::array kBitRateUnits{Unit{"Gb/s", 1'000'000'000}, Unit{"Mb/s", 1'000'000}, Unit{"kb/s", 1'000},
                                   Unit{"b/s", 1}};
constexpr std::array kByteRateUnits{
    Unit{"GB/s", 1'000'000'000}, Unit{"MB/s", 1'000'000}, Unit{"kB/s", 1'000}, Unit{"GiB/s", 1 << 30},
    Unit{"MiB/s", 1 << 20},      Unit{"KiB/s", 1 << 10},  Unit{"B/s", 1}};
constexpr std::array kFrequencyUnits{Unit{"GHz", 1'000'000'000}, Unit{"MHz", 1'000'000}, Unit{"kHz", 1'000},
                                     Unit{"Hz", 1}};

std::string names(std::span<const Unit> units) {
  std::string all;
  for (const Unit& u : units) all += (all.empty() ? "" : ", ") + std::string(u.name);
  return all;
}

// Holds all decimals that an exact quantity can have.
__extension__ using Wide = unsigned __int128;
// 1 B is 2^-30 GiB, which has as many decimals.
constexpr std::size_t kMostDecimals = 30;

// digits[.digits] times scale, exactly; doubles would round 0.1 us.
std::int64_t scaled(std::string_view number, std::int64_t scale, std::string_view text) {
  const auto bad = [&](std::string_view why) { return BadQuantity(fmt::format("'{}' {}", text, why)); };
  const auto dot = number.find('.');
  const std::string_view whole = number.substr(0, dot);
  std::string_view decimals = dot == std::string_view::npos ? std::string_view{} : number.substr(dot + 1);
  if (whole.empty() && decimals.empty()) throw bad("is not a number with a unit");
  if (decimals.find('.') != std::string_view::npos) throw bad("is not a number with a unit");
  std::int64_t value = 0;
  if (!whole.empty()) {
    const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), value);
    if (error == std::errc::result_out_of_range) throw bad("is too large");
  }
  if (__builtin_mul_overflow(value, scale, &value)) throw bad("is too large");

  while (decimals.ends_with('0')) decimals.remove_suffix(1);
  if (decimals.size() > kMostDecimals) throw bad("is finer than the smallest unit");
  // fraction / 10^decimals times scale: the tens are cancelled a prime at a time, so that nothing overflows.
  Wide fraction = 0;
  for (const char digit : decimals) fraction = fraction * 10 + static_cast<unsigned>(digit - '0');
  auto factor = static_cast<Wide>(scale);
  for (std::size_t i = 0; i < decimals.size(); ++i) {
    for (const unsigned prime : {2U, 5U}) {
      Wide& multiple = factor % prime == 0 ? factor : fraction;
      if (multiple % prime != 0) throw bad("is finer than the smallest unit");
      multiple /= prime;
    }
  }
  // Less than the scale.
  const auto part = static_cast<std::int64_t>(fraction * factor);
  if (__builtin_add_overflow(value, part, &value)) throw bad("is too large");
  return value;
}

std::int64_t parse(std::string_view text, std::span<const Unit> units) {
  const auto trim = [](std::string_view s) {
    while (!s.empty() && s.front() == ' ') s.remove_prefix(1);
    while (!s.empty() && s.back() == ' ') s.remove_suffix(1);
    return s;
  };
  const std::string_view all = trim(text);
  const auto split = std::min(all.find_first_not_of("0123456789."), all.size());
  const std::string_view number = all.substr(0, split);
  const std::string_view unit = trim(all.substr(split));
  if (number.empty()) throw BadQuantity(fmt::format("'{}' is not a number with a unit ({})", text, names(units)));
  if (unit.empty()) throw BadQuantity(fmt::format("'{}' has no unit (one of {})", text, names(units)));
  for (const Unit& u : units) {
    if (u.name == unit) return scaled(number, u.scale, text);
  }
  throw BadQuantity(fmt::format("'{}' has the unknown unit '{}' (one of {})", text, unit, names(units)));
}

// At most three decimals, and never a rounded one.
std::string format(std::int64_t value, std::span<const Unit> units) {
  if (value == 0) return fmt::format("0 {}", units.back().name);
  for (const Unit& u : units) {
    if (value < u.scale) continue;
    const std::int64_t rest = value % u.scale;
    if (rest == 0) return fmt::format("{} {}", value / u.scale, u.name);
    if (u.scale % 1000 == 0 && rest % (u.scale / 1000) == 0) {
      std::string decimals = fmt::format("{:03}", rest / (u.scale / 1000));
      decimals.erase(decimals.find_last_not_of('0') + 1);
      return fmt::format("{}.{} {}", value / u.scale, decimals, u.name);
    }
  }
  return fmt::format("{} {}", value, units.back().name);
}

}  // namespace

Time parse_time(std::string_view text) { return Time{parse(text, kTimeUnits)}; }
std::uint64_t parse_bytes(std::string_view text) { return static_cast<std::uint64_t>(parse(text, kByteUnits)); }
BitRate parse_bit_rate(std::string_view text) { return BitRate{parse(text, kBitRateUnits)}; }
ByteRate parse_byte_rate(std::string_view text) { return ByteRate{parse(text, kByteRateUnits)}; }
Frequency parse_frequency(std::string_view text) { return Frequency{parse(text, kFrequencyUnits)}; }

double parse_fraction(std::string_view text) {
  const bool percent = text.ends_with('%');
  std::string_view digits = text.substr(0, text.size() - (percent ? 1 : 0));
  if (percent && digits.ends_with(' ')) digits.remove_suffix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc{} || end != digits.data() + digits.size())
    throw BadQuantity(fmt::format("'{}' is not a number", text));
  return percent ? number / 100 : number;
}

std::string format_time(Time t) { return format(t.count(), kTimeUnits); }
std::string format_bytes(std::uint64_t bytes) { return format(static_cast<std::int64_t>(bytes), kByteUnits); }
std::string format_bit_rate(BitRate rate) { return format(rate.bits_per_second, kBitRateUnits); }
std::string format_byte_rate(ByteRate rate) { return format(rate.bytes_per_second, kByteRateUnits); }
std::string format_frequency(Frequency f) { return format(f.hertz, kFrequencyUnits); }

}  // namespace faultline::sim
