// SPDX-License-Identifier: Apache-2.0
// Cell by cell or in trains of a page: with one transfer under way the times are the same. Blocks of that
// transfer and the zeroing of its pages can still meet at a memory controller; cells that are overtaken there
// are counted, and only then may times differ, by little.
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

bool exact(const Point& p) {
  return p.count("cells_out_of_order") + p.count("memory_cells_out_of_order") + p.count("axi_cells_out_of_order") == 0;
}

// False: flows met, and the times are only close.
bool same_with_both_trains(const Settings& settings) {
  INFO(to_string(settings));
  const Point cells = run_well(settings + Settings{{"simulation.cells_per_train", 1}});
  const Point trains = run_well(settings + Settings{{"simulation.cells_per_train", 16}});
  if (!exact(cells) || !exact(trains)) {
    CHECK(std::abs(cells.latency() - trains.latency()) <= cells.latency() / 10'000);
    CHECK(cells.count("faults") == trains.count("faults"));
    CHECK(cells.count("minor_faults") == trains.count("minor_faults"));
    return false;
  }
  for (const char* metric : {"latency_min", "latency_mean", "latency_max", "setup_time"}) {
    INFO(metric);
    CHECK(cells.ps(metric) == trains.ps(metric));
  }
  for (const char* metric : {"faults", "minor_faults", "retransmitted_bytes", "timeouts"}) {
    INFO(metric);
    CHECK(cells.count(metric) == trains.count(metric));
  }
  CHECK(cells.simulated_ps == trains.simulated_ps);
  CHECK(cells.breakdown == trains.breakdown);
  return true;
}

void every_place(const std::string& strategy) {
  int met = 0;
  const Settings chosen = preset(strategy) + Settings{{"workload.iterations", 2}};
  for (const char* cold : {"none", "source", "destination", "both"}) {
    for (const Place& place : kPlaces) {
      const bool same =
          same_with_both_trains(chosen + Settings{{"workload.cold", cold},
                                                  {"workload.size", place.size},
                                                  {"workload.source_offset", place.source_offset},
                                                  {"workload.destination_offset", place.destination_offset}});
      if (std::string(cold) == "none") CHECK(same);
      met += same ? 0 : 1;
    }
  }
  // Only where several blocks of 64 KiB or 20000 B fault, and pages are cleared beside their traffic.
  UNSCOPED_INFO(strategy << ": flows met in " << met << " of 40");
  CHECK(met <= (strategy.starts_with("fault/") ? 15 : 0));
}

}  // namespace

TEST_CASE("trains keep times: resident") { every_place("resident"); }
TEST_CASE("trains keep times: mlock") { every_place("mlock"); }
TEST_CASE("trains keep times: populate") { every_place("populate"); }
TEST_CASE("trains keep times: pre-touch") { every_place("pre-touch"); }
TEST_CASE("trains keep times: pin-once") { every_place("pin-once"); }
TEST_CASE("trains keep times: pin-per-transfer") { every_place("pin-per-transfer"); }
TEST_CASE("trains keep times: touch-a-page") { every_place("fault/touch-a-page"); }
TEST_CASE("trains keep times: touch-ahead") { every_place("fault/touch-ahead"); }
TEST_CASE("trains keep times: stall") { every_place("fault/stall"); }

TEST_CASE("trains keep times: no preset is forgotten") { CHECK(presets().size() == 9); }

TEST_CASE("trains keep times of reads, of blocks that overlap, and across QFDBs") {
  const std::vector<Settings> variants = {{{"workload.kind", "read"}},
                                          {{"dma.block_contexts", 1}},
                                          {{"dma.block_contexts", 2}},
                                          {{"cluster.x", 2}, {"workload.initiator", 1}, {"workload.target", 5}},
                                          {{"dma.cell_buffer", 3}, {"dma.receive_buffer", 5}},
                                          {{"network.internal_rate", "2 Gb/s"}},
                                          {{"network.internal_rate", "100 Gb/s"}, {"dma.receive_buffer", 2}}};
  for (const char* cold : {"none", "source", "destination", "both"}) {
    int met = 0;
    for (const Settings& variant : variants) {
      const bool same = same_with_both_trains(
          preset("fault/touch-ahead") + Settings{{"workload.cold", cold}, {"workload.size", "20000 B"}} + variant);
      INFO(cold << ' ' << to_string(variant));
      if (std::string(cold) == "none") CHECK(same);
      met += same ? 0 : 1;
    }
    INFO(cold);
    CHECK(met <= 5);
  }
}
