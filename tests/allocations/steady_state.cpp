// SPDX-License-Identifier: Apache-2.0
// The whole model in its steady state takes nothing from the host's allocator for a cell, a train, a page or a fault:
// twice as many of them cost no more allocations. A transfer may cost some: its sample and its rows of the breakdown,
// the predicates that its programs poll with.
#include <catch2/catch.hpp>

#include "models/sim/recycling.hpp"
#include "tests/allocations/counter.hpp"
#include "tests/support/point.hpp"
#include "workloads/background.hpp"
#include "workloads/programs.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::int64_t kTransfers = 8;
constexpr std::int64_t kPerTransfer = 8;

// Of the measured transfers. `work`: a counter of what is to be looked at.
Facts measure(const Settings& settings, std::int64_t transfers, const std::string& work) {
  const workloads::Configuration c = configuration(settings + Settings{{"workload.iterations", transfers}});
  return facts_from_child([&c, &work] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    workloads::Programs programs(c, cluster, 1);
    workloads::Background background(c.background, cluster, 1);
    Facts begin;
    Facts end;
    const auto note = [&cluster, &work](Facts& facts) {
      facts["work"] = static_cast<std::int64_t>(cluster.total(work));
      facts["faults"] = static_cast<std::int64_t>(cluster.total("os.pgfault"));
      facts["cells"] = static_cast<std::int64_t>(cluster.cell_hops());
      facts["allocations"] = static_cast<std::int64_t>(allocations());
    };
    programs.on_measurement_begins = [&] {
      background.start();
      note(begin);
    };
    programs.on_measurement_ends = [&] { note(end); };
    programs.on_finished = [&cluster] { cluster.loop.stop(); };
    programs.start();
    cluster.loop.run(c.workload.time_limit);
    cluster.loop.rethrow_failure();
    if (programs.only().data_errors() + programs.only().other_data_errors() > 0)
      throw std::runtime_error("data are wrong");
    if (programs.only().samples().size() != c.workload.iterations) throw std::runtime_error("transfers failed");
    for (auto& [name, value] : end) value -= begin.at(name);
    return end;
  });
}

// What as many transfers again cost.
Facts growth(const Settings& settings, std::int64_t transfers = kTransfers, const std::string& work = "os.pgfault") {
  const Facts once = measure(settings, transfers, work);
  Facts twice = measure(settings, 2 * transfers, work);
  for (auto& [name, value] : twice) value -= once.at(name);
  return twice;
}

// The receive unit's memory of transfers fills up in the warm-up.
Settings stream(const std::string& strategy, const std::string& size) {
  return preset(strategy) + Settings{{"workload.size", size},
                                     {"workload.window", std::int64_t{4}},
                                     {"workload.warmup", std::int64_t{20}},
                                     {"exanest.completed_transfers", std::int64_t{16}}};
}

void steady(const Settings& settings, std::int64_t pages, std::int64_t faults) {
  if (!sim::kRecycles) return;  // the address sanitizer sees every allocation
  INFO(to_string(settings));
  const Facts more = growth(settings);
  CHECK(more.at("cells") >= 16 * pages * kTransfers);
  CHECK(more.at("faults") == faults * kTransfers);
  CHECK(more.at("allocations") <= kPerTransfer * kTransfers);
}

// What the kernel does to pages meanwhile is not the same for each transfer; there is `work` of it for each, at least.
void steady_disturbed(const Settings& settings, const std::string& counter, std::int64_t work,
                      std::int64_t transfers = kTransfers) {
  if (!sim::kRecycles) return;
  INFO(to_string(settings));
  const Facts more = growth(settings, transfers, counter);
  CHECK(more.at("work") >= work * transfers);
  CHECK(more.at("allocations") <= kPerTransfer * transfers);
}

Settings injected(const char* mechanism, const char* translate) {
  return stream("fault/touch-a-page", "256 KiB") +
         Settings{{"strategy.translate", translate}, {"workload.checks", "count"},
                  {"os.swap_bytes", "1 GiB"},        {"inject.mechanism", mechanism},
                  {"inject.period", "5 ms"},         {"inject.count", std::int64_t{100'000}}};
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

TEST_CASE("faults cost no allocation: a mirror") {
  steady(stream("fault/mirrored", "1 MiB") + Settings{{"workload.cold", "destination"}}, 256, 256);
}

TEST_CASE("reclaim costs no allocation: other programs that want more memory than there is") {
  // All of their memory has been to the swap device before the second half of the transfers.
  const Settings hungry = {{"os.user_memory", "8 MiB"},    {"os.swap_bytes", "256 MiB"},
                           {"background.processes", 2},    {"background.pause", "1 us"},
                           {"background.memory", "4 MiB"}, {"background.order", "sequential"}};
  for (const char* translate : {"shared", "mirrored"}) {
    steady_disturbed(stream("fault/touch-ahead", "256 KiB") + hungry + Settings{{"strategy.translate", translate}},
                     "os.pswpout", 4, 128);
  }
}

TEST_CASE("injections cost no allocation: migration") {
  for (const char* translate : {"shared", "mirrored"}) {
    steady_disturbed(injected("compaction", translate), "os.pgmigrate_success", 1, 64);
  }
}

TEST_CASE("injections cost no allocation: ageing, hints, write protection") {
  for (const char* mechanism : {"ageing", "numa-hint", "write-protect"}) {
    steady_disturbed(injected(mechanism, "shared"), "os.pgfault", 1, 64);
  }
}

TEST_CASE("injections cost no allocation: to the swap device and back") {
  for (const char* translate : {"shared", "mirrored"}) {
    steady_disturbed(injected("reclaim", translate), "os.pswpout", 4, 64);
  }
}
