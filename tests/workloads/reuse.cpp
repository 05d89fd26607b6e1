// SPDX-License-Identifier: Apache-2.0
// Buffers that are used again, and those that are not: which are drawn, what each registration pays, and that a device
// meets stale frames only where memory hooks miss.
#include "workloads/reuse/reuse.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <numeric>
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
  CHECK(reason_against(preset("mlock-private") + reuse(0.5)).starts_with("strategy.translate: without pins nobody"));
  CHECK(reason_against(preset("mlock-private") + reuse(1)) == "none");
  CHECK(reason_against(Settings{{"reuse.again", 0.5}}) ==
        "reuse.again: only the kind 'reuse' looks at it; leave reuse.again at its default, or set workload.kind to "
        "reuse");
  CHECK(reason_against(reuse(1) + Settings{{"collective.call", "broadcast"}})
            .starts_with("collective.call: only the kind 'collective' looks at it"));
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

TEST_CASE("reuse: sizes are drawn from halves of the largest, alike, and the same for the same seed") {
  workloads::ReuseConfig config;
  config.buffers = 40'000;
  CHECK(workloads::sizes_of_buffers(config, 50'000, 1) == std::vector<std::uint64_t>(config.buffers, 50'000));
  config.smallest = 12'000;
  CHECK(config.sizes(50'000) == std::vector<std::uint64_t>{50'000, 25'000, 12'500});
  CHECK(config.sizes(12'000) == std::vector<std::uint64_t>{12'000});
  const std::vector<std::uint64_t> drawn = workloads::sizes_of_buffers(config, 50'000, 1);
  for (const std::uint64_t size : config.sizes(50'000)) {
    CHECK(static_cast<double>(std::ranges::count(drawn, size)) == Approx(config.buffers / 3.0).epsilon(0.03));
  }
  CHECK(workloads::sizes_of_buffers(config, 50'000, 1) == drawn);
  CHECK(workloads::sizes_of_buffers(config, 50'000, 2) != drawn);
  CHECK(workloads::sizes_of_buffers(config, 50'000, 1, 1) != drawn);
}

TEST_CASE("reuse: each buffer has its size, at both ends, also where it is mapped anew") {
  const Settings sizes{{"reuse.smallest", "4 KiB"}, {"reuse.buffers", 8}};
  workloads::ReuseConfig config;
  config.buffers = 8;
  config.smallest = 4096;
  const std::vector<std::uint64_t> drawn = workloads::sizes_of_buffers(config, 16384, 1);
  const std::uint64_t pool = std::accumulate(drawn.begin(), drawn.end(), std::uint64_t{0});
  REQUIRE(pool < 8 * 16384);
  for (const double again : {1.0, 0.5}) {
    // In turn, each as often.
    const Point once = run_well(preset("pin-once") + reuse(again, 24) + sizes);
    CHECK(once["pinned_bytes_peak"] == 2.0 * static_cast<double>(pool));
    const double moved = once["goodput"] * static_cast<double>(once.simulated_ps) / 1e6;
    CHECK(moved > 3.0 * static_cast<double>(pool));
    for (const char* strategy : {"pin-cache", "pin-cache-private", "pin-per-transfer", "fault/touch-ahead"}) {
      INFO(strategy);
      run_well(preset(strategy) + reuse(again, 24) + sizes);
    }
  }
  CHECK(reason_against(reuse(1) + Settings{{"reuse.smallest", "32 KiB"}}) ==
        "reuse.smallest: no buffer is larger than workload.size; set it to workload.size at most");
}

TEST_CASE("reuse: with a period as many transfers take as long, and cost what they cost without") {
  // From the first begin to the last end, in ps.
  const auto span = [](const Point& p, std::int64_t transfers) {
    return static_cast<double>(transfers) * 16384 / p["goodput"] * 1e6;
  };
  const Point alone = run_well(preset("resident") + reuse(1));
  const Point paced = run_well(preset("resident") + reuse(1) + Settings{{"reuse.period", "1 ms"}});
  CHECK(paced.latency() == alone.latency());
  CHECK(span(paced, 20) == Approx(19e9 + static_cast<double>(paced.latency())).margin(1000));
  // Who cannot keep the pace makes no pause.
  const Point hurried = run_well(preset("resident") + reuse(1) + Settings{{"reuse.period", "1 us"}});
  CHECK(span(hurried, 20) == Approx(span(alone, 20)).margin(1000));
  // Behind transfers that take longer the next ones follow at once until the pace is kept again.
  const Settings mixed = preset("fault/touch-a-page") + reuse(0.8, 100);
  const Point faulting = run_well(mixed + Settings{{"reuse.period", "150 us"}});
  CHECK(faulting.ps("latency_max") > 160'000'000);
  CHECK(faulting.latency() < 100'000'000);
  CHECK(span(faulting, 100) > 99 * 150e6 - 20e6);
  CHECK(span(faulting, 100) < 99 * 150e6 + 1.1 * static_cast<double>(faulting.ps("latency_max")));
}

TEST_CASE("reuse: the mean of what is pinned counts each pin for as long as it is held, on each node") {
  const double pool = 2 * 4 * 16384;
  const Point once = run_well(preset("pin-once") + reuse(1));
  CHECK(once["pinned_bytes_mean"] == pool);
  CHECK(once.parts.at("node 0").at("pinned_bytes_mean") == pool / 2);
  CHECK(once.parts.at("node 1").at("pinned_bytes_mean") == pool / 2);
  CHECK(run_well(preset("fault/touch-ahead") + reuse(1))["pinned_bytes_mean"] == 0);
  // Pinned for each transfer: a quarter of the time that the same transfers have is a quarter of the mean.
  const auto paced = [](const char* period) {
    return run_well(preset("pin-per-transfer") + reuse(1) + Settings{{"reuse.period", period}});
  };
  const Point often = paced("1 ms");
  const Point seldom = paced("4 ms");
  CHECK(often["pinned_bytes_peak"] == 2 * 16384);
  CHECK(seldom["pinned_bytes_peak"] == 2 * 16384);
  CHECK(often["pinned_bytes_mean"] == Approx(4 * seldom["pinned_bytes_mean"]).epsilon(0.01));
  // Held by both ends for less than a transfer's latency, and for most of it.
  const double share = static_cast<double>(often.latency()) / 1e9 * 20 / 19;
  CHECK(often["pinned_bytes_mean"] < 2 * 16384 * share * 1.1);
  CHECK(often["pinned_bytes_mean"] > 2 * 16384 * share * 0.5);
}

TEST_CASE("reuse: pins that wait to be let go of make way for new memory at their address") {
  const Settings batched{{"strategy.unpin", "batched"}};
  CHECK(reason_against(preset("pin-overlapped") + batched).starts_with("strategy.unpin: "));
  for (const char* strategy : {"pin-private", "pin-cache-private", "firehose-private"}) {
    INFO(strategy);
    const Point point = run(preset(strategy) + reuse(0) + batched + Settings{{"reuse.buffers", 1}});
    CHECK(point.error == "");
    CHECK(point.failed_checks.empty());
  }
}
