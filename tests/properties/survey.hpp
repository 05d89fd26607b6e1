// SPDX-License-Identifier: Apache-2.0
// Where a property test stops at the first counterexample, a survey goes on: it sorts all of them by what differs
// first, and shows a small one of each kind. For whoever works on what is not exact yet.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "tests/properties/case.hpp"
#include "tests/properties/runs.hpp"

namespace faultline::test {

class Survey {
 public:
  // Simulates `cases` cases; the same seed gives the same cases.
  Survey(const Domain& domain, int cases, std::uint64_t seed);

  int different() const;
  // The kinds, the most frequent first, each with its smallest case as an experiment file.
  std::string report() const;

 private:
  using Found = rc::Shrinkable<Case>;
  struct Kind {
    int cases = 0;
    Found smallest;
    std::string text;
  };

  void look_at(const Found& found);
  void shrink(const std::string& name, Kind& kind);
  Difference difference_of(const Case& c) const { return difference(c.configuration(), c.seed, compare_); }

  Compare compare_;
  int cases_;
  std::map<std::string, Kind> kinds_;
};

}  // namespace faultline::test
