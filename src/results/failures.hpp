// SPDX-License-Identifier: Apache-2.0
// What a latency or a goodput does not tell: transfers that failed have none, and neither have points without a result.
// Whatever shows one counts these beside it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "src/runs/point_runner.hpp"

namespace faultline::results {

// Of a point, or of several together.
struct Failures {
  std::uint64_t failed = 0;     // measured transfers that ended with an error
  std::uint64_t transfers = 0;  // all that were measured
  std::size_t unfinished = 0;   // points without a result: refused, failed, not run
  std::size_t points = 0;
  std::map<std::string, std::uint64_t> failed_of = {};  // of each program that has a name

  Failures& operator+=(const Failures& other);
  bool operator==(const Failures& other) const = default;
  // Where no point has a result, a word stands in place of the value.
  bool any() const { return failed > 0 || (unfinished > 0 && unfinished < points); }
};

Failures failures_of(const runs::PointOutcome& outcome);
// Whether a metric is of the transfers that completed alone.
bool is_of_completed(std::string_view metric);

// Behind a value, or what stands in its place: " !2" after two failed transfers, " !!1" where a point has no result.
// Of a program's metric: of its own transfers.
std::string mark_of(const std::string& metric, const Failures& failures);
// "2 of 100 transfers failed, 1 of 3 points has no result"
std::string text_of(const Failures& failures);

// Below a table: what its marks mean, and of which rows they are.
class Legend {
 public:
  void add(const std::string& row, const Failures& failures);
  // Lines; "" without marks.
  std::string text(std::size_t width) const;

 private:
  struct Kind {
    std::string named;  // the first rows
    std::size_t rows = 0;
    void add(const std::string& row, std::uint64_t count, std::uint64_t of);
    std::string text(const std::string& meaning, std::size_t width) const;
  };
  Kind failed_, unfinished_;
};

}  // namespace faultline::results
