// SPDX-License-Identifier: Apache-2.0
// How threads share one core since Linux 6.6: by virtual deadlines. Each rule fails here when it is switched off.
#include <catch2/catch.hpp>

#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::SchedPolicy;
using cpu::SchedRules;

namespace {

SchedRules with_preempt_short() {
  SchedRules rules;
  rules.preempt_short = true;
  return rules;
}

// A thread runs for `debt` while another waits, and sleeps. The other then has the core to itself, from 4 ms at the
// latest; its slices last for 10 ms. The time that the debtor waits for when it wakes at 21 ms.
Time wait_of_debtor(Time debt) {
  cpu::CpuConfig config = one_core(SchedPolicy::eevdf);
  config.sched.base_slice = 10ms;
  const Ends ends = simulated(config, with_preempt_short(), [debt](CpuBench& b) {
    const auto borrow = [](CpuBench& bench, Execution& who, Time until, std::size_t slot) -> Task<void> {
      sim::Signal alarm(bench.node.loop);
      bench.notify(alarm, 21ms);
      co_await bench.cpu.run(who, Work::user, until - kSwitch);
      co_await bench.cpu.sleep(who, alarm);
      bench.done[slot] = bench.node.now();
    };
    b.tasks.start(borrow(b, b.cpu.new_thread("debtor", 0), 1ms + debt, b.new_slot()));
    b.run(b.cpu.new_thread("lender", 0), Work::user, 60ms, 1ms);
    sc_core::sc_start();
    return std::int64_t{0};
  });
  return ends.done[0] - 21ms;
}

}  // namespace

TEST_CASE("EEVDF: a turn ends at the first tick after the slice") {
  cpu::CpuConfig config = one_core(SchedPolicy::eevdf);
  CHECK(first_turn(config) == kTick);  // of 750 us
  config.sched.base_slice = 10ms;
  CHECK(first_turn(config) == 12ms);
}

TEST_CASE("EEVDF: who wakes waits for the end of a slice of whoever has not had more than its share") {
  cpu::CpuConfig config = one_core(SchedPolicy::eevdf);
  config.sched.base_slice = 3ms;
  // Both are owed nothing, so the slice of the one that runs is its own: until the tick that ends it.
  CHECK(wait_of_woken(config, 2ms) == kTick + kSwitch - 2ms);
  // CFS lets the same thread have the core at once.
  CHECK(wait_of_woken(one_core(SchedPolicy::cfs), 2ms) == kSwitch);
}

TEST_CASE("EEVDF: a thread that is owed time takes the core when it wakes") {
  cpu::CpuConfig config = one_core(SchedPolicy::eevdf);
  config.sched.base_slice = 20ms;
  CpuBench b(config);
  Execution& owed = b.cpu.new_thread("owed", 0);
  b.run(b.cpu.new_thread("runs", 0), Work::user, 60ms);
  const std::size_t slot = b.new_slot();
  b.tasks.start([](CpuBench& bench, Execution& who, std::size_t out) -> Task<void> {
    sim::Signal alarm(bench.node.loop);
    co_await bench.node.loop.until(1ms);
    co_await bench.cpu.run(who, Work::user, 1ms);  // has waited for 23 ms, and is owed half of them less this
    bench.notify(alarm, bench.node.now() + 2ms);
    co_await bench.cpu.sleep(who, alarm);
    const Time woken = bench.node.now();
    bench.done[out] = woken;
  }(b, owed, slot));
  sc_core::sc_start();
  // At 24 ms the other's slice is over. The next one began when this one slept, and has 18 ms to go.
  CHECK(b.done[slot] == 24ms + kSwitch + 1ms + 2ms + kSwitch);
}

TEST_CASE("EEVDF in 6.6: a worker that is owed nothing waits for the tick that ends the poller's slice", "[eevdf]") {
  const cpu::CpuConfig config = cores(4, SchedPolicy::eevdf);
  CHECK(wait_of_woken(config, 1ms) == kTick + kSwitch - 1ms);
  CHECK(wait_of_woken(config, 21ms) == 24ms + kSwitch - 21ms);
}

// A slice of 2.25 ms is over at each tick, and the tick begins the next one. A slice that is over when the other wakes
// is begun anew, too: it then lasts beyond the next tick.
TEST_CASE("EEVDF: a thread that runs alone begins a slice at each tick that finds its last one over") {
  const cpu::CpuConfig config = cores(4, SchedPolicy::eevdf);
  for (const Time tick : {4ms, 8ms, 12ms, 16ms, 20ms}) {
    const Time end = tick + 2250us;
    CHECK(wait_of_woken(config, end - Time{1}) == tick + 4ms + kSwitch - (end - Time{1}));
    CHECK(wait_of_woken(config, end) == tick + 8ms + kSwitch - end);
  }
  const Time over = 20ms + 2250us;
  CHECK(config.interrupt_core == 0);
  const auto wait_after_interrupt = [&config](Time at) {  // which takes 200 us from the thread, and the tick lies in it
    return simulated(config,
                     [at](CpuBench& b) {
                       b.run(b.cpu.new_thread("runs", 0), Work::user, 40ms);
                       b.wake(b.cpu.new_thread("wakes", 0), Work::user, 0us, at);
                       b.run(b.cpu.irq_context(), Work::irq, 200us, 20ms - 100us);
                     })
               .done[1] -
           at;
  };
  const Time later = over + 100us;
  CHECK(wait_after_interrupt(later - Time{1}) == 24ms + kSwitch - (later - Time{1}));
  CHECK(wait_after_interrupt(later) == 28ms + kSwitch - later);
}

// Kernel code with a cond_resched() every 10 us, from kSwitch on, beside who wakes in the middle of such a piece.
TEST_CASE("EEVDF: of a thread that runs alone no slice ends, so kernel code keeps the core from who wakes") {
  const auto begins_of_others = [](std::optional<Time> waits_from, Time wakes_at) {
    std::vector<Time> done = simulated(one_core(SchedPolicy::eevdf), [=](CpuBench& b) {
                               const std::size_t slot = b.new_slot();
                               b.tasks.start(run_pieces(b, b.cpu.new_thread("kernel", 0), Work::system, 10us, 1000,
                                                        /*gives_way=*/true, slot));
                               if (waits_from) b.run(b.cpu.new_thread("waits", 0), Work::user, 1us, *waits_from);
                               b.wake(b.cpu.new_thread("wakes", 0), Work::user, 1us, wakes_at);
                             }).done;
    return done[1] - 1us - kSwitch;
  };
  const auto end_of_piece = [](int pieces) { return kSwitch + pieces * 10us; };
  // Its slices of 750 us are nothing to it before the other wakes. The next one after that has ended at the tick.
  CHECK(begins_of_others({}, 2ms) == end_of_piece(400));
  // Another waits since before the slice's end. So the scheduler wants the core, and sees it at the next wake-up.
  CHECK(begins_of_others(Time{500us}, kSwitch + 750us) == end_of_piece(76));
  CHECK(begins_of_others(Time{500us}, kSwitch + 750us - Time{1}) == end_of_piece(400));
}

// Slices of 10 ms. The tick at 12 ms finds the first one over, and begins the second.
TEST_CASE("EEVDF since 6.12: a turn beyond its first slice ends at the tick that finds more than a share had",
          "[preempt-short]") {
  cpu::CpuConfig config = one_core(SchedPolicy::eevdf);
  config.sched.base_slice = 10ms;
  CHECK(wait_of_woken(config, 1ms, with_preempt_short()) == 12ms + kSwitch - 1ms);
  CHECK(wait_of_woken(config, 13ms, with_preempt_short()) == 16ms + kSwitch - 13ms);
  CHECK(wait_of_woken(config, 13ms, {}) == 24ms + kSwitch - 13ms);
  // 3 ms after it has woken the debt is paid, at the tick: the lender has had its share, and no more.
  CHECK(wait_of_debtor(3ms) == 28ms + kSwitch - 21ms);
  CHECK(wait_of_debtor(3ms - Time{2}) == 24ms + kSwitch - 21ms);
  CHECK(SchedRules::of({cpu::KernelVersion::linux_6_12}).preempt_short);
  CHECK_FALSE(SchedRules::of({cpu::KernelVersion::linux_6_6}).preempt_short);
}

TEST_CASE("EEVDF since 6.12: a turn beyond its first slice ends at the next wake-up, if more than a share was had",
          "[preempt-short]") {
  const auto turn_of_first = [](const SchedRules& rules) {
    cpu::CpuConfig config = one_core(SchedPolicy::eevdf);
    config.sched.base_slice = 10ms;
    const Ends ends = simulated(config, rules, [](CpuBench& b) {
      b.run(b.cpu.new_thread("runs", 0), Work::user, 40ms);
      b.wake(b.cpu.new_thread("first", 0), Work::user, 0us, 13ms);
      b.wake(b.cpu.new_thread("second", 0), Work::user, 0us, 14ms);
      sc_core::sc_start();
      return std::int64_t{0};
    });
    return ends.done[1];
  };
  CHECK(turn_of_first(with_preempt_short()) == 14ms + kSwitch);
  CHECK(turn_of_first({}) == 24ms + kSwitch);
}

// Two cores, slices of 1.5 ms. On core 0 one thread runs (in the kernel: with a cond_resched() every 10 us), a bound
// one waits, and so does one that core 1 takes when it becomes idle.
TEST_CASE("EEVDF: that a slice is over shows when another thread goes, too") {
  const auto begin_of_waiting = [](Work kind, Time core_1_idle) {
    const Ends ends = simulated(cores(2, SchedPolicy::eevdf), [=](CpuBench& b) {
      Execution& other = b.cpu.new_thread("until idle");
      Execution& movable = b.cpu.new_thread("goes");
      REQUIRE(other.core() == 1);
      REQUIRE(movable.core() == 0);
      b.run(other, Work::user, core_1_idle - kSwitch);
      const std::size_t slot = b.new_slot();
      b.tasks.start(run_pieces(b, b.cpu.new_thread("runs", 0), kind, 10us, 1000, /*gives_way=*/true, slot));
      b.run(b.cpu.new_thread("waits", 0), Work::user, 0us, 100us);
      b.run(movable, Work::user, 10us, 50us);
    });
    CHECK(ends.done[3] == core_1_idle + kSwitch + 10us);
    return ends.done[2] - kSwitch;
  };
  const Time over = kSwitch + 1500us;
  CHECK(begin_of_waiting(Work::system, over - Time{1}) == kTick + kSwitch);
  CHECK(begin_of_waiting(Work::system, over) == over + 10us);
  CHECK(begin_of_waiting(Work::user, over - Time{1}) == kTick);
  CHECK(begin_of_waiting(Work::user, over) == over);
}

// Slices of 2.25 ms, as above: one that is over when the other wakes is begun anew, so that both begin one.
TEST_CASE("EEVDF since 6.8: of two equal deadlines that of the waiting thread goes first", "[equal-deadlines-yield]") {
  const cpu::CpuConfig config = cores(4, SchedPolicy::eevdf);
  SchedRules yields;
  yields.equal_deadlines_yield = true;
  const Time over = 20ms + 2250us;
  CHECK(wait_of_woken(config, over - Time{1}, yields) == 24ms + kSwitch - (over - Time{1}));
  CHECK(wait_of_woken(config, over, yields) == kSwitch);
  CHECK(wait_of_woken(config, over, {}) == 28ms + kSwitch - over);
  CHECK(SchedRules::of({cpu::KernelVersion::linux_6_12}).equal_deadlines_yield);
  CHECK_FALSE(SchedRules::of({cpu::KernelVersion::linux_6_6}).equal_deadlines_yield);
}

// Slices of 10 ms, and since the tick at 12 ms the thread is in its second one.
TEST_CASE("EEVDF: a zero-time wait elsewhere begins no turn") {
  cpu::CpuConfig config = one_core(SchedPolicy::eevdf);
  config.sched.base_slice = 10ms;
  const Ends ends = simulated(config, with_preempt_short(), [](CpuBench& b) {
    sim::Semaphore free(b.node.loop, 0);
    b.tasks.start([](CpuBench& bench, sim::Semaphore& unit, std::size_t slot) -> Task<void> {
      Execution& thread = bench.cpu.new_thread("runs", 0);
      co_await bench.cpu.run(thread, Work::user, 13ms);
      co_await unit.acquire();
      co_await bench.cpu.run(thread, Work::user, 20ms);
      bench.done[slot] = bench.node.now();
    }(b, free, b.new_slot()));
    b.tasks.start([](CpuBench& bench, sim::Semaphore& unit) -> Task<void> {
      co_await bench.node.loop.until(kSwitch + 13ms);
      unit.release();
    }(b, free));
    b.wake(b.cpu.new_thread("wakes", 0), Work::user, 0us, 14ms);
    sc_core::sc_start();
    return std::int64_t{0};
  });
  CHECK(ends.done[1] == 16ms + kSwitch);
  CHECK(ends.done[0] == 33ms + 3 * kSwitch);
}
