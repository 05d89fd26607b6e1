// SPDX-License-Identifier: Apache-2.0
#include "src/results/remarks.hpp"

#include <fmt/format.h>

namespace faultline::results {

std::string with_place(const std::string& text, const std::string& where, std::size_t points) {
  return fmt::format("{} [{}{}]", text, where, points > 1 ? fmt::format(", and {} more", points - 1) : "");
}

void Remarks::add(const experiment::Point& point, const runs::PointOutcome& outcome) {
  for (const std::string& text : outcome.result.notes) note(kNote, text, point);
  for (const std::string& text : outcome.result.failed_checks) note(kCheckFailed, text, point);
  if (!outcome.result.refused.empty()) note(kRefused, outcome.result.refused, point);
  if (!outcome.error.empty()) note(to_string(outcome.status), outcome.error, point);
}

void Remarks::note(const std::string& kind, const std::string& text, const experiment::Point& point) {
  const auto [place, is_new] = places_.emplace(kind + '\n' + text, all_.size());
  if (is_new) all_.push_back({kind, text, point.label(), 0});
  ++all_[place->second].points;
}

}  // namespace faultline::results
