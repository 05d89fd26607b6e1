// SPDX-License-Identifier: Apache-2.0
// How threads share one core: whose turn it is, when a turn ends, who takes the core at a wake-up. By Linux's rules,
// each of which fails here when it is switched off.
#include <catch2/catch.hpp>

#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::Preemption;
using cpu::SchedClass;
using cpu::SchedPolicy;

namespace {

Task<void> run_then_return_to_user(CpuBench& b, Execution& who, Time system, Time user, std::size_t slot) {
  co_await b.cpu.run(who, Work::system, system);
  co_await b.cpu.run(who, Work::user, user);
  b.done[slot] = b.node.now();
}

Task<void> run_to_a_lock(CpuBench& b, Execution& who, Time before, Time after, std::size_t slot) {
  co_await b.cpu.run(who, Work::system, before);
  co_await b.cpu.might_sleep(who);
  co_await b.cpu.run(who, Work::system, after);
  b.done[slot] = b.node.now();
}

}  // namespace

TEST_CASE("CFS: a turn ends at the first tick after the thread's part of the period") {
  CpuBench b(one_core());
  b.run(b.cpu.new_thread("a"), Work::user, 6ms);
  b.run(b.cpu.new_thread("b"), Work::user, 3ms);
  sc_core::sc_start();
  // A part is 3 ms, and ticks come every 4 ms.
  CHECK(b.done[1] == kTick + kSwitch + 3ms);
  CHECK(b.done[0] == b.done[1] + kSwitch + 6ms - (kTick - kSwitch));
  CHECK(b.node.counted("cpu.context_switches") == 3);
  CHECK(b.node.counted("cpu.preemptions") == 1);
  CHECK(b.node.counted("cpu.time_waiting") == static_cast<std::uint64_t>((kTick + kSwitch + 3ms).count()));
}

TEST_CASE("CFS: a longer period makes longer turns, more ticks a second end them sooner") {
  cpu::CpuConfig config = one_core();
  config.sched.latency = 24ms;
  CHECK(first_turn(config) == 16ms);  // at 12 ms it has had 12 ms less the switch
  config = one_core();
  config.sched.hz = 1000;
  CHECK(first_turn(config) == 4ms);  // likewise of 3 ms
}

TEST_CASE("CFS: times grow with the logarithm of the cores, as Linux scales them") {
  cpu::SchedConfig config;
  CHECK(config.scaled_for(1).latency == 6ms);
  CHECK(config.scaled_for(4).latency == 18ms);
  CHECK(config.scaled_for(4).wakeup_granularity == 3ms);
  CHECK(config.scaled_for(7).min_granularity == 2250us);
  CHECK(config.scaled_for(16).base_slice == 3ms);
  CHECK(config.scaled_for(16).migration_cost == 500us);
  config.tunable_scaling = cpu::TunableScaling::linear;
  CHECK(config.scaled_for(16).latency == 48ms);
  config.tunable_scaling = cpu::TunableScaling::none;
  CHECK(config.scaled_for(16).latency == 6ms);
}

TEST_CASE("CFS: with more than eight threads the period grows, so that none gets less than the granularity") {
  cpu::CpuConfig config = one_core();
  config.sched.hz = 1000;
  config.sched.min_granularity = 5ms;
  CpuBench b(config);
  for (int i = 0; i < 9; ++i) b.run(b.cpu.new_thread("t"), Work::user, 20ms);
  b.run(b.cpu.new_thread("last"), Work::user, 1us);
  sc_core::sc_start();
  // Nine turns of 5 ms, each found over at the tick of 6 ms (the tick at 5 ms finds it a switch short).
  CHECK(b.done[9] == 9 * 6ms + kSwitch + 1us);
}

// Linux's BASE_SLICE: the part of the period of a thread of nice 19 beside one of nice 0 is 86 us.
TEST_CASE("CFS since 5.10: a turn of a thread of small weight lasts for the granularity, too", "[base-slice-floor]") {
  const auto turn_of_nice = [](bool slice_floor, Time granularity) {
    cpu::CpuConfig config = one_core();
    config.sched.hz = 1000;
    config.sched.min_granularity = granularity;
    cpu::SchedRules rules;
    rules.slice_floor = slice_floor;
    const Ends ends = simulated(config, rules, [](CpuBench& b) {
      b.run(b.cpu.new_thread("nice", 0, SchedClass::fair, 19), Work::user, 100ms);
      b.run(b.cpu.new_thread("normal", 0), Work::user, 1us);
      sc_core::sc_start();
      return std::int64_t{0};
    });
    return ends.done[1] - kSwitch - 1us;
  };
  const Time at_third_tick = 3ms - kSwitch;
  CHECK(turn_of_nice(false, at_third_tick) == 1ms);
  CHECK(turn_of_nice(true, at_third_tick) == 3ms);
  CHECK(turn_of_nice(true, at_third_tick + Time{1}) == 4ms);
  CHECK_FALSE(cpu::SchedRules::of({cpu::KernelVersion::linux_5_4}).slice_floor);
  CHECK(cpu::SchedRules::of({cpu::KernelVersion::linux_5_10}).slice_floor);
}

TEST_CASE("CFS: who wakes takes the core from whoever is ahead by more than the granularity, and no earlier") {
  // Both had slept for long, so both began at the same virtual time.
  CHECK(wait_of_woken(one_core(), kSwitch + 1ms + Time{1}) == kSwitch);
  CHECK(wait_of_woken(one_core(), kSwitch + 1ms) == kTick - 1ms);
  cpu::CpuConfig config = one_core();
  config.sched.wakeup_granularity = 10us;
  CHECK(wait_of_woken(config, kSwitch + 10us + Time{1}) == kSwitch);
}

// Twenty milliseconds of sleep are worth half a period, 3 ms: it gets no more than that ahead of the other.
TEST_CASE("CFS: sleep earns at most half a period") {
  CpuBench b(one_core());
  b.run(b.cpu.new_thread("runs", 0), Work::user, 40ms);
  b.wake(b.cpu.new_thread("slept", 0), Work::user, 20ms, 20ms);
  b.wake(b.cpu.new_thread("slept too", 0), Work::user, 1us, 20ms + 10us);
  sc_core::sc_start();
  // The second begins where the first did, and is not ahead of it by 1 ms: it waits for the tick.
  CHECK(b.done[2] == 24ms + kSwitch + 1us);
}

// What it is ahead it spends by the first tick; from there on both share.
TEST_CASE("CFS: who has slept for long does not have the core for as long as the other has had it") {
  CpuBench b(one_core());
  b.run(b.cpu.new_thread("runs", 0), Work::user, 40ms);
  b.wake(b.cpu.new_thread("slept", 0), Work::user, 10ms, 20ms);
  sc_core::sc_start();
  CHECK(b.done[1] > 34ms);
}

TEST_CASE("CFS: a thread that is pulled to another core shares it with who is there") {
  CpuBench b(cores(2));
  Execution& there = b.cpu.new_thread("there", 1);
  Execution& pulled = b.cpu.new_thread("pulled");
  b.run(there, Work::user, 1s);
  b.run(pulled, Work::user, 1s, 1ms);  // on core 0, which is idle
  for (const char* name : {"stays", "stays, too"}) b.run(b.cpu.new_thread(name, 0), Work::user, 1s, 2ms);
  const auto run_for = [](double ms) { sc_core::sc_start(sc_core::sc_time(ms, sc_core::SC_MS)); };
  run_for(3);
  REQUIRE(pulled.core() == 0);
  for (int ms = 0; ms < 500 && pulled.core() == 0; ++ms) run_for(1);
  REQUIRE(pulled.core() == there.core());
  b.cpu.settle();
  const Time pulled_before = pulled.time(Work::user), there_before = there.time(Work::user);
  run_for(80);
  b.cpu.settle();
  CHECK(pulled.time(Work::user) - pulled_before > 30ms);
  CHECK(there.time(Work::user) - there_before > 30ms);
}

TEST_CASE("a thread of nice 19 gets 15 parts where one of nice 0 gets 1024, and loses the core at a wake-up") {
  CpuBench b(one_core());
  Execution& nice = b.cpu.new_thread("nice", 0, SchedClass::fair, 19);
  Execution& normal = b.cpu.new_thread("normal", 0);
  b.run(nice, Work::user, 10s);
  b.run(normal, Work::user, 10s);
  sc_core::sc_start(sc_core::sc_time(8, sc_core::SC_SEC));
  b.cpu.settle();
  const double share = static_cast<double>(nice.time(Work::user).count()) / 8e12;
  CHECK(share == Approx(15.0 / 1039.0).margin(0.01));
  CHECK(share > 0.005);
}

TEST_CASE("one run queue: shares of a second are equal within one per cent, and nobody starves") {
  for (const SchedPolicy policy : {SchedPolicy::cfs, SchedPolicy::eevdf, SchedPolicy::work_conserving}) {
    for (const unsigned count : {2u, 3u, 5u, 12u}) {
      cpu::CpuConfig config = one_core(policy);
      config.context_switch = 0ns;
      const Ends ends = simulated(config, {}, [count](CpuBench& b) {
        std::vector<Execution*> threads;
        for (unsigned i = 0; i < count; ++i) {
          threads.push_back(&b.cpu.new_thread("t"));
          b.run(*threads.back(), Work::user, 10s);
        }
        b.done.clear();
        for (int second = 0; second < 3; ++second) {
          sc_core::sc_start(sc_core::sc_time(1, sc_core::SC_SEC));
          b.cpu.settle();
          for (const Execution* thread : threads) b.done.push_back(thread->time(Work::user));
        }
        return std::int64_t{0};
      });
      Time all{0};
      for (std::size_t i = 0; i < ends.done.size(); ++i) {
        const Time had = ends.done[i] - (i < count ? Time{0} : ends.done[i - count]);
        INFO(static_cast<int>(policy) << ", " << count << " threads, " << i);
        CHECK(static_cast<double>(had.count()) / 1e12 == Approx(1.0 / count).margin(0.01));
        all += had;
      }
      CHECK(all == 3s);
    }
  }
}

// A poller is user code. Four cores: a period of 18 ms, a wake-up granularity of 3 ms.
TEST_CASE("CFS: a worker takes the core from a poller at once, unless that has itself just come from sleep") {
  const cpu::CpuConfig config = cores(4, SchedPolicy::cfs);
  const Time begins = kSwitch + 3ms;
  // Both have half a period for their sleep: the poller keeps the core for that, to the tick.
  CHECK(wait_of_woken(config, 1ms) == 12ms + kSwitch - 1ms);
  CHECK(wait_of_woken(config, begins) == 12ms + kSwitch - begins);
  CHECK(wait_of_woken(config, begins + Time{1}) == kSwitch);
  CHECK(wait_of_woken(config, 21ms) == kSwitch);
}

TEST_CASE("kernel code gives way at cond_resched() and to user mode; with full pre-emption anywhere") {
  for (const Preemption model : {Preemption::none, Preemption::voluntary, Preemption::full}) {
    INFO(static_cast<int>(model));
    cpu::CpuConfig config = one_core();
    config.sched.wakeup_granularity = 0ns;
    config.sched.preemption = model;
    const Time woken = kSwitch + 10us;
    // When the thread that wakes beside `kernel` has done its 1 us, less that and the switch to it.
    const auto gets_core = [&](const std::function<Task<void>(CpuBench&, Execution&, std::size_t)>& kernel) {
      const Ends ends = simulated(config, [&](CpuBench& b) {
        const std::size_t slot = b.new_slot();
        b.tasks.start(kernel(b, b.cpu.new_thread("kernel", 0), slot));
        b.wake(b.cpu.new_thread("woken", 0), Work::user, 1us, woken);
      });
      return ends.done[1] - 1us - kSwitch;
    };
    const bool full = model == Preemption::full;
    const bool voluntary = model == Preemption::voluntary;
    CHECK(gets_core([](CpuBench& b, Execution& who, std::size_t slot) {
            return run_pieces(b, who, Work::system, 50us, 4, /*gives_way=*/false, slot);
          }) == (full ? woken : kSwitch + 200us));
    CHECK(gets_core([](CpuBench& b, Execution& who, std::size_t slot) {
            return run_pieces(b, who, Work::system, 50us, 4, /*gives_way=*/true, slot);
          }) == (full ? woken : kSwitch + 50us));
    CHECK(gets_core([](CpuBench& b, Execution& who, std::size_t slot) {
            return run_then_return_to_user(b, who, 100us, 100us, slot);
          }) == (full ? woken : kSwitch + 100us));
    CHECK(gets_core([](CpuBench& b, Execution& who, std::size_t slot) {
            return run_to_a_lock(b, who, 30us, 100us, slot);
          }) == (full ? woken : kSwitch + (voluntary ? 30us : 130us)));
  }
}

TEST_CASE("cond_resched() takes no time when nobody is due") {
  CpuBench b(one_core());
  const std::size_t slot = b.new_slot();
  b.tasks.start(run_pieces(b, b.cpu.new_thread("kernel"), Work::system, 50us, 4, true, slot));
  sc_core::sc_start();
  CHECK(b.done[slot] == kSwitch + 200us);
  CHECK(b.node.counted("cpu.context_switches") == 1);
}

TEST_CASE("a FIFO thread takes the core from any fair one, and keeps it") {
  CpuBench b(one_core());
  b.run(b.cpu.new_thread("fair", 0), Work::user, 20ms);
  b.wake(b.cpu.new_thread("interrupt thread", 0, SchedClass::fifo), Work::user, 10ms, kSwitch + 1us);
  sc_core::sc_start();
  CHECK(b.done[1] == kSwitch + 1us + kSwitch + 10ms);
  CHECK(b.done[0] == b.done[1] + kSwitch + 20ms - 1us);
  CHECK(b.node.counted("cpu.context_switches") == 3);
}

TEST_CASE("a FIFO thread waits for kernel code to give way, too") {
  CpuBench b(one_core());
  const std::size_t slot = b.new_slot();
  b.tasks.start(run_pieces(b, b.cpu.new_thread("kswapd", 0), Work::system, 50us, 10, true, slot));
  b.wake(b.cpu.new_thread("interrupt thread", 0, SchedClass::fifo), Work::user, 1us, kSwitch + 60us);
  sc_core::sc_start();
  CHECK(b.done[1] == kSwitch + 100us + kSwitch + 1us);
}

TEST_CASE("FIFO threads run one after the other") {
  CpuBench b(one_core());
  for (int i = 0; i < 3; ++i) b.run(b.cpu.new_thread("t", 0, SchedClass::fifo), Work::user, 20ms);
  sc_core::sc_start();
  CHECK(b.done == std::vector<Time>{kSwitch + 20ms, 2 * kSwitch + 40ms, 3 * kSwitch + 60ms});
}

// Turns are counted in what a thread has had, so it does not matter when somebody looks.
TEST_CASE("looking at the charges changes no turn") {
  for (const SchedPolicy policy : {SchedPolicy::cfs, SchedPolicy::eevdf}) {
    const auto ends = [policy](bool looks) {
      return simulated(one_core(policy),
                       [looks](CpuBench& b) {
                         for (int i = 0; i < 3; ++i) {
                           b.run(b.cpu.new_thread("t", 0, SchedClass::fair, i * 3), Work::user, 7ms + i * 333us,
                                 i * 777us);
                         }
                         for (int i = 0; looks && i < 200; ++i) {
                           sc_core::sc_start(sc_core::sc_time(77'777, sc_core::SC_NS));
                           b.cpu.settle();
                         }
                       })
          .done;
    };
    CHECK(ends(true) == ends(false));
  }
}
