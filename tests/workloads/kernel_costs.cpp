// SPDX-License-Identifier: Apache-2.0
// What programs measure of an idle node's kernel, computed a second time from the parameters, to the picosecond.
#include "models/os/os_config.hpp"
#include "models/os/vm/page_table.hpp"
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;
using os::kPage;
using sim::Time;

namespace {

const os::OsConfig kCosts;
const Time kSwitch = cpu::CpuConfig{}.context_switch;

Point program(const std::string& name, const std::string& size, const Settings& more = {}) {
  return run_well(Settings{{"workload.kind", "kernel-cost"},
                           {"workload.program", name},
                           {"workload.size", size},
                           {"workload.warmup", 1},
                           {"workload.iterations", 3}} +
                  more);
}

std::int64_t cost(const std::string& name, const std::string& size, const Settings& more = {}) {
  return program(name, size, more).ps("kernel_cost");
}

Time flush(std::int64_t pages) { return pages * kCosts.cpu_tlbi + kCosts.cpu_dsb; }

}  // namespace

TEST_CASE("lat_ctx gives the wake-up and the context switch, whatever the array and the ring") {
  const Time expected = kCosts.wake_up + kSwitch;
  CHECK(cost("lat_ctx", "128 KiB") == expected.count());
  CHECK(cost("lat_ctx", "4 KiB") == expected.count());
  CHECK(cost("lat_ctx", "128 KiB", {{"workload.processes", 9}}) == expected.count());
  CHECK(cost("lat_ctx", "128 KiB", {{"cpu.cores", 1}}) == expected.count());
  // A lap has all of it.
  const Time one = kCosts.pipe_write + expected + kCosts.pipe_read + 32 * kCosts.resident_touch;
  const Point lap = program("lat_ctx", "128 KiB", {{"workload.processes", 3}});
  CHECK(lap.ps("latency_min") == 3 * one.count());
  CHECK(lap.ps("latency_max") == 3 * one.count());
}

TEST_CASE("lat_pipe and lat_unix give a round trip") {
  CHECK(cost("lat_pipe", "1 B") == 2 * (kCosts.pipe_write + kCosts.wake_up + kSwitch + kCosts.pipe_read).count());
  CHECK(cost("lat_unix", "1 B") == 2 * (kCosts.socket_write + kCosts.wake_up + kSwitch + kCosts.socket_read).count());
  CHECK(cost("lat_pipe", "1 B", {{"cpu.cores", 1}}) == cost("lat_pipe", "1 B"));
}

TEST_CASE("lat_sig catch gives the handler without the call") {
  CHECK(cost("lat_sig-catch", "1 B") == kCosts.signal_catch.count());
}

TEST_CASE("software costs scale with the clock, and memory's do not") {
  const Settings fast{{"cpu.clock", "2.4 GHz"}};
  CHECK(cost("lat_pipe", "1 B", fast) == (kCosts.pipe_write + kCosts.wake_up + kSwitch + kCosts.pipe_read).count());
  CHECK(cost("bw_mem-bzero", "64 KiB", fast) == cost("bw_mem-bzero", "64 KiB"));
}

TEST_CASE("lat_proc fork gives fork, the child's switch, its end, the wake-up and the parent's switch") {
  const Settings untouched{{"workload.written_pages", 0}};
  // Both tables are flushed whole.
  const Time expected = kCosts.fork_fixed + 64 * kCosts.fork_per_page + flush(1) + kSwitch + kCosts.exit_fixed +
                        flush(1) + kCosts.wake_up + kSwitch;
  CHECK(cost("lat_proc-fork", "256 KiB", untouched) == expected.count());
  // Of each page that both write, one of them makes a copy, or both do.
  const Point written = program("lat_proc-fork", "256 KiB", {{"workload.written_pages", 5}});
  CHECK(written.count("minor_faults") == 3 * 10);
  CHECK(written.ps("kernel_cost") > expected.count());
}

TEST_CASE("lat_proc exec has another program in it: its text by one fault, its data by one a page") {
  const Settings untouched{{"workload.written_pages", 0}};
  const Time forked{cost("lat_proc-fork", "256 KiB", untouched)};
  const Time text = kCosts.mmap_fixed + kCosts.fault_no_alloc + 15 * (kCosts.fault_around_page + kCosts.resident_touch);
  CHECK(cost("lat_proc-exec", "256 KiB", untouched) == (forked + kCosts.exec_fixed + flush(1) + text).count());
}

TEST_CASE("lat_pagefault gives a page's share of a fault that maps 16, and of its unmapping") {
  const auto of_windows = [](std::int64_t pages) {
    const std::int64_t faults = 512 / pages;
    const Time touches = (512 - faults) * (kCosts.fault_around_page + kCosts.resident_touch);
    // Of 512 pages the address space is flushed, and nothing of an empty mapping.
    return (faults * kCosts.fault_no_alloc + touches + flush(1)).count();
  };
  const Settings all{{"workload.iterations", 1}};
  CHECK(512 * cost("lat_pagefault", "2 MiB", all) == Approx(of_windows(16)).margin(512));
  const Point single = program("lat_pagefault", "2 MiB", {{"os.fault_around_bytes", "4 KiB"}});
  const Point around = program("lat_pagefault", "2 MiB");
  CHECK(512 * single.ps("kernel_cost") == Approx(of_windows(1)).margin(512));
  CHECK(single.count("minor_faults") == 16 * around.count("minor_faults"));
}

TEST_CASE("lat_mmap gives a call each to map and unmap, and seven faults that write") {
  // 25 pages lie between the first store and the last.
  const Time expected = kCosts.mmap_fixed + 7 * kCosts.fault_no_alloc + kCosts.munmap_fixed + flush(25);
  CHECK(cost("lat_mmap", "1 MiB") == expected.count());
  CHECK(program("lat_mmap", "1 MiB").count("minor_faults") == 21);
}

TEST_CASE("bw_mem counts a copied byte once, and no faults") {
  const auto pages = [](sim::ByteRate rate) { return 16 * rate.time_for(kPage).count(); };
  CHECK(cost("bw_mem-bzero", "64 KiB") == pages(kCosts.zero_bandwidth));
  const sim::ByteRate each{kCosts.copy_bandwidth.bytes_per_second * 2};
  const Point copy = program("bw_mem-bcopy", "64 KiB");
  CHECK(copy.ps("kernel_cost") == 2 * pages(each));
  CHECK(copy["goodput"] == Approx(65536.0 / copy["kernel_cost"]));
  CHECK(copy.count("minor_faults") == 0);
}

TEST_CASE("first writes cost a fault and its clearing, of small pages and of huge ones") {
  const Time small = kCosts.anon_minor_fault + kCosts.zero_bandwidth.time_for(kPage);
  CHECK(cost("anonymous-fault", "64 KiB") == small.count());
  const Time huge = kCosts.thp_alloc + 512 * kCosts.zero_bandwidth.time_for(kPage);
  const Settings advised{{"workload.madvise_hugepage", true}, {"os.thp", "madvise"}};
  CHECK(cost("anonymous-fault", "4 MiB", advised) == huge.count());
}

TEST_CASE("mprotect costs its call, its pages and their flush") {
  CHECK(cost("mprotect", "4 KiB") == (kCosts.mprotect_fixed + kCosts.mprotect_per_page + flush(1)).count());
  CHECK(cost("mprotect", "64 KiB") == (kCosts.mprotect_fixed + 16 * kCosts.mprotect_per_page + flush(16)).count());
}

TEST_CASE("what only transfers have is refused of a program, with the keys that say so") {
  const auto refused = [](const Settings& settings, const std::string& key) {
    const Settings kind{{"workload.kind", "kernel-cost"}, {"workload.program", "lat_mmap"}, {"workload.size", "1 MiB"}};
    const auto found = workloads::conflicts(configuration(kind + settings));
    return found.size() == 1 && found.front().keys.front() == key;
  };
  CHECK(workloads::conflicts(configuration({{"workload.kind", "kernel-cost"}})).empty());
  CHECK(refused({{"workload.window", 2}}, "workload.window"));
  CHECK(refused({{"workload.clean_window", 1}}, "workload.clean_window"));
  CHECK(refused({{"workload.cold", "source"}}, "workload.cold"));
  CHECK(refused({{"workload.memory", "shmem"}}, "workload.memory"));
  CHECK(refused({{"workload.source_offset", "8 B"}}, "workload.source_offset"));
  CHECK(refused({{"workload.destination_offset", "8 B"}}, "workload.destination_offset"));
  CHECK(refused({{"workload.target", 2}}, "workload.target"));
  CHECK(refused({{"workload.start_spread", "1 us"}}, "workload.start_spread"));
  CHECK(refused({{"workload.clean_size", "1 KiB"}}, "workload.clean_size"));
  CHECK(refused({{"workload.arrivals", "periodic"}, {"workload.interval", "1 us"}}, "workload.arrivals"));
  CHECK(refused({{"workload.processes", 3}}, "workload.processes"));
  CHECK(refused({{"workload.written_pages", 3}}, "workload.written_pages"));
  CHECK(refused({{"workload.size", "5000 B"}}, "workload.size"));
  CHECK(refused({{"workload.size", "1 GiB"}, {"os.user_memory", "1 GiB"}}, "workload.size"));
  CHECK(refused({{"workload.initiator", 4}}, "workload.initiator"));
  CHECK(refused({{"workload.program", "lat_proc-fork"}, {"workload.written_pages", 300}}, "workload.written_pages"));
}
