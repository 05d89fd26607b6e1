// SPDX-License-Identifier: Apache-2.0
// What the page of `faultline report` shows, in compact form: columns of numbers, and each text once.
// web/src/data.js is who reads it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "src/results/findings.hpp"
#include "src/results/remarks.hpp"
#include "src/results/repetitions.hpp"
#include "src/results/results_reader.hpp"
#include "src/results/text_numbers.hpp"
#include "src/results/verdict.hpp"

namespace faultline::results {

// Points as columns: where each stands on the axes (the first is the strategy), and its metrics.
class PointColumns {
 public:
  // A value for each point so far and, with `half_widths`, how far its confidence interval reaches.
  explicit PointColumns(bool half_widths) : half_widths_(half_widths) {}
  std::size_t size() const { return count_; }
  // `named`: what else is to be known of a point; of all points the same.
  using Named = std::vector<std::pair<const char*, double>>;
  void add(const std::vector<double>& coordinates, const runs::PointOutcome& outcome,
           std::vector<workloads::Metric>& known_metrics, const Named& named);
  nlohmann::ordered_json json() const;

 private:
  bool half_widths_;
  std::size_t count_ = 0;
  std::vector<std::vector<double>> coordinates_;
  std::vector<std::vector<double>> metrics_;  // of the known ones; NaN where a point has none
  std::vector<std::vector<double>> widths_;
  std::vector<std::pair<const char*, std::vector<double>>> named_;
};

class ReportData {
 public:
  ReportData(const EffectiveExperiment& effective, const runs::Manifest& manifest,
             const experiment::Simulator& simulator);
  // In the order of the results: those that differ by their seed alone follow each other.
  void add(experiment::Point point, runs::PointOutcome outcome);
  // After the last point. `run`: the folder of the run.
  std::string json(const runs::Folder& run);

 private:
  std::vector<double> coordinates(const experiment::Point& point);
  // What became of a point, beside something else: as numbers of texts.
  PointColumns::Named fate(const char* name, double value, const runs::PointOutcome& outcome, const Failures& failures);
  void add_means();  // of the points that wait
  void add_steps(const runs::PointOutcome& outcome);
  void add_series(const runs::PointOutcome& outcome);
  void add_parts(const runs::PointOutcome& outcome);
  nlohmann::ordered_json axes_json() const;
  nlohmann::ordered_json configuration_json() const;
  nlohmann::ordered_json strategies_json() const;
  nlohmann::ordered_json reports_json() const;
  nlohmann::ordered_json steps_json() const;
  nlohmann::ordered_json series_json() const;
  nlohmann::ordered_json limits_json() const;
  nlohmann::ordered_json parts_json() const;

  const experiment::Experiment& experiment_;
  const EffectiveExperiment& effective_;
  const runs::Manifest& manifest_;
  const experiment::Simulator& simulator_;
  std::vector<TextNumbers> axes_;  // the strategy, then the experiment's
  std::vector<workloads::Metric> metrics_;
  PointColumns points_{false};
  TextNumbers statuses_, reasons_;
  PointColumns means_{true};
  std::vector<experiment::Point> waiting_;
  std::vector<runs::PointOutcome> waiting_outcomes_;
  std::vector<workloads::BreakdownRow> steps_;
  std::vector<double> step_first_{0}, step_, step_mean_, step_samples_;  // rows of each mean
  std::vector<workloads::Series> series_kinds_;
  nlohmann::ordered_json series_ = nlohmann::ordered_json::array();
  std::size_t samples_ = 0;
  std::size_t series_left_out_ = 0;
  Limits limits_;
  // A row for each part of each point.
  TextNumbers parts_, abouts_;
  std::vector<double> part_, about_, part_first_{0};
  std::vector<workloads::Metric> part_metrics_;
  std::vector<std::vector<double>> part_values_;  // of the known metrics; NaN where a part has none
  std::size_t parts_left_out_ = 0;                // points
  Remarks remarks_;
  Findings findings_;
  std::vector<Verdict> verdicts_;
};

}  // namespace faultline::results
