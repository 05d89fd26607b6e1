// SPDX-License-Identifier: Apache-2.0
// Firehose in whole runs: what is held is not asked for, what is not held is moved, and memory that is mapped anew is
// given back before; and what comes of it where nobody gives it back.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"
#include "tests/workloads/corner_generator.hpp"

using namespace faultline;
using namespace faultline::test;
using corners::Stage;
using rdma::Status;
using namespace std::chrono_literals;

namespace {

Settings held(const Settings& more, const char* strategy = "firehose") {
  return preset(strategy) + Settings{{"workload.iterations", 40}, {"os.rlimit_memlock", "64 MiB"}} + more;
}

}  // namespace

TEST_CASE("firehose: a transfer whose pages are held asks its target nothing, and is so much faster") {
  const Settings same{{"workload.kind", "write"}, {"workload.size", "8 KiB"}};
  const Point point = run_well(held(same));
  CHECK(point.count("firehose_gets") == 40);
  CHECK(point.count("firehose_hits") == 39);
  CHECK(point.count("firehose_moves") == 1);
  const Point asking = run_well(held(same, "pin-cache"));
  CHECK(point["latency_mean"] < asking["latency_mean"]);
}

TEST_CASE("firehose: buffers beyond what an initiator may hold are moved, each transfer in one message") {
  // 24 pages may be held; each of 8 buffers has 4 pages.
  const Settings pool{{"workload.kind", "reuse"}, {"workload.size", "16 KiB"}, {"reuse.buffers", 8},
                      {"reuse.draw", "ring"},     {"reuse.again", 1},          {"strategy.firehose.budget", "128 KiB"}};
  const Point point = run_well(held(pool));
  CHECK(point.count("firehose_hits") == 0);  // what a ring wants next has always just gone
  CHECK(point.count("firehose_moves") == 40);
  CHECK(point.count("firehose_pages_taken") == 40 * 4);
  CHECK(point.count("firehose_pages_given_back") == 40 * 4);
  const Point larger = run_well(held(pool + Settings{{"strategy.firehose.budget", "256 KiB"}}));
  CHECK(larger.count("firehose_hits") == 40);
  CHECK(larger["latency_mean"] < point["latency_mean"]);
}

TEST_CASE("firehose: pages that are not neighbours are moved in as many messages as it takes") {
  const Settings scattered{{"workload.kind", "reuse"}, {"workload.size", "4 KiB"},
                           {"reuse.buffers", 12},      {"reuse.draw", "random"},
                           {"reuse.again", 1},         {"strategy.firehose.budget", "36 KiB"}};
  const Point point = run_well(held(scattered));
  CHECK(point.count("firehose_pages_taken") == point.count("firehose_pages_given_back"));
  CHECK(point.count("firehose_hits") + point.count("firehose_moves") == 40);
}

TEST_CASE("firehose: memory that is mapped anew is given back before, and right after") {
  for (const char* strategy : {"firehose", "firehose-private"}) {
    const Point point = run_well(
        held({{"workload.kind", "reuse"}, {"workload.size", "20000 B"}, {"reuse.buffers", 3}, {"reuse.again", 0.3}},
             strategy));
    CHECK(point.count("firehose_pages_given_back") > 0);
    CHECK(point.count("faults") == 0);
  }
}

namespace {

// The target's program maps its buffer anew, at the same address. `tells`: the initiator has given it back before.
Facts after_mapping_anew(const char* strategy, bool tells) {
  const workloads::Configuration configuration = test::configuration(preset(strategy) + corners::surroundings());
  return facts_from_child([&] {
    Stage stage(configuration);
    stage.tells_initiator = tells;
    Facts facts;
    facts["finished"] = stage.run([&](Stage& s) -> sim::Task<void> {
      co_await s.open();
      Stage::Lane lane = co_await s.lane(20000);
      const Status before = co_await s.transfer(lane);
      facts["before"] = before == Status::done;
      const bool again = co_await s.map_anew(lane);
      facts["same place"] = again;
      s.fill(lane, 8);
      const Status after = co_await s.transfer(lane);
      facts["done"] = after == Status::done;
      facts["right"] = s.arrived(lane, 8);
    });
    facts["stale"] = stage.total("memory.stale_accesses");
    return facts;
  });
}

}  // namespace

TEST_CASE("firehose: what was given back is taken anew with the frames that the program has then") {
  for (const char* strategy : {"firehose", "firehose-private"}) {
    Facts facts = after_mapping_anew(strategy, true);
    for (const char* fact : {"finished", "before", "same place", "done", "right"}) CHECK(facts[fact] == 1);
    CHECK(facts["stale"] == 0);
  }
}

// The mutant: the lease is void, and the initiator does not know.
TEST_CASE("firehose: where nobody gives memory back before it goes, transfers fail or fault, and write to no frame") {
  Facts own_table = after_mapping_anew("firehose-private", false);
  for (const char* fact : {"finished", "before", "same place"}) CHECK(own_table[fact] == 1);
  CHECK(own_table["done"] == 0);
  CHECK(own_table["stale"] == 0);
  Facts shared = after_mapping_anew("firehose", false);
  CHECK(shared["done"] == 1);
  CHECK(shared["right"] == 1);
  CHECK(shared["stale"] == 0);
}

// Same-page merging takes the right to write, and only then finds that the page is pinned or has been written to.
TEST_CASE("firehose: pages stay held that the kernel begins to merge while they are pinned") {
  const workloads::Configuration configuration =
      test::configuration(preset("firehose-private") + corners::surroundings());
  Facts facts = facts_from_child([&] {
    Stage stage(configuration);
    Facts counted;
    counted["finished"] = stage.run([&](Stage& s) -> sim::Task<void> {
      co_await s.open();
      Stage::Lane lane = co_await s.lane(20000);
      for (unsigned later = 0; later < 40; ++later) {
        co_await s.map_anew(lane);
        s.does(*s.there, [&s, lane, later](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> sim::Task<void> {
          co_await s.cluster.loop.delay(later * 1us);
          co_await vm.page_events().merge_equal(exec, process, {lane.remote, sim::page_end(lane.remote + lane.bytes)});
        });
        const Status status = co_await s.transfer(lane);
        counted["done"] += status == Status::done && s.same(lane);
        co_await s.cluster.loop.delay(1ms);
      }
    });
    counted["merged"] = stage.total("os.ksm_pages_merged");
    return counted;
  });
  CHECK(facts["finished"] == 1);
  CHECK(facts["done"] == 40);
  CHECK(facts["merged"] > 0);  // those that were not pinned yet
}

TEST_CASE("firehose: more initiators than the budget is divided among are refused, and as many are served") {
  const Settings three{{"workload.kind", "fan-in"}, {"workload.size", "8 KiB"}, {"workload.iterations", 5}};
  CHECK(reason_against(held(three)).starts_with("strategy.firehose.peers: 3 processes would hold pages of one"));
  const Point refused = run(held(three + Settings{{"workload.checks", "count"}}));
  CHECK((refused.error + refused.refused).find("divided among 1") != std::string::npos);
  const Point served = run(held(three + Settings{{"strategy.firehose.peers", 3}}));
  CHECK(served.count("transfers") == 15);
  CHECK(served.failed_checks.empty());
}

TEST_CASE("firehose: a transfer that does not fit in what its initiator may hold is refused") {
  const Settings large =
      held({{"workload.kind", "write"}, {"workload.size", "64 KiB"}, {"strategy.firehose.budget", "64 KiB"}});
  CHECK(reason_against(large).starts_with("strategy.firehose.budget: an initiator may hold 12 pages"));
  const Point point = run(large + Settings{{"workload.checks", "count"}});
  CHECK((point.error + point.refused).find("may hold 12 pages") != std::string::npos);
}

TEST_CASE("firehose: what a target's program stores is stored beside its thread that waits for requests") {
  const Settings read = held({{"workload.kind", "read"}, {"inject.end", "source"}});
  const Settings write = held({{"workload.kind", "write"}, {"inject.end", "destination"}});
  for (const char* mechanism : {"write-protect", "fork", "compaction"}) {
    for (const Settings& either : {read, write}) {
      INFO(mechanism << ", " << to_string(either));
      const Point point = run(either + Settings{{"inject.mechanism", mechanism}});
      CHECK(point.error == "");
      CHECK(point.failed_checks.empty());
    }
  }
}
