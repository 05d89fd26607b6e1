// SPDX-License-Identifier: Apache-2.0
// Buffers in files, programs that read files beside, limits of memory, and what is left when memory has run out.
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;
using Catch::Matchers::Contains;

namespace {

const Settings kSmallNodes = {{"workload.size", "1 MiB"},
                              {"workload.iterations", 10},
                              {"workload.warmup", 1},
                              {"os.user_memory", "16 MiB"},
                              {"os.rlimit_memlock", "16 MiB"}};

}  // namespace

TEST_CASE("files: a buffer in a file arrives whole, shared or private, cold or not") {
  for (const char* memory : {"shared-file", "private-file"}) {
    for (const char* cold : {"none", "both"}) {
      INFO(memory << ", cold " << cold);
      const Point p = run_well({{"workload.memory", memory}, {"workload.cold", cold}, {"workload.size", "64 KiB"}});
      CHECK((p.count("faults") > 0) == (std::string(cold) == "both"));
    }
  }
}

TEST_CASE("files: old dirty pages are written while transfers write to them, and fault again") {
  const Settings settings{{"workload.memory", "shared-file"}, {"workload.size", "64 KiB"},
                          {"workload.iterations", 100},       {"os.dirty_writeback_interval", "500 us"},
                          {"os.dirty_expire", "200 us"},      {"strategy.registration", "mlock"}};
  const Point p = run_well(settings);
  CHECK(p.count("file_written") > 64);
  CHECK(p.count("faults") > 0);
  const Point anonymous = run_well(settings + Settings{{"workload.memory", "anonymous"}});
  CHECK(anonymous.count("file_written") == 0);
  CHECK(anonymous.count("faults") == 0);
}

TEST_CASE("scanners: a file that does not fit is read again and again, one that fits but once") {
  const Settings scanning = kSmallNodes + Settings{{"background.scanners", 1}, {"background.file_pause", "20 us"}};
  const Point fits = run_well(scanning + Settings{{"background.file", "1 MiB"}});
  const Point does_not = run_well(scanning + Settings{{"background.file", "32 MiB"}});
  CHECK(fits["background_file_rate"] > 0);
  CHECK(does_not["file_read"] > fits["file_read"]);
  CHECK(does_not["background_file_rate"] < fits["background_file_rate"]);
}

TEST_CASE("scanners: stores to a mapped file come to the disk") {
  const Point p = run_well(kSmallNodes + Settings{{"background.scanners", 1},
                                                  {"background.file_use", "map-write"},
                                                  {"background.file", "8 MiB"},
                                                  {"background.file_pause", "20 us"}});
  CHECK(p["file_written"] > 0);
}

TEST_CASE("limits: background programs at theirs swap their own pages and leave the transfers alone") {
  const Point p = run_well(kSmallNodes + Settings{{"os.swap_bytes", "64 MiB"},
                                                  {"background.processes", 1},
                                                  {"background.memory", "8 MiB"},
                                                  {"background.memory_limit", "2 MiB"},
                                                  {"background.pause", "10 us"}});
  CHECK(p.count("major_faults") > 0);
  CHECK(p.count("direct_reclaims") == 0);
  CHECK(p.count("faults") == 0);
}

TEST_CASE("limits: a background program that nothing can be reclaimed from is killed, and the transfers go on") {
  const Point p = run_well(kSmallNodes + Settings{{"background.processes", 1},
                                                  {"background.memory", "8 MiB"},
                                                  {"background.memory_limit", "2 MiB"},
                                                  {"background.pause", "10 us"}});
  CHECK(p.count("background_ended") > 0);
}

TEST_CASE("limits: a program at the ends of transfers that is killed ends the run, and the reason is the kernel's") {
  const Point p = run(kSmallNodes + Settings{{"workload.memory_limit", "512 KiB"}, {"workload.cold", "both"}});
  CHECK_THAT(p.error, Contains("memory limit was reached") && Contains("the OOM killer ended '"));
}

TEST_CASE("limits: scanners have theirs, too, so that a file that would fit is read again") {
  const Settings scanning =
      kSmallNodes +
      Settings{{"background.scanners", 1}, {"background.file", "1 MiB"}, {"background.file_pause", "20 us"}};
  const Point free = run_well(scanning);
  const Point limited = run_well(scanning + Settings{{"background.memory_limit", "256 KiB"}});
  CHECK(limited["file_read"] > free["file_read"]);
}

TEST_CASE("limits: kernels that refuse pins of files are a result where failures are counted") {
  const Point p = run(kSmallNodes + Settings{{"workload.memory", "shared-file"},
                                             {"workload.checks", "count"},
                                             {"strategy.registration", "pin-once"},
                                             {"os.kernel", "6.6"}});
  CHECK_THAT(p.refused, Contains("os.kernel"));
}
