// SPDX-License-Identifier: Apache-2.0
// The benchmark itself: what it makes cold, what it checks, what it tells of a run, what it refuses.
#include <catch2/catch.hpp>

#include <set>

#include "models/platform/cluster.hpp"
#include "tests/support/exanest_of.hpp"
#include "tests/support/point.hpp"
#include "workloads/programs.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

const Settings kTouch = {{"strategy.resolve", "touch-a-page"}};

Settings cold(const char* end, const char* size) { return {{"workload.cold", end}, {"workload.size", size}}; }

std::vector<std::string> names(const Point& p) {
  std::vector<std::string> all;
  for (const Row& row : p.breakdown) all.push_back(row.step + ", " + row.where);
  return all;
}

std::size_t position(const Point& p, const std::string& name) {
  const auto all = names(p);
  return static_cast<std::size_t>(std::find(all.begin(), all.end(), name) - all.begin());
}

// A program's: tables are freed again at the end.
void lose_a_frame(const os::Vm& vm) {
  auto& frames = const_cast<os::FrameAllocator&>(vm.frames());
  auto frame = frames.begin();
  while (!frames.is_allocated(frame) || frames.use_of_block(frame) != os::FrameUse::movable) frame += 4096;
  frames.free_page(frame);
}

// khugepaged moves the pages that a driver has taken for locked to their frames, before anything is measured.
const Settings kMovedInWarmUp = {{"workload.size", "2 MiB"},
                                 {"workload.warmup", 20},
                                 {"workload.madvise_hugepage", true},
                                 {"workload.advise_late", true},
                                 {"strategy.registration", "mlock"},
                                 {"strategy.translate", "private"},
                                 {"os.thp", "madvise"},
                                 {"os.rlimit_memlock", "64 MiB"},
                                 {"os.khugepaged_time_scale", 100},
                                 {"os.khugepaged_scan_sleep", "100 ms"}};

std::string first_conflict(const Settings& settings, std::vector<std::string>& keys) {
  const auto found = workloads::conflicts(configuration(settings));
  if (found.empty()) return "none";
  keys = found.front().keys;
  CHECK_FALSE(found.front().instead.empty());
  return found.front().reason;
}

}  // namespace

TEST_CASE("a share of cold pages is that share, whatever the seed") {
  const Settings settings =
      kTouch + cold("destination", "64 KiB") + Settings{{"workload.cold_share", 0.0625}, {"workload.iterations", 3}};
  for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) CHECK(run_well(settings, seed).count("faults") == 3);
  // One page has no quarter: a quarter of the transfers is cold.
  const Settings one =
      kTouch + cold("destination", "4 KiB") + Settings{{"workload.cold_share", 0.25}, {"workload.iterations", 200}};
  const std::int64_t faults = run_well(one).count("faults");
  CHECK(faults > 30);
  CHECK(faults < 70);
}

TEST_CASE("where the cold pages lie is as many faults as touch-ahead needs for them") {
  // 4 of 16 pages, which lie in four blocks; a fault makes four pages present.
  const auto faults = [](const char* placement, std::uint64_t seed) {
    return run_well(preset("fault/touch-ahead") + cold("destination", "64 KiB") +
                        Settings{{"workload.cold_share", 0.25},
                                 {"workload.cold_placement", placement},
                                 {"workload.iterations", 1},
                                 {"workload.warmup", 0}},
                    seed)
        .count("faults");
  };
  SECTION("even: the last page of each block") { CHECK(faults("even", 1) == 4); }
  SECTION("run: one block, or the end of one and the begin of the next") {
    for (const std::uint64_t seed : {1u, 2u, 3u, 4u, 5u}) {
      CHECK(faults("run", seed) >= 1);
      CHECK(faults("run", seed) <= 2);
    }
  }
  SECTION("random: any, so not the same each time") {
    std::set<std::int64_t> seen;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) seen.insert(faults("random", seed));
    CHECK(seen.size() > 1);
    CHECK(*seen.begin() >= 1);
    CHECK(*seen.rbegin() <= 4);
  }
}

TEST_CASE("a huge page is cold as a whole") {
  const Settings settings = kTouch + cold("destination", "8 MiB") +
                            Settings{{"os.thp", "always"}, {"workload.cold_share", 0.5}, {"workload.iterations", 2}};
  const Point p = run_well(settings);
  CHECK(p.count("thp_faults") == 2 * 2);
  CHECK(p.count("minor_faults") == 2 * 2);
}

TEST_CASE("so is one of zeros, time after time") {
  const Settings settings = kTouch + cold("source", "8 MiB") +
                            Settings{{"os.thp", "always"}, {"workload.cold_share", 0.5}, {"workload.iterations", 4}};
  const Point p = run_well(settings);
  CHECK(p.count("thp_faults") == 0);
  CHECK(p.count("minor_faults") == 4 * 2);
}

TEST_CASE("a fault that is handled late does not make the next transfer's page present") {
  const Settings settings = kTouch + cold("destination", "64 B") +
                            Settings{{"exanest.rapf_enabled", false}, {"exanest.block_timeout", "10 us"}};
  const Point one = run_well(settings);
  const Point many = run_well(settings + Settings{{"workload.iterations", 5}});
  // The page is there when handler, tasklet, netlink and the fault itself are over.
  CHECK(one.latency() > 28'000'000);
  CHECK(many.ps("latency_min") > 28'000'000);
}

TEST_CASE("the rows add up to the latency however many blocks a transfer has") {
  for (const char* end : {"none", "source", "destination", "both"}) {
    for (const char* size : {"16385 B", "64 KiB", "300001 B"}) {
      for (const char* strategy : {"fault/touch-a-page", "fault/touch-ahead", "fault/stall", "resident"}) {
        const Settings settings = preset(strategy) + cold(end, size);
        INFO(to_string(settings));
        const Point p = run_well(settings);
        CHECK(p.rows() == p.latency());
      }
    }
  }
}

TEST_CASE("a block that is sent three times has rows for each of them, in order") {
  const Point p = run_well(kTouch + cold("both", "64 B") + Settings{{"workload.iterations", 2}});
  const std::vector<std::string> in_order = {"user post, source",
                                             "walk and fault, source",
                                             "interrupt to handler, source",
                                             "resolve, source",
                                             "R5 retry processing (resend), source",
                                             "network (resend), destination",
                                             "walk and fault (resend), destination",
                                             "resolve (resend), destination",
                                             "request transport (resend), source",
                                             "R5 retry processing (resend 2), source",
                                             "data and acknowledgement (resend 2), source",
                                             "poll, source"};
  for (std::size_t i = 0; i < in_order.size(); ++i) {
    INFO(in_order[i]);
    CHECK(position(p, in_order[i]) < p.breakdown.size());
    if (i > 0) CHECK(position(p, in_order[i - 1]) < position(p, in_order[i]));
  }
  for (const Row& row : p.breakdown) CHECK(row.samples == 2);
}

TEST_CASE("a message's way is measured step by step") {
  const Settings settings = {{"workload.kind", "message"}, {"workload.size", "17 B"}, {"workload.warmup", 1}};
  const Point p = run_well(settings);
  const platform::Machine m = configuration(settings).machine;
  const std::int64_t pipeline = m.axi.pl_clock.cycles(exanest_of(m).engine.message_pipeline).count();
  CHECK(p.row("library send") == exanest_of(m).library.message_send.count());
  CHECK(p.row("register writes") == (3 + 1) * m.cpu.mmio_write.count());
  CHECK(p.row("packetizer") == pipeline);
  CHECK(p.row("mailbox") == pipeline);
  CHECK(p.row("library receive") == exanest_of(m).library.message_receive.count());
  CHECK(p.row("slot release") == 0);  // the program has the message before
  CHECK(p.row("message network") > 0);
  CHECK(p.row("slot write and poll") > m.cpu.poll_latency.count());
  CHECK(p.rows() == p.latency());
}

TEST_CASE("what was set up once is torn down once") {
  for (const auto& [name, strategy] : presets()) {
    INFO(name);
    const Point p = run_well(strategy + cold("destination", "64 KiB"));
    CHECK((p.ps("teardown_time") > 0) == (name.starts_with("mlock") || name == "pin-once" || name == "register"));
  }
}

TEST_CASE("no memory in the middle of a run is the configuration's fault and names what decides it") {
  // The buffers' pages fit, the page tables do not; mlock() finds out after its first steps.
  const Settings settings = preset("mlock") + cold("destination", "36 KiB") + Settings{{"os.user_memory", "40 KiB"}};
  const Point p = run(settings);
  CHECK(p.error.find("no memory") != std::string::npos);
  CHECK(std::find(p.error_keys.begin(), p.error_keys.end(), "os.user_memory") != p.error_keys.end());
}

TEST_CASE("a page that fails at the source ends the program that writes it, and the keys say how it is injected") {
  const Settings settings{{"workload.size", "64 KiB"},  {"workload.iterations", 20},
                          {"workload.checks", "count"}, {"inject.mechanism", "memory-failure"},
                          {"inject.after", "300 us"},   {"inject.period", "50 us"}};
  const Point p = run(settings + Settings{{"inject.end", "source"}});
  CHECK(
      p.error ==
      "node 0: writing of a buffer failed: memory failure, put there by inject.mechanism = memory-failure: the program "
      "that uses its buffer would be ended by SIGBUS. At a destination, which only the device writes, transfers fail "
      "instead");
  CHECK(p.error_keys == std::vector<std::string>{"inject.end", "inject.mechanism", "inject.after", "inject.count"});
  CHECK(run(settings + Settings{{"inject.end", "destination"}}).error == "");
}

TEST_CASE("a program that measures its kernel and does not end is told by its own keys") {
  const Settings settings{{"workload.kind", "kernel-cost"},
                          {"workload.program", "lat_proc-fork"},
                          {"workload.size", "1 MiB"},
                          {"workload.iterations", 20},
                          {"workload.time_limit", "2 ms"}};
  const Point p = run(settings);
  CHECK(p.error.find("of 20 measured rounds of the program are done") != std::string::npos);
  CHECK(p.error_keys == std::vector<std::string>{"workload.time_limit", "workload.iterations", "workload.warmup",
                                                 "workload.size", "workload.program"});
  const Point transfers = run({{"workload.size", "1 MiB"}, {"workload.time_limit", "2 us"}});
  CHECK(std::find(transfers.error_keys.begin(), transfers.error_keys.end(), "exanest.retry_limit") !=
        transfers.error_keys.end());
}

// Both once went on for ever.
TEST_CASE("noise at every instant, and timeouts before any answer, end") {
  CHECK(run({{"workload.size", "4 KiB"}, {"background.processes", 1}, {"background.noise_period", "32 ps"}}).error ==
        "");
  const Point p = run({{"workload.size", "64 KiB"},
                       {"workload.cold", "destination"},
                       {"strategy.touch_ahead_pages", 4},
                       {"exanest.block_timeout", "2 us"},
                       {"exanest.retry_limit", 64}});
  CHECK(p.error == "");
  CHECK(p.count("timeouts") > 0);
}

TEST_CASE("a notification that is lost for good is the configuration's fault and names what decides it") {
  // While one page's fault stands, everything else of the bank is terminated. Timeouts that come far too early keep it
  // so until the notification of the failed transfer has no retry left; its program polls for ever.
  const Point p = run({{"cluster.mpsocs_per_qfdb", std::int64_t{7}},
                       {"workload.kind", "flows"},
                       {"workload.flows", "from=6, to=2, size=59.648 kB, cold=source, transfers=2, window=2"},
                       {"axi.width", "4 B"},
                       {"exanest.block_contexts", std::int64_t{2}},
                       {"exanest.block_timeout", "10 us"},
                       {"exanest.retry_limit", std::int64_t{5}},
                       {"smmu_driver.hupcf", false},
                       {"os.thp", "never"}});
  CHECK(p.error.find("notifications of a transfer's end met a fault") != std::string::npos);
  CHECK(std::find(p.error_keys.begin(), p.error_keys.end(), "exanest.retry_limit") != p.error_keys.end());
}

TEST_CASE("a message that a failed link loses is the configuration's fault and names what decides it") {
  const Point p = run({{"workload.kind", "message"},
                       {"workload.size", "16 B"},
                       {"workload.iterations", std::int64_t{20}},
                       {"network.failures", "router 1 at 5 us"}});
  CHECK(p.error.find("1 of all messages were lost on failed links") != std::string::npos);
  CHECK(p.error_keys == std::vector<std::string>{"network.failures"});
}

TEST_CASE("what cannot be, or would be without effect, is refused with the parameters that decide it") {
  struct Case {
    Settings settings;
    std::string reason;
    std::vector<std::string> keys;
  };
  const std::vector<Case> cases = {
      {{{"axi.width", "5 B"}}, "a bus of 5 B: the width is a power of two", {"axi.width"}},
      {{{"smmu.beat_bytes", 5}}, "a bus of 5 B: the width is a power of two", {"smmu.beat_bytes"}},
      {{{"smmu.macro_tlb_ways", 3}},
       "512 entries are no whole number of sets of 3 ways",
       {"smmu.macro_tlb_ways", "smmu.macro_tlb_entries"}},
      {{{"ddr.size", "2147483649 B"}}, "2147483.649 kB are no whole number of pages of 4 KiB", {"ddr.size"}},
      {{{"os.kernel_reserved", "2 GiB"}, {"ddr.size", "1 GiB"}},
       "the kernel's 2 GiB leave nothing of the node's 1 GiB of memory",
       {"os.kernel_reserved", "ddr.size"}},
      {{{"cpu.cores", 2}, {"cpu.interrupt_core", 3}},
       "interrupts go to core 3, and there are cores 0 to 1",
       {"cpu.interrupt_core", "cpu.cores"}},
      {{{"cluster.x", 3}, {"network.virtual_channels", 1}},
       "packets on this network could wait for each other for ever with fewer than 2 virtual channels",
       {"network.virtual_channels", "network.topology"}},
      {{{"network.topology", "torus"}, {"network.routing", "adaptive"}},
       "packets on this network could wait for each other for ever with fewer than 4 virtual channels",
       {"network.virtual_channels", "network.topology", "network.routing"}},
      {{{"network.topology", "dragonfly"}, {"network.reroute", true}},
       "packets on this network could wait for each other for ever with fewer than 3 virtual channels",
       {"network.virtual_channels", "network.topology", "network.reroute"}},
      {{{"network.topology", "fat_tree"}, {"network.routing", "dimension_ordered"}},
       "a fat tree has no dimensions",
       {"network.routing", "network.topology"}},
      {{{"network.topology", "torus"}, {"cluster.torus", "3"}, {"workload.target", 3}},
       "there are nodes 0 to 2",
       {"workload.target", "cluster.torus"}},
      {{{"workload.target", 4}},
       "there are nodes 0 to 3",
       {"workload.target", "cluster.mpsocs_per_qfdb", "cluster.x", "cluster.y"}},
      {{{"workload.target", 0}},
       "a node does not send to itself over the network",
       {"workload.target", "workload.initiator"}},
      {{{"workload.kind", "message"}, {"workload.size", "57 B"}},
       "a message holds at most 56 B, not 57 B",
       {"workload.size", "workload.kind"}},
      {{{"workload.kind", "message"}, {"workload.size", "8 B"}, {"workload.cold", "both"}},
       "messages have no buffers that could be cold",
       {"workload.cold", "workload.kind"}},
      {{{"workload.cold_share", 0.5}}, "a share of the pages of no end", {"workload.cold_share", "workload.cold"}},
      {{{"workload.cold_placement", "run"}},
       "a place for pages of no end",
       {"workload.cold_placement", "workload.cold"}},
      {preset("pin-once") + Settings{{"workload.source_offset", "100 B"}, {"os.rlimit_memlock", "4 KiB"}},
       "a process on node 0 would have 8 KiB pinned or locked at a time, and RLIMIT_MEMLOCK is 4 KiB",
       {"workload.size", "workload.window", "os.rlimit_memlock"}},
      {{{"workload.size", "4 MiB"}, {"workload.window", 2}, {"os.user_memory", "4 MiB"}},
       "buffers of 8 MiB on node 0 do not fit in its 4 MiB of user memory",
       {"workload.size", "workload.window", "os.user_memory", "ddr.size", "os.kernel_reserved"}},
      {{{"workload.window", 64}, {"exanest.channel_queue", 16}},
       "64 transfers under way do not fit in a channel's queue of 16",
       {"workload.window", "workload.clean_window", "exanest.channel_queue"}},
      // Each has a notification word of its own, however long the queue is.
      {{{"workload.window", 512}, {"workload.clean_window", 1}, {"exanest.channel_queue", 1024}},
       "513 transfers under way do not fit in the library's page of notification words of 512",
       {"workload.window", "workload.clean_window"}}};
  for (const Case& c : cases) {
    INFO(to_string(c.settings));
    std::vector<std::string> keys;
    CHECK(first_conflict(c.settings, keys) == c.reason);
    CHECK(keys == c.keys);
  }
  std::vector<std::string> keys;
  CHECK(first_conflict({}, keys) == "none");
}

TEST_CASE("what a node's memory manager has lost ends a run as a bug of ours, and says which node") {
  const std::string said = text_from_child([] {
    platform::Cluster cluster("cluster", configuration({}).machine, 1);
    cluster.boot();
    workloads::check_books(cluster, /*changing=*/false);
    const_cast<os::FrameAllocator&>(cluster.node(1).vm.frames()).allocate_page();
    workloads::check_books(cluster, /*changing=*/true);  // it may be about to be mapped
    try {
      workloads::check_books(cluster, /*changing=*/false);
    } catch (const std::logic_error& error) {
      return std::string(error.what());
    }
    return std::string("nothing");
  });
  CHECK(said ==
        "node 1 after 0 ps of simulated time: the memory manager's books are wrong: frames that are allocated, and "
        "pages and "
        "tables that hold one: 1 are counted, 0 are found");
}

TEST_CASE("the books are compared while events run, and whoever looks learns when they were found wrong") {
  // Looks come by the host's clock: the run is made longer until there is one.
  const auto first_words = [](unsigned iterations, bool sabotage) {
    const workloads::Configuration c =
        configuration({{"workload.size", "64 KiB"}, {"workload.iterations", iterations}});
    return text_from_child([&] {
      platform::Cluster cluster("cluster", c.machine, 1);
      cluster.boot();
      workloads::watch_run(cluster, {});
      workloads::Programs programs(c, cluster, 1);
      programs.on_finished = [&] { cluster.loop.stop(); };
      programs.on_measurement_begins = [&] {
        if (sabotage) lose_a_frame(cluster.node(1).vm);
      };
      programs.start();
      try {
        cluster.loop.run(c.workload.time_limit);
      } catch (const std::exception& error) {
        return std::string(error.what());
      }
      return std::string("finished");
    });
  };
  for (unsigned iterations = 256;; iterations *= 2) {
    REQUIRE(iterations <= 65536);
    const std::string said = first_words(iterations, true);
    if (said == "finished") continue;
    CHECK_THAT(said, Catch::Contains("node 1 after ") && Catch::Contains(" of simulated time") &&
                         Catch::Contains("the memory manager's books are wrong"));
    CHECK(first_words(iterations, false) == "finished");
    return;
  }
}

TEST_CASE("without a warm-up, too, nothing is below pages that are always there") {
  const Settings first{{"workload.warmup", 0}, {"workload.iterations", 1}};
  const std::int64_t bound = run_well(preset("resident") + first).latency();
  for (const char* strategy : {"populate", "mlock", "pin-once", "register"}) {
    INFO(strategy);
    CHECK(run_well(preset(strategy) + first).latency() == bound);
  }
}

TEST_CASE("wrong data of a warm-up is a check that failed, and no measured transfer's") {
  const Point p = run(kMovedInWarmUp);
  REQUIRE(p.error.empty());
  CHECK(p.count("transfers") == 1);
  CHECK(p.count("data_errors") == 1);
  const std::int64_t others = p.count("other_data_errors");
  CHECK((others > 0 && others <= 20));
  CHECK_THAT(p.failed_checks,
             Catch::VectorContains("data at the destination differ from what was sent in " + std::to_string(others) +
                                   " transfers that are not measured (warm-up, clean)"));
  const Point pinned = run(kMovedInWarmUp + Settings{{"strategy.registration", "pin-once"}});
  REQUIRE(pinned.error.empty());
  CHECK(pinned.count("data_errors") == 0);
  CHECK_FALSE(pinned.metrics.contains("other_data_errors"));
}
