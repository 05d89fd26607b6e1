// SPDX-License-Identifier: Apache-2.0
// Other programs on the nodes: what their hunger for memory does to transfers, and to themselves.
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// Nodes of 16 MiB; two programs that want `mib` each beside a buffer of 1 MiB.
Settings hungry(unsigned mib) {
  return {
      {"workload.size", "1 MiB"},   {"workload.iterations", 10},   {"workload.warmup", 1},
      {"os.user_memory", "16 MiB"}, {"os.swap_bytes", "256 MiB"},  {"os.rlimit_memlock", "16 MiB"},
      {"background.processes", 2},  {"background.pause", "10 us"}, {"background.memory", std::to_string(mib) + " MiB"}};
}

}  // namespace

TEST_CASE("background: programs that fit disturb nobody") {
  const Point alone = run_well(hungry(4) + Settings{{"background.processes", 0}});
  const Point beside = run_well(hungry(4));
  CHECK(beside.count("background_accesses") > 100);
  CHECK(beside.count("major_faults") == 0);
  CHECK(beside.count("faults") == 0);
  CHECK(beside["latency_max"] == alone["latency_max"]);
}

TEST_CASE("background: programs that want more than there is take pages from a buffer that nobody keeps") {
  const Point p = run_well(hungry(12));
  CHECK(p.count("major_faults") > 0);
  CHECK(p.count("swapped_out") > 0);
  CHECK(p.count("faults") > 0);
}

TEST_CASE("background: a locked buffer does not notice, a pinned one has its access flags cleared") {
  const Point locked = run_well(hungry(12) + Settings{{"strategy.registration", "mlock"}});
  CHECK(locked.count("faults") == 0);
  CHECK(locked.count("major_faults") > 0);  // the others'
  const Point pinned = run_well(hungry(12) + Settings{{"strategy.registration", "pin-once"}});
  CHECK(pinned.count("faults") > 0);
  const Point private_table =
      run_well(hungry(12) + Settings{{"strategy.registration", "pin-once"}, {"strategy.translate", "private"}});
  CHECK(private_table.count("faults") == 0);
}

TEST_CASE("background: its page faults are told apart, and are none of the device's") {
  const Point p = run_well(hungry(12) + Settings{{"strategy.registration", "mlock"}});
  CHECK(p.count("background_minor_faults") > 0);
  CHECK(p.count("background_major_faults") == p.count("major_faults"));  // the locked buffer's programs have none
  CHECK(p.count("background_minor_faults") <= p.count("minor_faults"));
  CHECK(p.count("background_major_faults") <= p.count("background_minor_faults"));
  CHECK(p.count("faults") == 0);
  const Point taken = run_well(hungry(12));
  CHECK(taken.count("faults") > 0);
  // Those that the fault thread resolves are the transfers' programs'.
  CHECK(taken.count("minor_faults") - taken.count("background_minor_faults") >= taken.count("faults_swap"));
  CHECK(taken.count("faults_swap") + taken.count("faults_reclaim") > 0);
  CHECK(taken.count("faults_injected") == 0);
  const Point alone = run_well(hungry(12) + Settings{{"background.processes", 0}});
  CHECK_FALSE(alone.metrics.contains("background_minor_faults"));
}

TEST_CASE("background: programs that meet the end of memory take their faults with them, and are counted") {
  const Point p = run_well(hungry(12) + Settings{{"os.swap_bytes", "0 B"}, {"strategy.registration", "mlock"}});
  CHECK(p.count("background_ended") > 0);
  CHECK(p.count("background_minor_faults") > 0);
  CHECK(p.count("background_minor_faults") <= p.count("minor_faults"));
}

// The test above it shows what becomes of a buffer that is present and not kept.
TEST_CASE("background: under pressure the pages of resident stay, and no strategy is faster") {
  const Point bound = run_well(hungry(12) + preset("resident"));
  CHECK(bound.count("faults") == 0);
  CHECK(bound.count("major_faults") > 0);  // the others'
  for (const char* strategy : {"mlock", "pin-once", "fault/touch-ahead", "fault/stall", "fault/mirrored"}) {
    INFO(strategy);
    const Point p = run_well(hungry(12) + preset(strategy));
    CHECK(bound["latency_mean"] <= p["latency_mean"]);
    CHECK(bound["latency_max"] <= p["latency_max"]);
  }
}

TEST_CASE("background: where the program's own doing takes the pages of resident, the run is refused") {
  for (const char* mechanism : {"dont-need", "fork", "write-protect"}) {
    INFO(mechanism);
    const Point p =
        run(preset("resident") +
            Settings{{"workload.iterations", 100}, {"inject.mechanism", mechanism}, {"inject.period", "20 us"}});
    CHECK(p.error.find("strategy.registration = ideal") != std::string::npos);
  }
}

// A turn is milliseconds, 16 pages from the swap device are a fraction of one. A fault thread that stood behind kswapd
// for a turn, another core idle, was seen as a worst case of 6.6 ms.
TEST_CASE("background: beside a busy kswapd the fault thread waits for no turn while a core idles") {
  const Settings pressed{{"workload.size", "64 KiB"},   {"workload.iterations", 300},   {"workload.warmup", 1},
                         {"os.user_memory", "32 MiB"},  {"os.swap_bytes", "256 MiB"},   {"background.processes", 2},
                         {"background.pause", "10 us"}, {"background.memory", "24 MiB"}};
  for (const char* kernel : {"4.9", "5.10", "6.12"}) {
    INFO(kernel);
    const Settings settings = pressed + preset("fault/touch-ahead") + Settings{{"os.kernel", kernel}};
    for (const std::uint64_t seed : {1u, 2u, 3u}) {
      const Point p = run_well(settings, seed);
      CHECK(p.count("faults") > 0);
      CHECK(p.count("swapped_out") > 100);
      const Point best = run_well(settings + Settings{{"sched.policy", "work-conserving"}}, seed);
      CHECK(p["latency_max"] < best["latency_max"] + 750);  // sched.min_granularity [us], without its factor
    }
  }
}

TEST_CASE("background: a mirror follows what reclaim does") {
  const Point p = run_well(hungry(12) + Settings{{"strategy.translate", "mirrored"}});
  CHECK(p.count("faults") > 0);
}

TEST_CASE("background: the same seed gives the same run, another seed another") {
  const Point a = run_well(hungry(12));
  const Point b = run_well(hungry(12));
  CHECK(a["latency_mean"] == b["latency_mean"]);
  CHECK(a["background_access_mean"] == b["background_access_mean"]);
  CHECK(a.count("swapped_out") == b.count("swapped_out"));
  CHECK(a["background_access_mean"] != run_well(hungry(12), 2)["background_access_mean"]);
}

TEST_CASE("background: when swap is full, too, programs end and the transfers go on") {
  const Point p = run_well(hungry(24) + Settings{{"os.swap_bytes", "1 MiB"},
                                                 {"strategy.registration", "mlock"},
                                                 {"background.order", "sequential"},
                                                 {"background.pause", "1 us"},
                                                 {"workload.iterations", 60}});
  CHECK(p.count("background_ended") > 0);
}

TEST_CASE("background: a program that begins anew gives its memory back") {
  const Point keeps =
      run_well(hungry(12) +
               Settings{{"background.order", "sequential"}, {"background.pause", "1 us"}, {"workload.iterations", 60}});
  const Point renews = run_well(hungry(12) + Settings{{"background.order", "sequential"},
                                                      {"background.pause", "1 us"},
                                                      {"workload.iterations", 60},
                                                      {"background.renew_after", 500}});
  CHECK(renews.count("major_faults") < keeps.count("major_faults"));
}

TEST_CASE("background: noise on the cores delays software, not the hardware's transfers") {
  const Settings small = {{"workload.size", "64 KiB"}, {"workload.iterations", 50}, {"workload.cold", "destination"}};
  const Point quiet = run_well(small);
  const Point noisy =
      run_well(small + Settings{{"background.noise_period", "100 us"}, {"background.noise_time", "90 us"}});
  CHECK(noisy["latency_mean"] > 1.02 * quiet["latency_mean"]);
  CHECK(noisy.count("faults") == quiet.count("faults"));
}

TEST_CASE("background: impossible settings are refused") {
  const auto refused = [](const Settings& settings) { return !workloads::conflicts(configuration(settings)).empty(); };
  CHECK_FALSE(refused(hungry(4)));
  CHECK(refused({{"inject.mechanism", "reclaim"}}));
  CHECK_FALSE(refused({{"inject.mechanism", "reclaim"}, {"os.swap_bytes", "1 GiB"}}));
}

// Its own thread does, which serves the initiator meanwhile.
TEST_CASE("background: the target of a read writes its buffer before it prepares it") {
  for (const char* prepare : {"pin-per-transfer", "touch"}) {
    INFO(prepare);
    run_well(hungry(12) + Settings{{"workload.kind", "read"}, {"strategy.registration", prepare}});
  }
}

TEST_CASE(
    "background: a buffer is made present when khugepaged leaves it, though it took it while the other was waited "
    "for") {
  run_well(preset("fault/touch-ahead") + Settings{{"cpu.cores", 1},
                                                  {"workload.size", "16 MiB"},
                                                  {"workload.iterations", 4},
                                                  {"workload.madvise_hugepage", true},
                                                  {"workload.advise_late", true},
                                                  {"os.thp", "madvise"},
                                                  {"os.khugepaged_time_scale", 100},
                                                  {"os.khugepaged_scan_sleep", "1 s"}});
}
