// SPDX-License-Identifier: Apache-2.0
// Every kind of fault and every setting of the fault path brings the right data to the right place.
#include <catch2/catch.hpp>

#include "tests/support/point.hpp"

using namespace faultline::test;

namespace {

constexpr std::int64_t kMicrosecond = 1'000'000;

const Settings kTouch = {{"strategy.resolve", "touch-a-page"}};

Settings cold(const char* end, const char* size) { return {{"workload.cold", end}, {"workload.size", size}}; }
Settings ahead(int pages) { return {{"strategy.resolve", "touch-ahead"}, {"strategy.touch_ahead_pages", pages}}; }

}  // namespace

TEST_CASE("one fault at the source, at the destination, at both, by writes and reads") {
  struct Case {
    const char* end;
    int faults;
  };
  for (const char* kind : {"write", "read"}) {
    for (const Settings& resolve : {kTouch, ahead(1), ahead(4), ahead(16)}) {
      for (const Case& c : {Case{"none", 0}, Case{"source", 1}, Case{"destination", 1}, Case{"both", 2}}) {
        const Settings settings = resolve + cold(c.end, "64 B") + Settings{{"workload.kind", kind}};
        INFO(to_string(settings));
        const Point p = run_well(settings);
        CHECK(p.count("faults") == c.faults);
        CHECK(p.count("minor_faults") == c.faults);
        CHECK(p.count("retransmitted_bytes") == 64 * c.faults);
        CHECK(p.count("timeouts") == 0);
      }
    }
  }
}

TEST_CASE("touch-ahead of N pages faults once for each N pages of a block, a touched page once for each") {
  for (int pages = 1; pages <= 16; ++pages) {
    for (const char* end : {"source", "destination"}) {
      const Settings settings = ahead(pages) + cold(end, "64 KiB") +
                                Settings{{"exanest.block_bytes", "64 KiB"}, {"exanest.block_timeout", "10 ms"}};
      INFO(to_string(settings));
      const Point p = run_well(settings);
      CHECK(p.count("faults") == (16 + pages - 1) / pages);
      CHECK(p.count("minor_faults") == 16);
    }
  }
  CHECK(run_well(kTouch + cold("destination", "16 KiB")).count("faults") == 4);
  CHECK(run_well(kTouch + cold("destination", "16 KiB")).count("minor_faults") == 4);
}

TEST_CASE("a stalled access goes on without a retransmission") {
  for (const char* end : {"source", "destination", "both"}) {
    const int ends = std::string(end) == "both" ? 2 : 1;
    for (const char* hupcf : {"true", "false"}) {
      const Settings settings = preset("fault/stall") + Settings{{"smmu_driver.hupcf", hupcf}};
      const Point one = run_well(settings + cold(end, "64 B"));
      INFO(to_string(settings) << end);
      CHECK(one.count("faults") == ends);
      CHECK(one.count("retransmitted_bytes") == 0);
      const Point many = run_well(settings + cold(end, "64 KiB") + Settings{{"workload.iterations", 3}});
      CHECK(many.count("minor_faults") == 3 * 16 * ends);
      CHECK(many.count("retransmitted_bytes") == 0);
      run_well(settings + cold(end, "64 KiB") + Settings{{"workload.window", 4}, {"workload.iterations", 8}});
    }
  }
}

TEST_CASE("one side may stall and the other terminate") {
  const Settings settings = kTouch + cold("both", "64 B");
  CHECK(run_well(settings + Settings{{"strategy.on_source_fault", "stall"}}).count("retransmitted_bytes") == 64);
  CHECK(run_well(settings + Settings{{"strategy.on_destination_fault", "stall"}}).count("retransmitted_bytes") == 64);
}

TEST_CASE("huge pages: the first touch of a 2 MiB range is the last") {
  for (const char* end : {"source", "destination"}) {
    for (const Settings& resolve : {kTouch, ahead(4)}) {
      const Settings settings = resolve + cold(end, "4 MiB") + Settings{{"exanest.block_timeout", "100 ms"}};
      INFO(to_string(settings));
      // What is read only maps zeros, unless the kernel has been told to give pages for that, too.
      const bool zeros = std::string(end) == "source";
      const Point zero = run_well(settings + Settings{{"os.thp", "always"}});
      CHECK(zero.count("thp_faults") == (zeros ? 0 : 2));
      CHECK(zero.count("minor_faults") == 2);
      const Point huge = run_well(settings + Settings{{"os.thp", "always"}, {"os.use_zero_page", "false"}});
      CHECK(huge.count("thp_faults") == 2);
      CHECK(huge.count("minor_faults") == 2);
      CHECK(huge.count("faults") >= 2);
      CHECK(huge.count("faults") <= 8);  // the blocks that were under way
    }
    const Point small = run_well(kTouch + cold(end, "256 KiB") + Settings{{"os.thp", "never"}});
    CHECK(small.count("thp_faults") == 0);
    CHECK(small.count("minor_faults") == 64);
  }
}

TEST_CASE("SCTLR.HUPCF off or on, both kinds of TLB maintenance, both sizes of virtual addresses") {
  for (const char* hupcf : {"true", "false"}) {
    for (const char* maintenance : {"mmio", "dvm"}) {
      for (const char* bits : {"39", "48"}) {
        const Settings settings = {{"smmu_driver.hupcf", hupcf},
                                   {"smmu_driver.tlb_maintenance", maintenance},
                                   {"os.va_bits", bits},
                                   {"workload.iterations", 3},
                                   {"workload.window", 2}};
        INFO(to_string(settings));
        for (const char* end : {"source", "destination", "both"}) {
          const int ends = std::string(end) == "both" ? 2 : 1;
          const Point p = run_well(settings + ahead(4) + cold(end, "20000 B"));
          CHECK(p.count("minor_faults") == 3 * 5 * ends);
        }
        const Point pinned = run_well(settings + preset("pin-per-transfer") + cold("both", "20000 B"));
        CHECK(pinned.count("faults") == 0);
      }
    }
  }
}

TEST_CASE("a walk of 48-bit addresses takes longer than one of 39-bit addresses") {
  const Point narrow = run_well(preset("resident") + cold("none", "64 B") + Settings{{"os.va_bits", "39"}});
  const Point wide = run_well(preset("resident") + cold("none", "64 B") + Settings{{"os.va_bits", "48"}});
  CHECK(wide.latency() > narrow.latency());
  CHECK(wide.count("walks") == narrow.count("walks"));
}

TEST_CASE("without RAPF the timeout brings the block again, one block timeout after it was handed over") {
  for (const int timeout : {200, 1000, 5000}) {
    const Settings settings =
        kTouch + cold("destination", "64 B") +
        Settings{{"exanest.rapf_enabled", false}, {"exanest.block_timeout", std::to_string(timeout) + " us"}};
    INFO(to_string(settings));
    const Point p = run_well(settings);
    CHECK(p.count("timeouts") == 1);
    CHECK(p.count("faults") == 1);
    CHECK(p.count("retransmitted_bytes") == 64);
    // What comes before the hand-over and after the timeout is what a transfer without a fault takes, and
    // R5 scheduling; the resend is faster than the first attempt, whose walk is cold.
    CHECK(p.latency() > timeout * kMicrosecond);
    CHECK(p.latency() < (timeout + 15) * kMicrosecond);
  }
  // A source fault is retried locally: nothing crosses the network that could be ignored.
  const Point source = run_well(kTouch + cold("source", "64 B") + Settings{{"exanest.rapf_enabled", false}});
  CHECK(source.count("timeouts") == 0);
  CHECK(source.latency() < 100 * kMicrosecond);
}

TEST_CASE("lost RAPFs cost a timeout each") {
  const Settings settings =
      kTouch + cold("destination", "64 B") + Settings{{"workload.iterations", 40}, {"exanest.rapf_loss", 0.5}};
  const Point p = run_well(settings);
  CHECK(p.count("faults") == 40);
  // Each of the 40 requests is lost with probability 1/2: outside of these bounds once in a million seeds.
  CHECK(p.count("timeouts") >= 5);
  CHECK(p.count("timeouts") <= 35);
  CHECK(p.count("retransmitted_bytes") == 40 * 64);
  CHECK(p.ps("latency_max") > 1000 * kMicrosecond);
  CHECK(p.ps("latency_min") < 100 * kMicrosecond);
  CHECK(run_well(settings, 2).text != p.text);  // other losses with another seed
}

TEST_CASE("a fault record that finds the FIFO full is recovered by the timeout") {
  for (const char* end : {"source", "destination", "both"}) {
    const Point p = run_well(kTouch + cold(end, "64 KiB") +
                             Settings{{"exanest.fault_fifo", 1}, {"workload.window", 4}, {"workload.iterations", 8}});
    INFO(end);
    CHECK(p.count("fault_overflows") > 0);
    CHECK(p.count("timeouts") > 0);
  }
  const Point deep =
      run_well(kTouch + cold("both", "64 KiB") + Settings{{"workload.window", 4}, {"workload.iterations", 8}});
  CHECK(deep.count("fault_overflows") == 0);
}

TEST_CASE("shapes of the engine: one block outstanding, small blocks, few buffers, short queues") {
  const Settings shapes[] = {
      {{"exanest.outstanding_blocks", 1}},
      {{"exanest.block_bytes", "4 KiB"}},
      {{"exanest.block_bytes", "4 KiB"}, {"exanest.outstanding_blocks", 16}},
      {{"exanest.block_bytes", "64 KiB"}},
      {{"exanest.channels", 64}},
      {{"exanest.cell_buffer", 1}, {"exanest.receive_buffer", 1}},
      {{"exanest.send_queue", 1}, {"exanest.firmware_mailbox", 1}, {"exanest.remote_reads", 1}},
      {{"exanest.block_contexts", 1}},
      {{"exanest.block_contexts", 2}},
      {{"network.buffer_cells", 1}},
      {{"axi.width", "4 B"}},
      {{"smmu.micro_tlb_entries", 1},
       {"smmu.macro_tlb_entries", 4},
       {"smmu.misses_per_tbu", 1},
       {"smmu.walk_slots", 1}},
  };
  for (const Settings& shape : shapes) {
    for (const char* kind : {"write", "read"}) {
      const Settings settings =
          shape + ahead(4) + cold("both", "40000 B") +
          Settings{{"workload.kind", kind}, {"workload.iterations", 2}, {"workload.source_offset", "100 B"}};
      run_well(settings + Settings{{"workload.window", 2}});
      run_well(settings + Settings{{"strategy.on_destination_fault", "stall"}, {"strategy.resolve", "touch-a-page"}});
    }
  }
}

TEST_CASE("a private table that holds pinned pages only") {
  for (const char* strategy : {"pin-once", "pin-per-transfer"}) {
    for (const char* kind : {"write", "read"}) {
      for (const char* maintenance : {"mmio", "dvm"}) {
        const Settings settings = preset(strategy) + cold("both", "20000 B") +
                                  Settings{{"strategy.translate", "private"},
                                           {"workload.kind", kind},
                                           {"smmu_driver.tlb_maintenance", maintenance},
                                           {"workload.iterations", 4}};
        INFO(to_string(settings));
        const Point p = run_well(settings);
        CHECK(p.count("faults") == 0);
        CHECK(p.count("pinned_bytes_peak") >= 2 * 20480);
        const Point window = run_well(settings + Settings{{"workload.window", 3}});
        CHECK(window.count("faults") == 0);
      }
    }
  }
}

TEST_CASE("several transfers under way, with a clean neighbour") {
  for (const char* end : {"source", "destination", "both"}) {
    for (const char* on_fault : {"terminate", "stall"}) {
      for (const char* hupcf : {"true", "false"}) {
        const Settings settings = kTouch + cold(end, "20000 B") +
                                  Settings{{"workload.window", 4},
                                           {"workload.iterations", 8},
                                           {"workload.clean_window", 1},
                                           {"smmu_driver.hupcf", hupcf},
                                           {"strategy.on_source_fault", on_fault},
                                           {"strategy.on_destination_fault", on_fault}};
        INFO(to_string(settings));
        CHECK(run_well(settings)["clean_goodput"] > 0);
      }
    }
  }
}

TEST_CASE("from one QFDB to another, and around a ring of three") {
  for (const int qfdbs : {2, 3}) {
    for (const int target : {4, 5, 4 * qfdbs - 1}) {
      for (const char* kind : {"write", "read"}) {
        const Settings settings =
            ahead(4) + cold("both", "20000 B") +
            Settings{
                {"cluster.x", qfdbs}, {"workload.initiator", 1}, {"workload.target", target}, {"workload.kind", kind}};
        INFO(to_string(settings));
        const Point p = run_well(settings);
        CHECK(p.count("minor_faults") == 10);
        CHECK(p.latency() > run_well(settings + Settings{{"workload.target", 2}}).latency());
      }
    }
  }
}

TEST_CASE("an interrupt line that a stalled access holds high does not keep the node from serving it") {
  const Settings settings = preset("fault/stall") + Settings{{"workload.cold", "both"}, {"workload.size", "20000 B"}};
  const Point without = run_well(settings);
  const Point with = run_well(settings + Settings{{"smmu.stall_holds_interrupt", true}});
  CHECK(with.count("faults") == without.count("faults"));
  CHECK(with.latency() > without.latency());  // the driver masks the bank and unmasks it
}

TEST_CASE("os.thp = madvise gives huge pages to buffers that are advised, and to no others") {
  const Settings settings =
      kTouch + Settings{{"workload.cold", "destination"}, {"workload.size", "4 MiB"}, {"os.thp", "madvise"}};
  CHECK(run_well(settings).count("thp_faults") == 0);
  const Point advised = run_well(settings + Settings{{"workload.madvise_hugepage", true}});
  CHECK(advised.count("thp_faults") == 2);
  CHECK(advised.count("minor_faults") == 2);
}
