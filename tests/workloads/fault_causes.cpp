// SPDX-License-Identifier: Apache-2.0
// Whole points: which causes the faults of transfers have, mechanism by mechanism.
#include "models/os/vm/fault_reason.hpp"
#include "tests/workloads/fault_matrix.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace faultline::test::matrix;

namespace {

std::int64_t faults_of(const Point& p, const std::string& cause) { return p.count("faults_" + cause); }

std::string causes_text(const Point& p) {
  std::ostringstream text;
  for (const os::FaultCauseDoc& doc : os::kFaultCauseDocs) {
    if (faults_of(p, doc.name) > 0) text << doc.name << '=' << faults_of(p, doc.name) << ' ';
  }
  return text.str() + "injected=" + std::to_string(p.count("faults_injected"));
}

void check_sum_of_causes(const Point& p) {
  std::int64_t sum = 0;
  for (const os::FaultCauseDoc& doc : os::kFaultCauseDocs) sum += faults_of(p, doc.name);
  CHECK(sum == p.count("faults"));
  CHECK(p.count("faults_injected") <= p.count("faults"));
  CHECK(p.count("refaults") <= p.count("faults"));
}

// All faults have this cause.
Point check_only(const Settings& settings, const std::string& cause) {
  INFO(to_string(settings));
  const Point p = run_well(settings);
  INFO(causes_text(p));
  CHECK(p.count("faults") > 0);
  CHECK(faults_of(p, cause) == p.count("faults"));
  check_sum_of_causes(p);
  return p;
}

// Injections into a buffer that stays otherwise: they are behind all faults, and most of them have this cause.
void check_injected(const Settings& base, Way w, const char* mechanism, const std::string& cause) {
  const Point p = run(base + way(w) + Settings{{"inject.mechanism", mechanism}});
  INFO(mechanism << ": " << causes_text(p));
  REQUIRE(p.error.empty());
  CHECK(faults_of(p, cause) > 0);
  CHECK(2 * faults_of(p, cause) > p.count("faults"));
  CHECK(p.count("faults_injected") + faults_of(p, "raced") >= p.count("faults"));
  check_sum_of_causes(p);
}

Settings cold_end(const char* end) {
  return preset("fault/touch-a-page") +
         Settings{{"workload.cold", end}, {"workload.size", "64 KiB"}, {"workload.iterations", 3}};
}

}  // namespace

TEST_CASE("cold pages: absent, swapped, read but never written, on the disk") {
  for (const char* end : {"source", "destination", "both"}) {
    const Point p = check_only(cold_end(end), "absent");
    CHECK(p.count("faults_injected") == 0);
    CHECK(p.count("refaults") == 0);
  }
  const Settings swap = cold_end("destination") + Settings{{"os.swap_bytes", "1 GiB"}};
  check_only(swap + Settings{{"workload.cold_destination_kind", "swapped"}}, "swap");
  check_only(swap + Settings{{"workload.cold_destination_kind", "zero-page"}}, "zero_page");
  const Settings file = cold_end("destination") + Settings{{"workload.memory", "shared-file"}};
  check_only(file + Settings{{"workload.cold_destination_kind", "file"}}, "reclaim");
}

TEST_CASE("no pages that are cold: no faults, and no causes") {
  const Point p = run_well(cold_end("none"));
  CHECK(p.count("faults") == 0);
  check_sum_of_causes(p);
}

TEST_CASE("stalled accesses have causes like those that are ended") {
  const Settings settings = preset("fault/stall") + Settings{{"workload.cold", "both"},
                                                             {"workload.size", "64 KiB"},
                                                             {"workload.iterations", 3},
                                                             {"workload.window", 2}};
  const Point p = check_only(settings, "absent");
  CHECK(p.count("refaults") == 0);
}

TEST_CASE("accesses that are held off fault for another one's sake") {
  const Settings settings = cold_end("destination") + Settings{{"workload.cold_share", 0.25},
                                                               {"workload.window", 4},
                                                               {"workload.iterations", 20},
                                                               {"smmu_driver.hupcf", "false"}};
  const Point p = run_well(settings);
  INFO(causes_text(p));
  CHECK(faults_of(p, "absent") > 0);
  CHECK(faults_of(p, "held_off") > 0);
  check_sum_of_causes(p);
  CHECK(faults_of(run_well(settings + Settings{{"smmu_driver.hupcf", "true"}}), "held_off") == 0);
}

TEST_CASE("a mirror is filled by its device's faults") {
  const Settings settings = preset("fault/mirrored") + Settings{{"workload.size", "64 KiB"}};
  const Point p = check_only(settings, "mirror");
  CHECK(p.count("faults_injected") == 0);
}

TEST_CASE("injected: what moves pages, or makes huge ones") {
  check_injected(kSmall, mlock_shared, "compaction", "migration");
  check_injected(kSmall, mlock_shared, "move-pages", "migration");
  check_injected(kHuge, mlock_shared, "collapse", "collapse");
  check_injected(kHuge + Settings{{"inject.after", "1 ms"}}, pin_shared, "thp-split", "split");
}

TEST_CASE("injected: what takes rights or flags") {
  check_injected(kSmall, mlock_shared, "numa-hint", "numa_hint");
  check_injected(kSmall, mlock_shared, "ksm", "write_protected");
  check_injected(kSmall, mlock_shared, "fork", "write_protected");
  check_injected(kSmall, mlock_shared, "userfault-wp", "write_protected");
  check_injected(kSmall, mlock_shared, "write-protect", "permission");
  check_injected(kFile, mlock_shared, "write-protect", "clean");
  check_injected(kSmall, pin_shared, "ageing", "access_flag");
  check_injected(kFewEntries, mlock_shared, "clear-refs", "access_flag");
  check_injected(kFewEntries, mlock_shared, "idle-tracking", "access_flag");
}

TEST_CASE("injected: what drops pages, or sends them away") {
  check_injected(kSmall, mlock_shared, "truncate", "dropped");
  check_injected(kSmall, mlock_shared, "dont-need", "dropped");
  check_injected(kSmall, mlock_shared, "lock-on-fault", "dropped");
  const Point p = run(kSwap + preset("fault/touch-a-page") + Settings{{"inject.mechanism", "reclaim"}});
  INFO(causes_text(p));
  CHECK(faults_of(p, "reclaim") + faults_of(p, "swap") > 0);
  CHECK(p.count("faults_injected") > 0);
  check_sum_of_causes(p);
}

TEST_CASE("injected: a mirror tells which change has emptied it") {
  check_injected(kSmall, mlock_mirrored, "move-pages", "migration");
  check_injected(kSmall, mlock_mirrored, "numa-hint", "numa_hint");
  check_injected(kSmall, mlock_mirrored, "fork", "write_protected");
}

TEST_CASE("refaults: get_user_pages finds old pages present, and cures nothing") {
  const Settings once = kFewEntries + Settings{{"inject.mechanism", "idle-tracking"}, {"inject.count", 1}};
  const Point ahead = run_well(once + preset("fault/touch-ahead"));
  INFO(causes_text(ahead));
  CHECK(faults_of(ahead, "access_flag") == ahead.count("faults"));
  CHECK(ahead.count("refaults") > 0);
  check_sum_of_causes(ahead);
  const Point touched = run_well(once + preset("fault/touch-a-page"));
  CHECK(faults_of(touched, "access_flag") > 0);
  CHECK(touched.count("refaults") == 0);
}

TEST_CASE("refaults: pages that are taken anew before the block comes again") {
  const Settings often = kFewEntries + Settings{{"inject.mechanism", "idle-tracking"}, {"workload.iterations", 10}};
  CHECK(run_well(often + preset("fault/touch-a-page")).count("refaults") > 0);
  CHECK(run_well(often + preset("fault/stall")).count("faults_access_flag") > 0);
}

TEST_CASE("injected: a buffer without a whole 2 MiB range has nothing to collapse or to split") {
  for (const auto& [mechanism, word] : {std::pair("collapse", "collapse"), {"thp-split", "split"}}) {
    INFO(mechanism);
    const Settings settings = preset("fault/touch-ahead") + Settings{{"inject.mechanism", mechanism},
                                                                     {"inject.period", "20 us"},
                                                                     {"inject.count", 3},
                                                                     {"workload.iterations", 20},
                                                                     {"os.thp", "madvise"}};
    const Point small = run_well(settings + Settings{{"workload.size", "256 KiB"}});
    CHECK(small.count("injections") == 0);
    CHECK(small.notes_say(std::string("nothing to ") + word));
    CHECK_FALSE(small.notes_say("no injection came to pass"));
    const Point large = run_well(settings + Settings{{"workload.size", "4 MiB"}});
    CHECK(large.count("injections") == 3);
    CHECK_FALSE(large.notes_say("nothing to"));
  }
}

TEST_CASE("injected: pages that are cold once, or at the other end, do not hide what happens") {
  const auto against = [](const char* mechanism, const char* cold, std::int64_t every, const char* strategy) {
    return reason_against(preset(strategy) + Settings{{"inject.mechanism", mechanism},
                                                      {"workload.cold", cold},
                                                      {"workload.cold_every", every},
                                                      {"os.thp", "always"}});
  };
  const char* fault = "fault/touch-ahead";
  for (const std::int64_t every : {1, 4}) {
    for (const char* strategy : {fault, "pin-per-transfer"}) {
      INFO(every << strategy);
      CHECK(against("compaction", "destination", every, strategy)
                .starts_with("inject.mechanism: pages that are made absent again and again at the same end hide"));
    }
  }
  CHECK(against("compaction", "destination", 0, fault) == "none");
  CHECK(against("compaction", "source", 1, fault) == "none");
  CHECK(against("compaction", "both", 1, "pin-once") == "none");
  CHECK(against("thp-split", "destination", 0, fault).starts_with("inject.mechanism: pages that are made absent lose"));
  const Settings injected =
      preset(fault) +
      Settings{{"inject.mechanism", "compaction"}, {"inject.period", "50 us"}, {"inject.count", 5},
               {"workload.size", "64 KiB"},        {"workload.warmup", 2},     {"workload.iterations", 20}};
  const Point warm = run_well(injected);
  const Point once = run_well(injected + Settings{{"workload.cold", "destination"}, {"workload.cold_every", 0}});
  CHECK(once.count("injections") == 5);
  CHECK(once.count("faults_injected") > 0);
  CHECK(once.count("faults") > once.count("faults_injected"));
  CHECK(warm.count("faults") == warm.count("faults_injected"));
  const Point source = run_well(injected + Settings{{"workload.cold", "source"}});
  CHECK(source.count("injections") == 5);
  CHECK(source.count("faults_injected") > 0);
  CHECK(source.count("faults") > source.count("faults_injected"));
}
