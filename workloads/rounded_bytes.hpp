// SPDX-License-Identifier: Apache-2.0
// Sizes that were measured, as sentences have them.
#pragma once

#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <string>

namespace faultline::workloads {

// In the largest of B, KiB, MiB and GiB of which it is one, rounded to a decimal: "2.5 MiB". Parameters are exact
// instead (sim::format_bytes()).
inline std::string rounded_bytes(std::uint64_t bytes) {
  constexpr std::array kUnits{"B", "KiB", "MiB", "GiB"};
  double value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < kUnits.size(); ++unit) value /= 1024;
  std::string text = fmt::format("{:.1f}", value);
  if (text.ends_with(".0")) text.resize(text.size() - 2);
  return text + " " + kUnits.at(unit);
}

}  // namespace faultline::workloads
