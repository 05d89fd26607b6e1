// SPDX-License-Identifier: Apache-2.0
// Buffers in the pool of huge pages, through the whole machine.
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

const Settings kHugetlb = {{"workload.memory", "hugetlb"},
                           {"os.nr_hugepages", 8},
                           {"os.rlimit_memlock", "64 MiB"},
                           {"workload.iterations", 3},
                           {"workload.warmup", 1}};

}  // namespace

TEST_CASE("hugetlb: every strategy that ships transfers from and to the pool's pages, warm and cold") {
  for (const auto& [name, strategy] : presets()) {
    for (const char* size : {"64 KiB", "3 MiB"}) {
      for (const char* cold : {"none", "both"}) {
        INFO(name << ", " << size << ", " << cold);
        run_well(kHugetlb + strategy + Settings{{"workload.size", size}, {"workload.cold", cold}});
      }
    }
  }
}

TEST_CASE("hugetlb: a cold buffer costs one fault for 2 MiB, and nothing else faults on it") {
  const Settings touched = kHugetlb + Settings{{"workload.size", "2 MiB"},
                                               {"workload.iterations", 1},
                                               {"workload.warmup", 0},
                                               {"workload.cold", "destination"},
                                               {"strategy.registration", "touch"}};
  const Point warm = run_well(touched + Settings{{"workload.cold", "none"}});
  const Point cold = run_well(touched);
  const auto& os = configuration(touched).machine.os;
  const std::int64_t fault = (os.fault_no_alloc + os.hugetlb_fault - os.resident_touch).count() +
                             512 * os.zero_bandwidth.time_for(4096).count();
  CHECK(cold.latency() - warm.latency() == fault);
}

TEST_CASE("hugetlb: a pool that is too small fails the run, and says what to set") {
  const Point p = run(kHugetlb + Settings{{"workload.size", "32 MiB"}});
  CHECK(p.error.find("has 8, of which 8 are neither used nor reserved") != std::string::npos);
}

TEST_CASE("hugetlb: a pool that is empty, too large or advised is told before the run") {
  const auto reasons = [](const Settings& settings) {
    std::string all;
    for (const auto& conflict : workloads::conflicts(configuration(settings)))
      all += conflict.reason + "; " + conflict.instead + "\n";
    return all;
  };
  CHECK(reasons(kHugetlb).empty());
  CHECK(reasons(kHugetlb + Settings{{"os.nr_hugepages", 0}}).find("is empty; fill it by os.nr_hugepages") !=
        std::string::npos);
  CHECK(reasons(kHugetlb + Settings{{"os.nr_hugepages", 500'000}}).find("does not fit") != std::string::npos);
  CHECK(reasons(kHugetlb + Settings{{"workload.madvise_hugepage", true}}).find("EINVAL") != std::string::npos);
}

TEST_CASE("hugetlb: the pool is a metric of its own, used or not, and there is none without a pool") {
  const Point p = run_well(kHugetlb + Settings{{"workload.size", "2 MiB"}});
  const auto nodes = network::node_count(configuration(kHugetlb).machine.shape);
  CHECK(p.count("hugetlb_bytes") == std::int64_t{nodes} * 8 * std::int64_t{os::kHugePage});
  CHECK(p.count("mlocked") == 0);
  const Point none = run_well({{"workload.size", "64 KiB"}});
  CHECK(none.metrics.count("hugetlb_bytes") == 0);
}

TEST_CASE("hugetlb: a pool that takes the memory of all others is named where they are refused") {
  Settings settings{{"os.user_memory", "64 MiB"}, {"os.nr_hugepages", 32}};
  const auto told = workloads::conflicts(configuration(settings));
  REQUIRE(told.size() == 1);
  CHECK(told.front().keys.front() == "os.nr_hugepages");
  CHECK(told.front().reason ==
        "a pool of 64 MiB leaves no page table and no program any of a node's 64 MiB of user memory");
  // All the same, as where the pool leaves nothing but the CMA area.
  const auto taken = configuration(settings);
  const Point tables = read_point(text_from_child([&] { return written(workloads::run_point(taken, 1)); }));
  CHECK(tables.error ==
        "node 0 has no memory left for the page table of a process; the pool of huge pages (os.nr_hugepages) has taken "
        "64 MiB of 64 MiB");
  CHECK(tables.error_keys.front() == "os.nr_hugepages");
  const Point buffer = run({{"os.user_memory", "64 MiB"}, {"os.nr_hugepages", 31}, {"workload.size", "4 MiB"}});
  CHECK(buffer.error.find("has taken 62 MiB of 64 MiB") != std::string::npos);
  CHECK(buffer.error_keys.front() == "os.nr_hugepages");
  // A small one is named last, an empty one not at all.
  const Point small = run({{"os.user_memory", "64 MiB"}, {"os.nr_hugepages", 1}, {"workload.size", "63 MiB"}});
  CHECK(small.error_keys.front() != "os.nr_hugepages");
  CHECK(small.error_keys.back() == "os.nr_hugepages");
  const Point none = run({{"os.user_memory", "64 MiB"}, {"workload.size", "64 MiB"}});
  CHECK(!none.error.empty());
  CHECK(std::find(none.error_keys.begin(), none.error_keys.end(), "os.nr_hugepages") == none.error_keys.end());
}

TEST_CASE("hugetlb: nothing but what names the pages themselves takes them from under a device") {
  const Settings injected =
      kHugetlb + Settings{{"workload.size", "2 MiB"},        {"workload.iterations", 4}, {"workload.checks", "count"},
                          {"inject.period", "200 us"},       {"inject.count", 20},       {"os.swap_bytes", "1 GiB"},
                          {"strategy.registration", "mlock"}};
  for (const char* mechanism : {"compaction", "compact-memory", "numa-hint", "ageing", "write-protect", "reclaim"}) {
    INFO(mechanism);
    const Point p = run_well(injected + Settings{{"inject.mechanism", mechanism}});
    CHECK(p.count("injections") > 0);
    CHECK(p.count("faults") == 0);
  }
  for (const char* mechanism : {"move-pages", "fork", "truncate", "dont-need"}) {
    INFO(mechanism);
    const Point p = run(injected + Settings{{"inject.mechanism", mechanism}});
    CHECK(p.error == "");
    CHECK(p.count("faults") > 0);
    CHECK(p.count("stale_accesses") == 0);
  }
}

TEST_CASE("hugetlb: a child that lives on moves the program away from what its device has registered") {
  const Settings forks = kHugetlb + Settings{{"workload.size", "2 MiB"},     {"workload.iterations", 6},
                                             {"workload.checks", "count"},   {"inject.mechanism", "fork-child-lives"},
                                             {"inject.child_life", "20 ms"}, {"inject.after", "1 ms"},
                                             {"inject.end", "source"},       {"strategy.translate", "private"}};
  const Point locked = run(forks + Settings{{"strategy.registration", "mlock"}});
  CHECK(locked.count("injected_pages") > 0);
  CHECK(locked.count("data_errors") > 0);
  const Point pinned = run(forks + Settings{{"strategy.registration", "pin-once"}});
  CHECK(pinned.count("injected_pages") > 0);
  CHECK(pinned.count("data_errors") == 0);
  CHECK(pinned.count("stale_accesses") == 0);
}

TEST_CASE("hugetlb: senders of a pattern have pages of their own, so that nobody drops what another receives") {
  for (const char* cold : {"source", "destination"}) {
    INFO(cold);
    const Point p = run(Settings{{"workload.kind", "all-to-all"},
                                 {"workload.memory", "hugetlb"},
                                 {"os.nr_hugepages", 16},
                                 {"workload.iterations", 5},
                                 {"workload.window", 2},
                                 {"workload.cold", cold}});
    CHECK(p.error.empty());
    CHECK(p.count("transfers") == 5 * 4 * 3);
    CHECK(p.count("data_errors") == 0);
    CHECK(p.count("transfers_failed") == 0);
  }
}
