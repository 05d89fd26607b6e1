// SPDX-License-Identifier: Apache-2.0
// faultline query
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/results/database.hpp"
#include "src/results/query.hpp"
#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/text_table.hpp"

namespace faultline::app {
namespace {

using Json = nlohmann::ordered_json;
constexpr std::size_t kMostMixed = 6;

// Those of the texts that `query` lists, in its order, and each once; as its last column shows them.
std::string in_order(results::Run& run, const std::string& query, const std::vector<std::string>& texts) {
  const std::set<std::string> there(texts.begin(), texts.end());
  std::vector<std::string> values;
  results::SqlStatement rows(run.database(), query);
  while (rows.step()) {
    const std::string text = rows.text(0);
    const std::string shown = rows.text(rows.columns() - 1);
    if (there.contains(text) && std::ranges::find(values, shown) == values.end()) values.push_back(shown);
  }
  std::ranges::transform(values, values.begin(), results::in_list);
  return fmt::format("{}", fmt::join(values, ", "));
}

// What one can ask for.
void print_overview(results::Run& run, const Console& console) {
  console.out << "axes\n";
  results::TextTable axes({results::left("axis"), results::left("values")});
  axes.add({"strategy", in_order(run, "SELECT name FROM strategies ORDER BY position", run.column("strategy").texts)});
  results::SqlStatement axis(run.database(), "SELECT key, advances_with FROM axes ORDER BY position");
  while (axis.step()) {
    const std::string key = axis.text(0);
    const std::string with = axis.is_null(1) || axis.text(1) == key ? "" : " (advances with " + axis.text(1) + ")";
    const std::string query =
        "SELECT value, coalesce(label, value) FROM axis_values WHERE key = " + results::sql_text(key) +
        " ORDER BY position";
    axes.add({key, in_order(run, query, run.column(key).texts) + with});
  }
  console.out << axes.text() << "\nmetrics\n";
  results::TextTable metrics({results::left("metric"), results::left("unit"), results::left("meaning")});
  for (const workloads::MetricDoc& metric : run.metrics()) metrics.add({metric.name, metric.unit, metric.description});
  console.out << metrics.text();
}

// Shares need decimals, counts do not.
int decimals_for(const results::Answer& answer, const workloads::MetricDoc& metric) {
  const bool share = metric.unit == "1" && std::ranges::any_of(answer.rows, [&](const auto& row) {
                       return row.metric.name == metric.name && std::isfinite(row.summary.mean) &&
                              std::floor(row.summary.mean) != row.summary.mean;
                     });
  return share ? 3 : results::decimals_of(metric.unit);
}

void print_metric(const results::Run& run, const results::Answer& answer, const workloads::MetricDoc& metric,
                  const Console& console) {
  const std::string plain_unit = metric.unit == "1" ? "" : metric.unit;
  const std::string unit_text = plain_unit + (results::is_sum(metric.name) ? "/point" : "");
  const std::string unit = unit_text.empty() ? "" : "[" + unit_text + "]";
  std::vector<results::Column> heads;
  for (const results::RunColumn& by : answer.by)
    heads.push_back(by.is_number ? results::right(by.key) : results::left(by.key));
  for (const char* title : {"points", "mean", "\u00b1", "min", "max"})
    heads.push_back(results::right(title, title == std::string("points") ? "" : unit));
  results::TextTable table(heads);
  const int decimals = decimals_for(answer, metric);
  results::Legend legend;
  for (const results::Answer::Row& row : answer.rows) {
    if (row.metric.name != metric.name) continue;
    std::vector<std::string> cells;
    for (const results::RunColumn& by : answer.by) cells.push_back(by.shown(row.first));
    cells.push_back(std::to_string(row.summary.count));
    for (const double value : {row.summary.mean, row.half_width, row.min, row.max})
      cells.push_back(results::fixed(value, decimals));
    const std::string mark = mark_of(metric.name, row.failures);
    const std::size_t keys = answer.by.size();
    cells[keys + 1] += mark;
    if (!mark.empty()) legend.add(fmt::format("{}", fmt::join(std::span(cells).first(keys), ", ")), row.failures);
    table.add(std::move(cells));
  }
  console.out << metric.name << (unit.empty() ? "" : " " + unit) << ": "
              << results::wrap(metric.description, std::max<std::size_t>(console.width, 60) - 30, 2) << "\n"
              << table.text() << legend.text(std::max<std::size_t>(console.width, 60));
  if (run.repetitions() < 2) console.out << "(one seed: no intervals)\n";
}

void print_answer(results::Run& run, const results::Question& question, const results::Answer& answer,
                  const Console& console) {
  for (std::size_t i = 0; i < question.metrics.size(); ++i) {
    if (i > 0) console.out << "\n";
    print_metric(run, answer, run.metric(question.metrics[i]), console);
  }
  if (run.repetitions() > 1)
    console.out << "(\u00b1: half of the 95 % confidence interval of the mean over the seeds, by Student's t)\n";
  if (const std::vector<std::string> others = run.following_axes(); question.by.empty() && !others.empty())
    console.out << fmt::format("(--by shows what advances with these axes: {})\n", fmt::join(others, ", "));
  if (!answer.mixed.empty()) {
    const std::size_t shown = std::min(answer.mixed.size(), kMostMixed);
    console.out << fmt::format(
        "(the points of a row differ by {}{}, too: such rows have no interval)\n",
        fmt::join(answer.mixed.begin(), answer.mixed.begin() + static_cast<long>(shown), ", "),
        shown < answer.mixed.size() ? fmt::format(" and {} other parameters", answer.mixed.size() - shown) : "");
  }
  if (std::ranges::any_of(question.metrics, results::is_sum)) {
    console.out << "(/point: a sum over all transfers of a point; 'faultline run' shows it for each, as /op)\n";
  }
}

Json answer_json(const results::Answer& answer) {
  Json list = Json::array();
  for (const results::Answer::Row& row : answer.rows) {
    Json json;
    for (const results::RunColumn& by : answer.by) {
      json[by.key] = by.texts[row.first];
      if (by.labels.contains(by.texts[row.first])) json["labels"][by.key] = by.shown(row.first);
    }
    json["metric"] = row.metric.name;
    json["unit"] = row.metric.unit;
    json["points"] = row.summary.count;
    json["mean"] = row.summary.mean;
    json["half_width"] = row.half_width;
    json["min"] = row.min;
    json["max"] = row.max;
    json["failed_checks"] = row.failed_checks;
    json["failed_transfers"] = row.failures.failed;
    json["unfinished_points"] = row.failures.unfinished;
    list.push_back(json);
  }
  return list;
}

std::string answer_csv(const results::Answer& answer) {
  std::vector<Json> heads;
  for (const results::RunColumn& by : answer.by) {
    heads.push_back(by.title());
    if (!by.labels.empty()) heads.push_back(by.key + " label");
  }
  for (const char* head : {"metric", "unit", "points", "mean", "half_width", "min", "max", "failed_checks",
                           "failed_transfers", "unfinished_points"})
    heads.push_back(head);
  std::string csv = results::csv_line(heads);
  for (const results::Answer::Row& row : answer.rows) {
    std::vector<Json> fields;
    for (const results::RunColumn& by : answer.by) {
      fields.push_back(by.is_number ? Json(by.numbers[row.first]) : Json(by.texts[row.first]));
      if (by.labels.empty()) continue;
      fields.push_back(by.labels.contains(by.texts[row.first]) ? Json(by.shown(row.first)) : Json());
    }
    fields.insert(fields.end(), {row.metric.name, row.metric.unit, row.summary.count, row.summary.mean, row.half_width,
                                 row.min, row.max, row.failed_checks, row.failures.failed, row.failures.unfinished});
    csv += results::csv_line(fields);
  }
  return csv;
}

struct SqlRows {
  std::vector<std::string> names;
  std::vector<std::vector<Json>> rows;
};

Json cell_of(const results::SqlStatement& statement, int column) {
  switch (statement.type(column)) {
    case SQLITE_INTEGER: return statement.whole(column);
    case SQLITE_FLOAT: return statement.real(column);
    case SQLITE_NULL: return nullptr;
    default: return statement.text(column);
  }
}

SqlRows select(results::Run& run, const std::string& sql) {
  try {
    results::SqlStatement statement(run.database(), sql);
    if (statement.rest().find_first_not_of(" \t\n;") != std::string::npos) {
      throw UserError("--sql: several statements; allowed: one");
    }
    if (statement.columns() == 0 || !statement.is_read_only()) {
      throw UserError("--sql: allowed: what reads, as SELECT; results are made of the points' files, not here");
    }
    SqlRows all;
    for (int i = 0; i < statement.columns(); ++i) all.names.push_back(statement.name(i));
    while (statement.step()) {
      all.rows.emplace_back();
      for (int i = 0; i < statement.columns(); ++i) all.rows.back().push_back(cell_of(statement, i));
    }
    return all;
  } catch (const results::SqlError& error) {
    if (error.code() != SQLITE_ERROR && error.code() != SQLITE_READONLY) throw;
    throw UserError("--sql: " + error.phrase() + "; docs/results.md names tables, views and columns");
  }
}

std::string text_of(const Json& cell) {
  if (cell.is_null()) return "";
  if (cell.is_string()) return cell.get<std::string>();
  return cell.is_number_float() ? fmt::format("{}", cell.get<double>()) : cell.dump();
}

void print_sql(const SqlRows& all, Format format, const Console& console) {
  if (format == Format::json) {
    Json list = Json::array();
    for (const auto& row : all.rows) {
      Json& json = list.emplace_back(Json::object());
      for (std::size_t i = 0; i < row.size(); ++i) json[all.names[i]] = row[i];
    }
    console.out << results::json_text(list);
    return;
  }
  if (format == Format::csv) {
    console.out << results::csv_line({all.names.begin(), all.names.end()});
    for (const auto& row : all.rows) console.out << results::csv_line(row);
    return;
  }
  std::vector<results::Column> heads;
  for (std::size_t i = 0; i < all.names.size(); ++i) {
    const bool numbers =
        std::ranges::all_of(all.rows, [&](const auto& row) { return row[i].is_number() || row[i].is_null(); });
    heads.push_back(numbers ? results::right(all.names[i]) : results::left(all.names[i]));
  }
  results::TextTable table(heads);
  for (const auto& row : all.rows) {
    std::vector<std::string> cells;
    for (const Json& cell : row) cells.push_back(cell.is_null() ? "-" : text_of(cell));
    table.add(std::move(cells));
  }
  console.out << table.text();
}

// A query may show latencies without what is not in them; whether it shows any cannot be told from SQL.
std::string unseen_failures(const results::Run& run, const SqlRows& answer) {
  const auto tells = [](const std::string& name) { return name.find("failed") != std::string::npos; };
  const auto failing = std::ranges::count_if(run.failures(), [](const auto& point) { return point.failed > 0; });
  if (failing == 0 || std::ranges::any_of(answer.names, tells)) return "";
  results::Failures all;
  for (const results::Failures& point : run.failures()) all += point;
  return fmt::format(
      "{}: {} of {} transfers failed, at {} of {} points: they are in no latency and no goodput; the column "
      "failed_transfers of the views counts them\n",
      run.path(), all.failed, all.transfers, failing, run.size());
}

void answer(results::Run& run, const Options& options, const Console& console) {
  const results::Question question{{options.arguments.begin() + 1, options.arguments.end()}, options.by, options.where};
  if (!options.sql.empty()) {
    if (!question.metrics.empty() || !question.by.empty() || !question.where.empty()) {
      throw UserError("--sql: does not go with METRIC, --by and --where; say all of it in SQL");
    }
    console.err << run.failed_checks(run.points_where({}));
    const SqlRows rows = select(run, options.sql);
    console.err << unseen_failures(run, rows);
    return print_sql(rows, options.format, console);
  }
  if (question.metrics.empty()) {
    if (!question.by.empty() || !question.where.empty() || options.format != Format::table) {
      throw UserError("no METRIC; 'faultline query {}' names those that there are", run.path());
    }
    console.err << run.failed_checks(run.points_where({}));
    return print_overview(run, console);
  }
  const results::Answer found = ask(run, question);
  console.err << run.failed_checks(found.points);
  switch (options.format) {
    case Format::table: return print_answer(run, question, found, console);
    case Format::json: console.out << results::json_text(answer_json(found)); break;
    case Format::csv: console.out << answer_csv(found); break;
  }
}

}  // namespace

int query_command(const Call& call) {
  results::Run run(call.options.arguments.front());
  answer(run, call.options, call.console);
  return kFine;
}

}  // namespace faultline::app
