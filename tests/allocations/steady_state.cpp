// SPDX-License-Identifier: Apache-2.0
// The whole model in its steady state takes nothing from the host's allocator for a cell, a train, a page or a fault:
// twice as many of them cost no more allocations. A transfer may cost some: its sample and its rows of the breakdown,
// the predicates that its programs poll with.
#include <catch2/catch.hpp>

#include "models/sim/recycling.hpp"
#include "tests/allocations/counter.hpp"
#include "tests/support/point.hpp"
#include "workloads/benchmark.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::int64_t kTransfers = 8;
constexpr std::int64_t kPerTransfer = 8;

// Of the measured transfers.
Facts measure(const Settings& settings, std::int64_t transfers) {
  const workloads::Configuration c = configuration(settings + Settings{{"workload.iterations", transfers}});
  return facts_from_child([&c] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    const auto benchmark = workloads::make_benchmark(c, cluster, 1);
    Facts begin;
    Facts end;
    const auto note = [&cluster](Facts& facts) {
      facts["faults"] = static_cast<std::int64_t>(cluster.total("os.pgfault"));
      facts["cells"] = static_cast<std::int64_t>(cluster.cell_hops());
      facts["allocations"] = static_cast<std::int64_t>(allocations());
    };
    benchmark->on_measurement_begins = [&] { note(begin); };
    benchmark->on_measurement_ends = [&] { note(end); };
    benchmark->on_finished = [&cluster] { cluster.loop.stop(); };
    benchmark->start();
    cluster.loop.run(c.workload.time_limit);
    cluster.loop.rethrow_failure();
    if (benchmark->samples().size() != c.workload.iterations || benchmark->data_errors() > 0) {
      throw std::runtime_error("transfers failed, or their data are wrong");
    }
    for (auto& [name, value] : end) value -= begin.at(name);
    return end;
  });
}

// What as many transfers again cost.
Facts growth(const Settings& settings) {
  const Facts once = measure(settings, kTransfers);
  Facts twice = measure(settings, 2 * kTransfers);
  for (auto& [name, value] : twice) value -= once.at(name);
  return twice;
}

// The receive unit's memory of transfers fills up in the warm-up.
Settings stream(const std::string& strategy, const std::string& size) {
  return preset(strategy) + Settings{{"workload.size", size},
                                     {"workload.window", std::int64_t{4}},
                                     {"workload.warmup", std::int64_t{20}},
                                     {"dma.completed_transfers", std::int64_t{16}}};
}

void steady(const Settings& settings, std::int64_t pages, std::int64_t faults) {
  if (!sim::kRecycles) return;  // the address sanitizer sees every allocation
  INFO(to_string(settings));
  const Facts more = growth(settings);
  CHECK(more.at("cells") >= 16 * pages * kTransfers);
  CHECK(more.at("faults") == faults * kTransfers);
  CHECK(more.at("allocations") <= kPerTransfer * kTransfers);
}

}  // namespace

TEST_CASE("warm pages cost no allocation: write") { steady(stream("resident", "4 MiB"), 1024, 0); }

TEST_CASE("warm pages cost no allocation: read") {
  steady(stream("resident", "1 MiB") + Settings{{"workload.kind", "read"}}, 256, 0);
}

TEST_CASE("cells that go one by one cost no allocation") {
  steady(stream("resident", "256 KiB") + Settings{{"simulation.cells_per_train", std::int64_t{1}}}, 64, 0);
}

TEST_CASE("faults cost no allocation: source") {
  steady(stream("fault/touch-a-page", "1 MiB") + Settings{{"workload.cold", "source"}}, 256, 256);
}

TEST_CASE("faults cost no allocation: destination") {
  steady(stream("fault/touch-a-page", "1 MiB") + Settings{{"workload.cold", "destination"}}, 256, 256);
}
