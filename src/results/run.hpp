// SPDX-License-Identifier: Apache-2.0
// A run's database in the terms in which people ask: points, axes, metrics by their names.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "src/experiment/conditions.hpp"
#include "src/results/failures.hpp"
#include "src/results/sqlite.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::results {

// What something is at each point: a parameter, "strategy", "seed" or "status".
struct RunColumn {
  std::string key;
  std::string unit;  // of the numbers
  bool is_number = false;
  bool is_share = false;                           // a number that may be written in percent
  std::vector<std::string> texts;                  // as files write them
  std::vector<double> numbers;                     // empty unless it is a number
  std::map<std::string, std::string> labels = {};  // by text, of those values of an axis that have one

  // What tables call it at a point.
  const std::string& shown(std::size_t point) const;
  std::string title() const;  // "workload.size [B]"
};

// KEY=VALUE, or with !=, <, <=, >, >=: what --where takes everywhere.
struct Where {
  std::string key;
  experiment::Relation relation;
  std::string value;

  // Throws UserError, which begins with what the user has `given` it by, when the text is none.
  static Where parse(const std::string& text, const std::string& given = "--where");
};

// Points are known by their places, from 0. Reading throws SqlError, which is a UserError.
class Run {
 public:
  // Throws UserError as open_database() does.
  explicit Run(const std::filesystem::path& run);

  const std::string& path() const { return path_; }
  SqlDatabase& database() { return database_; }
  std::size_t size() const { return combinations_.size(); }
  // Points with the same one differ by their seed alone.
  std::size_t combination(std::size_t point) const { return combinations_[point]; }
  unsigned repetitions() const { return repetitions_; }
  // Whether the point's result depends on its seed, as far as is known.
  bool draws(std::size_t point) const { return draws_[point]; }
  const std::vector<std::string>& axes() const { return axes_; }
  const std::vector<workloads::MetricDoc>& metrics() const { return metrics_; }
  std::vector<std::string> parameters();
  // Those that tables show: of the axes that advance together as few as tell points apart.
  std::vector<std::string> leading_axes();
  // The others.
  std::vector<std::string> following_axes();
  // The axes that advance with this one, and it; or a key that is no axis alone.
  std::vector<std::string> advancing_with(const std::string& key);
  // Those that are not the same in all points, axes among them.
  std::vector<std::string> varied_parameters();

  // Throw UserError that names the nearest.
  const workloads::MetricDoc& metric(const std::string& name) const;
  RunColumn column(const std::string& key);

  // At each point; NaN where it has none.
  std::vector<double> values(const workloads::MetricDoc& metric);
  // Of each point.
  const std::vector<Failures>& failures() const { return failures_; }
  // Those to which all conditions apply. Numbers are compared with their units, shares may be in percent. Throws
  // UserError, which begins with what the user has `given` them by, when a condition is none, or there is no such
  // point.
  std::vector<std::size_t> points_where(const std::vector<std::string>& conditions,
                                        const std::string& given = "--where");
  // The point with this number, or an id that begins so. Throws UserError.
  std::size_t point(const std::string& number_or_id);
  std::string label(std::size_t combination);
  // Of these points: a line that says how many failed a check, and the first why; empty where none did.
  std::string failed_checks(const std::vector<std::size_t>& points);

 private:
  void restrict_to(const std::string& condition, const std::string& given, std::vector<std::size_t>& points);

  std::string path_;
  SqlDatabase database_;
  std::vector<std::size_t> combinations_;
  std::vector<Failures> failures_;
  std::vector<bool> draws_;
  unsigned repetitions_;
  std::vector<std::string> axes_;
  std::vector<workloads::MetricDoc> metrics_;
};

}  // namespace faultline::results
