// SPDX-License-Identifier: Apache-2.0
// From results to the tables of results.sqlite.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "faultline_build.hpp"
#include "models/sim/histogram.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/quantity.hpp"
#include "src/results/database.hpp"
#include "src/results/repetitions.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/statistics.hpp"
#include "src/results/strategy_looks.hpp"
#include "src/results/text_numbers.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/seal.hpp"

namespace faultline::results {
namespace {

// The number of a row, from 1, of a table that has one for each text.
class Ids : public TextNumbers {
 public:
  // The number, and whether the text is new.
  std::pair<std::size_t, bool> of(const std::string& text) {
    const std::size_t before = texts().size();
    const auto number = static_cast<std::size_t>(number_of(text));
    return {number + 1, number == before};
  }
};

// NULL where a value cannot be known.
template <typename Value>
std::optional<Value> only_if(bool is_known, Value value) {
  return is_known ? std::optional(std::move(value)) : std::nullopt;
}

class Writer {
 public:
  Writer(SqlDatabase& database, const Results& results, const experiment::Simulator& simulator)
      : database_(database),
        experiment_(results.experiment),
        points_(results.points),
        outcomes_(results.outcomes),
        merged_(merge_repetitions(results)),
        machine_(experiment_.machine(simulator)) {}

  void write() {
    write_run();
    write_combinations();
    write_points();
    write_parameter_docs();
    write_axes();
    write_parameters();
    write_metrics();
    write_parts();
    write_breakdown();
    write_distributions();
    write_series();
    write_texts("notes", &workloads::PointResult::notes);
    write_texts("failed_checks", &workloads::PointResult::failed_checks);
    write_views();
  }

 private:
  SqlStatement insert(const std::string& table, int columns) const {
    std::string marks = "?";
    for (int i = 1; i < columns; ++i) marks += ", ?";
    return {database_, "INSERT INTO " + table + " VALUES (" + marks + ")"};
  }

  std::size_t combination_of(std::size_t point) const { return point / experiment_.repetitions + 1; }

  void write_run() {
    insert("run", 9).run(experiment_.question, experiment_.name, experiment_.platform, experiment_.seed,
                         experiment_.repetitions, points_.size(), std::string(build::kVersion),
                         std::string(build::commit()), std::int64_t{kSchemaVersion});
    SqlStatement strategy = insert("strategies", 4);
    const std::vector<unsigned> looks = looks_of(experiment_.strategies);
    for (std::size_t i = 0; i < experiment_.strategies.size(); ++i)
      strategy.run(i + 1, experiment_.strategies[i].name, experiment_.strategies[i].description, looks[i]);
  }

  void write_combinations() {
    SqlStatement row = insert("combinations", 7);
    for (std::size_t i = 0; i < merged_.points.size(); ++i) {
      const Failures& failures = merged_.failures[i];
      row.run(i + 1, merged_.points[i].strategy, merged_.points[i].label(), merged_.seeds[i], !merged_.is_exact[i],
              failures.unfinished, failures.failed);
    }
  }

  void write_points() {
    SqlStatement row = insert("points", 13);
    for (std::size_t i = 0; i < points_.size(); ++i) {
      const runs::PointOutcome& outcome = outcomes_[i];
      const workloads::PointResult& result = outcome.result;
      const Failures failures = failures_of(outcome);
      const std::string reason = reason_text(outcome);
      const bool has_ended = outcome.status == runs::PointStatus::complete, has_metrics = failures.unfinished == 0;
      row.run(i + 1, points_[i].id, combination_of(i), points_[i].strategy, points_[i].seed, points_[i].label(),
              status_text(outcome), only_if(!reason.empty(), reason), only_if(has_ended, result.events),
              only_if(has_ended, result.cell_hops), only_if(has_ended, result.simulated_ps),
              only_if(has_metrics, failures.transfers), only_if(has_metrics, failures.failed));
    }
  }

  const sim::Parameter& parameter(const std::string& key) const { return *machine_->parameters().find(key); }

  static double number(const sim::Parameter& parameter, const std::string& text) {
    return experiment::is_number(parameter.kind) ? experiment::plain_number(parameter.kind, text) : std::nan("");
  }

  void write_parameter_docs() {
    SqlStatement row = insert("parameter_docs", 9);
    for (const sim::Parameter& p : machine_->parameters().all()) {
      row.run(p.name, std::string(sim::to_string(p.kind)), experiment::plain_unit(p.kind), p.initial,
              number(p, p.initial), p.allowed, p.doc.meaning, p.doc.source,
              std::string(sim::to_string(p.doc.standing)));
    }
  }

  void write_axes() {
    SqlStatement row = insert("axes", 4);
    SqlStatement value = insert("axis_values", 4);
    const auto& axes = experiment_.axes;
    const std::vector<bool> leads = leading_axes(axes);
    for (std::size_t i = 0; i < axes.size(); ++i) {
      row.run(i + 1, axes[i].key, only_if(!is_alone(axes, i), axes[axes[i].leader].key), bool{leads[i]});
      for (std::size_t v = 0; v < axes[i].texts.size(); ++v) {
        const std::string* label = experiment::find_label(*experiment_.labels, axes[i].key, axes[i].texts[v]);
        value.run(axes[i].key, v + 1, axes[i].texts[v], label == nullptr ? std::nullopt : std::optional(*label));
      }
    }
  }

  static const std::string& value_of(const sim::Parameter& parameter, const experiment::Point& point) {
    const std::string* own = point.find(parameter.name);
    return own == nullptr ? parameter.initial : *own;
  }

  void write_parameters() {
    std::vector<std::size_t> begins;  // of points that share a list
    for (std::size_t i = 0; i < points_.size(); ++i) {
      if (i == 0 || points_[i].changed != points_[i - 1].changed) begins.push_back(i);
    }
    SqlStatement fixed = insert("fixed_parameters", 3);
    SqlStatement varied = insert("varied_parameters", 4);
    const auto& axes = experiment_.axes;
    for (const sim::Parameter& p : machine_->parameters().all()) {
      const bool is_axis = std::ranges::any_of(axes, [&](const experiment::Axis& a) { return a.key == p.name; });
      const std::string& first = value_of(p, points_.front());
      const auto as_first = [&](std::size_t i) { return value_of(p, points_[i]) == first; };
      if (!is_axis && std::ranges::all_of(begins, as_first)) {
        fixed.run(p.name, first, number(p, first));
        continue;
      }
      for (std::size_t i = 0; i < points_.size(); ++i) {
        const std::string& value = value_of(p, points_[i]);
        varied.run(i + 1, p.name, value, number(p, value));
      }
    }
  }

  void write_metrics() {
    struct Value {
      std::size_t point;
      double value;
    };
    Ids& ids = metric_ids_;
    std::vector<std::vector<Value>> values;  // by metric, as the table is sorted
    SqlStatement doc = insert("metric_docs", 5);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      for (const workloads::Metric& metric : outcomes_[i].result.metrics) {
        const auto [id, is_new] = ids.of(metric.name);
        if (is_new) {
          values.emplace_back();
          doc.run(id, metric.name, metric.unit, metric.description, is_of_completed(metric.name));
        }
        values[id - 1].push_back({i, metric.value});
      }
    }
    SqlStatement row = insert("metric_values", 3);
    SqlStatement mean = insert("mean_values", 6);
    for (std::size_t id = 1; id <= values.size(); ++id) {
      std::map<std::size_t, std::vector<double>> of_seeds;  // by combination
      for (const Value& value : values[id - 1]) {
        row.run(value.point + 1, id, value.value);
        if (experiment_.repetitions > 1) of_seeds[combination_of(value.point)].push_back(value.value);
      }
      for (const auto& [combination, each] : of_seeds) {
        const Summary summary = merged_.is_exact[combination - 1] ? exact_summary(each) : summary_of(each);
        if (summary.count == 0) continue;
        const bool is_several = summary.count > 1;
        mean.run(combination, id, summary.mean, only_if(is_several, summary.half_width),
                 only_if(is_several, summary.deviation), summary.count);
      }
    }
  }

  // A part has no metric that its point has not.
  void write_parts() {
    SqlStatement row = insert("part_values", 5);
    SqlStatement limit = insert("limits", 2);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      for (const workloads::PartResult& part : outcomes_[i].result.parts) {
        for (const workloads::Metric& metric : part.metrics)
          row.run(i + 1, part.part, part.about, metric_ids_.of(metric.name).first, metric.value);
      }
      const std::string text = workloads::limit_of(outcomes_[i].result).text();
      if (!text.empty()) limit.run(i + 1, text);
    }
  }

  void write_breakdown() {
    Ids ids;
    SqlStatement step = insert("steps", 4);
    const auto id_of = [&](const workloads::BreakdownRow& each) {
      const auto [id, is_new] = ids.of(each.step + '\n' + each.where);
      if (is_new) step.run(id, each.step, each.where, each.description);
      return id;
    };
    SqlStatement row = insert("breakdown_values", 5);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      std::size_t position = 0;
      for (const auto& each : outcomes_[i].result.breakdown)
        row.run(i + 1, ++position, id_of(each), each.mean_us, each.samples);
    }
    if (experiment_.repetitions < 2) return;
    SqlStatement mean = insert("mean_steps", 6);
    for (std::size_t i = 0; i < merged_.outcomes.size(); ++i) {
      std::size_t position = 0;
      for (const auto& each : merged_.outcomes[i].result.breakdown) {
        mean.run(i + 1, ++position, id_of(each), each.mean_us, only_if(merged_.seeds[i] > 1, each.half_width_us),
                 each.samples);
      }
    }
  }

  void write_distributions() {
    Ids ids;
    SqlStatement doc = insert("distribution_docs", 5);
    SqlStatement row = insert("distribution_values", 9);
    SqlStatement bucket = insert("bucket_values", 5);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      for (const workloads::Distribution& d : outcomes_[i].result.distributions) {
        const auto [id, is_new] = ids.of(d.name);
        if (is_new) doc.run(id, d.name, d.unit, d.description, sim::Histogram::kRelativeError);
        const auto [p50, p90, p99, p999] = percentiles_of(d);
        row.run(i + 1, id, d.count, d.min, p50, p90, p99, p999, d.max);
        for (const auto& b : d.buckets) bucket.run(i + 1, id, b.lower, b.upper, b.count);
      }
    }
  }

  void write_series() {
    Ids ids;
    SqlStatement doc = insert("series_docs", 4);
    SqlStatement interval = insert("series_intervals", 3);
    SqlStatement row = insert("series_values", 4);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      for (const workloads::Series& series : outcomes_[i].result.series) {
        const auto [id, is_new] = ids.of(series.name);
        if (is_new) doc.run(id, series.name, series.unit, series.description);
        interval.run(i + 1, id, series.interval_us);
        for (std::size_t at = 0; at < series.values.size(); ++at) row.run(i + 1, id, at, series.values[at]);
      }
    }
  }

  void write_texts(const std::string& table, std::vector<std::string> workloads::PointResult::*texts) {
    SqlStatement row = insert(table, 3);
    for (std::size_t i = 0; i < outcomes_.size(); ++i) {
      std::size_t position = 0;
      for (const std::string& text : outcomes_[i].result.*texts) row.run(i + 1, ++position, text);
    }
  }

  void write_views() {
    std::vector<std::string> axes;
    for (const experiment::Axis& axis : experiment_.axes) axes.push_back(axis.key);
    database_.execute(wide_views(axes, metric_ids_.texts()));
  }

  SqlDatabase& database_;
  const experiment::Experiment& experiment_;
  const std::vector<experiment::Point>& points_;
  const std::vector<runs::PointOutcome>& outcomes_;
  const Merged merged_;  // by combination
  std::unique_ptr<experiment::Machine> machine_;
  Ids metric_ids_;
};

}  // namespace

void write_database(runs::Folder& folder, const Results& results, const experiment::Simulator& simulator) {
  // What a program that changed the database before has left: SQLite would apply it to the new one.
  for (const char* left : {"-wal", "-shm", "-journal"}) folder.remove(std::string(kDatabaseFile) + left);
  folder.make(kDatabaseFile, [&](const std::filesystem::path& part) {
    try {
      SqlDatabase database(part, SqlDatabase::Open::to_fill);
      database.execute("BEGIN");
      database.execute(std::string(kSchema));
      Writer(database, results, simulator).write();
      database.execute("PRAGMA application_id = " + std::to_string(kApplicationId));
      database.execute("PRAGMA user_version = " + std::to_string(kSchemaVersion));
      database.execute("COMMIT");
    } catch (const SqlError& error) {
      throw UserError((folder.path() / kDatabaseFile).string() + ": cannot be written: " + error.phrase() +
                      "; the points' results are kept, and the same command writes it");
    }
    seal_file(part, runs::kDatabaseSeal);
  });
}

}  // namespace faultline::results
