// SPDX-License-Identifier: Apache-2.0
// Messages between ranks: the ways that they go, what bounds hold, and what breaks when a mechanism is switched off.
#include <catch2/catch.hpp>

#include "tests/workloads/message_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using messages::Ended;
using messages::kAny;
using messages::Outcome;
using messages::RequestId;
using sim::Task;
using workloads::Rank;

namespace {

Settings large(const std::string& way) { return kTalkBuffers + Settings{{"messages.large", way}}; }

// One message from rank 0 to rank 1; `late`: nobody waits for it when it comes.
Talk::Code one_message(std::uint64_t bytes, bool late) {
  return [bytes, late](Talk& talk, Rank& me) -> Task<void> {
    if (me.number() == 0) {
      const RequestId sent = co_await talk.send(me, 1, 5, talk.part(me, 0, bytes));
      const Outcome outcome = co_await talk.wait(me, sent);
      talk.facts["sent"] = outcome.ended == Ended::well ? 1 : 0;
      talk.facts["sent at"] = talk.now().count();
    } else {
      if (late) co_await me.compute(300us);
      const RequestId received = co_await talk.receive(me, {0, 5}, talk.part(me, 1, bytes));
      const Outcome outcome = co_await talk.wait(me, received);
      const bool well = outcome.ended == Ended::well && outcome.bytes == bytes && outcome.source == 0;
      talk.facts["received"] = well && outcome.tag == 5 ? 1 : 0;
      talk.facts["received at"] = talk.now().count();
    }
  };
}

}  // namespace

TEST_CASE("messages: each way brings messages of any length, expected or not, to where they belong") {
  for (const char* way : {"rendezvous-read", "rendezvous-write", "copies", "pipeline"}) {
    for (const std::uint64_t bytes : {0, 1, 31, 32, 33, 4096, 16384, 16385, 100'000, 262'144}) {
      for (const bool late : {false, true}) {
        INFO(way << ", " << bytes << " B" << (late ? ", unexpected" : ""));
        Facts facts = run_talk(large(way), {0, 1}, one_message(bytes, late));
        check_well(facts);
        CHECK(facts["sent"] == 1);
        CHECK(facts["received"] == 1);
      }
    }
  }
}

TEST_CASE("messages: every strategy that prepares whole transfers carries them, absent pages or not") {
  for (const auto& [name, settings] : presets()) {
    if (name.starts_with("nic-mmu/veto")) continue;  // hypothetical
    const Settings all =
        settings + kTalkBuffers + Settings{{"workload.cold", "both"}, {"workload.kind", "send-receive"}};
    if (reason_against(all) != "none") {
      CHECK(reason_against(all).starts_with("strategy."));
      continue;
    }
    for (const char* way : {"rendezvous-read", "rendezvous-write", "copies", "pipeline"}) {
      INFO(name << ", " << way);
      const Point point = run(all + Settings{{"messages.large", way}});
      CHECK(point.error == "");
      CHECK(point.failed_checks.empty());
      CHECK(point.count("transfers") == 2);
      CHECK(point.count("data_errors") == 0);
      CHECK(point.count("stale_accesses") == 0);
    }
  }
}

// Nine parts of 64 KiB, eight of which may be registered at a time, and memory for four of them, or for none.
TEST_CASE("messages: by pipeline a part that cannot be registered waits for others, and is copied if there are none") {
  const Settings parts =
      preset("pin-per-transfer") + Settings{{"workload.kind", "send-receive"},    {"workload.size", "612 KiB"},
                                            {"workload.iterations", 1},           {"messages.large", "pipeline"},
                                            {"messages.pipeline_part", "64 KiB"}, {"messages.pipeline_depth", 8}};
  const auto brought = [](const Settings& settings) {
    const Point point = run(settings);
    CHECK(point.failed_checks.empty());
    CHECK(point.count("transfers") == 2);
    CHECK(point.count("transfers_failed") == 0);
    CHECK(point.count("data_errors") == 0);
    return point;
  };
  const Point enough = brought(parts + Settings{{"os.rlimit_memlock", "1 MiB"}});
  const Point scarce = brought(parts + Settings{{"os.rlimit_memlock", "256 KiB"}});
  CHECK(scarce["latency_mean"] < 1.02 * enough["latency_mean"]);  // four keep the link busy
  CHECK(scarce["pinned_bytes_peak"] < enough["pinned_bytes_peak"]);
  const Point none = brought(parts + Settings{{"os.rlimit_memlock", "16 KiB"}});
  CHECK(none["latency_mean"] > 1.02 * enough["latency_mean"]);
  CHECK(none["pinned_bytes_peak"] == 0);
}

TEST_CASE("messages: a receiver waits for no pin that the sender undoes, unless its own NIC has read") {
  const auto told = [](const std::string& way, const char* when, const char* unpin) {
    const Settings settings = preset("pin-per-transfer") + large(way) + Settings{{"os.unpin_per_page", unpin}};
    return run_talk(settings, {0, 1}, one_message(256 << 10, false))[when];
  };
  const auto grows = [&](const std::string& way, const char* when) {
    return static_cast<double>(told(way, when, "1080 ns") - told(way, when, "80 ns")) / 1e6;  // us
  };
  // Of 64 pages, at one end or at both.
  CHECK(grows("rendezvous-write", "received at") == Approx(64).epsilon(0.05));
  CHECK(grows("rendezvous-write", "sent at") == Approx(64).epsilon(0.05));
  CHECK(grows("rendezvous-read", "received at") == Approx(64).epsilon(0.05));
  CHECK(grows("rendezvous-read", "sent at") == Approx(128).epsilon(0.05));
}

TEST_CASE("messages: pages that nobody registers are made absent, whatever the strategy; what a cache holds is not") {
  const auto sent = [](const char* strategy, const char* way, const char* size) {
    return run(preset(strategy) + Settings{{"workload.kind", "send-receive"},
                                           {"workload.cold", "both"},
                                           {"workload.size", size},
                                           {"workload.warmup", 1},
                                           {"messages.way", way}});
  };
  const Point eager = sent("pin-cache", "eager", "16 KiB");
  const Point same = sent("pin-per-transfer", "eager", "16 KiB");
  CHECK(eager["minor_faults"] > 0);
  CHECK(eager["minor_faults"] == same["minor_faults"]);
  CHECK(eager["latency_mean"] == same["latency_mean"]);
  CHECK_FALSE(eager.notes_say("makes no page absent again"));
  CHECK(sent("resident", "eager", "16 KiB")["minor_faults"] == 0);
  for (const char* way : {"rendezvous-write", "rendezvous-read", "pipeline"}) {
    INFO(way);
    const Point cached = sent("pin-cache", way, "64 KiB");
    CHECK(cached["minor_faults"] == 0);
    CHECK(cached.notes_say("workload.cold makes no page absent again"));
  }
}

// What a way costs, from the parameters: an eager message pays two copies, and the data cross once.
TEST_CASE("messages: the ways cost what they are made of") {
  const os::OsConfig os;
  const auto received_at = [&](const std::string& way, std::uint64_t bytes) {
    return run_talk(large(way), {0, 1}, one_message(bytes, false))["received at"];
  };
  const std::int64_t small = received_at("copies", 33);
  const std::int64_t full = received_at("copies", 16384);
  const std::int64_t copies = 2 * os.copy_bandwidth.time_for(16384 - 33).count();
  const std::int64_t wire =
      run({{"workload.kind", "write"}, {"workload.size", "16384 B"}, {"strategy.registration", "ideal"}}).latency() -
      run({{"workload.kind", "write"}, {"workload.size", "33 B"}, {"strategy.registration", "ideal"}}).latency();
  CHECK(full - small > copies + wire - 2'000'000);
  CHECK(full - small < copies + wire + 3'000'000);
  // In one small message of the NIC, without copies and completions.
  CHECK(received_at("copies", 32) + 4'000'000 < small);
}

TEST_CASE("messages: those of one sender are taken in the order in which they were sent") {
  // Slots and small messages overtake each other: long ones first, short ones behind them.
  const Talk::Code code = [](Talk& talk, Rank& me) -> Task<void> {
    constexpr std::uint64_t kBytes[] = {12'000, 8, 200'000, 100, 16, 9000, 1};
    if (me.number() == 0) {
      std::vector<RequestId> sent;
      for (const std::uint64_t bytes : kBytes) sent.push_back(co_await talk.send(me, 1, 3, talk.part(me, 0, bytes)));
      for (const RequestId each : sent) co_await talk.wait(me, each);
    } else {
      for (const std::uint64_t bytes : kBytes) {
        const RequestId received = co_await talk.receive(me, {kAny, kAny}, talk.part(me, 1, 256 * 1024));
        const Outcome outcome = co_await talk.wait(me, received);
        talk.facts["overtaken"] += outcome.bytes == bytes ? 0 : 1;
      }
    }
  };
  Facts facts = run_talk(kTalkBuffers, {0, 1}, code);
  check_well(facts);
  CHECK(facts["overtaken"] == 0);
  // The same without numbers: whatever is quicker is first.
  Facts mutant = run_talk(kTalkBuffers, {0, 1}, code, 2, [](auto& c) { c.messages.keeps_order = false; });
  CHECK(mutant["overtaken"] > 0);
}

namespace {

// Rank 0 sends `count` messages before rank 1 takes any of them, in the order in which they came or the other way.
Talk::Code flood(unsigned count, std::uint64_t bytes, bool backwards) {
  return [=](Talk& talk, Rank& me) -> Task<void> {
    if (me.number() == 0) {
      std::vector<RequestId> sent;
      for (unsigned i = 0; i < count; ++i) sent.push_back(co_await talk.send(me, 1, i, talk.part(me, 0, bytes)));
      for (const RequestId each : sent) co_await talk.wait(me, each);
    } else {
      co_await me.compute(2ms);
      for (unsigned i = 0; i < count; ++i) {
        const unsigned tag = backwards ? count - 1 - i : i;
        const RequestId received = co_await talk.receive(me, {0, tag}, talk.part(me, 1, bytes));
        co_await talk.wait(me, received);
        ++talk.facts["taken"];
      }
    }
  };
}

}  // namespace

TEST_CASE("messages: what is full presses back, and loses nothing") {
  for (const std::uint64_t bytes : {8, 4096, 65536}) {
    for (const bool backwards : {false, true}) {
      for (const char* way : {"rendezvous-read", "rendezvous-write", "copies", "pipeline"}) {
        INFO(bytes << " B, " << way << (backwards ? ", last first" : ""));
        Facts facts = run_talk(large(way), {0, 1}, flood(150, bytes, backwards));
        check_well(facts);
        CHECK(facts["taken"] == 150);
      }
    }
  }
}

TEST_CASE("messages: what waits for a place is counted while it waits") {
  Facts facts = run_talk(large("copies"), {0, 1, 2}, [](Talk& talk, Rank& me) -> Task<void> {
    if (me.number() == 0) {
      const RequestId sent = co_await talk.send(me, 1, 5, talk.part(me, 0, 200'000));
      co_await talk.wait(me, sent);
    } else if (me.number() == 1) {
      const RequestId received = co_await talk.receive(me, {0, 5}, talk.part(me, 1, 200'000));
      co_await talk.wait(me, received);
    } else {
      for (int i = 0; i < 50; ++i) {
        co_await me.compute(2us);
        const auto kept = static_cast<std::int64_t>(talk.of(talk.rank(0)).leftovers().kept_back);
        talk.facts["most"] = std::max(talk.facts["most"], kept);
        talk.facts["least"] = std::min(talk.facts["least"], kept);
      }
    }
  });
  check_well(facts);
  CHECK(facts["most"] == 1);  // one message, in chunks
  CHECK(facts["least"] == 0);
}

TEST_CASE("messages: without credits the mailbox runs over, and slots are written twice") {
  const auto no_credits = [](workloads::Configuration& c) { c.messages.honours_credits = false; };
  Facts mailbox = run_talk(kTalkBuffers, {0, 1}, flood(150, 8, false), 2, no_credits);
  CHECK(mailbox["lost"] > 0);
  CHECK(mailbox["finished"] == 0);
  const Talk::Code slots = [](Talk& talk, Rank& me) -> Task<void> {
    constexpr unsigned kMessages = 20;
    if (me.number() == 0) {
      for (unsigned i = 0; i < kMessages; ++i) {
        const RequestId sent = co_await talk.send(me, 1, i, talk.part(me, i % 2, 4096));
        co_await talk.wait(me, sent);
      }
    } else {
      co_await me.compute(2ms);
      for (unsigned i = 0; i < kMessages; ++i) {
        const RequestId received = co_await talk.receive(me, {0, i}, talk.part(me, 1, 4096));
        co_await talk.wait(me, received);
      }
    }
  };
  Facts well = run_talk(kTalkBuffers, {0, 1}, slots);
  check_well(well);
  Facts mutant = run_talk(kTalkBuffers, {0, 1}, slots, 2, no_credits);
  CHECK((mutant["wrong"] > 0 || mutant["finished"] == 0));
}

TEST_CASE("messages: a receive that is too short gets what fits") {
  for (const char* way : {"rendezvous-read", "rendezvous-write", "copies", "pipeline"}) {
    for (const std::uint64_t bytes : {20, 4096, 200'000}) {
      for (const std::uint64_t room : {std::uint64_t{0}, std::uint64_t{7}, bytes / 2}) {
        INFO(way << ", " << room << " of " << bytes << " B");
        Facts facts = run_talk(large(way), {0, 1}, [=](Talk& talk, Rank& me) -> Task<void> {
          if (me.number() == 0) {
            const RequestId sent = co_await talk.send(me, 1, 1, talk.part(me, 0, bytes));
            const Outcome outcome = co_await talk.wait(me, sent);
            talk.facts["sent"] = outcome.ended == Ended::well ? 1 : 0;
          } else {
            const RequestId received = co_await talk.receive(me, {0, 1}, talk.part(me, 1, room));
            const Outcome outcome = co_await talk.wait(me, received);
            talk.facts["truncated"] = outcome.ended == Ended::truncated && outcome.bytes == room ? 1 : 0;
            const sim::Content behind =
                me.endpoint().vm().read(me.endpoint().process(), talk.memories[1][1].address + room, 1000);
            const auto at = static_cast<std::uint64_t>(room);
            talk.facts["behind"] = behind == sim::Content::pattern(1000 + 100 + talk.memories[1][1].number, at, 1000);
          }
        });
        check_well(facts);
        CHECK(facts["sent"] == 1);
        CHECK(facts["truncated"] == 1);
        CHECK(facts["behind"] == 1);
      }
    }
  }
}

TEST_CASE("messages: a rank may send to itself, and nothing crosses the network") {
  for (const std::uint64_t bytes : {0, 8, 5000, 200'000}) {
    INFO(bytes);
    Facts facts = run_talk(kTalkBuffers, {0, 1}, [bytes](Talk& talk, Rank& me) -> Task<void> {
      const RequestId sent = co_await talk.send(me, me.number(), 4, talk.part(me, 0, bytes));
      const RequestId received = co_await talk.receive(me, {kAny, 4}, talk.part(me, 1, bytes));
      const Outcome outcome = co_await talk.wait(me, received);
      co_await talk.wait(me, sent);
      talk.facts["own"] += outcome.source == me.number() && outcome.bytes == bytes ? 1 : 0;
    });
    check_well(facts);
    CHECK(facts["own"] == 2);
  }
}

TEST_CASE("messages: a search costs as many looks as there are entries, and a call what a call costs") {
  const auto played = [](unsigned before, const Settings& more) {
    return run_talk(kTalkBuffers + more, {0, 1}, [before](Talk& talk, Rank& me) -> Task<void> {
      if (me.number() == 0) {
        co_await me.compute(100us);
        const sim::Time begin = talk.now();
        const RequestId sent = co_await talk.send(me, 1, 5, talk.part(me, 0, 8));
        talk.facts["send took"] = (talk.now() - begin).count();
        co_await talk.wait(me, sent);
        for (unsigned i = 0; i < before; ++i) {
          const RequestId other = co_await talk.send(me, 1, 100 + i, talk.part(me, 0, 8));
          co_await talk.wait(me, other);
        }
      } else {
        std::vector<RequestId> others;
        for (unsigned i = 0; i < before; ++i) {
          others.push_back(co_await talk.receive(me, {0, 100 + i}, talk.part(me, 1, 8)));
        }
        const RequestId received = co_await talk.receive(me, {0, 5}, talk.part(me, 1, 8));
        co_await talk.wait(me, received);
        talk.facts["at"] = talk.now().count();
        for (const RequestId each : others) co_await talk.wait(me, each);
      }
    });
  };
  const std::int64_t match = messages::MessageConfig{}.match.count();
  CHECK(played(7, {})["at"] - played(2, {})["at"] == 5 * match);
  const Settings dear = {{"messages.call", "1300 ns"}};
  CHECK(played(2, dear)["send took"] - played(2, {})["send took"] == 1'000'000);
}

TEST_CASE("messages: a thread that takes what comes lets a computing program's sender go on") {
  const Talk::Code code = [](Talk& talk, Rank& me) -> Task<void> {
    const RequestId request = me.number() == 0 ? co_await talk.send(me, 1, 1, talk.part(me, 0, 131'072))
                                               : co_await talk.receive(me, {0, 1}, talk.part(me, 1, 131'072));
    if (me.number() == 1) co_await me.compute(1ms);
    co_await talk.wait(me, request);
    talk.facts["rank " + std::to_string(me.number())] = talk.now().count();
  };
  for (const char* way : {"rendezvous-read", "rendezvous-write", "copies", "pipeline"}) {
    INFO(way);
    Facts in_calls = run_talk(large(way), {0, 1}, code);
    Facts thread = run_talk(large(way) + Settings{{"messages.progress", "thread"}}, {0, 1}, code);
    check_well(in_calls);
    check_well(thread);
    CHECK(in_calls["rank 0"] > 1'000'000'000);
    CHECK(thread["rank 0"] < 700'000'000);
  }
}

TEST_CASE("messages: memory that cannot be registered is copied") {
  // RLIMIT_MEMLOCK has room for slots (where the device finds registered memory alone) and 16 pages more, not for the
  // buffer of 256 KiB.
  const Settings slots = {
      {"messages.slot_bytes", "4 KiB"}, {"messages.eager_bytes", "4 KiB"}, {"messages.chunk_last", "4 KiB"}};
  const std::vector<std::pair<const char*, const char*>> limits = {
      {"pin-per-transfer", "64 KiB"}, {"pin-overlapped", "256 KiB"}, {"pin-cache", "64 KiB"}};
  for (const auto& [strategy, limit] : limits) {
    const Settings pins = preset(strategy) + kTalkBuffers + slots + Settings{{"os.rlimit_memlock", limit}};
    for (const char* way : {"rendezvous-read", "rendezvous-write"}) {
      INFO(strategy << ", " << way);
      Facts facts = run_talk(pins + Settings{{"messages.large", way}}, {0, 1}, one_message(200'000, false));
      check_well(facts);
      CHECK(facts["received"] == 1);
    }
  }
}
