// SPDX-License-Identifier: Apache-2.0
// Which core a FIFO thread runs on: at wake-ups, when its like gets its core, when a core's last FIFO thread sleeps.
#include <catch2/catch.hpp>

#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;
using cpu::SchedClass;
using cpu::SchedRules;

namespace {

SchedRules without_moves() {
  SchedRules mutant;
  mutant.moves_fifo = false;
  return mutant;
}

// Two FIFO threads wake on core 2 while a fair thread is in the kernel there until 1 ms; core 0 is idle. When have they
// done their 50 us?
Ends woken_behind_kernel_code(const SchedRules& rules) {
  return simulated(cores(3), rules, [](CpuBench& b) {
    b.run(b.cpu.new_thread("fair", 1), Work::user, 10ms);
    Execution& first = b.cpu.new_thread("first", {}, SchedClass::fifo);
    Execution& second = b.cpu.new_thread("second", {}, SchedClass::fifo);
    REQUIRE(first.core() == 2);
    REQUIRE(second.core() == 2);
    b.run(b.cpu.new_thread("in the kernel", 2), Work::system, 1ms - kSwitch);
    b.wake(first, Work::user, 50us, 100us);
    b.wake(second, Work::user, 50us, 110us);
    sc_core::sc_start(sc_core::sc_time(3, sc_core::SC_MS));
    return static_cast<std::int64_t>(10 * first.core() + second.core());
  });
}

// Each of two cores has a bound FIFO thread, core 0 until 1 ms and core 1 until 10 ms, and core 0 a fair one. A third
// FIFO thread wakes on core 1.
Ends woken_behind_its_like(const SchedRules& rules) {
  return simulated(cores(2), rules, [](CpuBench& b) {
    Execution& third = b.cpu.new_thread("third", {}, SchedClass::fifo);
    REQUIRE(third.core() == 1);
    b.run(b.cpu.new_thread("fifo", 0, SchedClass::fifo), Work::user, 1ms - kSwitch);
    b.run(b.cpu.new_thread("fifo", 1, SchedClass::fifo), Work::user, 10ms);
    b.run(b.cpu.new_thread("fair", 0), Work::user, 10us);
    b.wake(third, Work::user, 50us, 100us);
    b.node.loop.run(Time{20ms});
    return static_cast<std::int64_t>(third.core());
  });
}

}  // namespace

TEST_CASE("wake-up: a FIFO thread takes its last core from a fair one, and avoids only its like") {
  CpuBench b(cores(3));
  b.run(b.cpu.new_thread("fair", 1), Work::user, 1ms);
  Execution& first = b.cpu.new_thread("first", {}, SchedClass::fifo);
  Execution& second = b.cpu.new_thread("second", {}, SchedClass::fifo);
  REQUIRE(first.core() == 2);
  CHECK(second.core() == 2);
  b.wake(first, Work::user, 100us, 50us);
  b.wake(second, Work::user, 100us, 60us);
  sc_core::sc_start();
  CHECK(first.core() == 2);
  CHECK(second.core() == 0);
  CHECK(b.done[2] == 60us + kSwitch + 100us);
}

// Two FIFO threads of core 2: one runs there when the other wakes. Fair threads run on cores 0 and 1; core 3 is idle.
TEST_CASE(
    "wake-up: a FIFO thread whose last core has its like goes to the interrupt's core, else to the first without") {
  for (const bool by_interrupt : {false, true}) {
    cpu::CpuConfig config = cores(4);
    config.interrupt_core = 1;  // threads begin on core 2, the next one
    const Ends ends = simulated(config, {}, [=](CpuBench& b) {
      sim::Signal signal(b.node.loop);
      Execution& woken = b.cpu.new_thread("woken", {}, SchedClass::fifo);
      REQUIRE(woken.core() == 2);
      b.run(b.cpu.new_thread("its like", 2, SchedClass::fifo), Work::user, 1ms);
      b.run(b.cpu.new_thread("fair", 0), Work::user, 1ms);
      b.run(b.cpu.new_thread("fair", 1), Work::user, 1ms);
      b.tasks.start(sleep_and_run(b, woken, signal, 1us, b.new_slot()));
      if (by_interrupt) {
        b.tasks.start(interrupt(b, 10us, 2us, signal));
      } else {
        b.notify(signal, 12us);
      }
      sc_core::sc_start();
      return static_cast<std::int64_t>(woken.core());
    });
    CHECK(ends.value == (by_interrupt ? 1 : 0));
    CHECK(ends.done.back() == 12us + kSwitch + 1us);
  }
}

TEST_CASE("FIFO threads that wait behind kernel code: one gets the core, the other goes to the first without") {
  const Ends ends = woken_behind_kernel_code({});
  CHECK(ends.value == 20);
  CHECK(ends.done[2] == 1ms + kSwitch + 50us);
  CHECK(ends.done[3] == 1ms + kSwitch + 50us);
  CHECK(woken_behind_kernel_code(without_moves()).done[3] == 1ms + 2 * (kSwitch + 50us));
}

TEST_CASE("a core whose last FIFO thread sleeps takes one that waits behind its like, before its own fair ones") {
  const Ends ends = woken_behind_its_like({});
  CHECK(ends.value == 0);
  CHECK(ends.done[3] == 1ms + kSwitch + 50us);
  CHECK(ends.done[2] == 1ms + kSwitch + 50us + kSwitch + 10us);
}

TEST_CASE("an invariant watches that no FIFO thread waits behind its like beside a core without") {
  CpuBench b(cores(2), {}, without_moves());
  Execution& third = b.cpu.new_thread("third", {}, SchedClass::fifo);
  b.run(b.cpu.new_thread("fifo", 0, SchedClass::fifo), Work::user, 1ms);
  b.run(b.cpu.new_thread("fifo", 1, SchedClass::fifo), Work::user, 10ms);
  b.wake(third, Work::user, 50us, 100us);
  CHECK_THROWS_WITH(b.node.loop.run(Time{20ms}), Catch::Contains("waits behind its like"));
}
