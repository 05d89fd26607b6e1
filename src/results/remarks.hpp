// SPDX-License-Identifier: Apache-2.0
// What points have to say beside their numbers: notes, checks that failed, refusals, errors; and what limits their
// transfers. Of points that say the same it is said once.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

// "TEXT [the first point, and 3 more]"
std::string with_place(const std::string& text, const std::string& where, std::size_t points);

// The points that share a remark are counted, not listed: a sweep would repeat it on every row.
class Remarks {
 public:
  struct Remark {
    std::string kind;  // kNote, kCheckFailed, kRefused, or of an error the point's status
    std::string text;
    std::string where;  // the first point
    std::size_t points = 0;
  };
  static constexpr const char* kNote = "note";
  static constexpr const char* kCheckFailed = runs::kStatusCheckFailed;
  static constexpr const char* kRefused = runs::kStatusRefused;

  void add(const experiment::Point& point, const runs::PointOutcome& outcome);
  // In the order of their first points.
  const std::vector<Remark>& all() const { return all_; }

 private:
  void note(const std::string& kind, const std::string& text, const experiment::Point& point);

  std::vector<Remark> all_;
  std::unordered_map<std::string, std::size_t> places_;  // by kind and text
};

class Limits {
 public:
  struct Group {
    workloads::Limit limit;
    std::string where;  // the first point
    std::size_t points = 0;
  };

  // The number of its group; none where nothing is known.
  std::optional<std::size_t> add(const experiment::Point& point, const runs::PointOutcome& outcome);
  // In the order of their first points.
  const std::vector<Group>& all() const { return all_; }
  // A line each, of the first ones.
  std::string text() const;

 private:
  std::vector<Group> all_;
};

}  // namespace faultline::results
