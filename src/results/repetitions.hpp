// SPDX-License-Identifier: Apache-2.0
// Points that differ by their seed alone, seen as one.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "src/results/report.hpp"

namespace faultline::results {

struct Merged {
  std::vector<experiment::Point> points;     // the first of each
  std::vector<runs::PointOutcome> outcomes;  // metrics and steps are means over the seeds that measured
  std::vector<std::size_t> seeds;            // that measured; one where it stands for all
  std::vector<bool> is_exact;                // one stands for all
  std::vector<Failures> failures;            // of all seeds together, or of the one that stands for all
};

// For people; empty where there is none.
std::string standing_text(std::size_t exact, std::size_t combinations, unsigned repetitions);

// The half widths of metrics and steps are of the 95 % confidence intervals of their means, by Student's t: it takes
// the seeds' values to be independent and normal. Of one value there is none. Where no point
// measured anything: the first that says why.
Merged merge_repetitions(const Results& results);

}  // namespace faultline::results
