// SPDX-License-Identifier: Apache-2.0
// What devices met: for each row and column one word on all the points that fall there, whatever their other axes.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "src/experiment/expansion.hpp"
#include "src/results/failures.hpp"
#include "src/results/text_numbers.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

class Verdict {
 public:
  // `spec` outlives it.
  Verdict(std::string rows_axis, const experiment::ReportSpec& spec) : rows_axis_(std::move(rows_axis)), spec_(&spec) {}
  void add(const experiment::Point& point, const runs::PointOutcome& outcome);

  // After the last point: rows and columns come in the experiment's order from then on.
  void sort(const experiment::Experiment& experiment);

  const std::string& rows_axis() const { return rows_axis_; }
  const std::vector<std::string>& rows() const { return rows_.texts(); }
  const std::vector<std::string>& columns() const { return columns_.texts(); }

  // "faults 3/8, stale": faults where they came in at least half of the runs and the mechanism went through, race where
  // in fewer or only where it was undone, none; else error, refused, n/a (it cannot happen), - (no such point).
  std::string word(const std::string& row, const std::string& column) const;
  // The longest delay in all runs [us], how many of their transfers were delayed, and the mark of those that failed.
  std::string delays(const std::string& row, const std::string& column) const;

 private:
  struct Cell {
    std::size_t runs = 0;
    std::size_t hits = 0;  // runs with faults
    bool error = false;
    bool refused = false;
    bool went_through = false;  // the mechanism, in a run with faults
    std::map<std::string, double> most;
    double delayed = 0;
    Failures failures;
  };
  const Cell* find(const std::string& row, const std::string& column) const;

  std::string rows_axis_;
  const experiment::ReportSpec* spec_;
  TextNumbers rows_;
  TextNumbers columns_;
  std::map<std::pair<std::string, std::string>, Cell> cells_;
};

}  // namespace faultline::results
