// SPDX-License-Identifier: Apache-2.0
#include "src/results/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "models/sim/parameters.hpp"
#include "models/sim/units.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/point.hpp"
#include "src/experiment/quantity.hpp"
#include "src/experiment/toml_document.hpp"
#include "src/results/database.hpp"
#include "src/results/text_table.hpp"
#include "src/runs/point_runner.hpp"

namespace faultline::results {
namespace {

constexpr std::array<const char*, 3> kOfPoints{"strategy", "seed", "status"};
constexpr std::size_t kMostShown = 8;

std::vector<std::string> texts_of(const SqlDatabase& database, const std::string& query) {
  std::vector<std::string> texts;
  SqlStatement rows(database, query);
  while (rows.step()) texts.push_back(rows.text(0));
  return texts;
}

// Its number in the unit of the column; NaN if it is none.
double number_in(const RunColumn& column, sim::ParameterKind kind, const std::string& text) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  try {
    if (column.unit != "1") return experiment::plain_number(kind, text);
    return column.is_share || !text.ends_with('%') ? sim::parse_fraction(text) : none;
  } catch (const sim::BadQuantity&) {
    return none;
  }
}

sim::ParameterKind kind_with_unit(const std::string& unit) {
  using sim::ParameterKind;
  for (const auto kind : {ParameterKind::time, ParameterKind::bytes, ParameterKind::bit_rate, ParameterKind::byte_rate,
                          ParameterKind::frequency}) {
    if (experiment::plain_unit(kind) == unit) return kind;
  }
  return ParameterKind::fraction;
}

}  // namespace

std::string RunColumn::title() const { return unit.empty() || unit == "1" ? key : key + " [" + unit + "]"; }

const std::string& RunColumn::shown(std::size_t point) const {
  const auto label = labels.find(texts[point]);
  return label == labels.end() ? texts[point] : label->second;
}

Run::Run(const std::filesystem::path& run)
    : path_(run.string()),
      database_(open_database(run)),
      repetitions_(static_cast<unsigned>(database_.number("SELECT repetitions FROM run"))),
      axes_(texts_of(database_, "SELECT key FROM axes ORDER BY position")) {
  SqlStatement points(database_,
                      "SELECT p.combination, p.transfers, p.failed_transfers, c.draws FROM points AS p JOIN "
                      "combinations AS c ON c.number = p.combination ORDER BY p.number");
  std::size_t first = 0;  // of a combination
  while (points.step()) {
    const auto count = [&](int column) { return static_cast<std::uint64_t>(points.whole(column)); };
    combinations_.push_back(count(0));
    draws_.push_back(points.whole(3) != 0);
    // Where one stands for all, what it lost is with the first of them.
    const Failures own{count(2), count(1), points.is_null(1) ? std::size_t{1} : 0, 1};
    const std::size_t number = combinations_.size() - 1;
    if (number == 0 || combinations_[number - 1] != combinations_.back()) first = number;
    const bool is_again = !draws_.back() && number > first;
    failures_.push_back(is_again ? Failures{} : own);
    if (is_again && failures_[first].unfinished > own.unfinished) failures_[first] = own;
  }
  SqlStatement docs(database_, "SELECT name, unit, description FROM metric_docs ORDER BY id");
  while (docs.step()) metrics_.push_back({docs.text(0), docs.text(1), docs.text(2)});
}

std::vector<std::string> Run::parameters() {
  return texts_of(database_, "SELECT key FROM parameter_docs ORDER BY key");
}

std::vector<std::string> Run::leading_axes() {
  return texts_of(database_, "SELECT key FROM axes WHERE leads ORDER BY position");
}

std::vector<std::string> Run::following_axes() {
  return texts_of(database_, "SELECT key FROM axes WHERE NOT leads ORDER BY position");
}

std::vector<std::string> Run::advancing_with(const std::string& key) {
  std::vector<std::string> keys{key};
  SqlStatement others(
      database_, "SELECT b.key FROM axes AS a JOIN axes AS b ON b.advances_with = a.advances_with WHERE a.key = ?");
  others.bind(key);
  while (others.step()) keys.push_back(others.text(0));
  return keys;
}

std::vector<std::string> Run::varied_parameters() {
  return texts_of(database_,
                  "SELECT key FROM parameter_docs WHERE key NOT IN (SELECT key FROM fixed_parameters) ORDER BY key");
}

const workloads::MetricDoc& Run::metric(const std::string& name) const {
  const auto found = std::ranges::find(metrics_, name, &workloads::MetricDoc::name);
  if (found != metrics_.end()) return *found;
  std::vector<std::string> names;
  for (const workloads::MetricDoc& metric : metrics_) names.push_back(metric.name);
  throw UserError("{}: no metric '{}'{}; 'faultline query {}' names them", path_, name,
                  experiment::did_you_mean(name, names), path_);
}

RunColumn Run::column(const std::string& key) {
  RunColumn column;
  column.key = key;
  if (std::ranges::find(kOfPoints, key) != kOfPoints.end()) {
    column.texts = texts_of(database_, "SELECT " + key + " FROM points ORDER BY number");
    column.is_number = key == "seed";
    if (column.is_number) column.unit = "1";
    for (const std::string& text : column.texts) {
      if (column.is_number) column.numbers.push_back(std::stod(text));
    }
    return column;
  }
  SqlStatement doc(database_, "SELECT unit, kind FROM parameter_docs WHERE key = ?");
  if (!doc.bind(key).step()) {
    std::vector<std::string> known(kOfPoints.begin(), kOfPoints.end());
    const std::vector<std::string> all = parameters();
    known.insert(known.end(), all.begin(), all.end());
    throw UserError("{}: '{}' is no parameter{}; its axes are {}", path_, key, experiment::did_you_mean(key, known),
                    fmt::join(axes_, ", "));
  }
  column.unit = doc.text(0);
  column.is_number = !column.unit.empty();
  column.is_share = doc.text(1) == sim::to_string(sim::ParameterKind::fraction);
  SqlStatement fixed(database_, "SELECT value, number FROM fixed_parameters WHERE key = ?");
  if (fixed.bind(key).step()) {
    column.texts.assign(size(), fixed.text(0));
    if (column.is_number) column.numbers.assign(size(), fixed.real(1));
    return column;
  }
  SqlStatement varied(database_, "SELECT value, number FROM varied_parameters WHERE key = ? ORDER BY point");
  varied.bind(key);
  while (varied.step()) {
    column.texts.push_back(varied.text(0));
    if (column.is_number) column.numbers.push_back(varied.real(1));
  }
  SqlStatement labels(database_, "SELECT value, label FROM axis_values WHERE key = ? AND label IS NOT NULL");
  labels.bind(key);
  while (labels.step()) column.labels.emplace(labels.text(0), labels.text(1));
  if (column.texts.size() != size())
    throw SqlError(database_.path(), SQLITE_CORRUPT, "values of " + key + " are missing");
  return column;
}

std::vector<double> Run::values(const workloads::MetricDoc& metric) {
  std::vector<double> values(size(), std::numeric_limits<double>::quiet_NaN());
  SqlStatement rows(database_, "SELECT point, value FROM metrics WHERE name = ?");
  rows.bind(metric.name);
  while (rows.step()) values.at(static_cast<std::size_t>(rows.whole(0)) - 1) = rows.real(1);
  return values;
}

std::vector<std::size_t> Run::points_where(const std::vector<std::string>& conditions, const std::string& given) {
  std::vector<std::size_t> points(size());
  for (std::size_t i = 0; i < points.size(); ++i) points[i] = i;
  for (const std::string& condition : conditions) restrict_to(condition, given, points);
  return points;
}

Where Where::parse(const std::string& text, const std::string& given) {
  const std::size_t at = text.find_first_of("<>!=");
  const auto relation = experiment::relation_at(at == std::string::npos ? "" : std::string_view(text).substr(at));
  if (!relation || at == 0) {
    throw UserError(
        "{}: '{}' is no condition; allowed: KEY=VALUE, and with !=, <, <=, >, >=, as workload.size=\"64 KiB\"", given,
        text);
  }
  const std::size_t behind = at + std::string_view(experiment::sign_of(*relation)).size();
  return {experiment::trimmed(text.substr(0, at)), *relation, experiment::trimmed(text.substr(behind))};
}

void Run::restrict_to(const std::string& condition, const std::string& given, std::vector<std::size_t>& points) {
  Where where = Where::parse(condition, given);
  const RunColumn column = this->column(where.key);
  for (const auto& [text, label] : column.labels) {
    if (label == where.value) where.value = text;
  }
  const double number = column.is_number ? number_in(column, kind_with_unit(column.unit), where.value) : 0;
  if (std::isnan(number)) {
    throw UserError("{}: {}: '{}' is no {}", given, column.key, where.value,
                    column.is_share      ? "share, as 0.5 or 50 %"
                    : column.unit == "1" ? "number"
                                         : "number with a unit, as " + column.texts.front());
  }
  std::vector<std::string> there;
  for (const std::size_t point : points) {
    if (std::ranges::find(there, column.shown(point)) == there.end()) there.push_back(column.shown(point));
    if (there.size() > kMostShown) break;
  }
  std::erase_if(points, [&](std::size_t point) {
    return column.is_number ? !holds(where.relation, column.numbers[point], number)
                            : !holds(where.relation, column.texts[point], where.value);
  });
  if (!points.empty()) return;
  const bool more = there.size() > kMostShown;
  if (more) there.pop_back();
  const std::string meant = column.is_number ? "" : experiment::did_you_mean(where.value, there);
  std::ranges::transform(there, there.begin(), in_list);
  throw UserError("{}: no point of {} has {}; there are {}{}{}", given, path_, condition, fmt::join(there, ", "),
                  more ? ", ..." : "", meant);
}

std::size_t Run::point(const std::string& number_or_id) {
  SqlStatement rows(database_,
                    "SELECT number FROM points WHERE number = cast(?1 AS INTEGER) AND ?1 NOT GLOB '*[^0-9]*'"
                    " UNION SELECT number FROM points WHERE length(?1) >= ?2 AND substr(id, 1, length(?1)) = ?1");
  rows.bind(number_or_id, experiment::kLeastOfId);
  std::vector<std::size_t> found;
  while (rows.step()) found.push_back(static_cast<std::size_t>(rows.whole(0)));
  if (found.size() == 1) return found.front() - 1;
  throw UserError("{}: {} '{}'; allowed: a number from 1 to {}, or how an id begins, with {} characters or more", path_,
                  found.empty() ? "no point" : "several points begin with", number_or_id, size(),
                  experiment::kLeastOfId);
}

std::string Run::failed_checks(const std::vector<std::size_t>& points) {
  SqlStatement rows(database_, "SELECT number, label, error FROM points WHERE status = ? ORDER BY number");
  rows.bind(runs::kStatusCheckFailed);
  std::size_t count = 0;
  std::string first;
  while (rows.step()) {
    if (!std::ranges::binary_search(points, static_cast<std::size_t>(rows.whole(0)) - 1)) continue;
    if (++count == 1) first = rows.text(1) + ": " + rows.text(2);
  }
  if (count == 0) return "";
  return fmt::format("{}: CHECK FAILED at {} of {} points: {}{}\n", path_, count, points.size(),
                     count > 1 ? "first " : "", first);
}

std::string Run::label(std::size_t combination) {
  SqlStatement row(database_, "SELECT label FROM combinations WHERE number = ?");
  return row.bind(combination).step() ? row.text(0) : "";
}

}  // namespace faultline::results
