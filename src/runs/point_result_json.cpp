// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_result_json.hpp"

#include <boost/hana.hpp>
#include <limits>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

// What is read and written of each struct, under these names.
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::Metric, name, value, unit, description);
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::PartResult, part, about, metrics);
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::BreakdownRow, step, where, mean_us, samples, description);
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::Distribution::Bucket, lower, upper, count);
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::Distribution, name, unit, description, count, min, max, buckets);
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::Series, name, unit, description, interval_us, values);
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::Totals, events, cell_hops, simulated_ps);
BOOST_HANA_ADAPT_STRUCT(faultline::sim::Profile::Row, part, events, calls, host_ns);
BOOST_HANA_ADAPT_STRUCT(faultline::workloads::PointResult, metrics, parts, breakdown, distributions, series, notes,
                        events, cell_hops, simulated_ps, draws, profile, traced, story, failed_checks, refused, error,
                        error_keys);
BOOST_HANA_ADAPT_STRUCT(faultline::runs::PointOutcome, status, result, error, totals, host_seconds, cpu_seconds,
                        peak_mib);

namespace faultline::runs {
namespace {

namespace hana = boost::hana;
using Json = nlohmann::ordered_json;

// Those of which there are many, or that need no names, are lists of their fields.
template <typename Value>
constexpr bool kIsList =
    std::is_same_v<Value, workloads::Distribution::Bucket> || std::is_same_v<Value, workloads::Totals>;

template <typename Value>
Json json_of(const Value& value);
template <typename Value>
Json json_of(const std::vector<Value>& values) {
  Json list = Json::array();
  for (const Value& value : values) list.push_back(json_of(value));
  return list;
}
Json json_of(PointStatus status) { return to_string(status); }
template <typename Value>
Json json_of(const Value& value) {
  if constexpr (!hana::Struct<Value>::value) {
    return value;
  } else {
    Json json;
    hana::for_each(hana::accessors<Value>(), [&](const auto& field) {
      Json part = json_of(hana::second(field)(value));
      if constexpr (kIsList<Value>) {
        json.push_back(std::move(part));
      } else {
        json[hana::to<const char*>(hana::first(field))] = std::move(part);
      }
    });
    return json;
  }
}

template <typename Value>
void read(const Json& json, Value& value);
template <typename Value>
void read(const Json& json, std::vector<Value>& values) {
  for (const Json& each : json) read(each, values.emplace_back());
}
void read(const Json& json, PointStatus& status) { status = point_status(json); }
// JSON has no NaN; a metric that has no value (the latency of no transfer) is null.
void read(const Json& json, double& value) {
  value = json.is_null() ? std::numeric_limits<double>::quiet_NaN() : json.get<double>();
}
template <typename Value>
void read(const Json& json, Value& value) {
  if constexpr (!hana::Struct<Value>::value) {
    json.get_to(value);
  } else {
    std::size_t at = 0;
    hana::for_each(hana::accessors<Value>(), [&](const auto& field) {
      const Json& part = kIsList<Value> ? json.at(at++) : json.at(hana::to<const char*>(hana::first(field)));
      read(part, hana::second(field)(value));
    });
  }
}

}  // namespace

Json to_json(const workloads::PointResult& result) { return json_of(result); }

workloads::PointResult point_result_from_json(const Json& json) {
  workloads::PointResult result;
  read(json, result);
  return result;
}

Json to_json(const PointOutcome& outcome) { return json_of(outcome); }

PointOutcome point_outcome_from_json(const Json& json) {
  PointOutcome outcome;
  read(json, outcome);
  return outcome;
}

}  // namespace faultline::runs
