// SPDX-License-Identifier: Apache-2.0
// Traffic of the whole cluster: who writes to whom, that all of it arrives, and what is refused.
#include <catch2/catch.hpp>

#include <set>

#include "tests/support/point.hpp"
#include "workloads/patterns/patterns.hpp"

using namespace faultline;
using namespace faultline::test;
using workloads::Pattern;
using workloads::PatternKind;

namespace {

const Settings kSixteenNodes{{"cluster.x", 2}, {"cluster.y", 2}};

Settings pattern(const std::string& kind, const std::string& cold) {
  return kSixteenNodes + Settings{{"workload.kind", kind}, {"workload.cold", cold}, {"workload.size", "8 KiB"}};
}

std::vector<unsigned> targets(const Pattern& pattern, unsigned nodes, unsigned round) {
  std::vector<unsigned> all;
  for (unsigned node = 0; node < nodes; ++node) all.push_back(pattern.target(node, round));
  return all;
}

}  // namespace

TEST_CASE("in each round of a pattern every node has one target, is that of one, and never its own") {
  for (const unsigned nodes : {2u, 3u, 16u, 61u}) {
    for (const PatternKind kind : {PatternKind::all_to_all, PatternKind::ring, PatternKind::permutation}) {
      for (const std::uint64_t seed : {1u, 2u, 3u}) {
        INFO(nodes << " nodes, kind " << static_cast<int>(kind) << ", seed " << seed);
        const Pattern pattern(kind, nodes, 0, seed);
        CHECK(pattern.rounds() == (kind == PatternKind::all_to_all ? nodes - 1 : 1));
        for (unsigned round = 0; round < pattern.rounds(); ++round) {
          const std::vector<unsigned> all = targets(pattern, nodes, round);
          CHECK(std::set<unsigned>(all.begin(), all.end()).size() == nodes);
          for (unsigned node = 0; node < nodes; ++node) CHECK((all[node] != node && all[node] < nodes));
        }
      }
    }
  }
}

TEST_CASE("all to all reaches every other node once, or as many as it may") {
  const Pattern all(PatternKind::all_to_all, 16, 0, 1);
  const Pattern five(PatternKind::all_to_all, 16, 5, 1);
  REQUIRE(five.rounds() == 5);
  std::set<unsigned> reached;
  std::set<unsigned> of_five;
  for (unsigned round = 0; round < 15; ++round) reached.insert(all.target(3, round));
  for (unsigned round = 0; round < 5; ++round) of_five.insert(five.target(3, round));
  CHECK(reached.size() == 15);
  CHECK(of_five.size() == 5);
}

TEST_CASE("the seed draws the permutation and the peers, and nothing else does") {
  for (const PatternKind kind : {PatternKind::all_to_all, PatternKind::permutation}) {
    const unsigned peers = kind == PatternKind::all_to_all ? 1 : 0;
    const auto drawn = [&](std::uint64_t seed) { return targets(Pattern(kind, 1000, peers, seed), 1000, 0); };
    CHECK(drawn(1) == drawn(1));
    CHECK(drawn(1) != drawn(2));
  }
  const Pattern ring(PatternKind::ring, 5, 0, 7);
  CHECK(targets(ring, 5, 0) == std::vector<unsigned>{1, 2, 3, 4, 0});
}

TEST_CASE("a pattern runs to completion, and each cold page faults once") {
  struct Case {
    const char* kind;
    Settings more;
    std::int64_t transfers;
  };
  const std::vector<Case> cases{{"ring", {{"workload.iterations", 3}}, 48},
                                {"permutation", {{"workload.iterations", 2}, {"workload.window", 2}}, 32},
                                {"all-to-all", {{"workload.peers", 5}}, 80},
                                {"all-to-all", {}, 240}};
  for (const auto& [kind, more, transfers] : cases) {
    for (const char* cold : {"none", "destination", "both"}) {
      INFO(kind << ", " << cold);
      const Point point = run(pattern(kind, cold) + preset("fault/touch-a-page") + more);
      REQUIRE(point.error == "");
      CHECK(point.failed_checks.empty());
      CHECK(point.count("transfers") == transfers);
      CHECK(point.count("transfers_failed") == 0);
      CHECK(point.count("data_errors") == 0);
      CHECK(point.count("stale_accesses") == 0);
      CHECK(point.count("timeouts") == 0);
      const int cold_ends = cold == std::string("none") ? 0 : cold == std::string("both") ? 2 : 1;
      CHECK(point.count("minor_faults") == transfers * 2 * cold_ends);
      CHECK((point.count("faults") > 0) == (cold_ends > 0));
      CHECK((point.count("retransmitted_bytes") > 0) == (cold_ends > 0));
    }
  }
}

TEST_CASE("a pattern takes the same time cell by cell") {
  for (const char* kind : {"all-to-all", "permutation"}) {
    INFO(kind);
    Settings settings = pattern(kind, "both") + preset("fault/touch-ahead");
    if (kind == std::string("all-to-all")) settings.push_back({"workload.peers", 4});
    const Point trains = run(settings);
    CHECK(trains.text == run(settings + Settings{{"simulation.cells_per_train", 1}}).text);
    CHECK(trains.text != run(settings, 2).text);
  }
}

TEST_CASE("a ring is the flows that one could list") {
  const Settings two{{"cluster.mpsocs_per_qfdb", 2}, {"workload.iterations", 3}};
  const Point ring = run(pattern("ring", "both") + Settings{{"cluster.x", 1}, {"cluster.y", 1}} + two);
  const Point flows = run({{"cluster.mpsocs_per_qfdb", 2},
                           {"workload.kind", "flows"},
                           {"workload.flows",
                            "from=0, to=1, size=8 KiB, cold=both, transfers=3; "
                            "from=1, to=0, size=8 KiB, cold=both, transfers=3"}});
  REQUIRE(ring.error == "");
  REQUIRE(flows.error == "");
  for (const char* metric : {"latency_min", "latency_mean", "latency_max"}) CHECK(ring.ps(metric) == flows.ps(metric));
}

TEST_CASE("a strategy that keeps pages present keeps a pattern's") {
  for (const char* strategy : {"pin-once", "mlock", "populate"}) {
    INFO(strategy);
    const Point point = run(pattern("permutation", "both") + preset(strategy));
    REQUIRE(point.error == "");
    CHECK(point.failed_checks.empty());
    CHECK(point.count("faults") == 0);
    CHECK(point.ps("setup_time") > 0);
  }
}

TEST_CASE("a pattern warms up before it is measured: TLBs have what the first transfers fetched") {
  const Settings ring = pattern("ring", "none") + preset("resident");
  const Point cold = run(ring + Settings{{"workload.warmup", 0}});
  const Point warm = run(ring + Settings{{"workload.warmup", 1}});
  CHECK(warm.count("transfers") == cold.count("transfers"));
  CHECK(warm["latency_max"] < cold["latency_max"]);
  CHECK(warm.count("walks") == 0);
}

TEST_CASE("the wait of nodes for one another is no part of a pattern's first transfer") {
  const Settings ring = pattern("ring", "none") + preset("resident") + Settings{{"workload.warmup", 1}};
  const Point first = run(ring);
  const Point both = run(ring + Settings{{"workload.iterations", 2}});
  CHECK(first.ps("latency_min") == both.ps("latency_min"));
}

TEST_CASE("in a pattern no strategy is faster than resident") {
  for (const char* kind : {"ring", "permutation"}) {
    const Settings settings = pattern(kind, "destination") + Settings{{"workload.warmup", 1}};
    const Point bound = run(settings + preset("resident"));
    CHECK(bound.notes_say("bound each transfer by itself"));
    for (const char* strategy : {"pin-once", "mlock", "populate", "fault/touch-ahead", "fault/stall"}) {
      INFO(kind << ", " << strategy);
      CHECK(bound["latency_mean"] <= run(settings + preset(strategy))["latency_mean"]);
    }
  }
}

TEST_CASE("a pattern that cannot be is refused with the key and what is allowed") {
  const Settings all = pattern("all-to-all", "none");
  CHECK(reason_against(all) == "none");
  CHECK(reason_against(all + Settings{{"workload.peers", 15}}) == "none");
  CHECK(reason_against(all + Settings{{"workload.peers", 16}}) ==
        "workload.peers: each of 16 nodes has 15 others; take fewer peers; 0 stands for all of them");
  CHECK(reason_against(pattern("ring", "none") + Settings{{"workload.peers", 3}}) ==
        "workload.peers: only the kinds 'all-to-all' and 'ping-pong' have a choice of peers; leave workload.peers at "
        "its default");
  CHECK(reason_against({{"workload.peers", 1}}) ==
        "workload.peers: only the kinds 'all-to-all' and 'ping-pong' have a choice of peers; leave workload.peers at "
        "its default");
  CHECK(reason_against(all + Settings{{"smmu.context_banks", 1}})
            .starts_with("workload.kind: 2 processes on node 0, each of which needs a channel and a context bank"));
  CHECK(reason_against(all + Settings{{"workload.window", 17}}) ==
        "workload.window: 17 transfers under way do not fit in a channel's queue of 16; let fewer be under way at a "
        "time (a smaller window), or raise exanest.channel_queue");
  const auto megabytes = [&](const char* key, const char* value) {
    return reason_against(all + preset("pin-once") +
                          Settings{{"workload.size", "1 MiB"}, {"os.rlimit_memlock", "15 MiB"}, {key, value}});
  };
  CHECK(megabytes("os.user_memory", "16 MiB") == "none");
  CHECK(megabytes("os.user_memory", "15 MiB") ==
        "workload.size: buffers of 16 MiB on node 0 do not fit in its 15 MiB of user memory; take fewer or smaller "
        "buffers, or give nodes more memory");
  CHECK(megabytes("os.rlimit_memlock", "15 MiB") == "none");
  CHECK(
      megabytes("os.rlimit_memlock", "14 MiB") ==
      "workload.size: a process on node 0 would have 15 MiB pinned or locked at a time, and RLIMIT_MEMLOCK is 14 MiB; "
      "raise os.rlimit_memlock, take fewer or smaller buffers, or let such failures be results (workload.checks = "
      "count)");
  CHECK(reason_against(all + preset("pin-per-transfer") + Settings{{"workload.window", 4}}) == "none");
  CHECK(reason_against(all + preset("pin-per-transfer") + Settings{{"workload.window", 5}}) ==
        "strategy.registration: 75 messages about buffers may be under way to one program, and its mailbox holds 64; "
        "take fewer senders or a smaller window");
  CHECK(reason_against(all + Settings{{"workload.clean_window", 1}}) ==
        "workload.clean_window: a pattern has no neighbours; leave workload.clean_window at its default");
  CHECK(reason_against(pattern("ring", "both") + Settings{{"workload.cold_share", 0.5}}) == "none");
}
