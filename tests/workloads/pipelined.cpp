// SPDX-License-Identifier: Apache-2.0
// Transfers that are cut into parts, of which one is prepared while others cross the network; and transfers that a
// thread of the library prepares and posts.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"
#include "tests/workloads/corner_stage.hpp"

using namespace faultline;
using namespace faultline::test;
using corners::Stage;
using namespace std::chrono_literals;

namespace {

constexpr const char* kPolicies[] = {"pin-per-transfer", "pre-touch", "pin-cache"};

Settings cut(const char* size, const char* chunk, std::int64_t depth = 4) {
  return {{"workload.size", size},
          {"workload.iterations", 4},
          {"strategy.pipeline", "fixed"},
          {"strategy.pipeline_chunk", chunk},
          {"strategy.pipeline_depth", depth},
          {"os.rlimit_memlock", "1 GiB"}};
}

void check_all_arrives(const Settings& settings) {
  INFO(to_string(settings));
  const Point point = run(settings);
  CHECK(point.error == "");
  CHECK(point.refused == "");
  CHECK(point.failed_checks.empty());
  CHECK(point.count("transfers") > 0);
  CHECK(point.count("transfers_failed") == 0);
  CHECK(point.count("data_errors") == 0);
  CHECK(point.count("stale_accesses") == 0);
}

}  // namespace

TEST_CASE("pipelined: all data arrive, whatever is cut, prepared and aligned") {
  const Settings parts{{"strategy.pipeline_chunk", "32 KiB"},
                       {"strategy.pipeline_first", "4 KiB"},
                       {"strategy.pipeline_depth", 3},
                       {"os.rlimit_memlock", "1 GiB"}};
  const Settings unaligned{{"workload.size", "150001 B"},
                           {"workload.iterations", 4},
                           {"workload.source_offset", "100 B"},
                           {"workload.destination_offset", "4095 B"},
                           {"workload.window", 2},
                           {"workload.cold", "both"}};
  const Settings reused{{"workload.size", "150001 B"}, {"workload.iterations", 4}, {"reuse.again", 0.5}};
  const Settings flows{{"workload.flows",
                        "from=0, to=1, size=150001 B, source_offset=5 B, window=2, cold=destination, transfers=3; "
                        "from=1, to=0, kind=read, size=70 KiB, destination_offset=4000 B, transfers=3"}};
  for (const char* policy : kPolicies) {
    for (const char* how : {"fixed", "growing"}) {
      const Settings common = preset(policy) + parts + Settings{{"strategy.pipeline", how}};
      for (const char* kind : {"write", "read", "ring"}) {
        check_all_arrives(common + unaligned + Settings{{"workload.kind", kind}});
      }
      check_all_arrives(common + reused + Settings{{"workload.kind", "reuse"}});
      check_all_arrives(common + flows + Settings{{"workload.kind", "flows"}});
    }
  }
}

TEST_CASE("pipelined: a transfer of one part is as one that is not cut") {
  const Settings whole = preset("pin-per-transfer") + Settings{{"workload.size", "256 KiB"}};
  CHECK(run_well(whole + Settings{{"strategy.pipeline", "fixed"}, {"strategy.pipeline_chunk", "256 KiB"}}).metrics ==
        run_well(whole).metrics);
}

TEST_CASE("pipelined: a large transfer is faster than one that is pinned whole, and pins less") {
  const Settings whole = cut("4 MiB", "256 KiB") + Settings{{"workload.cold", "none"}};
  const Point cut_up = run_well(preset("pin-per-transfer") + whole);
  const Point pinned = run_well(preset("pin-per-transfer") + whole + Settings{{"strategy.pipeline", "none"}});
  const Point bound = run_well(preset("resident") + Settings{{"workload.size", "4 MiB"}, {"workload.cold", "none"}});
  CHECK(cut_up.latency() < pinned.latency());
  CHECK(cut_up.latency() > bound.latency());
  // Of two processes on two nodes each.
  CHECK(cut_up["pinned_bytes_peak"] <= pinned["pinned_bytes_peak"] / 4);
}

// Where parts find no room they wait for those before them; where not even one fits nothing can be done.
TEST_CASE("pipelined: RLIMIT_MEMLOCK may be nearer than the parts that are prepared at a time") {
  const Settings settings = preset("pin-per-transfer") + cut("1 MiB", "64 KiB") +
                            Settings{{"workload.checks", "count"}, {"workload.cold", "none"}};
  const Point enough = run_well(settings);
  const Point short_of = run_well(settings + Settings{{"os.rlimit_memlock", "140 KiB"}});
  CHECK(short_of["pinned_bytes_peak"] <= 2 * 140 * 1024);
  CHECK(short_of.latency() > enough.latency());
  const Point too_short = run(settings + Settings{{"os.rlimit_memlock", "60 KiB"}});
  CHECK(too_short.refused.find("preparing") != std::string::npos);
  CHECK(reason_against(settings + Settings{{"workload.checks", "fail"}, {"os.rlimit_memlock", "140 KiB"}}) != "none");
  CHECK(reason_against(settings + Settings{{"workload.checks", "fail"}, {"os.rlimit_memlock", "288 KiB"}}) == "none");
}

TEST_CASE("pipelined: parts and messages about them must fit in queues and mailboxes") {
  const Settings settings = preset("pin-per-transfer") + cut("1 MiB", "64 KiB", 16) +
                            Settings{{"workload.window", 3}, {"exanest.channel_queue", 64}};
  CHECK(reason_against(settings) == "none");
  CHECK(reason_against(settings + Settings{{"workload.window", 4}}) ==
        "strategy.registration: 68 messages about buffers may be under way to one program, and its mailbox holds 64; "
        "take fewer senders, a smaller window or a smaller strategy.pipeline_depth");
}

TEST_CASE("pipelined: ranks do not cut their transfers") {
  CHECK(reason_against(preset("pin-per-transfer") +
                       Settings{{"workload.kind", "ping-pong"}, {"strategy.pipeline", "fixed"}}) ==
        "strategy.pipeline: ranks prepare and post whole transfers, each by its own thread; leave strategy.pipeline at "
        "its default, or take another workload");
}

TEST_CASE("deferred: all data arrive, whatever is prepared and cut") {
  for (const char* policy : kPolicies) {
    for (const char* kind : {"write", "read", "ring"}) {
      INFO(policy << ", " << kind);
      const Settings settings = preset(policy) + Settings{{"workload.kind", kind},
                                                          {"workload.size", "64 KiB"},
                                                          {"workload.iterations", 6},
                                                          {"workload.window", 3},
                                                          {"strategy.deferred", true}};
      check_all_arrives(settings);
      check_all_arrives(settings + Settings{{"strategy.pipeline", "fixed"}, {"strategy.pipeline_chunk", "16 KiB"}});
    }
  }
}

// Where pins take longer than the link: the program's own thread lets go of one buffer while the next is pinned.
TEST_CASE("deferred: pins of one transfer go on beside the end of the one before") {
  const Settings settings =
      preset("pin-per-transfer") + Settings{{"workload.size", "1 MiB"}, {"workload.iterations", 8},
                                            {"workload.window", 4},     {"strategy.translate", "private"},
                                            {"workload.cold", "both"},  {"os.rlimit_memlock", "1 GiB"}};
  const Point own = run_well(settings);
  const Point deferred = run_well(settings + Settings{{"strategy.deferred", true}});
  CHECK(deferred["goodput"] > own["goodput"]);
}

namespace {

// The program waits for a transfer which its other thread is about to prepare and post.
sim::Task<void> wait_until_killed(Stage& stage, Stage::Lane lane, Facts& facts) {
  try {
    const Stage::UnderWay moving = co_await stage.begin(lane);
    co_await stage.wait(moving);
    facts["ended"] = 1;
  } catch (const rdma::ProcessKilled&) {
    facts["killed"] = 1;
  }
}

}  // namespace

TEST_CASE("deferred: both threads of a process end that is killed before its transfer is posted") {
  const workloads::Configuration deferred = configuration(preset("pin-deferred"));
  for (unsigned later = 0; later < 60; later += 4) {
    INFO(later << " us");
    Facts facts = facts_from_child([&] {
      Stage stage(deferred);
      Facts counted{{"ended", 0}, {"killed", 0}};
      counted["finished"] = stage.run([&](Stage& s) -> sim::Task<void> {
        co_await s.open();
        const Stage::Lane lane = co_await s.lane(100'000);
        s.start(wait_until_killed(s, lane, counted));
        co_await s.cluster.loop.delay(later * 1us);
        s.here->kill();
        co_await s.cluster.loop.delay(1ms);
        co_await s.exit(*s.here);
        co_await s.exit(*s.there);
      });
      counted["pinned"] = stage.pinned();
      return counted;
    });
    CHECK(facts["finished"] == 1);
    CHECK(facts["killed"] == 1);
    CHECK(facts["ended"] == 0);
    CHECK(facts["pinned"] == 0);
  }
}

TEST_CASE("overlapped: blocks that come too soon come again, and all data arrive") {
  for (const char* kind : {"write", "read"}) {
    INFO(kind);
    const Settings settings = Settings{{"workload.kind", kind},
                                       {"workload.size", "1 MiB"},
                                       {"workload.iterations", 4},
                                       {"workload.cold", "both"},
                                       {"os.rlimit_memlock", "1 GiB"}};
    const Point overlapped = run_well(preset("pin-overlapped") + settings);
    const Point pinned = run_well(preset("pin-per-transfer") + Settings{{"strategy.translate", "private"}} + settings);
    CHECK(overlapped.count("faults") > 0);
    CHECK(overlapped.count("stale_accesses") == 0);
    CHECK(overlapped.latency() < pinned.latency());
  }
}

TEST_CASE("overlapped: a limit that has no room for a buffer refuses the run before the transfer begins") {
  const Point point = run(preset("pin-overlapped") + Settings{{"workload.size", "1 MiB"},
                                                              {"workload.iterations", 2},
                                                              {"workload.checks", "count"},
                                                              {"os.rlimit_memlock", "512 KiB"}});
  CHECK(point.refused.find("preparing of a buffer failed") != std::string::npos);
}

TEST_CASE("pipelined and deferred: transfers arrive by themselves, pages are taken, programs stand beside each other") {
  const Settings size{{"workload.size", "100 KiB"}, {"workload.iterations", 6}, {"workload.window", 2}};
  const Settings open{{"workload.arrivals", "periodic"}, {"workload.interval", "60 us"}};
  const Settings taken{{"inject.mechanism", "fork"}, {"inject.end", "source"}, {"inject.period", "50 us"}};
  for (const char* strategy : {"pin-pipelined-growing", "pin-deferred"}) {
    for (const char* kind : {"write", "read"}) {
      const Settings all = preset(strategy) + size + Settings{{"workload.kind", kind}};
      check_all_arrives(all + open);
      check_all_arrives(all + taken);
    }
  }
}

TEST_CASE("pipelined: no more parts are posted than a process has completion words") {
  const Settings settings = preset("pin-pipelined") + Settings{{"os.rlimit_memlock", "1 GiB"},
                                                               {"workload.size", "2 MiB"},
                                                               {"workload.iterations", 2},
                                                               {"strategy.pipeline_chunk", "4 KiB"}};
  check_all_arrives(settings);
  check_all_arrives(settings + Settings{{"workload.window", 2}, {"strategy.pipeline_chunk", "8 KiB"}});
  CHECK(reason_against(settings + Settings{{"workload.window", 2}}) ==
        "strategy.pipeline_chunk: 1024 parts of 2 transfers may be posted before the program learns of the end of the "
        "first, and a process has 512 words for completions; take longer parts, or one transfer at a time");
}
