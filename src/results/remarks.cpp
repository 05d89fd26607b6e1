// SPDX-License-Identifier: Apache-2.0
#include "src/results/remarks.hpp"

#include <fmt/format.h>

#include <algorithm>

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

constexpr std::size_t kMostTold = 6;

std::optional<std::size_t> Limits::add(const experiment::Point& point, const runs::PointOutcome& outcome) {
  const workloads::Limit limit = workloads::limit_of(outcome.result);
  if (limit.kind == workloads::Limit::Kind::unknown) return {};
  auto group = std::ranges::find_if(all_, [&](const Group& known) { return known.limit.joins(limit); });
  if (group == all_.end()) group = all_.insert(group, {limit, point.label(), 0});
  group->limit.join(limit);
  ++group->points;
  return static_cast<std::size_t>(group - all_.begin());
}

std::string Limits::text() const {
  std::string text;
  for (std::size_t i = 0; i < std::min(all_.size(), kMostTold); ++i)
    text += fmt::format("limit: {}\n", with_place(all_[i].limit.text(), all_[i].where, all_[i].points));
  if (all_.size() > kMostTold)
    text += fmt::format("limit: {} more; 'faultline report' shows all\n", all_.size() - kMostTold);
  return text;
}

}  // namespace faultline::results
