// SPDX-License-Identifier: Apache-2.0
#include "src/results/difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>
#include <set>

#include "src/experiment/diagnostics.hpp"

namespace faultline::results {
namespace {

constexpr std::size_t kMostShown = 4;

bool has(const std::vector<std::string>& list, const std::string& text) {
  return std::ranges::find(list, text) != list.end();
}

// All values over the side's points, in their order.
std::string values_of(Side& side, const std::string& key, const std::vector<std::string>& known) {
  if (!has(known, key)) return "-";
  const RunColumn column = side.run.column(key);
  std::vector<std::string> values;
  std::set<std::string> seen;
  for (const std::size_t point : side.points) {
    if (seen.insert(column.texts[point]).second) values.push_back(column.texts[point]);
  }
  if (values.size() <= kMostShown) return fmt::format("{}", fmt::join(values, ", "));
  return fmt::format("{}, {}, ... {} ({} values)", values[0], values[1], values.back(), values.size());
}

std::string text_of(Side& side, const std::string& query) {
  SqlStatement row(side.run.database(), query);
  return row.step() ? row.text(0) : "";
}

std::vector<Difference::Setting> configuration_of(Side& a, Side& b) {
  std::vector<Difference::Setting> settings;
  const auto add = [&](const std::string& key, const std::string& in_a, const std::string& in_b) {
    if (in_a != in_b) settings.push_back({key, in_a, in_b});
  };
  for (const auto& [key, query] :
       {std::pair{"program", "SELECT program_version || ' (' || program_commit || ')' FROM run"},
        std::pair{"platform", "SELECT platform FROM run"},
        std::pair{"seeds",
                  "SELECT CASE repetitions WHEN 1 THEN seed ELSE seed || ' to ' || (seed + repetitions - 1) "
                  "END FROM run"}}) {
    add(key, text_of(a, query), text_of(b, query));
  }
  add("strategy", values_of(a, "strategy", {"strategy"}), values_of(b, "strategy", {"strategy"}));
  const std::vector<std::string> keys_a = a.run.parameters(), keys_b = b.run.parameters();
  std::set<std::string> keys(keys_a.begin(), keys_a.end());
  keys.insert(keys_b.begin(), keys_b.end());
  for (const std::string& key : keys) add(key, values_of(a, key, keys_a), values_of(b, key, keys_b));
  return settings;
}

// Points that differ by their seed alone, by what they are matched by.
struct Combination {
  std::string key;
  std::vector<std::size_t> points;
  bool draws;
};

// What is chosen takes along the axes that advance with it, and an analysis of sensitivity varies more than axes:
// nothing says then which point is whose partner. Points that nothing tells apart are in order.
class ToldApart {
 public:
  explicit ToldApart(Side& side) : side_(side) {}
  void check(std::size_t point, std::size_t other) {
    if (varied_.empty()) {
      for (const std::string& key : side_.run.varied_parameters()) varied_.push_back(side_.run.column(key));
    }
    std::vector<std::string> keys;
    for (const RunColumn& column : varied_) {
      if (column.texts[point] != column.texts[other]) keys.push_back(column.key);
    }
    if (keys.empty()) return;
    const std::string& run = side_.run.path();
    throw UserError(
        "{}: points {} and {} cannot be matched with those of another part: they differ by {} alone; choose among them "
        "with --where, or compare two points, as {}:{}",
        run, point + 1, other + 1, fmt::join(keys, ", "), run, point + 1);
  }

 private:
  Side& side_;
  std::vector<RunColumn> varied_;
};

std::vector<Combination> places_of(Side& side, const std::vector<std::string>& matched, bool of_parts) {
  std::vector<RunColumn> columns;
  const std::vector<std::string> known = side.run.parameters();
  for (const std::string& key : matched) {
    if (key == "strategy" || has(known, key)) columns.push_back(side.run.column(key));
  }
  std::vector<Combination> places;
  std::map<std::size_t, std::size_t> of_combination;
  std::map<std::string, std::vector<std::size_t>> alike;  // an axis may have a value twice
  ToldApart told_apart(side);
  for (const std::size_t point : side.points) {
    const auto [place, added] = of_combination.emplace(side.run.combination(point), places.size());
    if (added) {
      std::string key;
      if (!side.is_point) {
        for (const RunColumn& column : columns) key += column.texts[point] + '\n';
      }
      std::vector<std::size_t>& others = alike[key];
      if (of_parts && !others.empty()) told_apart.check(others.front(), point);
      key += std::to_string(others.size());
      others.push_back(point);
      places.push_back({key, {}, side.run.draws(point)});
    }
    places[place->second].points.push_back(point);
  }
  return places;
}

std::vector<workloads::MetricDoc> metrics_of(const Side& a, const Side& b, const std::vector<std::string>& names) {
  std::vector<workloads::MetricDoc> metrics = a.run.metrics();
  for (const workloads::MetricDoc& metric : b.run.metrics()) {
    const auto same = [&](const workloads::MetricDoc& m) { return m.name == metric.name; };
    if (std::ranges::none_of(metrics, same)) metrics.push_back(metric);
  }
  if (names.empty()) return metrics;
  std::vector<workloads::MetricDoc> chosen;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(metrics, name, &workloads::MetricDoc::name);
    chosen.push_back(found == metrics.end() ? a.run.metric(name) : *found);
  }
  return chosen;
}

Summary summary_at(const Combination& place, const std::vector<double>& values) {
  std::vector<double> own;
  for (const std::size_t point : place.points) own.push_back(values[point]);
  return place.draws ? summary_of(own) : exact_summary(own);
}

// Of points that have the same name on both sides, as labels of other values make them: what differs.
void tell_apart(Side& a, Side& b, const std::vector<const Combination*>& only_a,
                const std::vector<const Combination*>& only_b, const std::vector<std::string>& matched,
                Difference& difference) {
  const std::vector<std::string> known_a = a.run.parameters(), known_b = b.run.parameters();
  for (std::size_t i = 0; i < only_a.size(); ++i) {
    const auto same = std::ranges::find(difference.only_b, difference.only_a[i]);
    if (same == difference.only_b.end()) continue;
    const auto point_a = only_a[i]->points.front(), point_b = only_b[same - difference.only_b.begin()]->points.front();
    std::vector<std::string> keys;
    for (const std::string& key : matched) {
      if (key != "strategy" && (!has(known_a, key) || !has(known_b, key))) continue;
      if (a.run.column(key).texts[point_a] != b.run.column(key).texts[point_b]) keys.push_back(key);
    }
    if (keys.empty()) continue;
    const std::string differs = fmt::format(" (another {} than in ", fmt::join(keys, ", "));
    difference.only_a[i] += differs + "B)";
    *same += differs + "A)";
  }
}

// `row`: with what it has in common with the rows of the same points.
Difference::Row row_of(Difference::Row row, const workloads::MetricDoc& metric, const Summary& a, const Summary& b) {
  const bool known = a.count > 0 && b.count > 0 && a.mean != 0;
  const double change = known ? 100 * (b.mean - a.mean) / std::abs(a.mean) : std::numeric_limits<double>::quiet_NaN();
  row.metric = metric;
  row.a = a;
  row.b = b;
  row.change = a.mean == b.mean ? 0 : change;
  const bool is_marked = is_of_completed(metric.name) && (row.failures_a.any() || row.failures_b.any());
  row.beyond_noise = is_marked ? BeyondNoise::marked : beyond_noise(a, b);
  return row;
}

struct Values {
  const std::vector<workloads::MetricDoc>& metrics;
  std::vector<std::vector<double>> a;  // of each metric at each point
  std::vector<std::vector<double>> b;
};

std::vector<std::vector<double>> values_at(Side& side, const std::vector<workloads::MetricDoc>& metrics) {
  std::vector<std::vector<double>> values;
  for (const workloads::MetricDoc& metric : metrics) values.push_back(side.run.values(metric));
  return values;
}

Failures failures_at(const Combination& place, const Side& side) {
  Failures failures;
  for (const std::size_t point : place.points) failures += side.run.failures()[point];
  return failures;
}

void add_rows(const Difference::Row& alike, const Combination& a, const Combination& b, const Values& values, bool all,
              Difference& difference) {
  ++difference.pairs;
  if (alike.failures_a.any() || alike.failures_b.any()) difference.marked.push_back(alike);
  for (std::size_t m = 0; m < values.metrics.size(); ++m) {
    const Summary at_a = summary_at(a, values.a[m]), at_b = summary_at(b, values.b[m]);
    if (at_a.count + at_b.count == 0) continue;
    ++difference.compared;
    // Of transfers of which others failed even the same mean is another one.
    const bool same =
        at_a.mean == at_b.mean && (!is_of_completed(values.metrics[m].name) || alike.failures_a == alike.failures_b);
    if (same) ++difference.equal;
    if (!same || all) difference.rows.push_back(row_of(alike, values.metrics[m], at_a, at_b));
  }
}

// Strategy and the axes of both, but for what conditions choose and what advances with that.
std::vector<std::string> matched_by(Side& a, Side& b) {
  std::vector<std::string> keys{"strategy"};
  for (const Side* side : {&a, &b}) {
    for (const std::string& axis : side->run.axes()) {
      if (!has(keys, axis)) keys.push_back(axis);
    }
  }
  for (Side* side : {&a, &b}) {
    for (const Side* chooser : {&a, &b}) {
      if (chooser->chosen.empty()) continue;
      const std::vector<std::string> together = side->run.advancing_with(chooser->chosen);
      std::erase_if(keys, [&](const std::string& key) { return has(together, key); });
    }
  }
  return keys;
}

void check_one_value(Side& side, const std::string& key) {
  if (key.empty()) return;
  const RunColumn column = side.run.column(key);
  const auto other = std::ranges::find_if(
      side.points, [&](std::size_t point) { return column.texts[point] != column.texts[side.points.front()]; });
  if (other == side.points.end()) return;
  throw UserError("{}: what is compared has several values of {}: {}, {}; choose one, as {}:{}={}", side.run.path(),
                  key, column.texts[side.points.front()], column.texts[*other], side.run.path(), key,
                  column.texts[*other]);
}

}  // namespace

std::string run_of(const std::string& name) {
  std::error_code ignored;
  if (std::filesystem::exists(name, ignored)) return name;
  for (std::size_t colon = name.find(':', 1); colon != std::string::npos; colon = name.find(':', colon + 1)) {
    if (std::filesystem::exists(name.substr(0, colon), ignored)) return name.substr(0, colon);
  }
  return name.substr(0, name.find(':', 1));
}

Side::Side(const std::string& name, const std::vector<std::string>& where) : run(run_of(name)) {
  const std::string which = name.size() > run.path().size() ? name.substr(run.path().size() + 1) : "";
  if (which.empty() && name != run.path())
    throw UserError("{}: nothing follows the colon; allowed: RUN, RUN:NUMBER, RUN:ID, RUN:KEY=VALUE", name);
  is_point = !which.empty() && which.find_first_of("<>!=") == std::string::npos;
  if (!is_point) {
    points = run.points_where(where);
    if (which.empty()) return;
    chosen = Where::parse(which, name).key;
    const std::vector<std::size_t> part = run.points_where({which}, name);
    std::erase_if(points, [&](std::size_t point) { return !std::ranges::binary_search(part, point); });
    if (points.empty()) throw UserError("{}: no point of it is left by --where", name);
    return;
  }
  if (!where.empty()) throw UserError("{}: is one point; --where is for runs", name);
  const std::size_t number = run.point(which);
  for (std::size_t i = 0; i < run.size(); ++i) {
    if (run.combination(i) == run.combination(number)) points.push_back(i);
  }
}

Difference difference(Side& a, Side& b, const std::vector<std::string>& names, bool all) {
  if (a.is_point != b.is_point) {
    throw UserError(
        "a run and a point cannot be compared; name two runs, two points as RUN:NUMBER, or two parts of runs as "
        "RUN:KEY=VALUE");
  }
  for (Side* side : {&a, &b}) {
    for (const std::string& key : {a.chosen, b.chosen}) check_one_value(*side, key);
  }
  const std::vector<workloads::MetricDoc> metrics = metrics_of(a, b, names);
  Difference difference;
  difference.configuration = configuration_of(a, b);

  const std::vector<std::string> matched = matched_by(a, b);
  const bool of_parts = !a.chosen.empty() || !b.chosen.empty();
  const std::vector<Combination> places_a = places_of(a, matched, of_parts), places_b = places_of(b, matched, of_parts);
  std::map<std::string, const Combination*> in_b;
  for (const Combination& place : places_b) in_b[place.key] = &place;
  const auto label = [](Side& side, const Combination& place) {
    return side.run.label(side.run.combination(place.points.front()));
  };

  std::vector<const Combination*> only_a, only_b;
  const Values values{metrics, values_at(a, metrics), values_at(b, metrics)};
  for (const Combination& place : places_a) {
    const auto other = in_b.find(place.key);
    if (other == in_b.end()) {
      only_a.push_back(&place);
      difference.only_a.push_back(label(a, place));
    } else {
      Difference::Row alike;
      alike.point = label(a, place);
      alike.failures_a = failures_at(place, a);
      alike.failures_b = failures_at(*other->second, b);
      add_rows(alike, place, *other->second, values, all, difference);
      in_b.erase(other);
    }
  }
  for (const Combination& place : places_b) {
    if (!in_b.contains(place.key)) continue;
    only_b.push_back(&place);
    difference.only_b.push_back(label(b, place));
  }
  tell_apart(a, b, only_a, only_b, matched, difference);
  return difference;
}

}  // namespace faultline::results
