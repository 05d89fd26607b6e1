// SPDX-License-Identifier: Apache-2.0
// Collective calls of any number of ranks, and streams through kernels.
#include <catch2/catch.hpp>

#include "tests/workloads/message_bench.hpp"
#include "workloads/send_receive/send_receive.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using sim::Task;
using workloads::Rank;

namespace {

const Settings kEightNodes = {{"cluster.mpsocs_per_qfdb", 8}};

Settings collective(const char* call, int ranks, const char* size) {
  return kEightNodes + Settings{{"workload.kind", "collective"},
                                {"collective.call", call},
                                {"workload.nodes", "0-" + std::to_string(ranks - 1)},
                                {"workload.iterations", 3},
                                {"workload.size", size}};
}

}  // namespace

TEST_CASE("collective: each call does its work among any number of ranks, by every way that messages go") {
  for (const int ranks : {2, 3, 5, 8}) {
    for (const char* call : {"broadcast", "allreduce", "all-to-all"}) {
      for (const char* size : {"8 B", "1 KiB", "40 KiB"}) {
        for (const char* way : {"rendezvous-read", "rendezvous-write", "copies"}) {
          if (std::string(size) != "40 KiB" && std::string(way) != "copies") continue;  // eager, all of them
          INFO(call << " of " << ranks << ", " << size << ", " << way);
          const Point point = run(collective(call, ranks, size) + Settings{{"messages.large", way}});
          CHECK(point.error == "");
          CHECK(point.failed_checks.empty());
          CHECK(point.count("transfers") == 3 * ranks);
          CHECK(point.count("data_errors") == 0);  // a wrong sum, too
        }
      }
    }
  }
}

TEST_CASE("collective: an allreduce is right where some ranks' pages are absent, and a call that fails is counted") {
  const Settings three = preset("pin-per-transfer") + collective("allreduce", 3, "40 KiB");
  const Point half = run(three + Settings{{"workload.cold", "source"}, {"workload.cold_share", 0.5}});
  CHECK(half.error == "");
  CHECK(half.count("data_errors") == 0);
  const Settings gives_up = {{"workload.cold", "destination"}, {"exanest.refault_limit", 1}};
  const Point failed = run(preset("fault/touch-a-page") + collective("broadcast", 4, "200 KiB") + gives_up);
  CHECK(failed.count("transfers_failed") > 0);
}

// A library that does not add what comes to what a rank has: one of the three is left out of each sum, at least.
TEST_CASE("collective: a sum that lacks what a rank gives is found, whatever pages are absent") {
  for (const char* cold : {"none", "destination", "source", "both"}) {
    for (const char* size : {"8 B", "40 KiB"}) {
      if (std::string(cold) == "source" && std::string(size) == "8 B") continue;  // refused
      INFO(size << ", " << cold);
      workloads::Configuration c = configuration(preset("pin-per-transfer") + collective("allreduce", 3, size) +
                                                 Settings{{"workload.cold", cold}});
      const auto wrong = [&c] {
        return read_point(text_from_child([&c] { return written(workloads::run_point(c, 1)); })).count("data_errors");
      };
      CHECK(wrong() == 0);
      c.messages.adds_up = false;
      CHECK(wrong() == 9);
    }
  }
  CHECK(reason_against(collective("allreduce", 3, "8 B") + Settings{{"workload.cold", "source"}})
            .starts_with("workload.cold: a rank has stored what it gives to a sum"));
}

// Of one call, so that a rank's goodput over its latency is what the rank has got.
TEST_CASE("collective: goodput is of what each rank gets of the others' data, and a barrier has none") {
  const auto got = [](const Point& point, int rank) {
    const auto& part = point.parts.at("rank " + std::to_string(rank));
    return part.contains("goodput") ? std::llround(part.at("goodput") * part.at("latency_mean")) : 0;
  };
  const Settings once = {{"workload.iterations", 1}};
  const Point barrier = run(collective("barrier", 4, "1 KiB") + once);
  CHECK(barrier.count("transfers") == 4);
  CHECK_FALSE(barrier.metrics.contains("goodput"));
  CHECK_FALSE(barrier.metrics.contains("goodput_peak"));
  const Point broadcast = run(collective("broadcast", 4, "1 KiB") + once);
  const Point allreduce = run(collective("allreduce", 4, "1 KiB") + once);
  const Point all_to_all = run(collective("all-to-all", 4, "1 KiB") + once);
  for (int rank = 0; rank < 4; ++rank) {
    CHECK(got(barrier, rank) == 0);
    CHECK(got(broadcast, rank) == (rank == 0 ? 0 : 1024));  // the root has it
    CHECK(got(allreduce, rank) == 1024);
    CHECK(got(all_to_all, rank) == 3 * 1024);
  }
}

// As many as a mailbox has room for: one credit each.
TEST_CASE("collective: seventeen ranks, which have one credit for each other") {
  const Settings cluster = {{"cluster.x", 3}, {"cluster.mpsocs_per_qfdb", 8}, {"workload.nodes", "0-16"}};
  for (const char* call : {"barrier", "broadcast", "allreduce", "all-to-all"}) {
    INFO(call);
    const Point point = run(collective(call, 8, "8 B") + cluster + Settings{{"workload.warmup", 2}});
    CHECK(point.error == "");
    CHECK(point.failed_checks.empty());
    CHECK(point.count("transfers") == 3 * 17);
  }
}

TEST_CASE("collective: absent pages cost a call time, and no correctness") {
  const Settings all = preset("fault/touch-ahead") + collective("allreduce", 4, "40 KiB");
  const Point warm = run(all);
  const Point cold = run(all + Settings{{"workload.cold", "both"}});
  CHECK(cold.count("data_errors") == 0);
  CHECK(cold.failed_checks.empty());
  CHECK(cold.latency() > warm.latency() + 50'000'000);
}

TEST_CASE("collective: a barrier takes one round for each doubling of its ranks, and nobody leaves early") {
  std::vector<std::int64_t> latencies;
  for (const int ranks : {2, 4, 8}) {
    const Point point = run(collective("barrier", ranks, "8 B"));
    CHECK(point.failed_checks.empty());
    latencies.push_back(point.latency());
  }
  CHECK(latencies[1] > latencies[0] * 3 / 2);
  CHECK(latencies[2] > latencies[1] * 5 / 4);
  CHECK(latencies[2] < latencies[0] * 4);
  for (const unsigned ranks : {1U, 3U, 6U}) {
    INFO(ranks);
    std::vector<unsigned> nodes;
    for (unsigned i = 0; i < ranks; ++i) nodes.push_back(i);
    Facts facts = run_talk(kEightNodes, nodes, [ranks](Talk& talk, Rank& me) -> Task<void> {
      messages::Collectives collectives(talk.of(me), {});
      for (unsigned round = 0; round < 4; ++round) {
        co_await me.compute((round * 3 + me.number()) % ranks * 7us);
        std::int64_t& came = talk.facts["round " + std::to_string(round)];
        ++came;
        co_await collectives.barrier(me.thread());
        talk.facts["early"] += came == ranks ? 0 : 1;
      }
    });
    check_well(facts);
    CHECK(facts["early"] == 0);
  }
}

namespace {

Settings socket(const char* size) {
  return {{"workload.kind", "send-receive"}, {"messages.way", "sockets"}, {"workload.size", size}};
}

}  // namespace

TEST_CASE("sockets: a stream brings any number of bytes, whatever segments and window are") {
  for (const char* size : {"1 B", "16383 B", "16385 B", "300 KiB"}) {
    for (const char* segment : {"64 B", "16 KiB", "64 KiB"}) {
      for (const int window : {1, 2, 8}) {
        if (std::string(size) == "300 KiB" && std::string(segment) == "64 B") continue;  // 4800 of them
        INFO(size << " in segments of " << segment << ", window " << window);
        const Point point = run(socket(size) + Settings{{"socket.segment", segment}, {"socket.window", window}});
        CHECK(point.error == "");
        CHECK(point.failed_checks.empty());
        CHECK(point.count("transfers") == 2);
        CHECK(point.count("data_errors") == 0);
      }
    }
  }
}

TEST_CASE("sockets: a message costs two system calls, two copies, and an interrupt") {
  const os::OsConfig os;
  const Point one = run(socket("64 B"));
  // What each of its costs does, one at a time: a microsecond more is one or two later, to the picosecond.
  const auto later = [&one](const char* key, const char* value) {
    return run(socket("64 B") + Settings{{key, value}}).latency() - one.latency();
  };
  CHECK(later("socket.call", "1800 ns") == 1'000'000);  // the writer's: the reader is in its call already
  CHECK(later("socket.transmit", "4 us") == 1'000'000);
  CHECK(later("socket.receive", "5 us") == 1'000'000);
  CHECK(later("os.wake_up", "7800 ns") > 0);
  // What the program's strategy does is nothing to its kernel.
  CHECK(run(preset("pin-per-transfer") + socket("64 B")).latency() == one.latency());
  // Absent pages fault in the calls that copy.
  const Point cold = run(preset("fault/touch-a-page") + socket("64 B") + Settings{{"workload.cold", "both"}});
  CHECK(cold.latency() > one.latency() + 2'000'000);
  CHECK(cold.latency() < one.latency() + 8'000'000);
  // Segments overlap: two copies in a row would take twice as long.
  const std::int64_t copy = os.copy_bandwidth.time_for(1 << 20).count();
  const Point long_one = run(socket("1 MiB"));
  CHECK(long_one.latency() > copy);
  CHECK(long_one.latency() < 2 * copy);
  // As many segments as the NIC takes of one process, on a link that is slower than the copies.
  const Point slow = run(socket("1 MiB") + Settings{{"socket.window", 15}, {"network.internal_rate", "4 Gb/s"}});
  CHECK(slow.error == "");
  CHECK(slow.count("data_errors") == 0);
}

// Of data, of what acknowledges them, or of both: the other end, which may wait in its call, learns of it, too.
TEST_CASE("sockets: a link that fails for good breaks the connection, and all that was to follow fails") {
  std::int64_t fewest = 20;
  std::int64_t most = 0;
  for (const char* at : {"0 us", "200 us", "400 us", "433 us", "500 us", "577 us", "650 us"}) {
    for (const char* size : {"64 B", "40 KiB"}) {
      INFO(size << ", at " << at);
      const Point point = run(socket(size) + Settings{{"workload.iterations", 10},
                                                      {"workload.checks", "count"},
                                                      {"network.failures", std::string("link 0-1 at ") + at}});
      CHECK(point.error == "");
      CHECK(point.count("transfers") == 20);
      CHECK(point.count("data_errors") == 0);
      fewest = std::min(fewest, point.count("transfers_failed"));
      most = std::max(most, point.count("transfers_failed"));
    }
  }
  CHECK(fewest > 0);
  CHECK(fewest < 15);
  CHECK(most == 20);
}

namespace {

// Two pairs; rank 0 or 2, which answer each other, is killed at an instant. What was spent is compared with what all
// cores have spent from the first measured transfer until everything has ended.
Facts pairs_with_one_killed(const Settings& settings, unsigned victim, sim::Time at) {
  const workloads::Configuration c = configuration(settings);
  return facts_from_child([&] {
    platform::Cluster cluster("cluster", c.machine, 1);
    cluster.boot();
    const auto sum = [&cluster](auto of) {
      std::int64_t all = 0;
      for (unsigned id = 0; id < cluster.size(); ++id) all += of(cluster.node(id));
      return all;
    };
    const auto frames = [](platform::Node& node) { return static_cast<std::int64_t>(node.vm.frames().used_pages()); };
    const auto interrupts = [](platform::Node& node) {
      node.settle();
      return static_cast<std::int64_t>(node.statistics.value("cpu.time_irq") +
                                       node.statistics.value("cpu.time_softirq"));
    };
    const std::int64_t used = sum(frames);
    workloads::SendReceive pairs(c, cluster, 1);
    std::int64_t interrupted = 0;
    pairs.all_ready = [&]() -> Task<void> {
      interrupted = sum(interrupts);
      co_return;
    };
    sim::TaskGroup tasks;
    tasks.start([](platform::Cluster& in, workloads::SendReceive& all, unsigned who, sim::Time when) -> Task<void> {
      co_await in.loop.delay(when);
      all.kill(all.rank(who));
    }(cluster, pairs, victim, at));
    pairs.start();
    cluster.loop.run(c.workload.time_limit);
    cluster.loop.rethrow_failure();
    Facts facts;
    facts["finished"] = pairs.finished() ? 1 : 0;
    facts["wrong"] = static_cast<std::int64_t>(pairs.data_errors() + pairs.other_data_errors());
    facts["frames"] = sum(frames) - used;
    for (const workloads::Sample& each : pairs.samples()) ++facts["done " + std::to_string(each.sender)];
    for (const workloads::Metric& each : pairs.own_metrics()) {
      const auto transfers = static_cast<double>(pairs.samples().size() + pairs.failed());
      if (each.name == "cpu_per_transfer") facts["spent"] = std::llround(each.value * 1e6 * transfers);
    }
    facts["interrupts"] = sum(interrupts) - interrupted;
    for (unsigned id = 0; id < cluster.size(); ++id) cluster.node(id).vm.audit();
    return facts;
  });
}

}  // namespace

TEST_CASE("sockets: a rank that is killed at any instant ends its connection, and the run goes on to its end") {
  const Settings settings =
      socket("20 KiB") + Settings{{"workload.ranks", 2}, {"workload.iterations", 10}, {"workload.warmup", 1}};
  for (const unsigned victim : {0U, 2U}) {
    for (int step = 0; step < 16; ++step) {
      INFO("rank " << victim << ", " << step);
      Facts facts = pairs_with_one_killed(settings, victim, 7us * step * step + 1ns);
      CHECK(facts["finished"] == 1);
      CHECK(facts["wrong"] == 0);
      CHECK(facts["frames"] == 0);
      CHECK(facts["done 1"] == 10);  // the other pair
      CHECK(facts["done 3"] == 10);
      CHECK(facts["spent"] > facts["interrupts"]);
    }
  }
}

// A completion word is another transfer's after 512 posts.
TEST_CASE("sockets: a message of more segments than a process has completion words") {
  for (const int every : {1, 2}) {
    const Point point =
        run(socket("40 KiB") + Settings{{"socket.segment", "64 B"}, {"socket.acknowledge_every", every}});
    CHECK(point.error == "");
    CHECK(point.failed_checks.empty());
    CHECK(point.count("transfers") == 2);
  }
}

TEST_CASE("sockets: a NIC with an MMU of its own carries them, too") {
  const Point point = run(preset("nic-mmu/pushed") + socket("20 KiB") + Settings{{"workload.cold", "both"}});
  CHECK(point.error == "");
  CHECK(point.failed_checks.empty());
  CHECK(point.count("data_errors") == 0);
}
