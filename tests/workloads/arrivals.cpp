// SPDX-License-Identifier: Apache-2.0
// When transfers arrive: the draws, open and closed loops against what follows from a transfer's own time, and how
// often a buffer is cold.
#include "workloads/arrivals.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <cmath>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using sim::Time;
using workloads::ArrivalConfig;
using workloads::ArrivalKind;
using workloads::Arrivals;

namespace {

constexpr std::int64_t kTransfers = 8;

Settings transfers(std::int64_t count) { return {{"workload.iterations", count}, {"workload.warmup", 2}}; }

}  // namespace

TEST_CASE("arrivals: exponential draws have their mean and their tail") {
  sim::RandomStream draws(1, "test");
  const Time mean{1'000'000};
  constexpr int kDraws = 200'000;
  double sum = 0;
  std::array<int, 4> beyond{};  // 0, 1, 2, 3 means
  for (int i = 0; i < kDraws; ++i) {
    const auto drawn = static_cast<double>(workloads::draw_exponential(draws, mean).count());
    sum += drawn;
    for (std::size_t k = 0; k < beyond.size(); ++k) beyond[k] += drawn > static_cast<double>(k) * 1e6 ? 1 : 0;
  }
  CHECK(sum / kDraws == Approx(1e6).epsilon(0.01));
  for (std::size_t k = 1; k < beyond.size(); ++k) {
    CHECK(static_cast<double>(beyond[k]) / kDraws == Approx(std::exp(-static_cast<double>(k))).epsilon(0.05));
  }
}

TEST_CASE("arrivals: periodic ones and bursts come when they should") {
  Arrivals one({ArrivalKind::periodic, 5us, 1}, 1, 0);
  CHECK(one.next() == 0us);
  CHECK(one.next() == 5us);
  CHECK(one.next() == 10us);
  Arrivals three({ArrivalKind::periodic, 5us, 3}, 1, 0);
  for (const Time at : {Time{0us}, Time{0us}, Time{0us}, Time{15us}, Time{15us}, Time{15us}, Time{30us}}) {
    CHECK(three.next() == at);
  }
  Arrivals poisson({ArrivalKind::poisson, 5us, 2}, 1, 0);
  Time last{0};
  for (int i = 0; i < 2000; i += 2) {
    last = poisson.next();
    CHECK(poisson.next() == last);
  }
  CHECK(last / 2000 > 4500ns);
  CHECK(last / 2000 < 5500ns);
  CHECK(Arrivals({ArrivalKind::poisson, 5us}, 1, 0).next() != Arrivals({ArrivalKind::poisson, 5us}, 1, 1).next());
}

TEST_CASE("an open loop that is slow enough takes as long as a closed one, and nothing waits") {
  for (const char* strategy : {"resident", "pin-per-transfer", "fault/touch-ahead"}) {
    INFO(strategy);
    const Settings settings = preset(strategy) + transfers(kTransfers) + Settings{{"workload.cold", "destination"}};
    const Point closed = run_well(settings);
    const Point open = run_well(settings + Settings{{"workload.arrivals", "periodic"}, {"workload.interval", "1 ms"}});
    CHECK(open.count("queueing_mean") == 0);
    CHECK(open.latency() == open.rows());
    CHECK(open["latency_mean"] == Approx(closed["latency_mean"]).epsilon(0.02));
  }
}

TEST_CASE("transfers that arrive faster than they are done wait, each for those before it") {
  const Point alone = run_well(preset("resident") + transfers(kTransfers));
  const Point burst = run_well(
      preset("resident") + transfers(kTransfers) +
      Settings{{"workload.arrivals", "periodic"}, {"workload.interval", "1 us"}, {"workload.burst", kTransfers}});
  CHECK(burst.latency() == burst.rows());
  CHECK(burst.row("wait for a buffer") == burst.ps("queueing_mean"));
  CHECK(burst["latency_max"] == Approx(kTransfers * alone["latency_mean"]).epsilon(0.05));
  CHECK(burst["queueing_mean"] == Approx((kTransfers - 1) / 2.0 * alone["latency_mean"]).epsilon(0.05));
  const Point wide = run_well(preset("resident") + transfers(kTransfers) +
                              Settings{{"workload.arrivals", "periodic"},
                                       {"workload.interval", "1 us"},
                                       {"workload.window", 4},
                                       {"workload.burst", kTransfers}});
  CHECK(wide["queueing_mean"] < burst["queueing_mean"]);
}

TEST_CASE("a program that thinks begins the next transfer so much later") {
  const Point busy = run_well(preset("resident") + transfers(kTransfers));
  const Point thinks =
      run_well(preset("resident") + transfers(kTransfers) + Settings{{"workload.think_time", "20 us"}});
  CHECK(thinks["latency_mean"] == Approx(busy["latency_mean"]).epsilon(0.01));
  const auto span = [](const Point& point) { return kTransfers * 4096 / point["goodput"]; };  // us
  CHECK(span(thinks) - span(busy) == Approx((kTransfers - 1) * 20.0).epsilon(0.01));
}

TEST_CASE("flows and patterns have arrivals, too") {
  const Point flows =
      run(preset("resident") + Settings{{"workload.kind", "flows"},
                                        {"workload.flows",
                                         "from=0, to=1, transfers=4, arrivals=periodic, interval=100 us; "
                                         "from=2, to=3, transfers=4, think_time=50 us"}});
  REQUIRE(flows.error == "");
  CHECK(flows.failed_checks.empty());
  CHECK(flows.simulated_ps > 300'000'000);
  const Point ring = run(preset("resident") + Settings{{"workload.kind", "ring"},
                                                       {"workload.iterations", 4},
                                                       {"workload.arrivals", "poisson"},
                                                       {"workload.interval", "200 us"}});
  REQUIRE(ring.error == "");
  CHECK(ring.failed_checks.empty());
  CHECK(ring.count("queueing_mean") == 0);
  CHECK(ring.simulated_ps > 200'000'000);
}

TEST_CASE("a buffer is cold before every so many transfers, and used as it is in between") {
  const Settings cold = preset("fault/touch-a-page") + transfers(kTransfers) +
                        Settings{{"workload.cold", "destination"}, {"workload.size", "16 KiB"}};
  const Point always = run_well(cold);
  const Point fourth = run_well(cold + Settings{{"workload.cold_every", 4}});
  const Point once = run_well(cold + Settings{{"workload.cold_every", 0}});
  CHECK(fourth["faults"] * 4 == always["faults"]);
  CHECK(once["faults"] * kTransfers == always["faults"]);
  CHECK(once.ps("latency_cold") == once.ps("latency_max"));
  CHECK(once["latency_cold"] == Approx(always["latency_mean"]).epsilon(0.05));
  const Point warm = run_well(preset("resident") + transfers(kTransfers) + Settings{{"workload.size", "16 KiB"}});
  CHECK(fourth["latency_warm"] == Approx(warm["latency_mean"]).epsilon(0.02));
}

TEST_CASE("a number of transfers that cold_every does not divide is noted, with how many were cold") {
  const auto cold = [](std::int64_t every, std::int64_t count, const std::string& strategy) {
    return run_well(preset(strategy) + transfers(count) +
                    Settings{{"workload.cold", "destination"}, {"workload.cold_every", every}});
  };
  for (const char* strategy : {"fault/touch-a-page", "pin-per-transfer"}) {
    INFO(strategy);
    CHECK(cold(16, kTransfers, strategy).notes_say("before 1 of 8 transfers, not before one in 16"));
    CHECK(cold(3, kTransfers, strategy).notes_say("before 3 of 8 transfers, not before one in 3"));
    CHECK_FALSE(cold(4, kTransfers, strategy).notes_say("made absent before"));
    CHECK_FALSE(cold(0, kTransfers, strategy).notes_say("made absent before"));
  }
  const Point kept = cold(16, kTransfers, "pin-once");  // none is
  CHECK_FALSE(kept.notes_say("made absent before"));
  CHECK(kept.notes_say("workload.cold makes no page absent again"));
  const Point window =
      run_well(preset("fault/touch-a-page") + transfers(5) +
               Settings{{"workload.cold", "destination"}, {"workload.cold_every", 2}, {"workload.window", 2}});
  CHECK(window.notes_say("before 3 of 5 transfers, not before one in 2"));
  CHECK(window["faults"] == 3);
  const Point flows =
      run(preset("fault/touch-a-page") + Settings{{"workload.kind", "flows"},
                                                  {"workload.flows",
                                                   "from=0, to=1, transfers=4, cold=destination, cold_every=2; "
                                                   "from=2, to=3, transfers=4, cold=destination, cold_every=3"}});
  REQUIRE(flows.error == "");
  CHECK(flows.notes_say("before 2 of 4 transfers of flow 1, not before one in 3"));
  CHECK_FALSE(flows.notes_say("of flow 0"));
  CHECK(flows.parts.at("flow 1").at("latency_cold") > flows.parts.at("flow 1").at("latency_warm"));
}

TEST_CASE("absent pages and other programs go together") {
  const Point point = run(preset("fault/touch-a-page") + transfers(20) +
                          Settings{{"workload.cold", "destination"},
                                   {"workload.cold_share", 0.5},
                                   {"workload.size", "64 KiB"},
                                   {"background.processes", 2},
                                   {"background.memory", "64 MiB"},
                                   {"background.pause", "2 us"}});
  REQUIRE(point.error == "");
  CHECK(point.count("data_errors") == 0);
  CHECK(point.count("faults") >= 20);
  CHECK(point.count("background_accesses") > 0);
}

TEST_CASE("flows and patterns prepare for each transfer as the benchmark of two ends does") {
  for (const char* strategy : {"pin-per-transfer", "pre-touch"}) {
    INFO(strategy);
    const Settings settings =
        preset(strategy) +
        Settings{{"workload.iterations", 3}, {"workload.size", "16 KiB"}, {"workload.start_spread", "0 us"}};
    for (const char* kind : {"write", "read"}) {
      INFO(kind);
      const Point ends = run_well(settings + Settings{{"workload.kind", kind}, {"workload.cold", "both"}});
      const Point flow = run(
          preset(strategy) +
          Settings{{"workload.kind", "flows"},
                   {"workload.flows", std::string("from=0, to=1, size=16 KiB, transfers=3, cold=both, kind=") + kind}});
      REQUIRE(flow.error == "");
      CHECK(flow.failed_checks.empty());
      CHECK(flow.ps("latency_max") == ends.ps("latency_max"));
      CHECK(flow.latency() == ends.latency());
    }
    for (const char* kind : {"ring", "all-to-all", "permutation"}) {
      INFO(kind);
      const Point pattern = run(settings + Settings{{"workload.kind", kind},
                                                    {"workload.window", 2},
                                                    {"workload.cold", "both"},
                                                    {"workload.iterations", kTransfers}});
      REQUIRE(pattern.error == "");
      CHECK(pattern.failed_checks.empty());
      CHECK(pattern.count("transfers") == kTransfers * (std::string(kind) == "all-to-all" ? 12 : 4));
      CHECK(pattern.count("faults") == 0);
      CHECK((pattern.count("pinned_bytes_peak") > 0) == (std::string(strategy) == "pin-per-transfer"));
    }
  }
}

TEST_CASE("a share of a flow's cold pages is absent, as of the benchmark of two ends") {
  const Settings share{{"workload.cold", "destination"},
                       {"workload.cold_share", 0.5},
                       {"workload.cold_placement", "even"},
                       {"workload.size", "64 KiB"}};
  const Point ends = run_well(preset("fault/touch-a-page") + share);
  const Point flow =
      run(preset("fault/touch-a-page") + Settings{{"workload.kind", "flows"},
                                                  {"workload.flows",
                                                   "from=0, to=1, size=64 KiB, cold=destination, cold_share=0.5, "
                                                   "cold_placement=even"}});
  REQUIRE(flow.error == "");
  CHECK(flow["faults"] == ends["faults"]);
  CHECK(flow.latency() == ends.latency());
}

TEST_CASE("an open loop that is offered more than it can do says so, and whose transfers they are") {
  const auto said = [](const Point& point) { return point.notes_say("arrive faster than they are completed"); };
  const auto offered = [](const char* arrivals, const char* interval, std::int64_t burst = 1) {
    return preset("resident") + transfers(100) +
           Settings{{"workload.arrivals", arrivals}, {"workload.interval", interval}, {"workload.burst", burst}};
  };
  // A transfer takes 9 us.
  for (const char* arrivals : {"periodic", "poisson"}) {
    INFO(arrivals);
    CHECK(said(run_well(offered(arrivals, "5 us"))));
    CHECK_FALSE(said(run_well(offered(arrivals, "20 us"))));
  }
  // Bursts of more than one queues, and each burst's has ended before the next one: the load is a half, and a double.
  for (const std::int64_t burst : {2, 4}) {
    INFO(burst);
    CHECK_FALSE(said(run_well(offered("periodic", "20 us", burst))));
    CHECK(said(run_well(offered("periodic", "5 us", burst))));
  }
  CHECK_FALSE(said(run_well(offered("periodic", "20 us", 40))));
  CHECK_FALSE(said(run_well(offered("periodic", "20 us", 100))));
  const Point flows =
      run(preset("resident") + Settings{{"workload.kind", "flows"},
                                        {"workload.flows",
                                         "from=0, to=1, transfers=40, arrivals=poisson, interval=5 us; "
                                         "from=2, to=3, transfers=40, arrivals=poisson, interval=50 us; "
                                         "from=3, to=2, transfers=40"}});
  REQUIRE(flows.error == "");
  CHECK(flows.notes_say("transfers of flow 0 arrive faster"));
  CHECK(flows.parts.at("flow 0").at("queueing_mean") > 9);
  CHECK(flows.parts.at("flow 1").at("queueing_mean") < 9);
  CHECK_FALSE(flows.parts.at("flow 2").contains("queueing_mean"));
}

TEST_CASE("settings of arrivals that would do nothing are refused") {
  CHECK(reason_against({{"workload.arrivals", "poisson"}}).starts_with("workload.interval: an open loop needs"));
  CHECK(
      reason_against({{"workload.interval", "5 us"}}).starts_with("workload.interval: a closed loop has no arrivals"));
  CHECK(reason_against({{"workload.burst", 2}}).starts_with("workload.burst: a closed loop has no arrivals"));
  CHECK(
      reason_against({{"workload.arrivals", "poisson"}, {"workload.interval", "5 us"}, {"workload.think_time", "1 us"}})
          .starts_with("workload.think_time: arrivals do not wait"));
  CHECK(reason_against({{"workload.kind", "message"}, {"workload.size", "8 B"}, {"workload.think_time", "1 us"}})
            .starts_with("workload.think_time: only transfers between buffers"));
  CHECK(reason_against({{"workload.cold_every", 2}}).starts_with("workload.cold_every: how often pages of no end"));
  CHECK(reason_against({{"workload.arrivals", "periodic"},
                        {"workload.interval", "5 us"},
                        {"workload.cold", "destination"},
                        {"workload.cold_destination_kind", "zero-page"}})
            .starts_with("workload.arrivals: the kernel takes its time"));
}
