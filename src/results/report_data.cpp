// SPDX-License-Identifier: Apache-2.0
#include "src/results/report_data.hpp"

#include <algorithm>
#include <limits>

#include "src/experiment/quantity.hpp"
#include "src/experiment/report_spec.hpp"
#include "src/results/column.hpp"
#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/strategy_looks.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {

namespace {

using Json = nlohmann::ordered_json;

constexpr int kFormat = 1;  // of the page's data
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

constexpr std::size_t kManyPoints = 20'000;      // metrics of more have seven digits, which halves the page
constexpr std::size_t kMostParts = 50'000;       // of all points
constexpr std::size_t kMostSamples = 1'000'000;  // of time series; the page does not show more

Json encoded(const std::vector<std::vector<double>>& columns, Digits digits = Digits::all) {
  Json json = Json::array();
  for (const auto& column : columns) json.push_back(encode_column(column, digits));
  return json;
}

bool same_combination(const experiment::Point& a, const experiment::Point& b) {
  return a.strategy == b.strategy &&
         std::ranges::equal(a.axes, b.axes, [](const auto& x, const auto& y) { return x.text == y.text; });
}

Json verdict_json(const Verdict& verdict) {
  Json words = Json::array();
  Json delays = Json::array();
  for (const std::string& row : verdict.rows()) {
    Json& word_row = words.emplace_back(Json::array());
    Json& delay_row = delays.emplace_back(Json::array());
    for (const std::string& column : verdict.columns()) {
      word_row.push_back(verdict.word(row, column));
      delay_row.push_back(verdict.delays(row, column));
    }
  }
  return {{"rows", verdict.rows()}, {"columns", verdict.columns()}, {"words", words}, {"delays", delays}};
}

// The number of a metric among the known ones, of which it may be a new one.
std::size_t number_of(const workloads::Metric& metric, std::vector<workloads::Metric>& known_metrics) {
  const auto known = std::ranges::find(known_metrics, metric.name, &workloads::Metric::name);
  const auto number = static_cast<std::size_t>(known - known_metrics.begin());
  if (known == known_metrics.end()) known_metrics.push_back(metric);
  return number;
}

// `absent`: of rows before that have none.
void put(std::vector<std::vector<double>>& columns, std::size_t column, std::size_t row, double value, double absent) {
  if (columns.size() <= column) columns.resize(column + 1);
  columns[column].resize(row, absent);
  columns[column].push_back(value);
}

}  // namespace

void PointColumns::add(const std::vector<double>& coordinates, const runs::PointOutcome& outcome,
                       std::vector<workloads::Metric>& known_metrics, const Named& named) {
  coordinates_.resize(coordinates.size());
  for (std::size_t i = 0; i < coordinates.size(); ++i) coordinates_[i].push_back(coordinates[i]);
  for (const auto& metric : outcome.result.metrics) {
    const std::size_t number = number_of(metric, known_metrics);
    if (metric.value != 0) known_metrics[number].value = metric.value;  // so that it is 0 only where all are
    put(metrics_, number, count_, metric.value, kNone);
    if (half_widths_) put(widths_, number, count_, metric.half_width, 0);
  }
  named_.resize(named.size());
  for (std::size_t i = 0; i < named.size(); ++i) {
    named_[i].first = named[i].first;
    named_[i].second.push_back(named[i].second);
  }
  ++count_;
}

Json PointColumns::json() const {
  auto metrics = metrics_;
  for (auto& column : metrics) column.resize(count_, kNone);
  const Digits digits = count_ > kManyPoints ? Digits::seven : Digits::all;
  Json json{{"count", count_}, {"axes", encoded(coordinates_)}, {"metrics", encoded(metrics, digits)}};
  auto widths = widths_;
  for (auto& column : widths) column.resize(count_, 0);
  if (half_widths_) json["half_widths"] = encoded(widths, digits);
  for (const auto& [name, column] : named_) json[name] = encode_column(column);
  return json;
}

ReportData::ReportData(const EffectiveExperiment& effective, const runs::Manifest& manifest,
                       const experiment::Simulator& simulator)
    : experiment_(effective.experiment),
      effective_(effective),
      manifest_(manifest),
      simulator_(simulator),
      axes_(1 + effective.experiment.axes.size()),
      findings_(effective.experiment, simulator) {
  // In the order of the file, which points that were left out would disturb.
  for (const experiment::Strategy& strategy : experiment_.strategies) axes_[0].number_of(strategy.name);
  for (std::size_t i = 0; i < experiment_.axes.size(); ++i) {
    for (const std::string& text : experiment_.axes[i].texts) axes_[i + 1].number_of(text);
  }
  for (const experiment::ReportSpec& spec : experiment_.reports) {
    const bool is_one = spec.view == experiment::View::verdict;
    verdicts_.emplace_back(is_one ? rows_axis_of(experiment_, spec) : "", spec);
  }
}

std::vector<double> ReportData::coordinates(const experiment::Point& point) {
  std::vector<double> numbers{axes_[0].number_of(point.strategy)};
  for (std::size_t i = 0; i < point.axes.size(); ++i) numbers.push_back(axes_[i + 1].number_of(point.axes[i].text));
  return numbers;
}

PointColumns::Named ReportData::fate(const char* name, double value, const runs::PointOutcome& outcome,
                                     const Failures& failures) {
  return {{name, value},
          {"failed", static_cast<double>(failures.failed)},
          {"transfers", static_cast<double>(failures.transfers)},
          {"unfinished", static_cast<double>(failures.unfinished)},
          {"of_seeds", static_cast<double>(failures.points)},
          {"status", statuses_.number_of(status_text(outcome))},
          {"reason", reasons_.number_of(reason_text(outcome))}};
}

void ReportData::add(experiment::Point point, runs::PointOutcome outcome) {
  remarks_.add(point, outcome);
  for (std::size_t i = 0; i < verdicts_.size(); ++i) {
    if (experiment_.reports[i].view == experiment::View::verdict) verdicts_[i].add(point, outcome);
  }
  add_series(outcome);
  add_parts(outcome);
  PointColumns::Named named = fate("seed", static_cast<double>(point.seed), outcome, failures_of(outcome));
  const auto limit = limits_.add(point, outcome);
  named.emplace_back("limit", limit ? static_cast<double>(*limit) : kNone);
  points_.add(coordinates(point), outcome, metrics_, named);
  if (!waiting_.empty() && !same_combination(waiting_.front(), point)) add_means();
  waiting_.push_back(std::move(point));
  waiting_outcomes_.push_back(std::move(outcome));
}

void ReportData::add_means() {
  if (waiting_.empty()) return;
  const std::size_t each = experiment_.repetitions;
  waiting_.resize((waiting_.size() + each - 1) / each * each, waiting_.front());  // an interrupted run may lack some
  waiting_outcomes_.resize(waiting_.size());
  const Merged merged = merge_repetitions({experiment_, waiting_, waiting_outcomes_});
  for (std::size_t i = 0; i < merged.points.size(); ++i) {
    add_steps(merged.outcomes[i]);
    findings_.add(merged.points[i], merged.outcomes[i], merged.seeds[i], merged.failures[i]);
    if (each == 1) continue;  // the points are their own means
    means_.add(coordinates(merged.points[i]), merged.outcomes[i], metrics_,
               fate("seeds", static_cast<double>(merged.seeds[i]), merged.outcomes[i], merged.failures[i]));
  }
  waiting_.clear();
  waiting_outcomes_.clear();
}

void ReportData::add_steps(const runs::PointOutcome& outcome) {
  for (const auto& row : outcome.result.breakdown) {
    const auto known =
        std::ranges::find_if(steps_, [&](const auto& s) { return s.step == row.step && s.where == row.where; });
    step_.push_back(static_cast<double>(known - steps_.begin()));
    if (known == steps_.end()) steps_.push_back(row);
    step_mean_.push_back(row.mean_us);
    step_samples_.push_back(static_cast<double>(row.samples));
  }
  step_first_.push_back(static_cast<double>(step_.size()));
}

void ReportData::add_series(const runs::PointOutcome& outcome) {
  for (const auto& series : outcome.result.series) {
    if (samples_ + series.values.size() > kMostSamples) {
      ++series_left_out_;
      continue;
    }
    samples_ += series.values.size();
    auto kind = std::ranges::find_if(series_kinds_, [&](const auto& known) { return known.name == series.name; });
    if (kind == series_kinds_.end())
      kind = series_kinds_.insert(kind, {series.name, series.unit, series.description, 0, {}});
    series_.push_back({{"point", points_.size()},
                       {"kind", kind - series_kinds_.begin()},
                       {"interval", series.interval_us},
                       {"count", series.values.size()},
                       {"values", encode_column(series.values, Digits::seven)}});
  }
}

void ReportData::add_parts(const runs::PointOutcome& outcome) {
  const auto& parts = outcome.result.parts;
  if (part_.size() + parts.size() > kMostParts) {
    ++parts_left_out_;
  } else {
    for (const workloads::PartResult& part : parts) {
      for (const auto& metric : part.metrics)
        put(part_values_, number_of(metric, part_metrics_), part_.size(), metric.value, kNone);
      part_.push_back(parts_.number_of(part.part));
      about_.push_back(abouts_.number_of(part.about));
    }
  }
  part_first_.push_back(static_cast<double>(part_.size()));
}

Json ReportData::limits_json() const {
  Json groups = Json::array();
  for (const Limits::Group& group : limits_.all()) {
    groups.push_back({{"text", group.limit.text()},
                      {"part", group.limit.kind == workloads::Limit::Kind::none_busy ? "" : group.limit.part},
                      {"points", group.points},
                      {"where", group.where}});
  }
  return groups;
}

Json ReportData::parts_json() const {
  Json metrics = Json::array();
  for (const auto& metric : part_metrics_) metrics.push_back(metric.name);
  auto values = part_values_;
  for (auto& column : values) column.resize(part_.size(), kNone);
  return {{"names", parts_.texts()},
          {"abouts", abouts_.texts()},
          {"metrics", metrics},
          {"first", encode_column(part_first_)},
          {"part", encode_column(part_)},
          {"about", encode_column(about_)},
          {"values", encoded(values, Digits::seven)},
          {"left_out", parts_left_out_}};
}

Json ReportData::series_json() const {
  Json kinds = Json::array();
  for (const auto& kind : series_kinds_)
    kinds.push_back({{"name", kind.name}, {"unit", kind.unit}, {"meaning", kind.description}});
  return {{"kinds", kinds}, {"of", series_}, {"left_out", series_left_out_}};
}

Json ReportData::axes_json() const {
  const auto machine = simulator_.machine();
  Json list = Json::array();
  list.push_back({{"name", "strategy"},
                  {"unit", ""},
                  {"meaning", ""},
                  {"group", 0},
                  {"leads", true},
                  {"looks", looks_of(experiment_.strategies)},
                  {"values", axes_[0].texts()}});
  const std::vector<bool> leads = leading_axes(experiment_.axes);
  for (std::size_t i = 0; i < experiment_.axes.size(); ++i) {
    const sim::Parameter& parameter = *machine->parameters().find(experiment_.axes[i].key);
    // Axes of one group advance together; those that lead are shown for all.
    Json axis{{"name", parameter.name},
              {"unit", experiment::plain_unit(parameter.kind)},
              {"meaning", parameter.doc.meaning},
              {"group", experiment_.axes[i].leader + 1},
              {"leads", static_cast<bool>(leads[i])},
              {"values", axes_[i + 1].texts()}};
    if (experiment::is_number(parameter.kind)) {
      axis["numbers"] = Json::array();
      for (const std::string& text : axes_[i + 1].texts())
        axis["numbers"].push_back(experiment::plain_number(parameter.kind, text));
    }
    if (experiment_.labels->contains(parameter.name)) {
      axis["labels"] = Json::array();
      for (const std::string& text : axes_[i + 1].texts()) {
        const std::string* label = experiment::find_label(*experiment_.labels, parameter.name, text);
        axis["labels"].push_back(label == nullptr ? Json() : Json(*label));
      }
    }
    list.push_back(std::move(axis));
  }
  return list;
}

// What every point has in common and no default explains.
Json ReportData::configuration_json() const {
  const auto machine = simulator_.machine();
  for (const experiment::Settings* settings : {&experiment_.platform_settings, &experiment_.parameters})
    experiment::apply_checked(*settings, machine->parameters());
  Json list = Json::array();
  for (const sim::Parameter& parameter : machine->parameters().all()) {
    if (parameter.get() == parameter.initial) continue;
    const auto by = effective_.set_by.find(parameter.name);
    list.push_back({{"name", parameter.name},
                    {"value", parameter.get()},
                    {"default", parameter.initial},
                    {"set_by", by == effective_.set_by.end() ? "" : by->second},
                    {"meaning", parameter.doc.meaning}});
  }
  return list;
}

Json ReportData::strategies_json() const {
  Json list = Json::array();
  for (const experiment::Strategy& strategy : experiment_.strategies) {
    const auto machine = simulator_.machine();
    experiment::apply_checked(strategy.settings, machine->parameters());
    Json settings = Json::array();
    for (const sim::Parameter* each : named_by(strategy.settings, machine->parameters()))
      settings.push_back({each->name, each->get()});
    list.push_back({{"name", strategy.name}, {"description", strategy.description}, {"settings", settings}});
  }
  return list;
}

Json ReportData::reports_json() const {
  const auto is_measured = [&](const std::string& name) {
    return std::ranges::any_of(metrics_, [&](const auto& metric) {
      return metric.name == name && (metric.value != 0 || !is_part_of_faults(name));
    });
  };
  Json list = Json::array();
  for (std::size_t i = 0; i < experiment_.reports.size(); ++i) {
    const experiment::ReportSpec& spec = experiment_.reports[i];
    Json report{{"view", to_string(spec.view)}};
    if (spec.view == experiment::View::points) {
      report["columns"] = Json::array();
      for (const TableColumn& column : choose_columns(experiment_, spec, is_measured)) {
        report["columns"].push_back(
            {{"metric", column.metric}, {"title", column.title}, {"rank", column.rank}, {"each", column.each}});
      }
    }
    if (spec.view == experiment::View::matrix || spec.view == experiment::View::verdict) {
      report["rows"] = rows_axis_of(experiment_, spec);
      report["columns"] = spec.columns_axis;
    }
    if (spec.view == experiment::View::matrix) {
      report["metric"] = spec.metric;
      report["baseline"] = spec.baseline;
    }
    if (spec.view == experiment::View::verdict) {
      report["only"] = spec.only_axis.empty()
                           ? ""
                           : spec.only_axis + " = " + shown_value(experiment_, spec.only_axis, spec.only_value);
      report["verdict"] = verdict_json(verdicts_[i]);
    }
    list.push_back(std::move(report));
  }
  return list;
}

Json ReportData::steps_json() const {
  Json names = Json::array();
  for (const auto& step : steps_)
    names.push_back({{"step", step.step}, {"where", step.where}, {"meaning", step.description}});
  return {{"names", names},
          {"first", encode_column(step_first_)},
          {"step", encode_column(step_)},
          {"mean", encode_column(step_mean_, step_mean_.size() > kManyPoints ? Digits::seven : Digits::all)},
          {"samples", encode_column(step_samples_)}};
}

std::string ReportData::json(const runs::Folder& run) {
  add_means();
  for (Verdict& verdict : verdicts_) verdict.sort(experiment_);
  Json json;
  json["format"] = kFormat;
  json["experiment"] = manifest_.experiment;
  json["question"] = experiment_.question;
  json["findings"] = findings_.sentences(run, manifest_);
  json["platform"] = manifest_.platform;
  json["seed"] = experiment_.seed;
  json["repetitions"] = experiment_.repetitions;
  json["version"] = manifest_.version;
  json["commit"] = manifest_.commit;
  json["planned"] = manifest_.points.size();
  json["axes"] = axes_json();
  json["configuration"] = configuration_json();
  json["strategies"] = strategies_json();
  json["metrics"] = Json::array();
  for (const auto& metric : metrics_) {
    json["metrics"].push_back({{"name", metric.name},
                               {"unit", metric.unit},
                               {"meaning", metric.description},
                               {"of_completed", is_of_completed(metric.name)}});
  }
  json["reports"] = reports_json();
  json["points"] = points_.json();
  json["statuses"] = statuses_.texts();
  json["reasons"] = reasons_.texts();
  if (experiment_.repetitions > 1) json["means"] = means_.json();
  json["steps"] = steps_json();
  json["series"] = series_json();
  json["limits"] = limits_json();
  json["parts"] = parts_json();
  json["remarks"] = Json::array();
  for (const Remarks::Remark& remark : remarks_.all()) {
    json["remarks"].push_back(
        {{"kind", remark.kind}, {"text", remark.text}, {"where", remark.where}, {"points", remark.points}});
  }
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace faultline::results
