// SPDX-License-Identifier: Apache-2.0
// Who has the core, and until when.
#include <catch2/catch.hpp>

#include <optional>
#include <string>
#include <vector>

#include "models/cpu/clock_scaling.hpp"
#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

Task<void> run_twice(CpuBench& b, Execution& who, Work kind, Time cost, std::size_t slot) {
  co_await b.cpu.run(who, kind, cost);
  co_await b.cpu.run(who, kind, cost);
  b.done[slot] = b.node.now();
}

Task<void> sleep_then_run(CpuBench& b, Execution& who, sim::Signal& signal, Time cost, Time& woken, Time& done) {
  co_await b.cpu.run(who, Work::user, 1us);
  co_await b.cpu.sleep(who, signal);
  woken = b.node.now();
  co_await b.cpu.run(who, Work::user, cost);
  done = b.node.now();
}

}  // namespace

TEST_CASE("a thread alone pays the switch from idle once, then its own time") {
  CpuBench b;
  Execution& thread = b.cpu.new_thread("alone");
  const std::size_t slot = b.new_slot();
  b.tasks.start(run_twice(b, thread, Work::user, 10us, slot));
  sc_core::sc_start();
  CHECK(b.done[slot] == kSwitch + 20us);
  CHECK(thread.time(Work::user) == 20us);
  CHECK(thread.time(Work::system) == kSwitch);
  CHECK(b.node.counted("cpu.context_switches") == 1);
  CHECK(b.node.counted("cpu.time_user") == 20'000'000);
  CHECK(b.node.counted("cpu.time_system") == 3'500'000);
}

TEST_CASE("costs scale with the clock in whole picoseconds, rounded up") {
  cpu::CpuConfig config;
  config.clock = sim::Frequency{1'500'000'000};
  config.context_switch = 0ns;
  CpuBench b(config);
  b.run(b.cpu.new_thread("fast"), Work::system, Time{10'001});
  sc_core::sc_start();
  CHECK(b.done[0] == Time{8'001});
  CHECK(b.cpu.scaled(3600s) == 2880s);
}

TEST_CASE("costs are stated at the platform's clock") {
  cpu::CpuConfig config;
  config.stated_clock = sim::Frequency{3'000'000'000};
  config.clock = sim::Frequency{2'000'000'000};
  config.context_switch = 1us;
  CpuBench b(config);
  b.run(b.cpu.new_thread("slower"), Work::system, Time{10'001});
  sc_core::sc_start();
  CHECK(b.done[0] == 1500ns + Time{15'002});
}

TEST_CASE("costs scale exactly between any clocks, and end before instants do") {
  constexpr sim::Frequency kSlow{1'000'000}, kFast{10'000'000'000}, kOdd{9'999'999'967};
  CHECK(cpu::ClockScaling(kSlow, kFast)(Time{1}) == Time{1});
  CHECK(cpu::ClockScaling(kFast, kSlow)(1s) == 10000s);
  // 10^12 * 9,999,999,967 / 10^10 needs more than 64 bits; rounded up.
  CHECK(cpu::ClockScaling(kOdd, kFast)(1s) == Time{999'999'996'700});
  CHECK(cpu::ClockScaling(kFast, kOdd)(1s) == Time{1'000'000'003'301});
  CHECK(cpu::ClockScaling(kFast, kSlow)(std::chrono::hours{24}) == cpu::kLongestWork);
}

TEST_CASE("interrupt work pre-empts user work, which resumes with the rest") {
  CpuBench b(one_core());
  b.run(b.cpu.new_thread("user"), Work::user, 10us);
  b.run(b.cpu.irq_context(), Work::irq, 2us, kSwitch + 4us);
  sc_core::sc_start();
  CHECK(b.done[1] == kSwitch + 6us);
  CHECK(b.done[0] == kSwitch + 12us);
  CHECK(b.cpu.charged(0, Work::irq) == 2us);
  CHECK(b.cpu.charged(0, Work::user) == 10us);
  CHECK(b.node.counted("cpu.context_switches") == 1);
}

TEST_CASE("irq goes before softirq goes before threads") {
  CpuBench b(one_core());
  b.run(b.cpu.new_thread("thread"), Work::user, 1us);
  b.run(b.cpu.softirq_context(), Work::softirq, 10us, kSwitch + 500ns);
  b.run(b.cpu.irq_context(), Work::irq, 4us, kSwitch + 1500ns);
  sc_core::sc_start();
  CHECK(b.done[2] == kSwitch + 5500ns);
  CHECK(b.done[1] == kSwitch + 14500ns);
  CHECK(b.done[0] == kSwitch + 15us);
  CHECK(b.node.counted("cpu.context_switches") == 1);
}

TEST_CASE("a context switch is pre-empted by an interrupt and resumes") {
  CpuBench b(one_core());
  b.run(b.cpu.new_thread("user"), Work::user, 1us);
  b.run(b.cpu.irq_context(), Work::irq, 2us, 1us);
  sc_core::sc_start();
  CHECK(b.done[1] == 3us);
  CHECK(b.done[0] == 2us + kSwitch + 1us);
}

TEST_CASE("work of one priority is first come, first served") {
  CpuBench b(one_core());
  for (int i = 0; i < 3; ++i) b.run(b.cpu.softirq_context(), Work::softirq, 2us, i * 1us);
  sc_core::sc_start();
  CHECK(b.done == std::vector<Time>{2us, 4us, 6us});
}

TEST_CASE("a thread that goes on with system work keeps the core") {
  CpuBench b(one_core());
  const std::size_t first = b.new_slot();
  b.tasks.start(run_twice(b, b.cpu.new_thread("a"), Work::system, 5us, first));
  b.run(b.cpu.new_thread("b"), Work::system, 1us, kSwitch + 1us);
  sc_core::sc_start();
  CHECK(b.done[first] == kSwitch + 10us);
  CHECK(b.done[1] == 2 * kSwitch + 11us);
}

TEST_CASE("threads are placed round robin from the core after the interrupt core, or as told") {
  CpuBench b;
  CHECK(b.cpu.new_thread("a").core() == 1);
  CHECK(b.cpu.new_thread("b", 3).core() == 3);
  CHECK(b.cpu.new_thread("c").core() == 2);
  CHECK(b.cpu.new_thread("d").core() == 3);
  CHECK(b.cpu.new_thread("e").core() == 0);
  CHECK_THROWS_AS(b.cpu.new_thread("f", 4), std::invalid_argument);
}

TEST_CASE("a new thread whose turn falls on a busy core starts on the next idle one") {
  CpuBench b;
  b.run(b.cpu.new_thread("busy", 1), Work::user, 1ms);
  CHECK(b.cpu.new_thread("new").core() == 2);
  CHECK(b.cpu.new_thread("bound", 1).core() == 1);
  sc_core::sc_start();
  CHECK(b.node.counted("cpu.migrations") == 0);
}

TEST_CASE("a thread woken on its idle core pays the switch from idle") {
  CpuBench b;
  sim::Signal signal(b.node.loop);
  Time woken{0};
  Time done{0};
  Execution& thread = b.cpu.new_thread("sleeper");
  b.tasks.start(sleep_then_run(b, thread, signal, 2us, woken, done));
  b.notify(signal, 50us);
  sc_core::sc_start();
  CHECK(woken == 50us + kSwitch);
  CHECK(done == 50us + kSwitch + 2us);
  CHECK(thread.core() == 1);
  CHECK(b.node.counted("cpu.wake_ups") == 1);
  CHECK(b.node.counted("cpu.migrations") == 0);
}

TEST_CASE("a thread whose core is busy wakes on the next idle one") {
  CpuBench b;
  sim::Signal signal(b.node.loop);
  Time woken{0};
  Time done{0};
  Execution& thread = b.cpu.new_thread("sleeper");
  b.tasks.start(sleep_then_run(b, thread, signal, 2us, woken, done));
  b.run(b.cpu.new_thread("busy", 1), Work::user, 1ms, 20us);
  b.run(b.cpu.new_thread("busy too", 2), Work::user, 1ms, 20us);
  b.notify(signal, 50us);
  sc_core::sc_start();
  CHECK(thread.core() == 3);
  CHECK(woken == 50us + kSwitch);
  CHECK(b.node.counted("cpu.migrations") == 1);
}

TEST_CASE("an interrupt on top of the idle loop does not make the core busy for wake-ups") {
  CpuBench b;
  sim::Signal signal(b.node.loop);
  Time woken{0};
  Time done{0};
  Execution& thread = b.cpu.new_thread("sleeper", 0);
  b.tasks.start(sleep_then_run(b, thread, signal, 2us, woken, done));
  b.run(b.cpu.softirq_context(), Work::softirq, 5us, 48us);
  b.notify(signal, 50us);
  sc_core::sc_start();
  CHECK(thread.core() == 0);
  CHECK(woken == 53us + kSwitch);
}

TEST_CASE("of one instant first hardware's events come, then the ends of work by core, then what waited elsewhere") {
  CpuBench b;
  const Time end = kSwitch + 10us;
  std::vector<std::string> order;
  const auto note = [](CpuBench& bench, std::vector<std::string>& out, std::optional<unsigned> core,
                       Time until) -> Task<void> {
    if (core) {
      Execution& thread = bench.cpu.new_thread("thread", *core);
      co_await bench.cpu.run(thread, Work::user, until - kSwitch);
    } else {
      co_await bench.node.loop.until(until);
    }
    out.push_back(core ? "core " + std::to_string(*core) : "elsewhere");
  };
  b.tasks.start(note(b, order, std::nullopt, end));
  b.tasks.start(note(b, order, 3, end));
  b.tasks.start(note(b, order, 1, end));
  // A device that is made, and asks for its port, after the cores.
  b.node.loop.at(
      end, b.node.loop.new_port(),
      [](void* out, std::uint64_t) { static_cast<std::vector<std::string>*>(out)->push_back("device"); }, &order);
  sc_core::sc_start();
  CHECK(order == std::vector<std::string>{"device", "core 1", "core 3", "elsewhere"});
}

TEST_CASE("a zero-time wait elsewhere gives the core's other work its chance at that instant") {
  CpuBench b(one_core());
  sim::Semaphore turn(b.node.loop, 0);
  Time done{0};
  b.tasks.start([](CpuBench& bench, sim::Semaphore& free, Time& end) -> Task<void> {
    Execution& thread = bench.cpu.new_thread("waits");
    co_await bench.cpu.run(thread, Work::system, 5us);
    free.release();
    co_await bench.node.loop.delay(0ns);  // does not suspend
    co_await bench.cpu.run(thread, Work::system, 5us);
    co_await free.acquire();
    co_await bench.cpu.run(thread, Work::system, 5us);
    end = bench.node.now();
  }(b, turn, done));
  b.tasks.start([](CpuBench& bench, sim::Semaphore& free) -> Task<void> {
    co_await free.acquire();
    co_await bench.node.loop.until(kSwitch + 10us);
    free.release();
  }(b, turn));
  b.run(b.cpu.new_thread("other"), Work::system, 1us, 1us);
  sc_core::sc_start();
  // The unit comes back at the instant at which it is asked for; the other thread has the core by then.
  CHECK(b.done[0] == 2 * kSwitch + 11us);
  CHECK(done == 3 * kSwitch + 16us);
}

TEST_CASE("a thread that runs twice at once is a bug of ours") {
  CpuBench b;
  Execution& thread = b.cpu.new_thread("double");
  b.run(thread, Work::user, 1us);
  CHECK_THROWS_AS(b.run(thread, Work::system, 1us), std::logic_error);
}

TEST_CASE("settling charges what still runs, and changes nothing else") {
  CpuBench b;
  Execution& thread = b.cpu.new_thread("endless");
  b.run(thread, Work::user, 1s);
  sc_core::sc_start(sc_core::sc_time(10, sc_core::SC_US));
  CHECK(b.cpu.charged(1, Work::user) == 0us);
  b.cpu.settle();
  CHECK(b.cpu.charged(1, Work::user) == 10us - kSwitch);
  CHECK(thread.time(Work::user) == 10us - kSwitch);
  sc_core::sc_start();
  CHECK(b.done[0] == kSwitch + 1s);
  CHECK(b.cpu.charged(1, Work::user) == 1s);
}
