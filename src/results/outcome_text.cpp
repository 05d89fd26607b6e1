// SPDX-License-Identifier: Apache-2.0
#include "src/results/outcome_text.hpp"

#include <fmt/format.h>

namespace faultline::app {

std::string status_text(const PointOutcome& outcome) {
  return outcome.result.refused.empty() ? to_string(outcome.status) : "refused";
}

std::string reason_text(const PointOutcome& outcome) {
  return outcome.result.refused.empty() ? outcome.error : outcome.result.refused;
}

std::string failed_checks_text(const PointOutcome& outcome) {
  return fmt::format("{}", fmt::join(outcome.result.failed_checks, "; "));
}

}  // namespace faultline::app
