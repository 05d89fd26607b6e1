// SPDX-License-Identifier: Apache-2.0
// Buffers that are used again, and those that are not: which are drawn, what each registration pays, and that a device
// meets stale frames only where memory hooks miss.
#include "workloads/reuse/reuse.hpp"

#include <catch2/catch.hpp>

#include <vector>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;
using workloads::BufferDraw;
using workloads::Draw;

namespace {

Settings reuse(double again, std::int64_t transfers = 20) {
  return {{"workload.kind", "reuse"},
          {"workload.size", "16 KiB"},
          {"workload.iterations", transfers},
          {"reuse.buffers", 4},
          {"reuse.again", again}};
}

std::vector<double> shares(Draw how, unsigned buffers, int draws) {
  BufferDraw draw(how, buffers, 7);
  std::vector<double> share(buffers);
  for (int i = 0; i < draws; ++i) share[draw.next()] += 1.0 / draws;
  return share;
}

}  // namespace

TEST_CASE("reuse: buffers are drawn in turn, evenly, or in proportion to 1/n") {
  BufferDraw ring(Draw::ring, 3, 1);
  for (unsigned i = 0; i < 7; ++i) CHECK(ring.next() == i % 3);
  for (const double share : shares(Draw::random, 5, 100'000)) CHECK(share == Approx(0.2).margin(0.01));
  const std::vector<double> zipf = shares(Draw::zipf, 4, 100'000);
  const double harmonic = 1 + 1.0 / 2 + 1.0 / 3 + 1.0 / 4;
  for (unsigned n = 1; n <= 4; ++n) CHECK(zipf[n - 1] == Approx(1 / harmonic / n).margin(0.01));
}

TEST_CASE("reuse: a post costs the same, whoever registers new memory before it") {
  const std::int64_t post = run_well(preset("resident") + reuse(1)).row("user post");
  CHECK(post > 0);
  for (const char* strategy : {"resident", "populate", "mlock", "pin-once", "pin-per-transfer", "pin-cache"}) {
    INFO(strategy);
    CHECK(run_well(preset(strategy) + reuse(0)).row("user post") == post);
  }
}

TEST_CASE("reuse: a budget of the whole pool holds the whole pool, whichever table the device walks") {
  for (const char* strategy : {"pin-cache", "pin-cache-private"}) {
    INFO(strategy);
    const Point point = run_well(preset(strategy) + reuse(1) + Settings{{"strategy.pin_cache.budget", "64 KiB"}});
    CHECK(point.count("cache_hits_fast") == 40);
    CHECK(point.count("cache_evictions") == 0);
  }
}

TEST_CASE("reuse: what has been used before is warm, whoever registers it") {
  const Point resident = run_well(preset("resident") + reuse(1));
  CHECK(resident.count("buffers_reused") == 20);
  CHECK(resident.ps("remap_mean") == 0);
  // Faults have made the pages present in the round before anything counts.
  const Point faulting = run_well(preset("fault/touch-ahead") + reuse(1));
  CHECK(faulting.count("faults") == 0);
  CHECK(faulting.latency() == resident.latency());
  // A cache pays two lookups and the question to the target.
  const Point cached = run_well(preset("pin-cache") + reuse(1));
  CHECK(cached.count("cache_gets") == 40);
  CHECK(cached.count("cache_hits_fast") == 40);
  CHECK(cached.count("cache_misses") == 0);
  CHECK(cached.latency() > resident.latency());
  CHECK(cached.latency() < run_well(preset("pin-per-transfer") + reuse(1)).latency());
}

TEST_CASE("reuse: new memory is registered or met by faults, each time") {
  const Point cached = run_well(preset("pin-cache-private") + reuse(0));
  CHECK(cached.count("buffers_reused") == 0);
  CHECK(cached.count("cache_hits_fast") == 0);
  CHECK(cached.count("cache_misses") == 40);
  CHECK(cached.count("cache_regions_inv_unmap") == 40);
  CHECK(cached.count("faults") == 0);
  CHECK(cached.ps("remap_mean") > 0);
  const Point faulting = run_well(preset("fault/touch-a-page") + reuse(0));
  CHECK(faulting.count("faults") == 20 * 4);
  const Point once = run_well(preset("pin-once") + reuse(0));
  CHECK(once.latency() > run_well(preset("pin-once") + reuse(1)).latency());
}

TEST_CASE("reuse: a budget that holds half of a ring holds nothing that comes again") {
  const Settings half = reuse(1) + Settings{{"strategy.pin_cache.budget", "32 KiB"}};
  const Point ring = run_well(preset("pin-cache") + half);
  CHECK(ring.count("cache_hits_fast") == 0);
  CHECK(ring.count("cache_evictions") == 40);
  CHECK(ring.metrics.at("pinned_bytes_peak") == 2 * 32 * 1024);
  const Point zipf =
      run_well(preset("pin-cache") + half + Settings{{"reuse.draw", "zipf"}, {"workload.iterations", 100}});
  CHECK(zipf.count("cache_hits_fast") > 40);
}

TEST_CASE("reuse: no stale access, whoever tells the cache, but where hooks miss") {
  for (const char* emptied_by : {"notifier", "hooks"}) {
    INFO(emptied_by);
    const Settings told{{"strategy.pin_cache.emptied_by", emptied_by}};
    const Point good = run_well(preset("pin-cache-private") + reuse(0.5, 40) + told);
    CHECK(good.count("stale_accesses") == 0);
    CHECK(good.count("hooks_missed") == 0);
  }
  const Settings missing{{"strategy.pin_cache.emptied_by", "hooks"},
                         {"strategy.pin_cache.hook_coverage", 0.5},
                         {"workload.checks", "count"}};
  const Point bad = run(preset("pin-cache-private") + reuse(0.5, 40) + missing);
  CHECK(bad.count("hooks_missed") > 0);
  CHECK(bad.count("stale_accesses") > 0);
  CHECK(bad.count("data_errors") > 0);
  // Where the device walks the process's own table a stale pin costs memory, and faults, and no data.
  const Point shared = run(preset("pin-cache") + reuse(0.5, 40) + missing);
  CHECK(shared.count("stale_accesses") == 0);
  CHECK(shared.count("data_errors") == 0);
  CHECK(shared.count("faults") > 0);
}

TEST_CASE("reuse: what does not fit together is refused with its reason") {
  CHECK(reason_against(preset("pin-cache") + reuse(1) + Settings{{"strategy.pin_cache.hook_coverage", 0.5}}) ==
        "strategy.pin_cache.hook_coverage: an MMU notifier misses nothing; set strategy.pin_cache.emptied_by to hooks, "
        "or leave strategy.pin_cache.hook_coverage at 1");
  CHECK(reason_against(reuse(1) + Settings{{"workload.window", 2}}).starts_with("workload.window: "));
  CHECK(reason_against(reuse(1) + Settings{{"workload.cold", "both"}}).starts_with("workload.cold: "));
  CHECK(reason_against(reuse(1) + Settings{{"workload.target", 0}}).starts_with("workload.target: "));
  CHECK(reason_against(preset("pin-once") + reuse(1) + Settings{{"workload.size", "4 MiB"}})
            .starts_with("reuse.buffers: "));
  CHECK(reason_against(reuse(1)) == "none");
}

TEST_CASE("reuse: ranks have pools and draws of their own, and are parts of the point") {
  const Settings two = reuse(0.5, 12) + Settings{{"workload.ranks", 2}};
  for (const char* strategy : {"pin-cache", "pin-per-transfer", "fault/touch-ahead"}) {
    INFO(strategy);
    const Point point = run(preset(strategy) + two);
    REQUIRE(point.error == "");
    CHECK(point.failed_checks.empty());
    CHECK(point.count("transfers") == 24);
    CHECK(point.parts.at("rank 0").at("transfers") == 12);
    CHECK(point.parts.at("rank 1").at("transfers") == 12);
    // Of as many draws some differ.
    CHECK(point.parts.at("rank 0").at("latency_mean") != point.parts.at("rank 1").at("latency_mean"));
    CHECK(run(preset(strategy) + reuse(0.5, 12)).parts.count("rank 0") == 0);
  }
  CHECK(reason_against(two + Settings{{"exanest.channels", 1}})
            .starts_with("workload.ranks: 2 processes on node 0, each of which needs a channel"));
}
