// SPDX-License-Identifier: Apache-2.0
// What a transfer and its fault must take, computed from the parameters: to the picosecond, both ways.
#include <catch2/catch.hpp>

#include "models/sim/units.hpp"
#include "tests/support/exanest_of.hpp"
#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;

namespace {

Settings cold(const char* end, const char* size) { return {{"workload.cold", end}, {"workload.size", size}}; }
const Settings kTouch = {{"strategy.resolve", "touch-a-page"}};
const Settings kAhead = {{"strategy.resolve", "touch-ahead"}};
const Settings kStall = {{"strategy.resolve", "touch-a-page"},
                         {"strategy.on_source_fault", "stall"},
                         {"strategy.on_destination_fault", "stall"}};
// A transfer before the measured one: the program then runs already, and TLBs are warm.
const Settings kWarm = {{"workload.warmup", 1}};

// What the kernel's software takes at a clock other than the one its costs are stated for.
std::int64_t at_clock(sim::Time cost, const cpu::CpuConfig& cpu) {
  return cost.count() * (cpu.stated_clock.hertz / 1'000'000) / (cpu.clock.hertz / 1'000'000);
}

// Clearing a page: the core's rate, or the memory's where that is slower.
std::int64_t zeroing(const workloads::Configuration& c) {
  const std::int64_t own = c.machine.os.zero_bandwidth.time_for(4096).count();
  const std::int64_t last_cell_leaves = 15 * c.machine.os.zero_bandwidth.time_for(256).count();
  const std::int64_t service = c.machine.ddr.effective_bandwidth().time_for(256).count();
  return std::max({own, last_cell_leaves + service, 16 * service});
}

// The rows from the interrupt handler to the retry request of a transfer of one block and `pages` pages that
// faults once.
void check_software(const Settings& settings, const std::string& where, int pages, bool touch_ahead) {
  INFO(to_string(settings));
  const Point p = run_well(settings);
  const workloads::Configuration c = configuration(settings);
  const platform::Machine& m = c.machine;
  const auto software = [&](sim::Time cost) { return at_clock(cost, m.cpu); };
  const auto firmware = [&](sim::Time cost) {
    return cost.count() * (exanest_of(m).engine.r5.stated_clock.hertz / 1'000'000) /
           (exanest_of(m).engine.r5.clock.hertz / 1'000'000);
  };
  const std::int64_t read = m.cpu.mmio_read.count();
  const std::int64_t write = m.cpu.mmio_write.count();
  REQUIRE(p.count("faults") == 1);

  CHECK(p.row("user post") == software(exanest_of(m).library.post) + 7 * write);
  CHECK(p.row("R5 start") == firmware(exanest_of(m).engine.transfer_startup));
  CHECK(p.row("R5 block scheduling") == firmware(exanest_of(m).engine.block_scheduling));
  CHECK(p.row("fault record") == m.axi.pl_clock.cycles(exanest_of(m).engine.fault_logging).count());
  // FSR, FSYNR0, FAR, CBFRSYNRA; FSR is cleared.
  CHECK(p.row("handler", where) == software(m.smmu_driver.handler_body) + 4 * read + write);
  CHECK(p.row("tasklet dispatch", where) == software(m.cpu.tasklet_delay));
  // The FIFO's count, the record's four words, its removal, the count again.
  CHECK(p.row("tasklet", where) == 6 * read + write + software(exanest_of(m).driver.netlink_send));
  CHECK(p.row("netlink and wake-up", where) ==
        software(m.cpu.context_switch) + software(exanest_of(m).driver.netlink_receive));
  CHECK(p.row("library parse", where) == software(exanest_of(m).library.parse_fault));
  // What is only read gets the shared zero page.
  const bool read_only = std::string_view(where) == "source";
  const std::int64_t page = read_only ? software(m.os.fault_no_alloc) : software(m.os.anon_minor_fault) + zeroing(c);
  CHECK(p.row("resolve", where) ==
        (touch_ahead ? software(m.os.syscall) + pages * (page + software(m.os.gup_per_page)) : page));
  CHECK(p.row("retry request", where) == software(exanest_of(m).library.post_retry) + 4 * write);
  CHECK(p.row("R5 retry processing (resend)") == firmware(exanest_of(m).engine.retransmit_processing));
  CHECK(p.row("R5 block scheduling (resend)") == firmware(exanest_of(m).engine.block_scheduling));
  CHECK(p.rows() == p.latency());
}

// Adds `more` to one parameter of time and says by how much the latency grows.
std::int64_t growth(const Settings& settings, const Point& before, const std::string& key, sim::Time more) {
  workloads::Configuration c = configuration(settings);
  sim::ParameterTable table;
  c.declare(table);
  const sim::Parameter* parameter = table.find(key);
  REQUIRE(parameter != nullptr);
  const std::string raised = sim::format_time(sim::parse_time(parameter->get()) + more);
  return run_well(settings + Settings{{key, raised}}).latency() - before.latency();
}

struct Share {
  const char* key;
  int times;  // that it is in the path
  sim::Time more = 1us;
};

void check_shares(const Settings& settings, const std::vector<Share>& shares) {
  const Point before = run_well(settings);
  for (const Share& share : shares) {
    INFO(share.key << " in " << to_string(settings));
    CHECK(growth(settings, before, share.key, share.more) == share.times * share.more.count());
  }
}

// Of one fault, whichever end meets it and whatever the SMMU does with it; and what is to be added for its kind.
void check_shares_of_fault(const Settings& settings, const std::vector<Share>& of_its_kind) {
  check_shares(settings, {{"exanest_library.post", 1},
                          {"exanest.transfer_startup", 1},
                          {"cpu.irq_to_handler", 1},
                          {"smmu_driver.handler_body", 1},
                          {"cpu.tasklet_delay", 1},
                          {"exanest_driver.netlink_send", 1},
                          {"cpu.context_switch", 1},
                          {"exanest_driver.netlink_receive", 1},
                          {"exanest_library.parse_fault", 1},
                          {"exanest_library.completion", 1}});
  check_shares(settings, of_its_kind);
}

// 150 cycles of the programmable logic's 150 MHz are a microsecond.
void check_cycles(const Settings& settings, const char* key, unsigned initially, int times) {
  INFO(key << " in " << to_string(settings));
  const auto latency = [&](unsigned cycles) {
    return run_well(settings + Settings{{key, static_cast<std::int64_t>(cycles)}}).latency();
  };
  CHECK(latency(initially + 150) - latency(initially) == times * 1'000'000);
}

}  // namespace

TEST_CASE("the rows of a transfer of one block add up to its latency") {
  for (const auto& [name, strategy] : presets()) {
    const bool prepares = configuration(strategy).strategy.serves_at_target();
    for (const char* kind : {"write", "read"}) {
      for (const char* end : {"none", "source", "destination", "both"}) {
        for (const char* size : {"64 B", "9000 B"}) {
          const Settings settings = strategy + cold(end, size) + Settings{{"workload.kind", kind}};
          INFO(name << ' ' << to_string(settings));
          const Point p = run_well(settings);
          CHECK(p.breakdown.size() >= 9);
          CHECK(p.rows() == p.latency());
          CHECK((p.breakdown.front().step == "prepare") == prepares);
          for (const Row& row : p.breakdown) {
            INFO(row.step);
            CHECK(row.ps >= 0);
            CHECK(row.step != "?");
          }
        }
      }
    }
  }
}

TEST_CASE("the software of a fault takes what its parameters say, at either end") {
  for (const char* end : {"destination", "source"}) {
    check_software(kWarm + kTouch + cold(end, "64 B"), end, 1, false);
    check_software(kWarm + kTouch + cold(end, "4 KiB"), end, 1, false);
    check_software(kWarm + kAhead + cold(end, "64 B"), end, 1, true);
    check_software(kWarm + kAhead + cold(end, "16 KiB"), end, 4, true);
    check_software(kWarm + kAhead + cold(end, "12 KiB"), end, 3, true);
  }
}

TEST_CASE("the software of a fault follows changed parameters and clocks") {
  const Settings changed = {{"smmu_driver.handler_body", "1234567 ps"},
                            {"cpu.tasklet_delay", "777 ns"},
                            {"exanest_driver.netlink_send", "1 us"},
                            {"cpu.context_switch", "5 us"},
                            {"exanest_driver.netlink_receive", "2 us"},
                            {"exanest_library.parse_fault", "333 ns"},
                            {"os.anon_minor_fault", "2100 ns"},
                            {"exanest_library.post_retry", "901 ns"},
                            {"cpu.mmio_read", "201 ns"},
                            {"cpu.mmio_write", "31 ns"},
                            {"exanest_library.post", "1777 ns"},
                            {"exanest.transfer_startup", "3 us"},
                            {"exanest.block_scheduling", "2 us"},
                            {"exanest.retransmit_processing", "5 us"},
                            {"os.syscall", "450 ns"},
                            {"os.gup_per_page", "250 ns"},
                            {"os.zero_bandwidth", "2 GB/s"}};
  for (const char* end : {"destination", "source"}) {
    check_software(kWarm + kTouch + cold(end, "64 B") + changed, end, 1, false);
    check_software(kWarm + kAhead + cold(end, "16 KiB") + changed, end, 4, true);
    check_software(kWarm + kTouch + cold(end, "64 B") + Settings{{"cpu.clock", "600 MHz"}}, end, 1, false);
    check_software(kWarm + kTouch + cold(end, "64 B") + Settings{{"exanest.r5.clock", "250 MHz"}}, end, 1, false);
    check_software(kWarm + kTouch + cold(end, "64 B") + Settings{{"cpu.stated_clock", "2.4 GHz"}}, end, 1, false);
    check_software(kWarm + kTouch + cold(end, "64 B") + Settings{{"exanest.r5.stated_clock", "1 GHz"}}, end, 1, false);
    check_software(kWarm + kAhead + cold(end, "64 B") + Settings{{"os.zero_bandwidth", "8.2 GB/s"}}, end, 1, true);
  }
}

TEST_CASE("each cost is in the path of a destination fault as often as it should be") {
  const Settings settings = kWarm + kTouch + cold("destination", "64 B");
  check_shares_of_fault(settings, {{"exanest.block_scheduling", 2},
                                   {"os.anon_minor_fault", 1},
                                   {"exanest_library.post_retry", 1},
                                   {"exanest.retransmit_processing", 1},
                                   {"cpu.poll_latency", 1},
                                   {"cpu.mmio_write", 7 + 1 + 1 + 4},  // post, handler, tasklet, retry request
                                   {"cpu.mmio_read", 4 + 6},           // handler, tasklet
                                   {"network.internal_latency", 4},    // data, RAPF, data, acknowledgement
                                   {"network.router_latency", 4}});
  check_shares(settings, {{"exanest.message_processing", 0},
                          {"exanest.block_timeout", 0},
                          {"exanest_driver.resume_call", 0},
                          {"os.fault_no_alloc", 0, 100ns},
                          {"os.syscall", 0, 50ns},
                          {"os.gup_per_page", 0, 100ns},
                          {"smmu.tlb_sync", 0},
                          {"exanest_library.message_send", 0, 100ns}});
  check_cycles(settings, "exanest.send_pipeline", 10, 3);     // data twice, acknowledgement
  check_cycles(settings, "exanest.message_pipeline", 10, 2);  // packetizer, mailbox
}

TEST_CASE("each cost is in the path of a source fault as often as it should be") {
  const Settings settings = kWarm + kAhead + cold("source", "64 B");
  check_shares_of_fault(settings, {{"exanest.block_scheduling", 2},
                                   {"os.fault_no_alloc", 1, 100ns},
                                   {"os.anon_minor_fault", 0},
                                   {"os.syscall", 1, 50ns},
                                   {"os.gup_per_page", 1, 100ns},
                                   {"exanest_library.post_retry", 1},
                                   {"exanest.retransmit_processing", 1},
                                   {"cpu.poll_latency", 1},
                                   {"cpu.mmio_write", 7 + 1 + 1 + 4},
                                   {"cpu.mmio_read", 4 + 6},
                                   {"network.internal_latency", 2},  // data, acknowledgement
                                   {"network.router_latency", 2},
                                   {"exanest.message_processing", 0},
                                   {"exanest_driver.resume_call", 0}});
  check_cycles(settings, "exanest.send_pipeline", 10, 2);
  check_cycles(settings, "exanest.message_pipeline", 10, 2);
}

TEST_CASE("each cost is in the path of a stalled fault as often as it should be") {
  for (const char* end : {"destination", "source"}) {
    check_shares_of_fault(kWarm + kStall + cold(end, "64 B"), {{"exanest.block_scheduling", 1},
                                                               {"exanest_driver.resume_call", 1},
                                                               {"cpu.mmio_write", 7 + 1 + 1},  // post, FSR, RESUME
                                                               {"cpu.mmio_read", 4 + 1},  // handler, the empty FIFO
                                                               {"exanest_library.post_retry", 0},
                                                               {"exanest.retransmit_processing", 0},
                                                               {"network.internal_latency", 2},
                                                               {"network.router_latency", 2}});
  }
}

TEST_CASE("each cost is in the path of a read as often as it should be") {
  check_shares(kWarm + kTouch + cold("none", "64 B") + Settings{{"workload.kind", "read"}},
               {{"exanest_library.post", 1},
                {"exanest.transfer_startup", 2},    // at the initiator, and where the data are
                {"exanest.message_processing", 3},  // request, report that it is done, its receipt
                {"exanest.block_scheduling", 1},
                {"exanest_library.completion", 1},
                {"cpu.mmio_write", 7},
                {"cpu.context_switch", 0},
                {"network.internal_latency", 4},  // request, data, acknowledgement, report
                {"network.router_latency", 4}});
}

TEST_CASE("tolerating faults costs nothing when there are none") {
  for (const char* kind : {"write", "read"}) {
    for (const char* size : {"1 B", "64 B", "4 KiB", "20000 B", "256 KiB"}) {
      for (const int window : {1, 3}) {
        // The first transfer after setting up is not the first thing the program does, so it is not measured.
        const Settings settings =
            kWarm + cold("none", size) +
            Settings{{"workload.kind", kind}, {"workload.window", window}, {"workload.iterations", 3}};
        INFO(to_string(settings));
        const Point resident = run_well(preset("resident") + settings);
        for (const char* name :
             {"fault/touch-a-page", "fault/touch-ahead", "fault/stall", "mlock", "populate", "pin-once"}) {
          INFO(name);
          const Point p = run_well(preset(name) + settings);
          for (const char* metric : {"latency_min", "latency_mean", "latency_max"}) {
            CHECK(p.ps(metric) == resident.ps(metric));
          }
          CHECK(p.breakdown == resident.breakdown);
        }
      }
    }
  }
}

TEST_CASE("touch-ahead beats touching page by page above one page, and loses its system call below") {
  for (const char* end : {"source", "destination", "both"}) {
    const int ends = std::string(end) == "both" ? 2 : 1;
    for (const char* size : {"64 B", "4 KiB"}) {
      const Settings settings = kWarm + cold(end, size);
      const os::OsConfig os = configuration(settings).machine.os;
      CHECK(run_well(kAhead + settings).latency() - run_well(kTouch + settings).latency() ==
            ends * (os.syscall + os.gup_per_page).count());
    }
    for (const char* size : {"4097 B", "8 KiB", "16 KiB", "64 KiB", "256 KiB", "1 MiB"}) {
      INFO(end << ' ' << size);
      CHECK(run_well(kAhead + cold(end, size)).latency() < run_well(kTouch + cold(end, size)).latency());
    }
  }
}

TEST_CASE("nothing beats resident memory, and every way of handling cold memory costs something") {
  for (const char* end : {"source", "destination", "both"}) {
    for (const char* size : {"64 B", "20000 B"}) {
      const Settings settings = kWarm + cold(end, size);
      const std::int64_t resident = run_well(preset("resident") + settings).latency();
      const std::int64_t nic_mmu_resident = run_well(preset("nic-mmu/resident") + settings).latency();
      for (const auto& [name, strategy] : presets()) {
        INFO(name << ' ' << to_string(settings));
        const Point p = run_well(strategy + settings);
        // Each NIC has a bound of its own.
        const std::int64_t best = name.starts_with("nic-mmu/") ? nic_mmu_resident : resident;
        const bool free = name == "resident" || name == "nic-mmu/resident";
        const bool once =
            free || name.starts_with("mlock") || name == "populate" || name == "pin-once" || name == "register";
        if (once) {
          CHECK(p.latency() == best);
          CHECK((p.ps("setup_time") > 0) == !free);
        } else {
          CHECK(p.latency() > best);
        }
      }
    }
  }
}
