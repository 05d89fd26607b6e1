// SPDX-License-Identifier: Apache-2.0
// Ranks: the calls that their programs are made of, where they are, and the kinds of program that have them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "models/os/vm/vm.hpp"
#include "tests/support/point.hpp"
#include "workloads/ranks/places.hpp"
#include "workloads/ranks/rank_program.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using sim::Task;
using workloads::Memory;
using workloads::Rank;

namespace {

// A program whose ranks do what a test says; the first half of its ranks own sources, the others destinations.
class Scripted : public workloads::RankProgram {
 public:
  using Code = std::function<Task<void>(Scripted& program, Rank& me)>;
  Scripted(const workloads::Configuration& c, platform::Cluster& cluster, const std::vector<unsigned>& nodes, Code code)
      : RankProgram(c, cluster, 1,
                    [&] {
                      std::vector<Place> places;
                      for (const unsigned node : nodes) places.push_back({node, rdma::End::destination});
                      return places;
                    }()),
        code_(std::move(code)) {
    for (unsigned i = 0; i < ranks(); ++i) {
      sources.push_back(allocate(i, rdma::End::source));
      destinations.push_back(allocate(i, rdma::End::destination));
    }
  }
  std::uint64_t planned() const override { return 0; }
  std::vector<Memory> sources;
  std::vector<Memory> destinations;
  Facts facts;

 private:
  Task<void> main(Rank& me) override {
    co_await measurement(me);
    co_await code_(*this, me);
  }
  Code code_;
};

Facts run_ranks(const Settings& settings, const std::vector<unsigned>& nodes, const Scripted::Code& code) {
  const workloads::Configuration c = configuration(settings);
  return facts_from_child([&] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    std::vector<std::int64_t> used;
    for (unsigned id = 0; id < cluster.size(); ++id) {
      used.push_back(static_cast<std::int64_t>(cluster.node(id).vm.frames().used_pages()));
    }
    Scripted program(c, cluster, nodes, code);
    program.start();
    cluster.loop.run(c.workload.time_limit);
    cluster.loop.rethrow_failure();
    program.facts["finished"] = program.finished() ? 1 : 0;
    program.facts["wrong"] = static_cast<std::int64_t>(program.data_errors());
    program.facts["stale"] = static_cast<std::int64_t>(cluster.total("memory.stale_accesses"));
    program.facts["pinned"] = 0;
    program.facts["frames"] = 0;
    for (unsigned id = 0; id < cluster.size(); ++id) {
      program.facts["pinned"] += static_cast<std::int64_t>(cluster.node(id).vm.pinned_bytes());
      program.facts["frames"] += static_cast<std::int64_t>(cluster.node(id).vm.frames().used_pages()) - used[id];
    }
    return program.facts;
  });
}

// How long it takes the rank.
Task<std::int64_t> time_of(const Scripted& program, Task<void> call) {
  const sim::Time begin = program.now();
  co_await call;
  co_return (program.now() - begin).count();
}

}  // namespace

TEST_CASE("ranks: memory calls cost time by their bytes, and trap where pages are absent") {
  const Settings settings = {{"workload.size", "8 KiB"}, {"workload.cold", "destination"}};
  Facts facts = run_ranks(settings, {0, 1}, [](Scripted& program, Rank& me) -> Task<void> {
    if (me.number() > 0) co_return;
    const Memory& warm = program.sources[0];
    const Memory& cold = program.destinations[0];
    Facts& times = program.facts;
    times["compute"] = co_await time_of(program, me.compute(5us));
    times["load"] = co_await time_of(program, me.load(warm));
    times["store"] = co_await time_of(program, me.store(warm, 7));
    times["trapped"] = co_await time_of(program, me.store(cold, 8));
    times["again"] = co_await time_of(program, me.store(cold, 9));
    times["copy"] = co_await time_of(program, me.copy(cold, warm));
    os::Vm& vm = me.endpoint().vm();
    const auto content = [&](const Memory& of) { return vm.read(me.endpoint().process(), of.address, 8192); };
    times["copied"] = content(cold) == content(warm) && content(cold) == sim::Content::pattern(7, 0, 8192) ? 1 : 0;
  });
  CHECK(facts["finished"] == 1);
  CHECK(facts["compute"] == 5'000'000);
  const std::int64_t half = os::OsConfig{}.copy_rate_each_way().time_for(8192).count();
  CHECK(facts["load"] >= half);
  CHECK(facts["load"] < half + 1'000'000);
  CHECK(facts["store"] == facts["load"]);
  CHECK(facts["again"] == facts["store"]);
  CHECK(facts["trapped"] > facts["store"] + 2 * 1'000'000);  // two faults
  CHECK(facts["copy"] >= 2 * half);
  CHECK(facts["copied"] == 1);
}

TEST_CASE("ranks: puts and gets move what is there, under strategies that ask the other rank, too") {
  for (const char* strategy : {"resident", "fault/touch-ahead", "pin-per-transfer", "pin-cache"}) {
    INFO(strategy);
    const Settings settings = preset(strategy) + Settings{{"workload.size", "20 KiB"}, {"workload.cold", "both"}};
    Facts facts = run_ranks(settings, {0, 1, 0}, [](Scripted& program, Rank& me) -> Task<void> {
      if (me.number() == 2) co_return co_await me.tell(0);  // on the same node
      co_await me.store(program.sources[me.number()], 100 + me.number());
      const unsigned far = 1 - me.number();
      auto put = co_await me.put(program.sources[me.number()], program.destinations[far]);
      const bool done = co_await me.wait(put) == rdma::Status::done;
      co_await me.tell(far, 5);
      const std::uint64_t heard = co_await me.hear(far);
      const auto got =
          me.endpoint().vm().read(me.endpoint().process(), program.destinations[me.number()].address, 20480);
      const bool right = got == sim::Content::pattern(100 + far, 0, 20480);
      auto get = co_await me.get(program.destinations[me.number()], program.sources[far]);
      const bool read = co_await me.wait(get) == rdma::Status::done;
      if (me.number() == 0) co_await me.hear(2);
      program.facts["rank " + std::to_string(me.number())] = done && read && right && heard == 5 ? 1 : 0;
    });
    CHECK(facts["finished"] == 1);
    CHECK(facts["wrong"] == 0);
    CHECK(facts["rank 0"] == 1);
    CHECK(facts["rank 1"] == 1);
  }
}

TEST_CASE("ranks: nobody leaves a barrier before the last one has come") {
  for (const unsigned ranks : {1U, 2U, 3U, 4U, 7U, 8U}) {
    INFO(ranks);
    std::vector<unsigned> nodes;
    for (unsigned i = 0; i < ranks; ++i) nodes.push_back(i % 4);
    constexpr int kRounds = 4;
    Facts facts = run_ranks({}, nodes, [ranks](Scripted& program, Rank& me) -> Task<void> {
      for (int round = 0; round < kRounds; ++round) {
        const std::string of = "round " + std::to_string(round);
        // Another one is late each time.
        const unsigned late = (static_cast<unsigned>(round) * 3 + me.number()) % ranks;
        co_await me.compute(late * 7us);
        std::int64_t& came = program.facts[of];
        came = std::max(came, program.now().count());
        ++program.facts[of + " came"];
        co_await me.barrier();
        if (program.facts[of + " came"] != ranks || program.now().count() < program.facts[of])
          program.facts["early"] = 1;
      }
    });
    CHECK(facts["finished"] == 1);
    CHECK(facts["early"] == 0);
    CHECK(facts["round 3 came"] == ranks);
  }
}

TEST_CASE("ranks: a barrier without one of its ranks never ends") {
  const Facts facts = run_ranks({}, {0, 1, 2}, [](Scripted&, Rank& me) -> Task<void> {
    if (me.number() != 1) co_await me.barrier();
  });
  CHECK(facts.at("finished") == 0);
}

TEST_CASE("ranks: nodes are read as a list with ranges, and ranks are placed on them in order") {
  using workloads::parse_nodes;
  CHECK(parse_nodes("") == std::vector<unsigned>{});
  CHECK(parse_nodes("3") == std::vector<unsigned>{3});
  CHECK(parse_nodes(" 0, 2,4-6 ,1") == std::vector<unsigned>{0, 2, 4, 5, 6, 1});
  for (const char* wrong : {",", "0,", ",0", "a", "3-1", "-1", "1-", "0 1", "65536", "0,,1", "1e3"}) {
    INFO(wrong);
    CHECK_THROWS_AS(parse_nodes(wrong), sim::BadParameterValue);
  }
  workloads::TransferConfig w;
  w.ranks = 2;
  CHECK(workloads::nodes_of_ranks(w, {0, 1}) == std::vector<unsigned>{0, 0, 1, 1});
  w.nodes = "3, 1";
  CHECK(workloads::nodes_of_ranks(w, {0, 1}) == std::vector<unsigned>{3, 3, 1, 1});
}

TEST_CASE("ranks: places that no ranks can have are refused") {
  const auto against = [](const char* kind, const char* nodes, int ranks = 1) {
    return reason_against({{"workload.kind", kind}, {"workload.nodes", nodes}, {"workload.ranks", ranks}});
  };
  CHECK(against("ping-pong", "") == "none");
  CHECK(against("ping-pong", "0, 1, 2, 3", 2) == "none");
  CHECK(against("ping-pong", "0, 1, 2").starts_with("workload.nodes: 3 ranks are no pairs"));
  CHECK(against("ping-pong", "0, 9").starts_with("workload.nodes: there are nodes 0 to 3"));
  CHECK(against("ping-pong", "0, 0").starts_with("workload.nodes: ranks 0 and 1 are both on node 0"));
  CHECK(against("fan-in", "", 3) == "none");
  CHECK(against("fan-in", "2").starts_with("workload.nodes: the receiver is on node 2, and senders on other nodes"));
  CHECK(against("fan-in", "2, 1, 2").starts_with("workload.nodes: the receiver is on node 2"));
  CHECK(reason_against({{"workload.kind", "write"}, {"workload.nodes", "0, 1"}})
            .starts_with("workload.nodes: only kinds"));
}

TEST_CASE("ranks: a ping-pong's transfer is one way, and ranks of several pairs have a part each") {
  const Settings game = {{"workload.kind", "ping-pong"}, {"workload.size", "4 KiB"}, {"workload.iterations", 5}};
  const Point one = run(game);
  CHECK(one.count("transfers") == 10);
  CHECK(one.failed_checks.empty());
  // One way has a write in it, and a message behind it.
  const std::int64_t write = run({{"workload.kind", "write"}, {"workload.size", "4 KiB"}}).latency();
  const std::int64_t message = run({{"workload.kind", "message"}, {"workload.size", "32 B"}}).latency();
  CHECK(one.latency() > write);
  CHECK(one.latency() < write + message + 1'000'000);
  const Point two = run(game + Settings{{"workload.nodes", "0, 2, 1, 3"}});
  CHECK(two.count("transfers") == 20);
  CHECK(two.parts.size() >= 4);
  CHECK(two.parts.at("rank 3").at("transfers") == 5);
}

TEST_CASE("ranks: senders of a fan-in share the way to their receiver") {
  const Settings fan = {{"workload.kind", "fan-in"}, {"workload.size", "16 KiB"}, {"workload.iterations", 10}};
  const Point one = run(fan + Settings{{"workload.nodes", "0, 1"}});
  const Point three = run(fan);
  CHECK(one.count("transfers") == 10);
  CHECK(three.count("transfers") == 30);
  CHECK(three.latency() > one.latency());
  CHECK(three["goodput"] > one["goodput"]);
  CHECK(run(fan + Settings{{"workload.ranks", 2}}).count("transfers") == 60);
}

TEST_CASE("ranks: a transfer that fails is told to the other rank, and counted") {
  const Settings fails = preset("fault/touch-a-page") + Settings{{"workload.cold", "destination"},
                                                                 {"workload.size", "64 KiB"},
                                                                 {"workload.iterations", 2},
                                                                 {"exanest.refault_limit", 1},
                                                                 {"workload.checks", "count"}};
  for (const char* kind : {"ping-pong", "fan-in"}) {
    INFO(kind);
    const Point point = run(fails + Settings{{"workload.kind", kind}, {"workload.nodes", "0, 1"}});
    REQUIRE(point.error == "");
    CHECK(point.count("transfers") == point.count("transfers_failed"));
    CHECK(point.count("transfers_failed") == (std::string(kind) == "fan-in" ? 2 : 4));
    CHECK_FALSE(point.metrics.contains("latency_mean"));
  }
}

TEST_CASE("ranks: trains and single cells give the same times") {
  for (const char* kind : {"ping-pong", "fan-in"}) {
    for (const char* strategy : {"fault/touch-ahead", "pin-per-transfer"}) {
      const Settings settings = preset(strategy) + Settings{{"workload.kind", kind},
                                                            {"workload.size", "24 KiB"},
                                                            {"workload.cold", "both"},
                                                            {"workload.iterations", 4}};
      INFO(to_string(settings));
      const Point trains = run(settings);
      CHECK(trains.text == run(settings + Settings{{"simulation.cells_per_train", 1}}).text);
      CHECK(trains.failed_checks.empty());
    }
  }
}

namespace {

// Rank 0 sends to rank 1 again and again; `victim` is killed 200 us after the begin. What of the kernels is left, and
// how the transfers ended.
Facts killed(unsigned victim, const Settings& strategy) {
  const Settings settings = strategy + Settings{{"workload.size", "64 KiB"},
                                                {"workload.cold", "destination"},
                                                {"exanest.retry_limit", 3},
                                                {"exanest.block_timeout", "1 ms"}};
  return run_ranks(settings, {0, 1, 2, 3}, [victim](Scripted& program, Rank& me) -> Task<void> {
    if (me.number() == 3) {
      co_await me.compute(200us);
      program.kill(program.rank(victim));
      co_return;
    }
    if (me.number() == 1) {
      co_await me.hear(2);
      co_return;
    }
    // Two senders to one receiver: rank 2 goes on when rank 0 is dead.
    for (int i = 0; i < 20; ++i) {
      auto put = co_await me.put(program.sources[me.number()], program.destinations[1]);
      const bool done = co_await me.wait(put) == rdma::Status::done;
      const std::string of = "rank " + std::to_string(me.number());
      ++program.facts[of + (done ? " done" : " failed")];
      if (!done) co_return;
    }
    if (me.number() == 2) co_await me.tell(1);
  });
}

}  // namespace

TEST_CASE("ranks: C17: one that is killed with a transfer under way leaves nothing behind, and others go on") {
  for (const char* strategy : {"fault/touch-ahead", "fault/stall", "pin-per-transfer", "pin-cache"}) {
    INFO(strategy);
    const Facts sender = killed(0, preset(strategy));
    CHECK(sender.at("finished") == 1);
    CHECK(sender.at("wrong") == 0);
    CHECK_FALSE(sender.contains("rank 0 failed"));
    CHECK(sender.at("rank 2 done") == 20);
    CHECK(sender.at("pinned") == 0);
    CHECK(sender.at("frames") == 0);
    CHECK(sender.at("stale") == 0);
    // Of the receiver, whoever sends learns by an error.
    const Facts receiver = killed(1, preset(strategy));
    CHECK(receiver.at("finished") == (std::string(strategy).starts_with("fault") ? 1 : 0));
    CHECK(receiver.at("stale") == 0);
    if (!std::string(strategy).starts_with("fault")) continue;  // it is asked to prepare, and does not answer
    CHECK(receiver.at("rank 0 failed") == 1);
    CHECK(receiver.at("rank 2 failed") == 1);
    CHECK(receiver.at("frames") == 0);
  }
}

TEST_CASE("ranks: one that is killed at any instant ends, and so does the run, or it is known who waits") {
  // From the set-up on: while the ranks register, warm up, ask each other, send, and end. Two ranks a node.
  for (const char* strategy : {"pin-per-transfer", "fault/touch-ahead", "pin-once"}) {
    const workloads::Configuration c = configuration(preset(strategy) + Settings{{"workload.size", "16 KiB"},
                                                                                 {"workload.cold", "both"},
                                                                                 {"exanest.retry_limit", 2},
                                                                                 {"exanest.block_timeout", "200 us"}});
    for (int step = 0; step < 24; ++step) {
      INFO(strategy << ", " << step);
      const Facts facts = facts_from_child([&] {
        platform::Cluster cluster("cluster", c.machine, 1);
        cluster.boot();
        Scripted program(c, cluster, {0, 0, 1, 1}, [](Scripted& all, Rank& me) -> Task<void> {
          const unsigned far = (me.number() + 2) % 4;
          for (int i = 0; i < 3; ++i) {
            co_await me.store(all.sources[me.number()], static_cast<std::uint64_t>(i) + 1);
            auto put = co_await me.put(all.sources[me.number()], all.destinations[far]);
            if (co_await me.wait(put) != rdma::Status::done) co_return;
            co_await me.tell(far);
            co_await me.hear(far);
          }
        });
        sim::TaskGroup tasks;
        tasks.start([](platform::Cluster& in, Scripted& all, sim::Time at) -> Task<void> {
          co_await in.loop.delay(at);
          all.kill(all.rank(1));
        }(cluster, program, 7us * step * step + 1ns));
        program.start();
        cluster.loop.run(c.workload.time_limit);
        cluster.loop.rethrow_failure();
        Facts of;
        of["ended"] = program.rank(1).has_ended() ? 1 : 0;
        of["known"] = program.finished() || !program.waits().empty() ? 1 : 0;
        of["stale"] = static_cast<std::int64_t>(cluster.total("memory.stale_accesses"));
        of["wrong"] = static_cast<std::int64_t>(program.data_errors() + program.other_data_errors());
        return of;
      });
      CHECK(facts.at("ended") == 1);
      CHECK(facts.at("known") == 1);
      CHECK(facts.at("stale") == 0);
      CHECK(facts.at("wrong") == 0);
    }
  }
}

TEST_CASE("ranks: whoever waits for one that has been killed is told, and so is for whom") {
  const workloads::Configuration c = configuration({});
  const std::string why = text_from_child([&c] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    Scripted program(c, cluster, {0, 1, 2}, [](Scripted& all, Rank& me) -> Task<void> {
      if (me.number() == 0) all.kill(me);
      if (me.number() == 0) co_await me.compute(1us);
      if (me.number() == 1) co_await me.hear(0);
      if (me.number() == 2) co_await me.hear(1);
    });
    program.start();
    cluster.loop.run(c.workload.time_limit);
    return program.waits();
  });
  CHECK(why == "rank 1 waits for rank 0, whose process has been killed, rank 2 waits for rank 1");
}

TEST_CASE("ranks: a channel is free again when its process has ended") {
  // One channel a node: a further process has room only behind one that has ended.
  const workloads::Configuration c = configuration({{"exanest.channels", 1}});
  const Facts facts = facts_from_child([&c] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    Facts of;
    for (int i = 0; i < 3; ++i) {
      Scripted program(c, cluster, {0, 1}, [](Scripted& all, Rank& me) -> Task<void> {
        const unsigned far = 1 - me.number();
        auto put = co_await me.put(all.sources[me.number()], all.destinations[far]);
        if (co_await me.wait(put) == rdma::Status::done) ++all.facts["done"];
      });
      program.start();
      cluster.loop.run(c.workload.time_limit * (i + 1));
      of["done"] += program.facts["done"];
      of["ended"] += program.finished() ? 1 : 0;
    }
    return of;
  });
  CHECK(facts.at("done") == 6);
  CHECK(facts.at("ended") == 3);
}
