// SPDX-License-Identifier: Apache-2.0
// What the absent pages of a cold end are: each kind costs what its faults cost, and no kind loses a byte.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

const Settings kByPage = preset("fault/touch-a-page");
const Settings kSwapDevice{{"os.swap_bytes", "64 MiB"}, {"os.page_cluster", 0}};
const Settings kSharedFile{{"workload.memory", "shared-file"}};

Settings cold_kind(const char* end, const char* of, const char* size = "16 KiB") {
  return {{"workload.cold", end}, {std::string("workload.cold_") + end + "_kind", of}, {"workload.size", size}};
}

}  // namespace

TEST_CASE("kinds of cold pages that cannot be are refused with the reason") {
  CHECK(reason_against(cold_kind("source", "swapped") + kSwapDevice) == "none");
  CHECK(reason_against(cold_kind("source", "swapped")) ==
        "workload.cold_source_kind: there is no swap device to put pages on; set os.swap_bytes, which gives each node "
        "one");
  CHECK(reason_against(cold_kind("destination", "swapped") + kSwapDevice + kSharedFile) ==
        "workload.cold_destination_kind: the pages of a shared file go back to the file, not to the swap device; "
        "take the kind 'file'");
  CHECK(reason_against(cold_kind("destination", "swapped") + kSwapDevice +
                       Settings{{"workload.memory", "hugetlb"}, {"os.nr_hugepages", 64}}) ==
        "workload.cold_destination_kind: the pages of hugetlbfs are never put on the swap device; take another kind of "
        "absent pages, or other memory");
  CHECK(reason_against(cold_kind("destination", "file")) ==
        "workload.cold_destination_kind: memory that is no shared file's, once written, has no file to go back to; "
        "take another kind of absent pages, or other memory");
  CHECK(reason_against(cold_kind("destination", "zero-page") + kSharedFile) ==
        "workload.cold_destination_kind: only anonymous memory that is read before it is written shows the page of "
        "zeros; take another kind of absent pages, or other memory");
  CHECK(reason_against(cold_kind("destination", "zero-page") + Settings{{"workload.cold", "source"}}) ==
        "workload.cold_destination_kind: a kind of absent pages of an end that has none; say by workload.cold which "
        "end is cold");
  CHECK(reason_against({{"workload.kind", "ring"}, {"workload.cold", "both"}, {"workload.cold_source_kind", "file"}}) ==
        "workload.cold_source_kind: only the buffers of the kinds 'write' and 'read' are put away; leave "
        "workload.cold_source_kind at its default");
  // The device's reads find the page of zeros: a source that shows it is not cold.
  CHECK_THROWS(configuration({{"workload.cold_source_kind", "zero-page"}}));
}

TEST_CASE("pages on the swap device are read back, with what was written to them") {
  for (const char* end : {"source", "destination"}) {
    for (const char* what : {"write", "read"}) {
      INFO(end << ", " << what);
      const Settings common = kByPage + kSwapDevice + Settings{{"workload.kind", what}};
      const Point swapped = run_well(common + cold_kind(end, "swapped"));
      const Point fresh = run_well(common + cold_kind(end, "never-written"));
      CHECK(swapped.count("faults") == 4);
      CHECK(swapped.count("major_faults") == 4);
      CHECK(swapped.count("swapped_in") == 4);
      CHECK(fresh.count("major_faults") == 0);
      // Each waits for the device.
      CHECK(swapped.latency() > fresh.latency() + 4 * configuration(common).machine.os.disk_read_latency.count());
    }
  }
}

TEST_CASE("what a program has written is absent as its memory goes, and where it cannot go a note says so") {
  const auto source = [](const Settings& memory, const char* kind) {
    return run_well(kByPage + memory + cold_kind("source", kind));
  };
  const auto is = [&](const Settings& memory, const char* kind) {
    const Point written = source(memory, "written"), named = source(memory, kind);
    CHECK_FALSE(named.notes_say("never written"));
    return written.latency() == named.latency() && written.breakdown == named.breakdown;
  };
  CHECK(configuration({}).workload.cold_source_kind == workloads::ColdKind::written);
  CHECK(is({}, "never-written"));
  CHECK(is(kSwapDevice, "swapped"));
  CHECK(is(kSharedFile + kSwapDevice, "file"));
  CHECK(source({}, "written").notes_say("never written"));
  CHECK_FALSE(source(kSwapDevice, "written").notes_say("never written"));
  CHECK_FALSE(run_well(kByPage + Settings{{"workload.cold", "destination"}}).notes_say("never written"));
  const Point ring =
      run(preset("fault/touch-ahead") + kSwapDevice + Settings{{"workload.kind", "ring"}, {"workload.cold", "source"}});
  CHECK(ring.notes_say("never written"));
}

TEST_CASE("as many pages are on the swap device as are to be absent, in kernels without MADV_PAGEOUT, too") {
  for (const char* kernel : {"4.9", "5.4", "6.12"}) {
    INFO(kernel);
    const Point half = run_well(kByPage + kSwapDevice + cold_kind("destination", "swapped", "64 KiB") +
                                Settings{{"workload.cold_share", 0.5}, {"os.kernel", kernel}});
    CHECK(half.count("swapped_in") == 8);
    CHECK(half.count("faults") == 8);
  }
}

TEST_CASE("small buffers of shared memory go to the swap device, too") {
  for (const char* size : {"64 B", "4 KiB", "12 KiB"}) {
    INFO(size);
    const Point p = run_well(kByPage + kSwapDevice + cold_kind("destination", "swapped", size) +
                             Settings{{"workload.memory", "shmem"}, {"workload.iterations", 3}});
    CHECK(p.count("swapped_in") >= 3);
  }
}

TEST_CASE("an evicted page of a file is read from the disk, one that is not mapped is found in the page cache") {
  for (const char* end : {"source", "destination"}) {
    INFO(end);
    const Point evicted = run_well(kByPage + kSharedFile + cold_kind(end, "file"));
    const Point unmapped =
        run_well(kByPage + kSharedFile + cold_kind(end, "never-written") + Settings{{"workload.warmup", 1}});
    CHECK(evicted.count("major_faults") >= 1);
    CHECK(evicted.count("file_read") > 0);
    CHECK(unmapped.count("major_faults") == 0);
    CHECK(unmapped.count("faults") >= 1);
    CHECK(evicted.latency() > unmapped.latency());
  }
}

TEST_CASE("the shared page of zeros must not be written: a destination that shows it faults") {
  const Point zero = run_well(kByPage + cold_kind("destination", "zero-page"));
  CHECK(zero.count("faults") == 4);
  CHECK(zero.count("minor_faults") == 4 + 4);  // the program's reads before the transfer, and the transfer's
  CHECK(zero.count("major_faults") == 0);
}

TEST_CASE("strategies that keep pages present bring them back when they set up, and lose nothing") {
  for (const char* name : {"mlock", "pin-once", "populate", "pin-per-transfer", "pre-touch", "fault/touch-ahead"}) {
    const Settings strategy = preset(name) + Settings{{"workload.iterations", 3}};
    for (const char* end : {"source", "destination"}) {
      INFO(name << ", " << end);
      run_well(strategy + kSwapDevice + cold_kind(end, "swapped"));
    }
    INFO(name);
    run_well(strategy + cold_kind("destination", "zero-page"));
  }
}

TEST_CASE("pages are written before they are put away, whatever the target's program waits for") {
  run_well(preset("pin-per-transfer") + Settings{{"workload.cold", "source"},
                                                 {"workload.cold_source_kind", "swapped"},
                                                 {"workload.iterations", 3},
                                                 {"os.swap_bytes", "1 GiB"},
                                                 {"inject.mechanism", "reclaim"}});
}

TEST_CASE("trains keep times whatever cold pages are") {
  for (const Settings& settings :
       {kSwapDevice + cold_kind("source", "swapped"), kSwapDevice + cold_kind("destination", "swapped"),
        kSharedFile + cold_kind("source", "file"), kSharedFile + cold_kind("destination", "file"),
        cold_kind("destination", "zero-page")}) {
    INFO(to_string(settings));
    const Settings all = preset("fault/touch-ahead") + settings + Settings{{"workload.iterations", 2}};
    const Point trains = run_well(all), cells = run_well(all + Settings{{"simulation.cells_per_train", 1}});
    CHECK(trains.latency() == cells.latency());
    CHECK(trains.simulated_ps == cells.simulated_ps);
    CHECK(trains.breakdown == cells.breakdown);
  }
}

TEST_CASE("a page of a shared file that is being read ahead is put away when it has come") {
  const Settings common = preset("fault/touch-ahead") + kSharedFile + Settings{{"workload.window", 2}};
  CHECK(run_well(common + cold_kind("source", "file", "256 KiB")).count("major_faults") > 0);
}
TEST_CASE("a page of a shared file that is being read ahead is waited for where its buffer is to be present") {
  const Settings both{{"workload.cold", "both"}, {"workload.size", "512 KiB"}, {"workload.window", 2}};
  CHECK(run_well(preset("fault/touch-ahead") + kSharedFile + both).count("major_faults") > 0);
}
TEST_CASE("a page brought for a failed transfer does not hide that transfer's error") {
  const Settings fails{{"exanest.block_timeout", "20 us"}, {"exanest.retry_limit", 1}, {"workload.warmup", 0},
                       {"workload.iterations", 2},         {"os.kernel", "4.9"},       {"workload.checks", "count"},
                       {"workload.cold", "source"},        {"os.swap_bytes", "1 GiB"}};
  const Point p = run(preset("fault/touch-ahead") + fails);
  REQUIRE(p.error == "");
  CHECK(p.count("transfers") == 2);
  CHECK(p.count("transfers_failed") == 2);
}

TEST_CASE("the kernel keeps one page at least, that of zeros, which no program gets") {
  CHECK_THROWS_AS(configuration({{"os.kernel_reserved", "0 B"}}), sim::BadParameterValue);
  run_well(kByPage + Settings{{"os.kernel_reserved", "4 KiB"}, {"workload.cold", "both"}});
}
