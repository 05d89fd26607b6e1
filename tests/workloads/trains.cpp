// SPDX-License-Identifier: Apache-2.0
// Cell by cell or in trains of a page: times and counts are the same for every strategy, size and place. What random
// traffic does is in tests/properties.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"

using namespace faultline::test;

namespace {

struct Place {
  const char* size;
  const char* source_offset;
  const char* destination_offset;
};
constexpr Place kPlaces[] = {
    {"64 B", "0 B", "0 B"},   {"64 B", "4072 B", "4090 B"},  {"4 KiB", "0 B", "0 B"},   {"4 KiB", "1 B", "4095 B"},
    {"16 KiB", "0 B", "0 B"}, {"16 KiB", "100 B", "3000 B"}, {"20000 B", "7 B", "0 B"}, {"20000 B", "256 B", "1333 B"},
    {"64 KiB", "0 B", "0 B"}, {"64 KiB", "2048 B", "4080 B"}};

const Settings kCells{{"simulation.cells_per_train", 1}};
const Settings kTrains{{"simulation.cells_per_train", 16}};

void check_same(const Point& cells, const Point& trains) {
  for (const char* metric : {"latency_min", "latency_mean", "latency_max", "setup_time"}) {
    INFO(metric);
    CHECK(cells.ps(metric) == trains.ps(metric));
  }
  for (const char* metric : {"faults", "minor_faults", "retransmitted_bytes", "timeouts", "walks", "dropped_bytes"}) {
    INFO(metric);
    CHECK(cells.count(metric) == trains.count(metric));
  }
  CHECK(cells.simulated_ps == trains.simulated_ps);
  CHECK(cells.breakdown == trains.breakdown);
}

void same_with_both_trains(const Settings& settings) {
  INFO(to_string(settings));
  check_same(run_well(settings + kCells), run_well(settings + kTrains));
}

void every_place(const std::string& strategy) {
  const Settings chosen = preset(strategy) + Settings{{"workload.iterations", 2}};
  for (const char* cold : {"none", "source", "destination", "both"}) {
    for (const Place& place : kPlaces) {
      same_with_both_trains(chosen + Settings{{"workload.cold", cold},
                                              {"workload.size", place.size},
                                              {"workload.source_offset", place.source_offset},
                                              {"workload.destination_offset", place.destination_offset}});
    }
  }
}

// Of all that ship, in the order of their names.
void every_eleventh_strategy(std::size_t first) {
  std::vector<std::string> names;
  for (const auto& [name, settings] : presets()) names.push_back(name);
  REQUIRE(first < names.size());
  for (std::size_t i = first; i < names.size(); i += 11) {
    INFO(names[i]);
    every_place(names[i]);
  }
}

}  // namespace

// Each shipped strategy is in one of these cases. There are eleven so that they run beside one another.
TEST_CASE("trains keep times: strategies 0, 11 ...") { every_eleventh_strategy(0); }
TEST_CASE("trains keep times: strategies 1, 12 ...") { every_eleventh_strategy(1); }
TEST_CASE("trains keep times: strategies 2, 13 ...") { every_eleventh_strategy(2); }
TEST_CASE("trains keep times: strategies 3, 14 ...") { every_eleventh_strategy(3); }
TEST_CASE("trains keep times: strategies 4, 15 ...") { every_eleventh_strategy(4); }
TEST_CASE("trains keep times: strategies 5, 16 ...") { every_eleventh_strategy(5); }
TEST_CASE("trains keep times: strategies 6, 17 ...") { every_eleventh_strategy(6); }
TEST_CASE("trains keep times: strategies 7, 18 ...") { every_eleventh_strategy(7); }
TEST_CASE("trains keep times: strategies 8, 19 ...") { every_eleventh_strategy(8); }
TEST_CASE("trains keep times: strategies 9, 20 ...") { every_eleventh_strategy(9); }
TEST_CASE("trains keep times: strategies 10, 21 ...") { every_eleventh_strategy(10); }

TEST_CASE("trains keep times of reads, of blocks that overlap, and across QFDBs") {
  const std::vector<Settings> variants = {{{"workload.kind", "read"}},
                                          {{"exanest.block_contexts", 1}},
                                          {{"exanest.block_contexts", 2}},
                                          {{"cluster.x", 2}, {"workload.initiator", 1}, {"workload.target", 5}},
                                          {{"exanest.cell_buffer", 3}, {"exanest.receive_buffer", 5}},
                                          {{"exanest.stop_after_fault", true}},
                                          {{"exanest.stop_after_fault", true}, {"exanest.block_contexts", 2}},
                                          {{"exanest.stop_after_fault", true}, {"workload.kind", "read"}},
                                          {{"network.internal_rate", "2 Gb/s"}},
                                          {{"network.internal_rate", "100 Gb/s"}, {"exanest.receive_buffer", 2}}};
  for (const char* cold : {"none", "source", "destination", "both"}) {
    for (const Settings& variant : variants) {
      same_with_both_trains(preset("fault/touch-ahead") +
                            Settings{{"workload.cold", cold}, {"workload.size", "20000 B"}} + variant);
    }
  }
}

TEST_CASE("trains keep what was resent and dropped when the measurement ended with trains under way") {
  std::int64_t resent = 0;
  std::int64_t dropped = 0;
  for (const char* timeout : {"6 us", "8 us", "10 us", "12 us", "14 us"}) {
    const Settings settings{
        {"axi.width", "4 B"}, {"exanest.block_scheduling", "0 us"}, {"exanest.block_timeout", timeout}};
    same_with_both_trains(settings + Settings{{"workload.size", "16 KiB"}, {"workload.iterations", 1}});
    const Point p = run_well(settings);
    resent += p.count("retransmitted_bytes");
    dropped += p.count("dropped_bytes");
  }
  CHECK(resent > 0);
  CHECK(dropped > 0);
}

// Two random cases that a link without any latency made hang or differ, which is why there is none: a router had
// decided on a cell before another one, at the same instant, took it back or sent a competitor.
TEST_CASE("trains keep times where links take the least time that they can") {
  const Settings quick{{"network.internal_latency", "1 ps"},
                       {"network.external_latency", "1 ps"},
                       {"network.router_latency", "0 ns"},
                       {"exanest.transfer_startup", "0 us"},
                       {"os.thp", "never"},
                       {"workload.kind", "flows"},
                       {"workload.time_limit", "100 ms"}};
  const Settings recalled{{"network.topology", "torus"},
                          {"axi.outstanding_reads", 1},
                          {"axi.width", "4 B"},
                          {"ddr.peak_bandwidth", "1 GB/s"},
                          {"exanest.fault_fifo", 1},
                          {"exanest.stop_after_fault", true},
                          {"workload.flows",
                           "from=3, to=0, size=37632 B, destination_offset=256 B, cold=destination; "
                           "from=0, to=2, kind=read, size=34560 B, cold=source"}};
  const Settings competing{{"axi.width", "8 B"},
                           {"cluster.mpsocs_per_qfdb", 8},
                           {"exanest.block_timeout", "10 us"},
                           {"network.overhead", "0 B"},
                           {"strategy.on_source_fault", "stall"},
                           {"workload.flows",
                            "from=5, to=4, kind=read, size=16 KiB, cold=both; from=7, to=4, kind=read, size=1 B; "
                            "from=7, to=3, kind=read, size=1 B, cold=source, transfers=2"}};
  for (const Settings& found : {recalled, competing}) {
    const Point cells = run(quick + found + kCells);
    const Point trains = run(quick + found + kTrains);
    REQUIRE(cells.error == "");
    REQUIRE(trains.error == "");
    CHECK(cells.count("transfers") >= 2);
    CHECK(cells.count("dropped_bytes") > 0);
    check_same(cells, trains);
  }
}
