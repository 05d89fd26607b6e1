// SPDX-License-Identifier: Apache-2.0
// How busy parts of the machine are, against what the parameters say, and which part is named as the limit. That the
// times are exact at every instant, whatever the length of trains, is a property (tests/properties).
#include "workloads/utilisation.hpp"

#include <catch2/catch.hpp>

#include "models/drivers/elan/config.hpp"
#include "models/drivers/exanest/driver_config.hpp"
#include "models/network/router.hpp"
#include "models/nic/elan/config.hpp"
#include "models/soc/axi_port.hpp"
#include "tests/support/point.hpp"
#include "workloads/rounded_bytes.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::int64_t kCellsOfWrite = 256;  // of 64 KiB
const Settings kWrite64KiB = preset("resident") + Settings{{"workload.size", "64 KiB"}};

// In ps, of one transfer.
std::int64_t busy_for(const Point& point, const std::string& part, const std::string& resource) {
  return std::llround(point.parts.at(part).at("utilisation_" + resource) / 100 * static_cast<double>(point.latency()));
}

void check_limit(const Settings& settings, const std::string& metric, const std::string& words) {
  const Point point = run_well(settings);
  INFO(point.limit);
  CHECK(point[metric] >= workloads::kLimits);
  CHECK(point[metric] <= 100);
  CHECK(point.limit.find("Limited by " + words + ", busy ") == 0);
}

}  // namespace

TEST_CASE("buses, memory and links are busy for as long as their cells take") {
  const Point point = run_well(kWrite64KiB);
  const soc::AxiPortConfig port;
  const network::RouterConfig router;
  CHECK(busy_for(point, "node 0", "axi_reads") == kCellsOfWrite * port.burst_time(0, 256).count());
  CHECK(busy_for(point, "node 1", "axi_writes") >= kCellsOfWrite * port.burst_time(0, 256).count());
  const std::int64_t cells = kCellsOfWrite * router.cell_time(router.internal_data_rate(), 256).count();
  CHECK(busy_for(point, "node 0", "link") >= cells);
  CHECK(busy_for(point, "node 0", "link") < cells + cells / 100);  // nothing else goes this way, but a message or two
  CHECK(busy_for(point, "node 1", "ni") == kCellsOfWrite * router.cell_time(router.local_rate, 256).count());
  CHECK(busy_for(point, "node 0", "fault_thread") == 0);
}

TEST_CASE("a NIC with an MMU of its own shows its DMA processor and its trap thread, and no R5") {
  const Settings write = Settings{{"workload.size", "64 KiB"}};
  const Point point = run_well(preset("nic-mmu/resident") + write);
  const elan::ElanConfig nic;
  const std::int64_t blocks = (64 << 10) / nic.block_bytes;
  CHECK(busy_for(point, "node 0", "dma_processor") ==
        nic.transfer_startup.count() + blocks * nic.block_scheduling.count());
  CHECK(busy_for(point, "node 1", "dma_processor") == 0);
  CHECK(busy_for(point, "node 1", "fault_thread") == 0);
  CHECK_FALSE(point.metrics.contains("utilisation_r5"));
  CHECK_FALSE(run_well(kWrite64KiB).metrics.contains("utilisation_dma_processor"));
  const Point cold = run_well(preset("nic-mmu/pushed") + write + Settings{{"workload.cold", "destination"}});
  CHECK(busy_for(cold, "node 0", "fault_thread") == 0);
  CHECK(busy_for(cold, "node 1", "fault_thread") >= 16 * elan::DriverConfig{}.trap_service.count());
  CHECK(cold["utilisation_fault_thread"] < 100);
}

TEST_CASE("the busiest of all nodes is the metric, and idle nodes are no parts") {
  const Point point = run_well(kWrite64KiB + Settings{{"workload.initiator", 2}, {"workload.target", 3}});
  CHECK(point.parts.contains("node 2"));
  CHECK(point.parts.contains("node 3"));
  for (const char* resource : {"utilisation_link", "utilisation_ddr", "utilisation_axi_reads", "utilisation_core"}) {
    double most = 0;
    for (const auto& [name, metrics] : point.parts) most = std::max(most, metrics.at(resource));
    CHECK(point[resource] == most);
  }
}

TEST_CASE("nodes that no transfer begins or ends at limit none, however busy they are") {
  const Settings busy{{"background.processes", 4}, {"background.memory", "4 MiB"}, {"background.pause", "1 us"}};
  const Settings large = preset("resident") + Settings{{"workload.size", "256 KiB"}, {"workload.iterations", 10}};
  const Point pair = run_well(large + busy + Settings{{"workload.initiator", 1}, {"workload.target", 2}});
  const auto most_of = [&](const std::string& metric, const std::vector<std::string>& nodes) {
    double most = 0;
    for (const std::string& node : nodes) most = std::max(most, pair.parts.at(node).at(metric));
    return most;
  };
  for (const char* metric : {"utilisation_core", "utilisation_ddr", "utilisation_axi_reads", "utilisation_ni"}) {
    INFO(metric);
    CHECK(pair[metric] == most_of(metric, {"node 1", "node 2"}));
  }
  CHECK(most_of("utilisation_core", {"node 0"}) > 0);  // parts go on telling all
  INFO(pair.limit);
  CHECK(pair.limit.find("node 0") == std::string::npos);
  CHECK(pair.limit.find("node 3") == std::string::npos);
  // A part of another node that is busier than the ends', by its links' cells alone.
  using workloads::PointResult;
  PointResult result;
  result.metrics = {{"utilisation_core", 95, "%", ""}};
  result.parts = {{"node 0", "", {{"utilisation_core", 95, "%", ""}}},
                  {"node 3", "at no end of a transfer", {{"utilisation_core", 99, "%", ""}}}};
  CHECK(workloads::limit_of(result).part == "the busiest core of node 0");
  result.metrics = {{"utilisation_link", 99, "%", ""}};
  for (auto& part : result.parts) part.metrics.front().name = "utilisation_link";
  CHECK(workloads::limit_of(result).part == "the busiest outgoing link of node 3");
}

TEST_CASE("of flows their ends count, and of a pattern all nodes do") {
  const Settings busy{{"background.processes", 4}, {"background.memory", "4 MiB"}, {"background.pause", "1 us"}};
  const Point flow =
      run(preset("resident") + busy +
          Settings{{"workload.kind", "flows"}, {"workload.flows", "from=0, to=2, size=256 KiB, transfers=4"}});
  REQUIRE(flow.error == "");
  CHECK(flow["utilisation_core"] ==
        std::max(flow.parts.at("node 0").at("utilisation_core"), flow.parts.at("node 2").at("utilisation_core")));
  const Point ring = run(preset("resident") + busy + Settings{{"workload.kind", "ring"}});
  REQUIRE(ring.error == "");
  double most = 0;
  for (const char* node : {"node 0", "node 1", "node 2", "node 3"}) {
    most = std::max(most, ring.parts.at(node).at("utilisation_core"));
  }
  CHECK(ring["utilisation_core"] == most);
}

TEST_CASE("a point all of whose transfers fail has what was measured of them, and no latency") {
  for (const bool counted : {false, true}) {
    INFO(counted);
    const Point point = run(preset("fault/touch-a-page") + Settings{{"workload.cold", "destination"},
                                                                    {"workload.size", "64 KiB"},
                                                                    {"workload.iterations", 4},
                                                                    {"workload.arrivals", "periodic"},
                                                                    {"workload.interval", "1 ms"},
                                                                    {"exanest.refault_limit", 1},
                                                                    {"workload.checks", counted ? "count" : "fail"}});
    REQUIRE(point.error == "");
    CHECK(point.count("transfers") == 4);
    CHECK(point.count("transfers_failed") == 4);
    CHECK(point.count("faults") > 0);
    CHECK(point["retransmitted_bytes"] > 0);
    CHECK(point["utilisation_fault_thread"] > 0);
    for (const char* metric : {"latency_mean", "queueing_mean", "goodput", "goodput_peak"}) {
      CHECK_FALSE(point.metrics.contains(metric));
    }
    for (const auto& [name, value] : point.metrics) CHECK(std::isfinite(value));
    CHECK(point.breakdown.empty());
    REQUIRE(point.failed_checks.size() == (counted ? 0 : 1));
    if (!counted) CHECK(point.failed_checks.front().starts_with("4 of 4 transfers ended with an error completion"));
  }
}

TEST_CASE("injections among transfers that all fail are counted, and delay none") {
  const Point point =
      run(preset("fault/touch-a-page") +
          Settings{{"inject.mechanism", "memory-failure"}, {"inject.period", "1 us"}, {"workload.checks", "count"}});
  REQUIRE(point.error == "");
  CHECK(point.count("transfers_failed") == 1);
  CHECK(point.count("injections") > 0);
  CHECK_FALSE(point.metrics.contains("transfers_delayed"));
}

TEST_CASE("sizes that were measured are in binary units, with a decimal at most") {
  using workloads::rounded_bytes;
  CHECK(rounded_bytes(0) == "0 B");
  CHECK(rounded_bytes(1000) == "1000 B");
  CHECK(rounded_bytes(4096) == "4 KiB");
  CHECK(rounded_bytes(2'664'704) == "2.5 MiB");
  CHECK(rounded_bytes(std::uint64_t{4752} << 10) == "4.6 MiB");
  CHECK(rounded_bytes(std::uint64_t{3} << 40) == "3072 GiB");
}

TEST_CASE("the part that limits transfers is named, and what another one could save") {
  const Settings large =
      preset("resident") + Settings{{"workload.size", "1 MiB"}, {"workload.iterations", 4}, {"workload.window", 4}};
  check_limit(large + Settings{{"network.internal_rate", "4 Gb/s"}}, "utilisation_link",
              "the busiest outgoing link of node 0");
  check_limit(large + Settings{{"axi.pl_clock", "50 MHz"}}, "utilisation_ni", "the network interface of node 1");
  check_limit(large + Settings{{"ddr.peak_bandwidth", "1 GB/s"}}, "utilisation_ddr", "the DDR controller of node 0");
}

TEST_CASE("limits of points with one sentence have the range of their shares, others do not join") {
  using workloads::Limit;
  Limit limit{Limit::Kind::limits, "the R5 of node 0", 95, 95, 0};
  const Limit more{Limit::Kind::limits, "the R5 of node 0", 99.5, 99.5, 0};
  REQUIRE(limit.joins(more));
  CHECK_FALSE(limit.joins({Limit::Kind::limits, "the R5 of node 1", 95, 95, 0}));
  CHECK_FALSE(limit.joins({Limit::Kind::sent_again, "the R5 of node 0", 95, 95, 4096}));
  limit.join(more);
  CHECK(limit.text() ==
        "Limited by the R5 of node 0, busy 95.0 to 99.5 % of the time: whatever else were faster would save 0.5 to 5.0 "
        "% of the time at most.");
  Limit again{Limit::Kind::sent_again, "the R5 of node 0", 95, 95, 4096};
  again.join({Limit::Kind::sent_again, "the R5 of node 0", 91, 91, 1024});
  CHECK(again.text() ==
        "The R5 of node 0 is busy 91.0 to 95.0 % of the time; up to 4 KiB of payload were sent again meanwhile.");
  Limit none{Limit::Kind::none_busy, "the R5 of node 0", 20, 20, 0};
  // Each part is the busiest of its own points, and of no others.
  CHECK_FALSE(none.joins({Limit::Kind::none_busy, "the DDR controller of node 1", 40, 40, 0}));
  REQUIRE(none.joins({Limit::Kind::none_busy, "the R5 of node 0", 40, 40, 0}));
  none.join({Limit::Kind::none_busy, "the R5 of node 0", 40, 40, 0});
  CHECK(none.text() ==
        "Limited by no part of the machine alone: none is busy for more than 40.0 % of the time (the R5 of node 0).");
  CHECK(Limit{}.text().empty());
}

TEST_CASE("where nothing is busy the sentence says that no part limits alone") {
  const Point point = run_well(preset("resident") + Settings{{"workload.size", "64 B"}});
  CHECK(point.limit.find("Limited by no part of the machine alone: none is busy for more than ") == 0);
}

TEST_CASE("a fault thread is busy from when it has records until it waits for more") {
  const Point point = run_well(preset("fault/touch-a-page") + Settings{{"workload.cold", "destination"}});
  const exanest::DriverConfig driver;
  CHECK(busy_for(point, "node 1", "fault_thread") == driver.netlink_receive.count() + point.row("library parse") +
                                                         point.row("resolve") + point.row("retry request"));
  CHECK(busy_for(point, "node 0", "fault_thread") == 0);
}

TEST_CASE("nothing is said to limit transfers that carries payload again, or works for other programs") {
  const Settings faulty = preset("fault/touch-ahead-256") + Settings{{"workload.size", "1 MiB"},
                                                                     {"workload.iterations", 8},
                                                                     {"workload.window", 4},
                                                                     {"workload.cold", "destination"}};
  const Point again = run_well(faulty);
  INFO(again.limit);
  CHECK(again["utilisation_link"] > workloads::kLimits);
  CHECK(again["retransmitted_bytes"] > 0);
  CHECK(again.limit.find("The busiest outgoing link of node 0 is busy ") == 0);
  CHECK(again.limit.find(" of payload were sent again") != std::string::npos);
  const Point thread = run_well(faulty + preset("fault/fixup-stall-256"));
  INFO(thread.limit);
  CHECK(thread["utilisation_core"] > workloads::kLimits);
  CHECK(thread.limit.find("The busiest core of node 1 is busy ") == 0);
  const Point beside =
      run(preset("resident") +
          Settings{{"workload.size", "1 MiB"}, {"workload.clean_window", 1}, {"network.internal_rate", "4 Gb/s"}});
  INFO(beside.limit);
  CHECK(beside.limit.find("The busiest outgoing link of node 0 is busy ") == 0);
  CHECK(beside.limit.find("other programs' work included") != std::string::npos);
}

TEST_CASE("flows and the nodes of a pattern have latencies and goodput of their own") {
  const Point flows = run(preset("resident") + Settings{{"workload.kind", "flows"},
                                                        {"workload.flows",
                                                         "from=0, to=1, size=1 MiB, transfers=2; from=2, to=3, "
                                                         "size=4 KiB, kind=read, transfers=3"}});
  REQUIRE(flows.error == "");
  CHECK(flows.parts.at("flow 0").at("transfers") == 2);
  CHECK(flows.parts.at("flow 1").at("transfers") == 3);
  CHECK(flows.parts.at("flow 0").at("latency_max") == flows["latency_max"]);
  CHECK(flows.parts.at("flow 1").at("latency_min") == flows["latency_min"]);
  CHECK(flows.parts.at("flow 1").at("latency_max") < flows.parts.at("flow 0").at("latency_min"));
  const Point ring = run(preset("resident") + Settings{{"workload.kind", "ring"}, {"workload.iterations", 2}});
  REQUIRE(ring.error == "");
  double bytes = 0;
  for (const char* node : {"node 0", "node 1", "node 2", "node 3"}) bytes += ring.parts.at(node).at("transfers");
  CHECK(bytes == ring["transfers"]);
}

TEST_CASE("a transfer that fails is counted to its flow") {
  const Point point =
      run(preset("fault/touch-a-page") + Settings{{"workload.kind", "flows"},
                                                  {"exanest.refault_limit", 1},
                                                  {"workload.flows",
                                                   "from=0, to=1, size=4 KiB, transfers=2; "
                                                   "from=2, to=3, size=64 KiB, cold=destination, transfers=2"}});
  CHECK(point.parts.at("flow 0").at("transfers_failed") == 0);
  CHECK(point.parts.at("flow 1").at("transfers_failed") == point["transfers_failed"]);
}
