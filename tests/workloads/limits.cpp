// SPDX-License-Identifier: Apache-2.0
// Both ends of every number's legal range, one at a time: the point has a result, or is refused with a reason. Nothing
// overflows, ends in an assertion, or goes on for ever.
#include <catch2/catch.hpp>

#include <array>
#include <set>
#include <string_view>
#include <vector>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr unsigned kCpuSeconds = 120;  // of one point

// The groups of parameters, each in a test case of its own.
constexpr std::array<std::string_view, 24> kGroups{
    "axi",     "background",     "cluster",         "cpu",    "ddr",         "elan",    "elan_driver", "elan_library",
    "exanest", "exanest_driver", "exanest_library", "inject", "messages",    "network", "os",          "reuse",
    "sched",   "series",         "simulation",      "smmu",   "smmu_driver", "socket",  "strategy",    "workload"};

Settings base() {
  return preset("fault/touch-ahead") +
         Settings{{"workload.size", "16 KiB"}, {"workload.cold", "destination"}, {"workload.checks", "count"}};
}

bool is_number(const sim::Parameter& parameter) {
  using sim::ParameterKind;
  return parameter.kind != ParameterKind::flag && parameter.kind != ParameterKind::choice &&
         parameter.kind != ParameterKind::text;
}

std::string group_of(const std::string& key) { return key.substr(0, key.find('.')); }

sim::ParameterValue value_of(const sim::Parameter& parameter, const std::string& text) {
  if (parameter.kind == sim::ParameterKind::count) return std::int64_t{std::stoll(text)};
  if (parameter.kind == sim::ParameterKind::fraction) return std::stod(text);
  return text;
}

// What is wrong with what becomes of the point; empty: nothing.
std::string complaint(const Settings& settings) {
  try {
    const workloads::Configuration c = configuration(settings);
    const auto conflicts = workloads::conflicts(c);
    if (!conflicts.empty()) return conflicts.front().reason.empty() ? "refused without a reason" : "";
    const Point point = read_point(Child([&c] { return written(workloads::run_point(c, 1)); }, kCpuSeconds).text());
    if (point.metrics.empty() && point.refused.empty() && point.error.empty()) return "neither result nor reason";
    return point.error.empty() || !point.error_keys.empty() ? "" : "an error that names no key: " + point.error;
  } catch (const std::exception& error) {
    return error.what();
  }
}

void both_ends_of(std::string_view group, const Settings& others = {}) {
  workloads::Configuration c;
  sim::ParameterTable table;
  c.declare(table);
  unsigned looked_at = 0;
  for (const sim::Parameter& parameter : table.all()) {
    if (group_of(parameter.name) != group || !is_number(parameter)) continue;
    const std::vector<std::string> ends = sim::samples(parameter);
    REQUIRE(ends.size() == 2);
    for (const std::string& end : ends) {
      ++looked_at;
      INFO(parameter.name << " = " << end);
      CHECK(complaint(base() + others + Settings{{parameter.name, value_of(parameter, end)}}) == "");
    }
  }
  CHECK(looked_at > 0);
}

}  // namespace

TEST_CASE("limits: each group of parameters is looked at") {
  workloads::Configuration c;
  sim::ParameterTable table;
  c.declare(table);
  std::set<std::string> groups;
  for (const sim::Parameter& parameter : table.all()) {
    if (is_number(parameter)) groups.insert(group_of(parameter.name));
  }
  CHECK(groups == std::set<std::string>(kGroups.begin(), kGroups.end()));
}

TEST_CASE("limits: axi") { both_ends_of("axi"); }
TEST_CASE("limits: background") { both_ends_of("background"); }
TEST_CASE("limits: cluster") { both_ends_of("cluster"); }
TEST_CASE("limits: cpu") { both_ends_of("cpu"); }
TEST_CASE("limits: ddr") { both_ends_of("ddr"); }
// These count with a NIC of that kind.
TEST_CASE("limits: elan") { both_ends_of("elan", preset("nic-mmu/pushed")); }
TEST_CASE("limits: elan_driver") { both_ends_of("elan_driver", preset("nic-mmu/pushed")); }
TEST_CASE("limits: elan_library") { both_ends_of("elan_library", preset("nic-mmu/pushed")); }
TEST_CASE("limits: exanest") { both_ends_of("exanest"); }
TEST_CASE("limits: exanest_driver") { both_ends_of("exanest_driver"); }
TEST_CASE("limits: exanest_library") { both_ends_of("exanest_library"); }
TEST_CASE("limits: inject") { both_ends_of("inject"); }
TEST_CASE("limits: messages") {
  both_ends_of("messages", {{"workload.kind", "send-receive"}, {"messages.large", "copies"}});
}
TEST_CASE("limits: network") { both_ends_of("network"); }
TEST_CASE("limits: os") { both_ends_of("os"); }
TEST_CASE("limits: reuse") { both_ends_of("reuse"); }
TEST_CASE("limits: sched") { both_ends_of("sched"); }
TEST_CASE("limits: series") { both_ends_of("series"); }
TEST_CASE("limits: simulation") { both_ends_of("simulation"); }
TEST_CASE("limits: smmu") { both_ends_of("smmu"); }
TEST_CASE("limits: smmu_driver") { both_ends_of("smmu_driver"); }
TEST_CASE("limits: socket") {
  both_ends_of("socket", {{"workload.kind", "send-receive"}, {"messages.way", "sockets"}});
}
TEST_CASE("limits: strategy") { both_ends_of("strategy"); }
TEST_CASE("limits: workload") { both_ends_of("workload"); }

// Settings that only count beside others.
TEST_CASE("limits: strategy, with a pin-down cache") {
  both_ends_of("strategy", preset("pin-cache") + Settings{{"workload.kind", "reuse"}, {"workload.cold", "none"}});
}
TEST_CASE("limits: cpu, with TLB shootdown by interrupts") {
  both_ends_of("cpu", {{"os.tlb_shootdown", "interrupt"}, {"inject.mechanism", "dont-need"}});
}
TEST_CASE("limits: workload, with the longest queue and a busy neighbour", "[.][nightly]") {
  both_ends_of("workload", {{"exanest.channel_queue", 1 << 20}, {"workload.clean_window", 256}});
}
