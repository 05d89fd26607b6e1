// SPDX-License-Identifier: Apache-2.0
// Ranks that learn of each other's writes by notices: each way on a whole cluster, what is refused, where the time
// goes, and what the number of peers costs.
#include <catch2/catch.hpp>

#include <string>
#include <vector>

#include "tests/support/point.hpp"
#include "workloads/ping_pong/ping_pong.hpp"
#include "workloads/ranks/rank_program.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using sim::Task;
using workloads::Rank;

namespace {

const std::vector<std::string> kNotices{"word",        "counter-busy", "counter-blocking", "counter-handler",
                                        "event-queue", "interrupt"};

Settings game(const std::string& notify) {
  return {{"workload.kind", "ping-pong"}, {"workload.notify", notify}, {"workload.iterations", 5}};
}

}  // namespace

TEST_CASE("notices: ranks learn of data that are all there, whatever faults delay some of it") {
  for (const std::string& notify : kNotices) {
    for (const char* strategy : {"resident", "fault/touch-a-page", "fault/stall", "pin-per-transfer",
                                 "pin-cache-private", "nic-mmu/resident", "nic-mmu/pushed", "nic-mmu/on-demand"}) {
      INFO(notify << ", " << strategy);
      const Point point =
          run(preset(strategy) + game(notify) + Settings{{"workload.size", "100 KiB"}, {"workload.cold", "both"}});
      REQUIRE(point.error == "");
      CHECK(point.failed_checks.empty());
      CHECK(point.count("transfers") == 10);
      CHECK(point.count("data_errors") == 0);
      CHECK(point.count("stale_accesses") == 0);
      if (std::string(strategy) != "nic-mmu/on-demand") continue;
      CHECK(point.count("parks") > 0);
      CHECK(point.count("naks") > 0);
    }
  }
  const Point byte = run(game("polled-byte") + Settings{{"workload.size", "200 B"}});
  CHECK(byte.failed_checks.empty());
  CHECK(byte.count("transfers") == 10);
}

TEST_CASE(
    "notices: the rows of a breakdown add up to the latency, and tell accepted, placed, notified and learned apart") {
  for (const std::string& notify : kNotices) {
    INFO(notify);
    const Point point = run(preset("fault/touch-ahead") + game(notify) +
                            Settings{{"workload.size", "40000 B"}, {"workload.cold", "destination"}});
    REQUIRE(point.error == "");
    CHECK(std::abs(point.rows() - point.latency()) <= 10);
    for (const char* row : {"rest of the block", "placed", "notified", "learned"}) {
      INFO(row);
      // A counter is counted when the last block is placed; words and entries are written.
      const bool takes_time = std::string(row) != "notified" || !notify.starts_with("counter");
      CHECK((point.row(row) + point.row(std::string(row) + " (resend)") > 0) == takes_time);
    }
    CHECK(point.row("data and acknowledgement") == 0);
  }
}

TEST_CASE("notices: a polled byte is refused where it may be there before the rest") {
  const auto against = [](const Settings& more) { return reason_against(game("polled-byte") + more); };
  CHECK(against({{"workload.size", "256 B"}}) == "none");
  CHECK(against({{"workload.size", "257 B"}})
            .starts_with("workload.notify: the NIC places cells and blocks in any order"));
  CHECK(against({{"workload.size", "64 B"}, {"workload.destination_offset", "4064 B"}}).find("in any order") !=
        std::string::npos);
  CHECK(against({{"workload.size", "64 B"}, {"workload.cold", "destination"}})
            .starts_with("workload.notify: a rank that polls its destination uses the page"));
  CHECK(against({{"workload.size", "64 B"}, {"workload.cold", "source"}}).find("zeros come") != std::string::npos);
  CHECK(reason_against(game("counter-busy") + Settings{{"workload.peers", 4}})
            .starts_with("workload.peers: only a rank that polls words"));
  CHECK(reason_against({{"workload.kind", "fan-in"}, {"workload.notify", "word"}})
            .starts_with("workload.notify: only the ranks of the kind 'ping-pong'"));
}

TEST_CASE("notices: without that refusal a rank that polls the last byte finds data that are not there yet") {
  // Half of the pages of a destination are absent, which delays their blocks: not always the last one.
  const workloads::Configuration c = configuration(
      preset("fault/touch-a-page") + game("polled-byte") +
      Settings{{"workload.size", "64 KiB"}, {"workload.cold", "destination"}, {"workload.cold_share", 0.5}});
  const Facts facts = facts_from_child([&c] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    workloads::PingPong program(c, cluster, 1);
    program.start();
    cluster.loop.run(c.workload.time_limit);
    return Facts{{"finished", program.finished() ? 1 : 0}, {"wrong", static_cast<std::int64_t>(program.data_errors())}};
  });
  CHECK(facts.at("finished") == 1);
  CHECK(facts.at("wrong") > 0);
}

TEST_CASE("notices: words cost memory and time in proportion to those that may write") {
  std::map<std::int64_t, Point> by_peers;
  for (const std::int64_t peers : {2, 64, 1024, 2048, 4096}) {
    by_peers[peers] = run(game("word") + Settings{{"workload.size", "64 B"},
                                                  {"workload.peers", peers},
                                                  {"workload.warmup", 10},
                                                  {"workload.iterations", 400}});
    REQUIRE(by_peers[peers].error == "");
    CHECK(by_peers[peers].failed_checks.empty());
    CHECK(by_peers[peers].count("notice_memory") == 64 * peers);
  }
  // Half a scan, on average, at 5 ns a word. A hundredth of a scan is left to chance with so many draws.
  for (const std::int64_t peers : {1024, 2048, 4096}) {
    const double scan = static_cast<double>(peers) * 5e-3;
    const double added = by_peers[peers]["latency_mean"] - by_peers[2]["latency_mean"];
    INFO(peers);
    CHECK(added == Approx(scan / 2).margin(0.05 * scan));
  }
  CHECK(run(game("event-queue") + Settings{{"workload.size", "64 B"}}).count("notice_memory") == 4096);
  CHECK(run(game("counter-busy") + Settings{{"workload.size", "64 B"}}).count("notice_memory") == 0);
}

TEST_CASE("notices: a write that fails is not waited for, and counted") {
  for (const std::string& notify : kNotices) {
    INFO(notify);
    const Point point = run(preset("fault/touch-a-page") + game(notify) +
                            Settings{{"workload.cold", "destination"},
                                     {"workload.size", "64 KiB"},
                                     {"workload.iterations", 2},
                                     {"exanest.refault_limit", 1},
                                     {"workload.checks", "count"}});
    REQUIRE(point.error == "");
    CHECK(point.count("transfers") == 4);
    CHECK(point.count("transfers_failed") == 4);
  }
}

TEST_CASE("notices: trains and single cells give the same times, where memory is slow or writes fail, too") {
  const Settings faults =
      preset("fault/touch-ahead") +
      Settings{{"workload.size", "24 KiB"}, {"workload.cold", "both"}, {"workload.nodes", "0, 1, 1, 2"}};
  const Settings slow = {{"workload.size", "64 KiB"}, {"workload.nodes", "0, 0, 1, 1"}, {"ddr.efficiency", 0.1}};
  const Settings parks =
      preset("nic-mmu/on-demand") +
      Settings{{"workload.size", "24 KiB"}, {"workload.cold", "both"}, {"workload.nodes", "0, 1, 1, 2"}};
  const Settings fails = {{"workload.size", "16 KiB"},
                          {"exanest.block_timeout", "5 us"},
                          {"exanest.retry_limit", 1},
                          {"workload.checks", "count"}};
  for (const std::string& notify : kNotices) {
    for (const Settings& conditions : {faults, slow, parks, fails}) {
      const Settings settings = game(notify) + conditions;
      INFO(to_string(settings));
      const Point trains = run(settings + Settings{{"simulation.cells_per_train", 256}});
      REQUIRE(trains.error == "");
      CHECK(trains.failed_checks.empty());
      CHECK(trains.count("data_errors") == 0);
      CHECK(trains.text == run(settings + Settings{{"simulation.cells_per_train", 1}}).text);
    }
  }
}

TEST_CASE("notices: a write that arrives when its source has given it up counts as failed, and for none behind it") {
  for (const std::string& notify : kNotices) {
    INFO(notify);
    const Settings hasty = {{"workload.size", "16 KiB"},
                            {"exanest.block_timeout", "5 us"},
                            {"exanest.retry_limit", 1},
                            {"workload.iterations", 20},
                            {"workload.checks", "count"}};
    const Point point = run(game(notify) + hasty);
    const Point message = run(game("message") + hasty);
    REQUIRE(point.error == "");
    CHECK(point.count("transfers_failed") == message.count("transfers_failed"));
    CHECK(point.count("transfers_failed") == 40);
    CHECK(point.count("data_errors") == 0);
  }
}

namespace {

// Rank 0 waits for rank 1 by a counter, rank 2 for a byte of rank 1, which is killed.
class Waiting : public workloads::RankProgram {
 public:
  Waiting(const workloads::Configuration& c, platform::Cluster& cluster)
      : RankProgram(c, cluster, 1, {{0, rdma::End::destination}, {1, rdma::End::source}, {2, rdma::End::destination}}) {
    rank(0).endpoint().expect(rdma::NoticeKind::counter, 1);
    rank(2).endpoint().expect(rdma::NoticeKind::none, 1);
    polled_ = allocate(2, rdma::End::destination);
  }
  std::uint64_t planned() const override { return 0; }

 private:
  Task<void> main(Rank& me) override {
    co_await measurement(me);
    if (me.number() == 0) co_await me.learn(1, {rdma::NoticeKind::counter, 0, rdma::Waiting::sleeps});
    if (me.number() == 2) co_await me.poll_last_byte(1, polled_, 0);
    co_await me.compute(10us);
    if (me.number() == 1) kill(me);
  }
  workloads::Memory polled_{};
};

}  // namespace

TEST_CASE("notices: whoever waits for a notice of a rank that has been killed is named") {
  const workloads::Configuration c = configuration({});
  const std::string why = text_from_child([&c] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    Waiting program(c, cluster);
    program.start();
    cluster.loop.run(c.workload.time_limit);
    return program.waits();
  });
  CHECK(why ==
        "rank 0 waits for rank 1, whose process has been killed, rank 2 waits for rank 1, whose process has been "
        "killed");
}

TEST_CASE("notices: ranks that compute take turns with one that polls, and give way to one that is woken") {
  const auto play = [](const char* notify, const char* nodes) {
    return run({{"cpu.cores", 1},
                {"program.game.kind", "ping-pong"},
                {"program.game.notify", notify},
                {"program.game.size", "64 B"},
                {"program.game.iterations", 100},
                {"program.game.think_time", "500 us"},
                {"program.load.kind", "compute"},
                {"program.load.nodes", nodes}});
  };
  const Point idle = play("word", "2, 3");
  REQUIRE(idle.error == "");
  CHECK(idle["load.computed"] == Approx(1).margin(0.02));
  const Point polls = play("word", "0, 1");
  const Point sleeps = play("counter-blocking", "0, 1");
  CHECK(polls["load.computed"] < 0.65);
  CHECK(sleeps["load.computed"] > 0.9);
  // Whoever polls waits for whole turns of the other thread; whoever sleeps takes the core when it is woken.
  CHECK(polls["game.latency_max"] > 1000);
  CHECK(polls["game.latency_mean"] > 1.5 * idle["game.latency_mean"]);
  CHECK(sleeps["game.latency_p99"] < 100);
}
