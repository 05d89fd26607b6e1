// SPDX-License-Identifier: Apache-2.0
// Which core a thread runs on: at wake-ups, when a core becomes idle, at the tick. By Linux's rules, each of which
// fails here when it is switched off.
#include <catch2/catch.hpp>

#include <algorithm>

#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::SchedClass;
using cpu::SchedPolicy;
using cpu::SchedRules;
using cpu::Waking;

namespace {

// A thread that may run anywhere, and begins on core 0 (new threads take turns, core 1 first).
Execution& new_on_core_0(CpuBench& b) {
  while (true) {
    Execution& thread = b.cpu.new_thread("anywhere");
    if (thread.core() == 0) return thread;
  }
}

Task<void> run_twice(CpuBench& b, Execution& who, Time first, Time again_at, Time again, std::size_t slot) {
  if (first > Time{0}) co_await b.cpu.run(who, Work::user, first);
  co_await b.node.loop.until(again_at);
  co_await b.cpu.run(who, Work::user, again);
  b.done[slot] = b.node.now();
}

// Two cores. A thread that may run anywhere has run for `ran`, from the beginning, and wants to run again at 1 ms, when
// both cores have another. The thread on core 1 ends at `idle_from`: when has it done its 100 us more?
Time end_of_waiting(const cpu::CpuConfig& config, const SchedRules& rules, Time ran, Time idle_from) {
  return simulated(config, rules,
                   [&](CpuBench& b) {
                     Execution& waits = new_on_core_0(b);
                     const std::size_t slot = b.new_slot();
                     b.tasks.start(run_twice(b, waits, ran, 1ms, 100us, slot));
                     b.run(b.cpu.new_thread("busy 0", 0), Work::user, 100ms);
                     b.run(b.cpu.new_thread("busy 1", 1), Work::user, idle_from - kSwitch);
                     sc_core::sc_start(sc_core::sc_time(90, sc_core::SC_MS));
                     return std::int64_t{0};
                   })
      .done[0];
}

// Four cores, one of them busy. Core 0 takes an interrupt, which wakes a thread that ran on core 1 last.
unsigned core_of_woken_beside_one_on(unsigned busy) {
  CpuBench b(cores(4));
  sim::Signal signal(b.node.loop);
  Execution& thread = b.cpu.new_thread("thread");
  REQUIRE(thread.core() == 1);
  const std::size_t slot = b.new_slot();
  b.run(b.cpu.new_thread("busy", busy), Work::user, 1ms);
  b.tasks.start(sleep_and_run(b, thread, signal, 1us, slot));
  b.tasks.start(interrupt(b, 10us, 2us, signal));
  sc_core::sc_start();
  return thread.core();
}

}  // namespace

TEST_CASE("wake-up: the last core when it is idle, else the next one that is") {
  CpuBench b;
  Execution& sleeper = b.cpu.new_thread("sleeper", 2);
  Execution& free = b.cpu.new_thread("free");
  CHECK(free.core() == 1);
  b.wake(free, Work::user, 1us, 10us);
  b.wake(sleeper, Work::user, 1us, 10us);
  sc_core::sc_start();
  CHECK(free.core() == 1);
  CHECK(b.node.counted("cpu.migrations") == 0);
  b.run(b.cpu.new_thread("busy", 1), Work::user, 1ms, 20us);
  b.run(b.cpu.new_thread("busy too", 2), Work::user, 1ms, 20us);
  b.wake(free, Work::user, 1us, 50us);
  sc_core::sc_start();
  CHECK(free.core() == 3);
  CHECK(b.done.back() == 50us + kSwitch + 1us);
  CHECK(b.node.counted("cpu.migrations") == 1);
}

TEST_CASE("wake-up by an interrupt: to its core before 4.16, since then only if the last one is busy",
          "[wakes-on-last-core]") {
  for (const bool before_4_16 : {true, false}) {
    SchedRules rules;
    rules.wakes_at_interrupt_core = before_4_16;
    const Ends ends = simulated(cores(4), rules, [](CpuBench& b) {
      sim::Signal signal(b.node.loop);
      Execution& thread = b.cpu.new_thread("thread");
      const std::size_t slot = b.new_slot();
      b.tasks.start(sleep_and_run(b, thread, signal, 1us, slot));
      b.tasks.start(interrupt(b, 10us, 2us, signal));
      sc_core::sc_start();
      return static_cast<std::int64_t>(thread.core());
    });
    CHECK(ends.value == (before_4_16 ? 0 : 1));
    CHECK(ends.done[0] == 12us + kSwitch + 1us);
  }
}

TEST_CASE("wake-up by an interrupt: its core is not idle when a thread was interrupted") {
  CHECK(core_of_woken_beside_one_on(0) == 1);
}

TEST_CASE("wake-up by an interrupt, no core idle: to its core when that has less to do") {
  for (const unsigned others : {1u, 2u}) {
    const Ends ends = simulated(cores(2), {}, [others](CpuBench& b) {
      sim::Signal signal(b.node.loop);
      Execution& thread = b.cpu.new_thread("thread");
      const std::size_t slot = b.new_slot();
      b.run(b.cpu.new_thread("interrupted", 0), Work::user, 1ms);
      for (unsigned i = 0; i < others; ++i) b.run(b.cpu.new_thread("there", 1), Work::user, 1ms);
      b.tasks.start(sleep_and_run(b, thread, signal, 1us, slot));
      b.tasks.start(interrupt(b, 10us, 2us, signal));
      sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_US));
      return static_cast<std::int64_t>(thread.core());
    });
    CHECK(ends.value == (others == 2 ? 0 : 1));
  }
}

TEST_CASE("wake-up by an interrupt, the last core busy: to the interrupt's core if that is idle") {
  CHECK(core_of_woken_beside_one_on(1) == 0);
}

// Linux's WF_SYNC. Two cores, `here` threads on the interrupt's, `there` on that of the thread which is woken.
TEST_CASE("wake-up by an interrupt that says that it will sleep: the interrupted thread does not count") {
  const auto core_of_woken = [](Waking how, unsigned here, unsigned there, unsigned count = 2) {
    const Ends ends = simulated(cores(count), {}, [=](CpuBench& b) {
      sim::Signal signal(b.node.loop);
      Execution& thread = b.cpu.new_thread("thread");
      const std::size_t slot = b.new_slot();
      for (unsigned i = 0; i < here; ++i) b.run(b.cpu.new_thread("interrupted", 0), Work::user, 1ms);
      for (unsigned i = 0; i < there; ++i) b.run(b.cpu.new_thread("there", 1), Work::user, 1ms);
      b.tasks.start(sleep_and_run(b, thread, signal, 1us, slot, how));
      b.tasks.start(interrupt(b, 10us, 2us, signal));
      sc_core::sc_start(sc_core::sc_time(20, sc_core::SC_US));
      return static_cast<std::int64_t>(thread.core());
    });
    return ends.value;
  };
  CHECK(core_of_woken(Waking::plain, 1, 1) == 1);
  CHECK(core_of_woken(Waking::sync, 1, 1) == 0);
  CHECK(core_of_woken(Waking::sync, 2, 1) == 1);
  CHECK(core_of_woken(Waking::sync, 2, 2) == 0);
  CHECK(core_of_woken(Waking::sync, 3, 2) == 1);
  // Cores that are idle go before: the last one, then others.
  CHECK(core_of_woken(Waking::sync, 1, 0) == 1);
  CHECK(core_of_woken(Waking::sync, 1, 1, 3) == 2);
}

TEST_CASE("a core that becomes idle takes a thread that waits") {
  CHECK(end_of_waiting(cores(2), {}, Time{0}, 2ms) == 2ms + kSwitch + 100us);
  SchedRules mutant;
  mutant.pulls = false;
  CHECK(end_of_waiting(cores(2), mutant, Time{0}, 2ms) > 2 * kTick);
}

TEST_CASE("a core that becomes idle leaves a thread that has just run, until the tick") {
  // It has run until 600 us, and is hot for 500 us more.
  const Time ran = 600us - kSwitch;
  CHECK(end_of_waiting(cores(2), {}, ran, 1100us - Time{1}) == kTick + kSwitch + 100us);
  CHECK(end_of_waiting(cores(2), {}, ran, 1100us) == 1100us + kSwitch + 100us);
  cpu::CpuConfig config = cores(2);
  config.sched.migration_cost = 450us;
  CHECK(end_of_waiting(config, {}, ran, 1050us - Time{1}) == kTick + kSwitch + 100us);
  CHECK(end_of_waiting(config, {}, ran, 1050us) == 1050us + kSwitch + 100us);
}

// It joins the interrupt's core, where it waits; 500 us have not passed since it ran when core 1 becomes idle.
TEST_CASE("a core that becomes idle takes a thread that ran elsewhere a moment ago") {
  CpuBench b(cores(2));
  sim::Signal signal(b.node.loop);
  Execution& thread = b.cpu.new_thread("thread");
  REQUIRE(thread.core() == 1);
  const std::size_t slot = b.new_slot();
  b.tasks.start([](CpuBench& bench, Execution& who, sim::Signal& woken, std::size_t ended) -> Task<void> {
    co_await bench.cpu.run(who, Work::user, 1us);
    co_await sleep_and_run(bench, who, woken, 1us, ended, Waking::sync);
  }(b, thread, signal, slot));
  b.run(b.cpu.new_thread("interrupted", 0), Work::user, 10ms, 20us);
  b.run(b.cpu.new_thread("there", 1), Work::user, 100us, 20us);
  b.tasks.start(interrupt(b, 40us, 2us, signal));
  sc_core::sc_start(sc_core::sc_time(50, sc_core::SC_US));
  CHECK(thread.core() == 0);
  sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
  CHECK(b.done[slot] == 20us + kSwitch + 100us + kSwitch + 1us);
}

TEST_CASE("the tick brings a waiting thread to an idle core") {
  // At 4 ms it takes the thread that was hot when its core became idle; without, it would wait for its turn on core 0.
  const Time ran = 600us - kSwitch;
  SchedRules mutant;
  mutant.pulls = false;
  CHECK(end_of_waiting(cores(2), {}, ran, 1050us) == kTick + kSwitch + 100us);
  CHECK(end_of_waiting(cores(2), mutant, ran, 1050us) > 2 * kTick);
}

TEST_CASE("a core that is idle for short times does not look when it becomes idle", "[newidle-by-cost]") {
  for (const bool by_cost : {false, true}) {
    SchedRules rules;
    rules.newidle_by_cost = by_cost;
    Time idle_from{0};
    const Ends ends = simulated(cores(2), rules, [](CpuBench& b) {
      // 40 naps of 50 us each: the average falls from 1 ms to about 50 us.
      Execution& naps = b.cpu.new_thread("naps", 1);
      b.tasks.start([](CpuBench& bench, Execution& who) -> Task<void> {
        for (int i = 0; i < 40; ++i) {
          co_await bench.node.loop.delay(50us);
          co_await bench.cpu.run(who, Work::user, 10us);
        }
      }(b, naps));
      sc_core::sc_start();
      const Time now = b.node.now();
      Execution& waits = new_on_core_0(b);
      b.run(b.cpu.new_thread("busy 0", 0), Work::user, 100ms, now + 10us);
      b.run(naps, Work::user, 500us, now + 10us);
      b.run(waits, Work::user, 100us, now + 100us);
      sc_core::sc_start(sc_core::sc_time(50, sc_core::SC_MS));
      return (now + 10us + kSwitch + 500us).count();
    });
    idle_from = Time{ends.value};
    const Time tick = sim::divide_up(idle_from.count(), kTick.count()) * kTick;
    CHECK(ends.done[2] == (by_cost ? idle_from : tick) + kSwitch + 100us);
  }
}

TEST_CASE("a busy core takes a thread from one with two more than it, at few of the ticks",
          "[busy-factor-16][busy-off-beat]") {
  const auto first_pull = [](unsigned factor, bool off_beat, unsigned hz = 250) {
    SchedRules rules;
    rules.busy_factor = factor;
    rules.busy_off_beat = off_beat;
    cpu::CpuConfig config = cores(2);
    config.sched.hz = hz;
    const Ends ends = simulated(config, rules, [](CpuBench& b) {
      std::vector<Execution*> anywhere;
      for (int i = 0; i < 3; ++i) anywhere.push_back(&new_on_core_0(b));
      // While the three come to core 0 there are as many on core 1, of which two end.
      b.run(b.cpu.new_thread("bound", 1), Work::user, 2s);
      for (int i = 0; i < 2; ++i) b.run(b.cpu.new_thread("short", 1), Work::user, 1us);
      for (Execution* thread : anywhere) b.run(*thread, Work::user, 2s);
      while (b.node.counted("cpu.pulls") == 0) sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
      return b.node.now().count();
    });
    return Time{ends.value} - 1ms;  // what is looked at is a millisecond old
  };
  // All look at the first tick, in vain; the interval is then 4 ms, times the factor, in whole ticks.
  CHECK(first_pull(32, false) == kTick + 128ms);
  CHECK(first_pull(16, false) == kTick + 64ms);
  CHECK(first_pull(16, true) == kTick + 60ms);
  CHECK(first_pull(16, false, 100) == 10ms + 70ms);
  CHECK(first_pull(16, true, 100) == 10ms + 60ms);
}

// Three threads on core 0 have all just run when core 1 becomes idle. Core 1 takes one of them, and becomes idle once
// more when that one has ended.
TEST_CASE("an idle core leaves threads that have just run alone at two looks, each time anew") {
  cpu::CpuConfig config = cores(2);
  config.sched.migration_cost = 1s;
  const Ends ends = simulated(config, {}, [](CpuBench& b) {
    std::vector<Execution*> anywhere;
    for (int i = 0; i < 3; ++i) anywhere.push_back(&new_on_core_0(b));
    // While the three come to core 0 there are more on core 1, of which two end.
    for (int i = 0; i < 4; ++i) b.run(b.cpu.new_thread("bound", 1), Work::user, i < 2 ? 20ms : 1us);
    for (Execution* thread : anywhere) b.run(*thread, Work::user, 60ms);
    std::vector<std::int64_t> pulls;  // ms
    while (pulls.size() < 2) {
      sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_MS));
      while (pulls.size() < b.node.counted("cpu.pulls")) pulls.push_back((b.node.now() - 1ms) / 1ms);
    }
    return pulls[0] * 1000 + pulls[1];
  });
  const auto third_tick_after = [](Time idle) { return (idle / kTick + 3) * kTick / 1ms; };
  CHECK(ends.value / 1000 == third_tick_after(std::max(ends.done[0], ends.done[1])));
  CHECK(ends.value % 1000 == third_tick_after(*std::min_element(ends.done.begin() + 4, ends.done.end())));
}

TEST_CASE("an invariant watches that no core idles beside a thread that waits") {
  SchedRules mutant;
  mutant.pulls = false;
  CpuBench b(cores(2), {}, mutant);
  Execution& waits = new_on_core_0(b);
  b.run(b.cpu.new_thread("busy 0", 0, SchedClass::fifo), Work::user, 1s);
  b.run(b.cpu.new_thread("busy 1", 1), Work::user, 1ms);
  b.run(waits, Work::user, 1s, 100us);
  // It would have pulled at the first look, 4 ms after core 1 became idle, or at the last that may fail, 8 ms later.
  // Ticks are 4 ms apart.
  CHECK_NOTHROW(b.node.loop.run(16ms - Time{1}));
  const std::string idle_for = std::to_string((16ms - 1ms - kSwitch) / 1ns);
  CHECK_THROWS_WITH(b.node.loop.run(16ms + Time{1}),
                    Catch::Contains("core 1 has been idle for " + idle_for + " ns while thread anywhere waited for"));
}

TEST_CASE("work-conserving: no core ever idles beside a thread that waits, whatever the load") {
  CpuBench b(cores(3, SchedPolicy::work_conserving));
  std::vector<Execution*> threads;
  // One FIFO thread and one of the others are bound, so that who waits may wait for a core that others take away.
  threads.push_back(&b.cpu.new_thread("fifo", 0u, SchedClass::fifo));
  for (int i = 0; i < 2; ++i) threads.push_back(&b.cpu.new_thread("unbound fifo", {}, SchedClass::fifo));
  threads.push_back(&b.cpu.new_thread("bound", 0u));
  for (int i = 0; i < 7; ++i) threads.push_back(&b.cpu.new_thread("t" + std::to_string(i)));
  unsigned finished = 0;
  const auto live = [](CpuBench& bench, Execution& who, std::uint64_t seed, unsigned& ended) -> Task<void> {
    sim::RandomStream random(seed, "life");
    for (int i = 0; i < 200; ++i) {
      sim::Signal alarm(bench.node.loop);
      bench.notify(alarm, bench.node.now() + Time{static_cast<std::int64_t>(random.below(3'000'000'000))});
      co_await bench.cpu.sleep(who, alarm);
      co_await bench.cpu.run(who, Work::user, Time{static_cast<std::int64_t>(random.below(6'000'000'000))});
    }
    ++ended;
  };
  for (std::size_t i = 0; i < threads.size(); ++i) b.tasks.start(live(b, *threads[i], i, finished));
  sc_core::sc_start();
  CHECK(finished == threads.size());
  CHECK(b.node.counted("cpu.pulls") > 0);
}

// Under Linux's rules the same holds within the bound that the invariant knows; it throws where it does not.
TEST_CASE("random loads under CFS and EEVDF: everybody ends, time adds up, the invariant holds") {
  constexpr unsigned kThreads = 7;
  const auto live = [](CpuBench& b, Execution& who, std::uint64_t number, std::int64_t& asked) -> Task<void> {
    sim::RandomStream random(number, "life");
    for (int i = 0; i < 60; ++i) {
      const Time pause{static_cast<std::int64_t>(random.below(2'000'000'000))};
      const Time cost{static_cast<std::int64_t>(random.below(i % 7 == 0 ? 9'000'000'000 : 300'000'000))};
      co_await b.node.loop.delay(pause);
      co_await b.cpu.run(who, random.below(2) == 0 ? Work::user : Work::system, cost);
      co_await b.cpu.cond_resched(who);
      asked += cost.count();
    }
    b.done.push_back(b.node.now());
  };
  for (unsigned seed = 0; seed < 24; ++seed) {
    cpu::CpuConfig config = cores(2 + seed % 3, seed % 2 == 0 ? SchedPolicy::cfs : SchedPolicy::eevdf);
    config.sched.preemption = static_cast<cpu::Preemption>(seed % 3);
    const Ends ends = simulated(config, {}, [&](CpuBench& b) {
      sim::RandomStream shape(seed, "shape");
      std::int64_t unexplained = 0;
      for (unsigned i = 0; i < kThreads; ++i) {
        const auto sched_class = shape.below(8) == 0 ? SchedClass::fifo : SchedClass::fair;
        const std::optional<unsigned> core =
            shape.below(4) == 0 ? std::optional(i % config.cores) : std::optional<unsigned>{};
        Execution& thread = b.cpu.new_thread("t", core, sched_class, shape.below(2) == 0 ? 0 : 10);
        b.tasks.start(live(b, thread, std::uint64_t{seed} * 100 + i, unexplained));
      }
      sc_core::sc_start();
      unexplained += static_cast<std::int64_t>(b.node.counted("cpu.context_switches")) * kSwitch.count();
      for (unsigned core = 0; core < config.cores; ++core) {
        unexplained -= (b.cpu.charged(core, Work::user) + b.cpu.charged(core, Work::system)).count();
      }
      return unexplained;
    });
    INFO(seed);
    CHECK(ends.done.size() == kThreads);
    CHECK(ends.value == 0);
  }
}

TEST_CASE("the kernel's version decides the scheduler's rules") {
  using cpu::KernelVersion;
  const SchedRules oldest = SchedRules::of({KernelVersion::linux_4_9});
  CHECK_FALSE(oldest.eevdf);
  CHECK(oldest.wakes_at_interrupt_core);
  CHECK_FALSE(oldest.newidle_by_cost);
  CHECK(oldest.busy_factor == 32);
  CHECK_FALSE(oldest.busy_off_beat);
  CHECK_FALSE(oldest.slice_floor);
  CHECK_FALSE(oldest.equal_deadlines_yield);
  CHECK_FALSE(oldest.preempt_short);
  const SchedRules newest = SchedRules::of({KernelVersion::linux_6_12});
  CHECK(newest.eevdf);
  CHECK_FALSE(newest.wakes_at_interrupt_core);
  CHECK(newest.newidle_by_cost);
  CHECK(newest.busy_factor == 16);
  CHECK(newest.busy_off_beat);
  CHECK(newest.slice_floor);
  CHECK(newest.equal_deadlines_yield);
  CHECK(newest.preempt_short);
  cpu::CpuConfig config;
  config.kernel = {KernelVersion::linux_6_6};
  Node node;
  CHECK(cpu::Cpu("by_version", config, node.context).sched().policy == SchedPolicy::eevdf);
  config.sched.policy = SchedPolicy::cfs;
  CHECK(cpu::Cpu("by_name", config, node.context).sched().policy == SchedPolicy::cfs);
}
