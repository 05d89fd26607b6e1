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

Task<void> run_pieces(CpuBench& b, Execution& who, Work kind, Time piece, unsigned pieces, bool gives_way,
                      std::size_t slot) {
  for (unsigned i = 0; i < pieces; ++i) {
    co_await b.cpu.run(who, kind, piece);
    if (gives_way) co_await b.cpu.cond_resched(who);
  }
  b.done[slot] = b.node.now();
}

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

// The time after which a thread that wakes at `at` has got its core from one that runs in user mode.
Time wait_of_woken(const cpu::CpuConfig& config, Time at) {
  return simulated(config,
                   [at](CpuBench& b) {
                     b.run(b.cpu.new_thread("runs", 0), Work::user, 40ms);
                     b.wake(b.cpu.new_thread("wakes", 0), Work::user, 0us, at);
                   })
             .done[1] -
         at;
}

// How long the first of two threads runs that want the core at once.
Time first_turn(const cpu::CpuConfig& config) {
  return simulated(config,
                   [](CpuBench& b) {
                     b.run(b.cpu.new_thread("a"), Work::user, 100ms);
                     b.run(b.cpu.new_thread("b"), Work::user, 1us);
                   })
             .done[1] -
         kSwitch - 1us;
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

TEST_CASE("EEVDF: a worker waits for the end of a poller's slice, whenever it wakes", "[eevdf]") {
  const cpu::CpuConfig config = cores(4, SchedPolicy::eevdf);
  CHECK(wait_of_woken(config, 1ms) == kTick + kSwitch - 1ms);
  CHECK(wait_of_woken(config, 21ms) == 24ms + kSwitch - 21ms);
}

// A slice of 2.25 ms is over at each tick, and the tick begins the next one. A slice that is over when the other wakes
// is begun anew, too: it then lasts beyond the next tick.
TEST_CASE("EEVDF: a thread that runs alone begins a slice at each tick that finds its last one over") {
  const cpu::CpuConfig config = cores(4, SchedPolicy::eevdf);
  const Time over = 20ms + 2250us;
  CHECK(wait_of_woken(config, over - Time{1}) == 24ms + kSwitch - (over - Time{1}));
  CHECK(wait_of_woken(config, over) == 28ms + kSwitch - over);
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
