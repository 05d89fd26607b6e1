// SPDX-License-Identifier: Apache-2.0
// Several flows at once: their text, what is refused, and that pairs which share nothing do not feel each other.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"
#include "workloads/flows/flow.hpp"

using namespace faultline;
using namespace faultline::test;
using workloads::BadFlows;
using workloads::Flow;

namespace {

Point run_flows(const std::string& text, const Settings& settings = {}) {
  return run(settings + Settings{{"workload.kind", "flows"}, {"workload.flows", text}});
}

std::string complaint(const std::string& text) {
  try {
    workloads::parse_flows(text);
  } catch (const BadFlows& bad) {
    return bad.what();
  }
  return "none";
}

std::string conflict(const std::string& text, const Settings& settings = {}) {
  const auto found =
      workloads::conflicts(configuration(settings + Settings{{"workload.kind", "flows"}, {"workload.flows", text}}));
  return found.empty() ? "none" : found.front().reason;
}

}  // namespace

TEST_CASE("the text of flows is read back as it was") {
  Flow second;
  second.from = 2;
  second.to = 3;
  second.kind = rdma::Operation::read;
  second.size = 100;
  second.destination_offset = 4095;
  second.cold = workloads::Cold::both;
  second.transfers = 7;
  second.window = 3;
  second.start = sim::Time{1'234'567};
  const std::vector<Flow> flows{Flow{}, second};
  CHECK(workloads::format_flows({Flow{}}) == "from=0, to=1, size=4 KiB");
  CHECK(workloads::parse_flows(workloads::format_flows(flows)) == flows);
  CHECK(workloads::parse_flows(" from = 0 ,to=1;from=2,to=3 ").size() == 2);
}

TEST_CASE("a flow that cannot be is refused with the field and what is allowed") {
  CHECK(complaint("from=0, to=1") == "none");
  CHECK(complaint("from=0, too=1").starts_with("flow 1: 'too=1' sets nothing that a flow has; allowed: from, to, "));
  CHECK(complaint("from=0, to=1; from=1, size=4096").starts_with("flow 2, size: "));
  CHECK(complaint("from=0, to=1, kind=message").starts_with("flow 1, kind: "));
  CHECK(complaint("").starts_with("flow 1: '' sets nothing"));
  CHECK(conflict("from=0, to=3") == "none");
  CHECK(conflict("from=0, to=4") == "a flow from node 0 to node 4: there are nodes 0 to 3, and none sends to itself");
  CHECK(conflict("from=2, to=2") == "a flow from node 2 to node 2: there are nodes 0 to 3, and none sends to itself");
  CHECK(conflict("from=0, to=1, window=9", {{"exanest.channel_queue", 8}}) ==
        "9 transfers under way do not fit in a channel's queue of 8");
  std::string five = "from=0, to=1";
  for (int i = 0; i < 4; ++i) five += "; from=0, to=2";
  CHECK(conflict(five, {{"exanest.channels", 5}}) == "none");
  CHECK(conflict(five, {{"exanest.channels", 4}}).starts_with("5 processes on node 0, each of which needs a channel"));
  CHECK(conflict("from=0, to=1, cold_share=0.5").starts_with("flow 1, cold_share: a share of the pages of no end"));
  CHECK(conflict("from=0, to=1; from=1, to=0, arrivals=poisson").starts_with("flow 2, interval: an open loop needs"));
}

TEST_CASE("flows between pairs that share nothing take as long as alone") {
  for (const char* strategy : {"resident", "fault/touch-ahead", "pin-once"}) {
    INFO(strategy);
    const Point one = run_flows("from=0, to=1, size=20000 B, transfers=3, cold=both", preset(strategy));
    const Point two = run_flows(
        "from=0, to=1, size=20000 B, transfers=3, cold=both; from=3, to=2, size=20000 B, transfers=3, cold=both",
        preset(strategy));
    REQUIRE(one.error == "");
    REQUIRE(two.error == "");
    CHECK(one.failed_checks.empty());
    CHECK(two.failed_checks.empty());
    CHECK(one.count("transfers") == 3);
    CHECK(two.count("transfers") == 6);
    for (const char* metric : {"latency_min", "latency_mean", "latency_max"}) CHECK(one.ps(metric) == two.ps(metric));
    CHECK(two.count("faults") == 2 * one.count("faults"));
    CHECK((one.count("faults") > 0) == (std::string(strategy) == "fault/touch-ahead"));
  }
}

TEST_CASE("what flows say themselves, or nobody looks at, is refused with what to do instead") {
  const auto against = [](const std::string& kind, const Setting& setting) {
    return reason_against(
        {{"workload.kind", kind}, {"workload.flows", kind == "flows" ? "from=0, to=1" : ""}, setting});
  };
  CHECK(against("flows", {"workload.size", "16 KiB"}) ==
        "workload.size: each flow has its own; set it in workload.flows");
  CHECK(against("flows", {"workload.iterations", 100}) ==
        "workload.iterations: each flow has its own; set transfers=... in workload.flows");
  for (const Setting& setting : Settings{{"workload.window", 2},
                                         {"workload.warmup", 1},
                                         {"workload.initiator", 2},
                                         {"workload.target", 2},
                                         {"workload.source_offset", "64 B"},
                                         {"workload.destination_offset", "64 B"},
                                         {"workload.arrivals", "poisson"},
                                         {"workload.burst", 2},
                                         {"workload.peers", 1}}) {
    INFO(setting.key);
    CHECK(against("flows", setting).starts_with(setting.key + ": "));
  }
  CHECK(against("flows", {"workload.start_spread", "5 us"}) == "none");
  for (const char* kind : {"flows", "ring", "all-to-all", "permutation"}) {
    INFO(kind);
    for (const Setting& setting : Settings{{"workload.madvise_hugepage", true},
                                           {"workload.clean_window", 1},
                                           {"workload.clean_size", "4 KiB"},
                                           {"workload.clean_kind", "read"},
                                           {"workload.program", "mprotect"},
                                           {"workload.processes", 3},
                                           {"workload.written_pages", 3}}) {
      INFO(setting.key);
      CHECK(against(kind, setting).starts_with(setting.key + ": "));
    }
  }
  for (const char* key : {"workload.initiator", "workload.target"}) {
    CHECK(against("ring", {key, 3}) ==
          std::string(key) + ": every node takes part in a pattern; leave " + key + " at its default");
  }
  CHECK(against("ring", {"workload.flows", "from=0, to=1"}).starts_with("workload.flows: only the kind 'flows'"));
}

TEST_CASE("a flow is the benchmark of one pair") {
  const Settings pair{{"workload.size", "20000 B"}, {"workload.kind", "read"}, {"workload.source_offset", "100 B"}};
  for (const char* cold : {"none", "both"}) {
    INFO(cold);
    const Point benchmark = run_well(pair + preset("fault/touch-ahead") + Settings{{"workload.cold", cold}});
    const Point flow =
        run_flows(std::string("from=0, to=1, kind=read, size=20000 B, source_offset=100 B, start=1 ms, cold=") + cold,
                  preset("fault/touch-ahead"));
    REQUIRE(flow.error == "");
    CHECK(flow.latency() == benchmark.latency());
    CHECK(flow.count("faults") == benchmark.count("faults"));
  }
}

TEST_CASE("all flows begin when the slowest has prepared its buffers, so that without faults no strategy is faster") {
  const std::string text = "from=1, to=0, size=64 KiB, transfers=4; from=2, to=0, size=256 KiB, transfers=2";
  const Point bound = run_flows(text, preset("resident"));
  CHECK(bound.notes_say("bound each transfer by itself"));
  for (const char* strategy : {"mlock", "pin-once", "populate", "fault/touch-ahead"}) {
    INFO(strategy);
    const Point p = run_flows(text, preset(strategy));
    for (const char* metric : {"latency_min", "latency_mean", "latency_max"}) CHECK(p.ps(metric) == bound.ps(metric));
    CHECK(p.ps("setup_time") >= bound.ps("setup_time"));
  }
  CHECK(run_flows(text, preset("mlock")).ps("setup_time") > bound.ps("setup_time"));
}

TEST_CASE("a flow's start counts from when all have prepared") {
  const auto end = [](const std::string& start) {
    const Point p = run_flows("from=1, to=0, size=1 MiB; from=2, to=3, size=64 B, start=" + start, preset("mlock"));
    return p.simulated_ps - p.ps("setup_time");
  };
  CHECK(end("10 ms") - end("5 ms") == 5'000'000'000);
}
