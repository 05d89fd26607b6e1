// SPDX-License-Identifier: Apache-2.0
// One point of an experiment, simulated in a child process.
#pragma once

#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/sim/parameters.hpp"
#include "tests/support/child.hpp"
#include "tests/support/preset_files.hpp"
#include "workloads/configuration.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/flows/flow.hpp"

namespace faultline::test {

// Parameters by their names, as `--set` takes them. Later ones win.
struct Setting {
  std::string key;
  sim::ParameterValue value;
};
using Settings = std::vector<Setting>;

inline Settings operator+(Settings a, const Settings& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

inline std::string to_string(const Settings& settings) {
  std::ostringstream out;
  for (const auto& [key, value] : settings) {
    out << key << '=';
    std::visit([&out](const auto& v) { out << v; }, value);
    out << ' ';
  }
  return out.str();
}

// One measured transfer, no warm-up and no drawn pause, unless the settings say otherwise: every figure is then that of
// a single transfer, exact to the picosecond. Flows have no such settings, and programs begin at once.
inline workloads::Configuration configuration(const Settings& settings) {
  workloads::Configuration c;
  const auto is = [&](const char* kind) {
    const auto last =
        std::find_if(settings.rbegin(), settings.rend(), [](auto& s) { return s.key == "workload.kind"; });
    return last != settings.rend() && std::get<std::string>(last->value) == kind;
  };
  if (!is("flows")) {
    c.workload.iterations = 1;
    c.workload.warmup = 0;
  }
  if (!is("kernel-cost")) c.workload.start_spread = sim::Time{0};
  c.workload.time_limit = std::chrono::seconds(1);
  c.machine.os.thp = os::ThpMode::never;
  sim::ParameterTable table;
  c.declare(table);
  for (const auto& [key, value] : settings) {
    const sim::Parameter* parameter = table.find(key);
    if (parameter == nullptr) throw std::logic_error("no such parameter: " + key);
    parameter->set(value);
  }
  return c;
}

// Why the settings do not go together: the key to be blamed, the reason of the first conflict and what to do instead;
// or "none".
inline std::string reason_against(const Settings& settings) {
  const auto found = workloads::conflicts(configuration(settings));
  return found.empty() ? "none"
                       : found.front().keys.front() + ": " + found.front().reason + "; " + found.front().instead;
}

// The strategies that ship, by name, and what each sets.
inline std::map<std::string, Settings> presets() {
  std::map<std::string, Settings> all;
  for (const auto& [name, texts] : all_preset_texts()) {
    for (const auto& [key, value] : texts) all[name].push_back({key, value});
  }
  return all;
}
inline Settings preset(const std::string& name) { return presets().at(name); }

struct Row {
  std::string step;
  std::string where;
  std::int64_t ps = 0;
  std::uint64_t samples = 0;
  auto operator<=>(const Row&) const = default;
};

struct Point {
  std::map<std::string, double> metrics;
  std::map<std::string, std::map<std::string, double>> parts;  // by part ("node 0"), then metric
  std::string limit;                                           // limit_of()
  std::vector<Row> breakdown;
  std::int64_t simulated_ps = 0;
  std::vector<std::string> notes;
  std::vector<std::string> failed_checks;
  std::string refused;
  std::string error;
  std::vector<std::string> error_keys;
  std::string text;  // everything, exact

  double operator[](const std::string& metric) const {
    const auto found = metrics.find(metric);
    if (found == metrics.end()) throw std::logic_error("no such metric: " + metric + ". " + error);
    return found->second;
  }
  // A metric that counts something.
  std::int64_t count(const std::string& metric) const { return std::llround((*this)[metric]); }
  // A metric in us, in picoseconds.
  std::int64_t ps(const std::string& metric) const { return std::llround((*this)[metric] * 1e6); }
  std::int64_t latency() const { return ps("latency_mean"); }
  // The time of the rows of a step; `where` empty: at both ends.
  std::int64_t row(const std::string& step, const std::string& where = "") const {
    std::int64_t sum = 0;
    for (const Row& r : breakdown) {
      if (r.step == step && (where.empty() || r.where == where)) sum += r.ps;
    }
    return sum;
  }
  bool notes_say(const std::string& words) const {
    return std::any_of(notes.begin(), notes.end(), [&](const auto& note) { return note.find(words) != note.npos; });
  }
  std::int64_t rows() const {
    std::int64_t sum = 0;
    for (const Row& r : breakdown) sum += r.ps;
    return sum;
  }
};

inline std::string written(const workloads::PointResult& result) {
  std::ostringstream out;
  out.precision(17);
  out << "simulated\t" << result.simulated_ps << '\n';
  for (const auto& note : result.notes) out << "note\t" << note << '\n';
  for (const auto& check : result.failed_checks) out << "check\t" << check << '\n';
  for (const auto& m : result.metrics) out << "metric\t" << m.name << '\t' << m.value << '\n';
  for (const auto& part : result.parts) {
    for (const auto& m : part.metrics) out << "part\t" << part.part << '\t' << m.name << '\t' << m.value << '\n';
  }
  out << "limit\t" << workloads::limit_of(result).text() << '\n';
  for (const auto& r : result.breakdown) {
    out << "row\t" << r.step << '\t' << r.where << '\t' << std::llround(r.mean_us * 1e6) << '\t' << r.samples << '\n';
  }
  if (!result.refused.empty()) out << "refused\t" << result.refused << '\n';
  if (!result.error.empty()) out << "error\t" << result.error << '\n';
  for (const auto& key : result.error_keys) out << "key\t" << key << '\n';
  return out.str();
}

inline Point read_point(const std::string& text) {
  Point point;
  point.text = text;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::vector<std::string> f;
    for (std::string field; std::getline(fields, field, '\t');) f.push_back(field);
    if (f[0] == "simulated") point.simulated_ps = std::stoll(f[1]);
    if (f[0] == "note") point.notes.push_back(f[1]);
    if (f[0] == "check") point.failed_checks.push_back(f[1]);
    if (f[0] == "metric") point.metrics[f[1]] = std::stod(f[2]);
    if (f[0] == "part") point.parts[f[1]][f[2]] = std::stod(f[3]);
    if (f[0] == "limit" && f.size() > 1) point.limit = f[1];
    if (f[0] == "row") point.breakdown.push_back({f[1], f[2], std::stoll(f[3]), std::stoull(f[4])});
    if (f[0] == "refused") point.refused = f[1];
    if (f[0] == "error") point.error = f[1];
    if (f[0] == "key") point.error_keys.push_back(f[1]);
  }
  return point;
}

inline Point run(const Settings& settings, std::uint64_t seed = 1) {
  const workloads::Configuration c = configuration(settings);
  for (const auto& conflict : workloads::conflicts(c)) throw std::logic_error("impossible: " + conflict.reason);
  return read_point(text_from_child([&c, seed] { return written(workloads::run_point(c, seed)); }));
}

// The same, for runs that must end well: everything transferred, all data right, nothing stale.
inline Point run_well(const Settings& settings, std::uint64_t seed = 1) {
  INFO(to_string(settings));
  Point point = run(settings, seed);
  REQUIRE(point.error == "");
  const workloads::TransferConfig w = configuration(settings).workload;
  std::int64_t transfers = 0;
  for (const workloads::Flow& flow : workloads::flows_of(w)) transfers += flow.transfers;
  if (w.flows.empty()) transfers = static_cast<std::int64_t>(w.iterations);
  CHECK(point.count("transfers") == transfers);
  CHECK(point.count("transfers_failed") == 0);
  CHECK(point.count("data_errors") == 0);
  CHECK(point.count("stale_accesses") == 0);
  CHECK(point.failed_checks.empty());
  return point;
}

}  // namespace faultline::test
