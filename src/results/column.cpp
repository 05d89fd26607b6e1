// SPDX-License-Identifier: Apache-2.0
#include "src/results/column.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>

namespace faultline::results {
namespace {

static_assert(std::endian::native == std::endian::little, "columns are little-endian");

std::string base64(const std::string& bytes) {
  constexpr const char* kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t word = 0;
    for (std::size_t i = 0; i < 3; ++i) word = word << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0U);
    for (std::size_t i = 0; i < 4; ++i) text += i <= count ? kDigits[word >> (18 - 6 * i) & 63U] : '=';
  }
  return text;
}

bool same(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

template <typename T>
bool holds(double value) {
  if constexpr (std::is_floating_point_v<T>) {
    return same(value, static_cast<double>(static_cast<T>(value)));
  } else {
    return value >= std::numeric_limits<T>::min() && value <= std::numeric_limits<T>::max() &&
           std::floor(value) == value;
  }
}

template <typename T>
void write_as(const char* type, const std::vector<double>& values, nlohmann::ordered_json& json) {
  std::string bytes(values.size() * sizeof(T), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const T value = static_cast<T>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  json = {{"type", type}, {"data", base64(bytes)}};
}

// False when a value does not fit.
template <typename T>
bool encode_as(const char* type, const std::vector<double>& values, nlohmann::ordered_json& json) {
  if (!std::ranges::all_of(values, holds<T>)) return false;
  write_as<T>(type, values, json);
  return true;
}

bool fits_float(double value) {
  return !std::isfinite(value) || std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max());
}

}  // namespace

nlohmann::ordered_json encode_column(const std::vector<double>& values, Digits digits) {
  nlohmann::ordered_json json;
  const bool constant =
      !values.empty() && std::ranges::all_of(values, [&](double v) { return same(v, values.front()); });
  if (constant && !std::isinf(values.front())) {
    json["value"] = std::isnan(values.front()) ? nlohmann::ordered_json() : nlohmann::ordered_json(values.front());
    return json;
  }
  if (encode_as<std::uint8_t>("u8", values, json) || encode_as<std::uint16_t>("u16", values, json) ||
      encode_as<std::int32_t>("i32", values, json) || encode_as<float>("f32", values, json)) {
    return json;
  }
  if (digits == Digits::seven && std::ranges::all_of(values, fits_float)) {
    write_as<float>("f32", values, json);
  } else {
    write_as<double>("f64", values, json);
  }
  return json;
}

}  // namespace faultline::results
