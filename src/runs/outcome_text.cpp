// SPDX-License-Identifier: Apache-2.0
#include "src/runs/outcome_text.hpp"

#include <fmt/format.h>

namespace faultline::runs {

std::string status_text(const PointOutcome& outcome) {
  if (!outcome.result.refused.empty()) return kStatusRefused;
  const bool ended = outcome.status == PointStatus::complete;
  return ended && !outcome.result.failed_checks.empty() ? kStatusCheckFailed : to_string(outcome.status);
}

std::string reason_text(const PointOutcome& outcome) {
  if (!outcome.result.refused.empty()) return outcome.result.refused;
  return outcome.error.empty() ? fmt::format("{}", fmt::join(outcome.result.failed_checks, "; ")) : outcome.error;
}

}  // namespace faultline::runs
