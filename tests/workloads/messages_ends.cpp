// SPDX-License-Identifier: Apache-2.0
// Messages that end otherwise: that nobody receives, for which somebody waits for ever, of ranks that die, and what is
// refused before anything is sent.
#include <catch2/catch.hpp>

#include "tests/workloads/message_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using messages::Ended;
using messages::Outcome;
using messages::RequestId;
using sim::Task;
using workloads::Rank;

TEST_CASE("messages: what nobody receives is there at the end, and goes with its process") {
  for (const std::uint64_t bytes : {8, 4096}) {
    INFO(bytes);
    Facts facts = run_talk(kTalkBuffers, {0, 1}, [bytes](Talk& talk, Rank& me) -> Task<void> {
      if (me.number() == 0) {
        const RequestId sent = co_await talk.send(me, 1, 1, talk.part(me, 0, bytes));
        co_await talk.wait(me, sent);
      } else {
        co_await talk.receive(me, {0, 2}, talk.part(me, 1, bytes));  // another tag's, for which nobody waits
      }
    });
    CHECK(facts["finished"] == 1);
    CHECK(facts["unreceived"] == 1);
    CHECK(facts["frames"] == 0);
    CHECK(facts["pinned"] == 0);
  }
}

TEST_CASE("messages: unsafe programs end, telling who waits for whom") {
  // Both send before they receive: well with buffers, and for ever without.
  const auto head_to_head = [](std::uint64_t bytes) -> Talk::Code {
    return [bytes](Talk& talk, Rank& me) -> Task<void> {
      const unsigned other = 1 - me.number();
      const RequestId sent = co_await talk.send(me, other, 1, talk.part(me, 0, bytes));
      co_await talk.wait(me, sent);
      const RequestId received = co_await talk.receive(me, {other, 1}, talk.part(me, 1, bytes));
      co_await talk.wait(me, received);
    };
  };
  check_well(run_talk(kTalkBuffers, {0, 1}, head_to_head(4096)));
  Facts stuck = run_talk(kTalkBuffers, {0, 1}, head_to_head(65536));
  CHECK(stuck["finished"] == 0);
  CHECK(stuck["waits"] == 2);
  CHECK(stuck["says that rank 0 waits for rank 1 to receive 64 KiB (tag 1)"] == 1);
  // Who has waited, and works on, waits no more.
  Facts half = run_talk(
      kTalkBuffers + Settings{{"workload.time_limit", "2 ms"}}, {0, 1}, [](Talk& talk, Rank& me) -> Task<void> {
        const unsigned other = 1 - me.number();
        const RequestId own = me.number() == 0 ? co_await talk.send(me, other, 1, talk.part(me, 0, 8))
                                               : co_await talk.receive(me, {other, 1}, talk.part(me, 1, 8));
        co_await talk.wait(me, own);
        if (me.number() == 0) co_await me.compute(1s);
        const RequestId never = co_await talk.receive(me, {other, 2}, talk.part(me, 1, 8));
        co_await talk.wait(me, never);
      });
  CHECK(half["waits"] == 1);
  CHECK(half["says that rank 1 waits to receive from rank 0 (tag 2)"] == 1);
}

TEST_CASE("messages: a rank that is killed while a thread of the library takes what comes ends all the same") {
  Facts facts = run_talk(kTalkBuffers + Settings{{"messages.progress", "thread"}}, {0, 1, 2},
                         [](Talk& talk, Rank& me) -> Task<void> {
                           if (me.number() == 1) {
                             const RequestId received = co_await talk.receive(me, {0, 1}, talk.part(me, 1, 8));
                             co_await talk.wait(me, received);
                             talk.facts["went on"] = 1;
                           }
                           if (me.number() == 2) {
                             co_await me.compute(20us);
                             talk.kill(talk.rank(1));
                           }
                         });
  CHECK(facts["went on"] == 0);
  CHECK(facts["ended 1"] == 1);
}

TEST_CASE("messages: CPU time of a rank that is killed counts up to then, and no further") {
  for (const bool kills : {false, true}) {
    Facts facts = run_talk(kTalkBuffers, {0, 1, 2}, [kills](Talk& talk, Rank& me) -> Task<void> {
      const sim::Time begin = talk.now();
      co_await me.compute(100us);
      talk.ended(me, begin);
      if (kills && me.number() == 1) talk.kill(me);
      co_await me.compute(50us);
    });
    CHECK(facts["ended 1"] == 1);
    CHECK(facts["metric cpu_per_transfer"] == (kills ? 400'000'000 : 450'000'000) / 3);
  }
}

// Short messages leave nothing at their sender that could fail: its NIC has handed them over.
TEST_CASE("messages: who waits for a killed rank's credits is told so, and keeps what it has sent to others") {
  for (const unsigned messages : {4, 40}) {
    INFO(messages);
    Facts facts = run_talk(kTalkBuffers, {0, 1, 2}, [messages](Talk& talk, Rank& me) -> Task<void> {
      if (me.number() == 1) talk.kill(me);
      co_await me.compute(50us);
      const unsigned other = 2 - me.number();
      for (unsigned i = 0; i < messages && me.number() == 0; ++i) {
        const RequestId sent = co_await talk.send(me, 1, 1, talk.part(me, 0, 8));
        co_await talk.wait(me, sent);
      }
      const RequestId sent = co_await talk.send(me, other, 2, talk.part(me, 0, 8));
      co_await talk.wait(me, sent);
      const RequestId received = co_await talk.receive(me, {other, 2}, talk.part(me, 1, 8));
      const Outcome outcome = co_await talk.wait(me, received);
      talk.facts["arrived"] += outcome.ended == Ended::well ? 1 : 0;
    });
    CHECK(facts["arrived"] == 2);
    CHECK(facts["wrong"] == 0);
    CHECK(facts["stale"] == 0);
    CHECK(facts["waits"] >= 1);
    CHECK(facts["says that rank 0 waits for rank 1 to give credits back for what it still sends there"] ==
          (messages == 40 ? 1 : 0));
  }
}

TEST_CASE("messages: sends to a process that has been killed end, or the run tells who waits") {
  Facts facts = run_talk(kTalkBuffers, {0, 1, 2}, [](Talk& talk, Rank& me) -> Task<void> {
    if (me.number() == 1) talk.kill(me);
    if (me.number() == 2) {
      const RequestId asked = co_await talk.receive(me, {0, 1}, talk.part(me, 1, 8));
      co_await talk.wait(me, asked);
      const RequestId answer = co_await talk.send(me, 0, 2, talk.part(me, 0, 8));
      co_await talk.wait(me, answer);
    }
    co_await me.compute(50us);
    if (me.number() != 0) co_return;
    const RequestId of_another = co_await talk.receive(me, {2, 2}, talk.part(me, 1, 8));
    const RequestId eager = co_await talk.send(me, 1, 1, talk.part(me, 0, 4096));
    co_await talk.wait(me, eager);  // its data are out of the program's memory
    const RequestId large_one = co_await talk.send(me, 1, 1, talk.part(me, 0, 65536));
    const Outcome outcome = co_await talk.wait(me, large_one);
    talk.facts["failed"] = outcome.ended == Ended::failed ? 1 : 0;
    const RequestId later = co_await talk.send(me, 1, 1, talk.part(me, 0, 8));
    const Outcome after = co_await talk.wait(me, later);
    talk.facts["failed after"] = after.ended == Ended::failed ? 1 : 0;
    // What another rank has still to do is not touched by that.
    const RequestId asking = co_await talk.send(me, 2, 1, talk.part(me, 0, 8));
    co_await talk.wait(me, asking);
    const Outcome answer = co_await talk.wait(me, of_another);
    talk.facts["answered"] = answer.ended == Ended::well ? 1 : 0;
  });
  CHECK(facts["failed"] == 1);
  CHECK(facts["failed after"] == 1);
  CHECK(facts["answered"] == 1);
  // Only the barrier at the end, at which the killed rank is missed, is never over.
  CHECK(facts["waits"] == 2);
  CHECK(facts["says that rank 2 waits to receive from rank 1 (a collective call)"] == 1);
}

TEST_CASE("messages: a rank that is killed at any instant ends, and it is known who waits") {
  for (const char* way : {"eager", "rendezvous-read", "rendezvous-write", "copies", "pipeline"}) {
    for (const char* strategy : {"pin-cache", "fault/touch-ahead"}) {
      const Settings settings = kTalkBuffers + preset(strategy) +
                                Settings{{"messages.way", way},
                                         {"messages.slot_bytes", "64 KiB"},
                                         {"workload.cold", "both"},
                                         {"exanest.retry_limit", 2},
                                         {"exanest.block_timeout", "200 us"}};
      for (int step = 0; step < 10; ++step) {
        INFO(way << ", " << strategy << ", " << step);
        Facts facts = run_talk(settings, {0, 1, 2}, [step](Talk& talk, Rank& me) -> Task<void> {
          if (me.number() == 2) {
            co_await me.compute(9us * step * step);
            talk.kill(talk.rank(1));
            co_return;
          }
          const unsigned other = 1 - me.number();
          for (unsigned i = 0; i < 4; ++i) {
            const RequestId received = co_await talk.receive(me, {other, 1}, talk.part(me, 1, 48'000));
            const RequestId sent = co_await talk.send(me, other, 1, talk.part(me, 0, 48'000));
            co_await talk.wait(me, sent);
            co_await talk.wait(me, received);
          }
        });
        CHECK(facts["ended 1"] == 1);
        CHECK(facts["finished"] + facts["waits"] >= 1);
        CHECK(facts["stale"] == 0);
        CHECK(facts["wrong"] == 0);
      }
    }
  }
}

TEST_CASE("messages: configurations that cannot be are refused with the reason") {
  const auto against = [](const Settings& more) {
    return reason_against(Settings{{"workload.kind", "send-receive"}} + more);
  };
  CHECK(against({}) == "none");
  CHECK(
      against({{"messages.eager_bytes", "32 KiB"}}).starts_with("messages.eager_bytes: an eager message lies in one"));
  CHECK(against({{"messages.chunk_last", "32 KiB"}}).starts_with("messages.chunk_last: a chunk lies in one slot"));
  CHECK(against({{"messages.chunk_first", "32 KiB"}}).starts_with("messages.chunk_first: chunks grow"));
  CHECK(
      against({{"messages.way", "eager"}, {"workload.size", "32 KiB"}}).starts_with("messages.way: an eager message"));
  CHECK(against({{"messages.way", "sockets"}, {"socket.window", 15}}) == "none");
  CHECK(against({{"messages.way", "sockets"}, {"socket.window", 16}}).starts_with("socket.window: 17 transfers"));
  CHECK(against({{"messages.way", "sockets"}, {"messages.progress", "thread"}})
            .starts_with("messages.progress: a thread of the library would poll for nothing"));
  CHECK(against({{"messages.slots", 32}, {"workload.ranks", 5}}).starts_with("messages.slots: 288 slots"));
  CHECK(against({{"workload.ranks", 9}}).starts_with("workload.nodes: 18 ranks would each have fewer than 4 places"));
  CHECK(against(preset("pin-deferred")).starts_with("strategy.deferred: ranks prepare and post whole transfers"));
  // Nothing is registered for what is copied.
  const Settings no_pins =
      preset("pin-per-transfer") + Settings{{"workload.size", "8 KiB"}, {"os.rlimit_memlock", "0 B"}};
  CHECK(against(no_pins) == "none");
  CHECK(against(no_pins + Settings{{"messages.way", "copies"}}) == "none");
  CHECK(against(no_pins + Settings{{"messages.eager_bytes", "4 KiB"}}).find("RLIMIT_MEMLOCK") != std::string::npos);
  CHECK(against({{"workload.nodes", "0, 0"}}).starts_with("workload.nodes: ranks 0 and 1 are both on node 0"));
  CHECK(reason_against({{"workload.kind", "collective"}, {"workload.nodes", "0"}})
            .starts_with("workload.nodes: ranks are on different nodes"));
  CHECK(reason_against({{"workload.kind", "collective"}, {"collective.call", "allreduce"}, {"workload.size", "12 B"}})
            .starts_with("workload.size: sums are of words"));
}

TEST_CASE("messages: who waits for what a NIC has given up is told so") {
  const Point point = run(preset("pin-per-transfer") + Settings{{"workload.kind", "send-receive"},
                                                                {"workload.size", "16 KiB"},
                                                                {"messages.way", "eager"},
                                                                {"exanest.retry_limit", 1},
                                                                {"exanest.block_timeout", "5 us"}});
  CHECK(point.error.find("waits for ever: rank 0 waits") != std::string::npos);
  CHECK(point.error.find("a NIC has given up a message") != std::string::npos);
  CHECK(point.error_keys ==
        std::vector<std::string>{"exanest.refault_limit", "exanest.retry_limit", "network.failures"});
}

TEST_CASE("messages: a rank's memory, slots among it, fits in its memory cgroup") {
  const Settings pair = Settings{{"workload.kind", "send-receive"}, {"workload.size", "64 KiB"}};
  CHECK(
      reason_against(pair + Settings{{"workload.memory_limit", "128 KiB"}}).find("do not fit in a program's 128 KiB") !=
      std::string::npos);
  CHECK(reason_against(pair + Settings{{"workload.memory_limit", "4 MiB"}}) == "none");
  CHECK(reason_against(
            Settings{{"workload.kind", "ping-pong"}, {"workload.size", "1 MiB"}, {"workload.memory_limit", "4 KiB"}})
            .starts_with("workload.size: "));
}
