// SPDX-License-Identifier: Apache-2.0
// The NIC with an MMU of its own, on whole machines: what its table's hooks are worth, what becomes of an absent page,
// and that each of its safety properties fails with its mechanism switched off. That all ends: nic_mmu_ends.cpp.
#include <catch2/catch.hpp>

#include "models/cpu/config.hpp"
#include "tests/workloads/nic_mmu.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// A point with a mutant of the NIC.
Point run_mutant(const Settings& settings, Mutate mutate) {
  workloads::Configuration c = configuration(settings);
  mutate(elan_of(c.machine));
  return read_point(Child([&c] { return written(workloads::run_point(c, 1)); }, 120).text());
}

// Keeps each change of its process waiting, after the NIC's driver has been told.
class SlowNotifier : public os::MmuNotifier {
 public:
  explicit SlowNotifier(sim::EventLoop& loop) : loop_(loop) {}
  unsigned changes = 0;  // that are over
  Task<bool> begin(cpu::Execution&, os::TableChange) override {
    co_await loop_.delay(100us);
    co_return true;
  }
  void end(os::Range) override { ++changes; }
  void drop(os::Range, os::Taking) override {}

 private:
  sim::EventLoop& loop_;
};

Settings moving(const char* translate, const char* mechanism = "move-pages") {
  return kPushed + Settings{{"strategy.translate", translate},
                            {"workload.size", "256 KiB"},
                            {"workload.iterations", 4},
                            {"workload.checks", "count"},
                            {"inject.mechanism", mechanism},
                            {"inject.period", "30 us"},
                            {"inject.count", 40}};
}

}  // namespace

TEST_CASE("what is there is pushed before the NIC asks, and nothing is pinned") {
  const Point p = run_well(kPushed + Settings{{"workload.size", "256 KiB"}, {"workload.iterations", 3}});
  CHECK(p.count("faults") == 0);
  CHECK(p.count("naks") == 0);
  CHECK(p.count("parks") == 0);
  CHECK(p.count("pinned_bytes_peak") == 0);
  // Without the hook each page is missed once, at each end, by the first transfer alone.
  const Settings demand = preset("nic-mmu/on-demand") + Settings{{"workload.size", "256 KiB"}};
  const Point first = run_well(demand);
  // A block that is refused while the answer to its page's trap is on its way traps again.
  CHECK(first.count("faults") >= 2 * 64);
  CHECK(first.count("faults") < 2 * 64 + 8);
  CHECK(first.count("parks") == 64);
  CHECK(first.count("naks") >= 64);
  const Point third = run_well(demand + Settings{{"workload.warmup", 2}});
  CHECK(third.count("faults") == 0);
  CHECK(third.ps("latency_mean") == p.ps("latency_min"));
}

TEST_CASE("an absent page parks a block at its source, and has it refused at its destination") {
  for (const char* kind : {"write", "read"}) {
    const Settings of_kind = kPushed + Settings{{"workload.kind", kind}, {"workload.size", "64 B"}};
    const Point source = run_well(of_kind + Settings{{"workload.cold", "source"}});
    CHECK(source.count("faults") == 1);
    CHECK(source.count("parks") == 1);
    CHECK(source.count("naks") == 0);
    CHECK(source.count("retransmitted_bytes") == 64);  // of the second attempt: of the first nothing had been read
    const Point destination = run_well(of_kind + Settings{{"workload.cold", "destination"}});
    CHECK(destination.count("faults") == 1);  // however often the source comes again
    CHECK(destination.count("parks") == 0);
    CHECK(destination.count("naks") >= 1);
    CHECK(destination.count("retransmitted_bytes") == 64 * destination.count("naks"));
    CHECK(source.count("timeouts") + destination.count("timeouts") == 0);
  }
}

TEST_CASE("pages that move in mid-train leave no stale access, with hooks, and without them they do") {
  for (const char* translate : {"pushed", "on-demand"}) {
    for (const char* mechanism : {"move-pages", "compaction"}) {
      INFO(translate << ", " << mechanism);
      const Point p = run_well(moving(translate, mechanism));
      CHECK(p.count("stale_accesses") == 0);
      CHECK(p.count("data_errors") == 0);
      CHECK(p.count("nic_invalidations") > 0);
    }
  }
  const Point deaf = run_mutant(moving("pushed"), [](elan::NicConfig& c) { c.driver.hears_changes = false; });
  CHECK(deaf.count("stale_accesses") > 0);
  CHECK(deaf.count("data_errors") > 0);
}

namespace {

// Writes go on while a kernel moves the target's pages, and its change waits for another notifier.
Facts writes_beside_slow_change(Mutate mutate) {
  return played(nic_mmu(), machine_with_elan(mutate), [](TwoProcesses& p, Facts& facts) -> Task<void> {
    const Buffers b = buffers(p, 16 * kPage);
    SlowNotifier slow(p.cluster.loop);
    p.there->vm().add_notifier(p.there->process(), slow);
    p.start(kernel_does(p, *p.there, [&b](cpu::Execution& exec, os::Vm& vm, os::Process& process) -> Task<void> {
      co_await migrate(exec, vm, process, b.remote, b.length);
    }));
    facts["done"] = 0;
    while (slow.changes < 16) {
      const Status status = co_await transfer(p, b);
      facts["done"] += status == Status::done ? 1 : 0;
    }
    facts["right"] = arrived(p, b);
    co_await p.there->vm().remove_notifier(p.there->process(), slow);
  });
}

}  // namespace

TEST_CASE("a page whose change waits for another notifier is not loaded again") {
  const Facts f = writes_beside_slow_change(nullptr);
  CHECK(f.at("finished") == 1);
  CHECK(f.at("done") > 1);
  CHECK(f.at("right") == 1);
  CHECK(f.at("stale") == 0);
  const Facts hasty = writes_beside_slow_change([](elan::NicConfig& c) { c.driver.awaits_changes = false; });
  CHECK(hasty.at("stale") > 0);
}

TEST_CASE("an invalidation waits for accesses that are under way") {
  // A way to memory so long that writes are under way for longer than it takes to move a page.
  const Settings slow = moving("pushed") + Settings{{"axi.write_request_latency", "20 us"}, {"inject.count", 200}};
  CHECK(run(slow).count("stale_accesses") == 0);
  const Point hasty = run_mutant(slow, [](elan::NicConfig& c) { c.engine.waits_for_accesses = false; });
  CHECK(hasty.count("stale_accesses") > 0);
}

TEST_CASE("each refusal doubles the back-off, so that an absent page costs few of them") {
  // A page that takes a millisecond to come.
  const Settings late = kPushed + Settings{{"workload.cold", "destination"},
                                           {"workload.size", "4 KiB"},
                                           {"elan_driver.trap_service", "1 ms"},
                                           {"elan.nak_back_off", "5 us"},
                                           {"elan.nak_back_off_limit", "320 us"}};
  const Point doubles = run_well(late);
  const Point steady = run_mutant(late, [](elan::NicConfig& c) { c.engine.doubles_back_off = false; });
  CHECK(steady.count("naks") > 3 * doubles.count("naks"));
}

TEST_CASE("of a refused block the breakdown has what answers the fault, and then the rest of the back-off") {
  const auto with = [](const char* back_off) {
    return run_well(kPushed + Settings{{"workload.cold", "destination"},
                                       {"workload.size", "64 B"},
                                       {"elan.nak_back_off", back_off},
                                       {"elan.nak_back_off_limit", back_off}});
  };
  const auto back_off = [](const Point& p) {
    std::int64_t sum = 0;
    for (const auto& row : p.breakdown) sum += row.step.starts_with("back-off") ? row.ps : 0;
    return sum;
  };
  // The first comes again when the driver has answered, the second many times before.
  const Point late = with("40 us");
  const Point often = with("1 us");
  CHECK(late.count("naks") == 1);
  CHECK(often.count("naks") >= 5);
  for (const char* step : {"interrupt to handler", "handler", "wake-up", "resolve"}) {
    INFO(step);
    CHECK(often.row(step) == late.row(step));
  }
  const elan::DriverConfig driver;
  const cpu::CpuConfig cpu;
  CHECK(late.row("handler") == (driver.trap_handler + 5 * cpu.mmio_read + cpu.mmio_write).count());
  CHECK(back_off(often) < 1'000'000);
  // An attempt that is on its way when the answer comes is the one that counts.
  CHECK(back_off(late) > late.latency() - often.latency() - 1'000'000);
  CHECK(late.rows() == late.latency());
  CHECK(often.rows() == often.latency());
}

TEST_CASE("the breakdown adds up whoever brings a page first: its own trap, or another block's") {
  for (const char* strategy : {"nic-mmu/pushed", "nic-mmu/pushed-256"}) {
    for (const char* size : {"64 B", "64 KiB"}) {
      for (const char* back_off : {"300 ns", "500 ns", "5 us"}) {
        const Settings settings =
            preset(strategy) + Settings{{"workload.cold", "destination"}, {"workload.iterations", 4},
                                        {"workload.size", size},          {"workload.window", 2},
                                        {"elan.nak_back_off", back_off},  {"elan.nak_back_off_limit", back_off}};
        INFO(to_string(settings));
        const Point p = run_well(settings);
        CHECK(std::abs(p.rows() - p.latency()) < 100);  // each row is rounded
        bool answers = false;
        for (const auto& row : p.breakdown) {
          CHECK(row.ps >= 0);
          answers = answers || row.step == "handler";
        }
        // The last block of several may find its page brought by another one's trap.
        if (std::string(size) == "64 B") CHECK(answers);
      }
    }
  }
}

TEST_CASE("a first back-off that is longer than the longest is refused") {
  CHECK(reason_against(kPushed + Settings{{"elan.nak_back_off", "20 us"}, {"elan.nak_back_off_limit", "10 us"}})
            .starts_with("elan.nak_back_off: the first back-off, 20 us, is longer than the longest, 10 us"));
  CHECK(reason_against(kPushed + Settings{{"elan.nak_back_off", "10 us"}, {"elan.nak_back_off_limit", "10 us"}}) ==
        "none");
}

TEST_CASE("a veto keeps pages from migration that the hooks alone would give away") {
  const Point gives = run_well(moving("pushed", "compaction"));
  const Point keeps = run_well(moving("vetoing", "compaction"));
  CHECK(gives.count("nic_vetoes") == 0);
  CHECK(gives.count("faults") > 0);
  CHECK(keeps.count("nic_vetoes") > 0);
  CHECK(keeps.count("faults") == 0);
  CHECK(keeps.count("nic_loads") == 0);  // what has stayed is not loaded again
}

TEST_CASE("a trap that finds the FIFO full is made up for") {
  const Settings narrow =
      kPushed + Settings{{"elan.fault_fifo", 1}, {"workload.size", "256 KiB"}, {"elan.block_timeout", "200 us"}};
  for (const char* end : {"source", "destination"}) {
    const Point p = run_well(narrow + Settings{{"workload.cold", end}});
    INFO(end);
    CHECK(p.count("data_errors") == 0);
    CHECK(p.count("faults") >= 64);
  }
}

TEST_CASE("more blocks are parked than traps may wait, and each goes on when its page is there, not at a timeout") {
  const Point p = run_well(kPushed + Settings{{"workload.cold", "source"},
                                              {"workload.size", "64 KiB"},
                                              {"workload.window", 8},
                                              {"workload.iterations", 8},
                                              {"elan.fault_fifo", 8}});
  CHECK(p.count("parks") >= 8 * 16);
  CHECK(p.count("fault_overflows") > 0);
  CHECK(p.count("timeouts") == 0);
}

TEST_CASE("a parked block whose answer comes late is tried again, for ever or to the limit") {
  const Settings late = kPushed + Settings{{"workload.cold", "source"},
                                           {"workload.size", "4 KiB"},
                                           {"workload.checks", "count"},
                                           {"elan.block_timeout", "5 us"}};
  const Point patient = run(late + Settings{{"elan.retry_limit", 0}});
  CHECK(patient.count("transfers_failed") == 0);
  CHECK(patient.count("timeouts") > 0);
  CHECK(run(late + Settings{{"elan.retry_limit", 1}}).count("transfers_failed") > 0);
}

TEST_CASE("a bound whose pages are taken, or do not fit in the NIC's table, is refused") {
  const Settings bound = preset("nic-mmu/resident") + Settings{{"workload.checks", "count"}};
  CHECK(run(bound + Settings{{"workload.size", "256 KiB"},
                             {"workload.iterations", 4},
                             {"inject.mechanism", "move-pages"},
                             {"inject.period", "30 us"},
                             {"inject.count", 40}})
            .refused.find("something in this run takes them, so that it is no bound") != std::string::npos);
  const Settings many = bound + Settings{{"workload.size", "2 MiB"}, {"os.thp", "never"}};
  CHECK(run(many + Settings{{"elan.table_entries", 256}}).refused.find("its table is full, so that it is no bound") !=
        std::string::npos);
  CHECK(run_well(many).count("faults") == 0);
}

TEST_CASE("what a driver that vetoes would keep in memory is not asked to be put away") {
  const Settings swapped{
      {"workload.cold", "source"}, {"workload.cold_source_kind", "swapped"}, {"os.swap_bytes", "64 MiB"}};
  CHECK(reason_against(preset("nic-mmu/veto") + swapped)
            .starts_with("strategy.translate: the NIC's driver refuses the kernel to put pages away"));
  CHECK(reason_against(kPushed + swapped) == "none");
}

TEST_CASE("the NIC with an MMU of its own knows no strategy that is the SMMU's, and ExaNeSt's none that is its own") {
  CHECK(reason_against(preset("fault/touch-a-page") + Settings{{"nic.kind", "elan"}})
            .starts_with("strategy.translate: a NIC of the kind elan knows no strategy.translate = shared"));
  CHECK(reason_against(kPushed + Settings{{"nic.kind", "exanest"}})
            .starts_with("strategy.translate: a NIC of the kind exanest knows no strategy.translate = pushed"));
  CHECK(reason_against(kPushed + Settings{{"strategy.on_source_fault", "nak"}})
            .find("strategy.on_source_fault to park") != std::string::npos);
}
