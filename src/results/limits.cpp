// SPDX-License-Identifier: Apache-2.0
#include "src/results/limits.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "src/results/remarks.hpp"

namespace faultline::results {

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
  for (std::size_t i = 0; i < std::min(all_.size(), kMostTold); ++i) {
    text += fmt::format("limit: {}\n", with_place(all_[i].limit.text(), all_[i].where, all_[i].points));
  }
  if (all_.size() > kMostTold)
    text += fmt::format("limit: {} more; 'faultline report' shows all\n", all_.size() - kMostTold);
  return text;
}

}  // namespace faultline::results
