// SPDX-License-Identifier: Apache-2.0
#include <catch2/catch.hpp>

#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr Time kLoad = 145ns;

struct Flag {
  explicit Flag(CpuBench& b) : bench(b), changed(b.node.loop) {}
  // Stores the value at an instant.
  void store(int stored, Time at) { bench.tasks.start(store_at(*this, stored, at)); }
  static Task<void> store_at(Flag& flag, int stored, Time at) {
    co_await flag.bench.node.loop.until(at);
    flag.value = stored;
    flag.changed.notify_all();
  }
  // Polls for 1 from an instant on.
  void poll(Execution& thread, Time from) { bench.tasks.start(poll_from(*this, thread, from)); }
  static Task<void> poll_from(Flag& flag, Execution& thread, Time from) {
    co_await flag.bench.node.loop.until(from);
    const std::function<bool()> is_one = [&flag] { return flag.value == 1; };
    co_await flag.bench.cpu.poll(thread, flag.changed, is_one);
    flag.seen = flag.bench.node.now();
  }

  CpuBench& bench;
  sim::Signal changed;
  int value = 0;
  Time seen = sim::kNever;
};

}  // namespace

TEST_CASE("polling sees a store one load later") {
  CpuBench b;
  Flag flag(b);
  Execution& thread = b.cpu.new_thread("poller");
  flag.poll(thread, 0us);
  flag.store(2, 20us);  // not what it waits for
  flag.store(1, 30us);
  sc_core::sc_start();
  CHECK(flag.seen == 30us + kLoad);
  CHECK(b.cpu.charged(1, Work::user) == 30us + kLoad - kSwitch);
  CHECK(b.node.counted("cpu.time_polling") == static_cast<std::uint64_t>((30us + kLoad - kSwitch).count()));
  CHECK(b.node.counted("cpu.time_polling") == b.node.counted("cpu.time_user"));
  CHECK_FALSE(flag.changed.has_waiters());
}

TEST_CASE("polling for what is already there takes one load") {
  CpuBench b;
  Flag flag(b);
  flag.value = 1;
  flag.poll(b.cpu.new_thread("poller"), 10us);
  sc_core::sc_start();
  CHECK(flag.seen == 10us + kSwitch + kLoad);
}

TEST_CASE("a pre-empted poller sees the store when it runs again") {
  CpuBench b;
  Flag flag(b);
  flag.poll(b.cpu.new_thread("poller", 0), 0us);
  b.run(b.cpu.irq_context(), Work::irq, 10us, 25us);
  flag.store(1, 30us);
  sc_core::sc_start();
  CHECK(flag.seen == 35us);
}

TEST_CASE("a poller pre-empted before its load is done sees the store no earlier than that") {
  CpuBench b;
  Flag flag(b);
  flag.poll(b.cpu.new_thread("poller", 0), 0us);
  flag.store(1, 30us);
  b.run(b.cpu.irq_context(), Work::irq, 100ns, 30us + 20ns);
  sc_core::sc_start();
  CHECK(b.done[0] == 30us + 120ns);
  CHECK(flag.seen == 30us + kLoad);
}

// Of two threads on one of four cores each gets half of 18 ms; the tick at 12 ms is the first to find more than that.
TEST_CASE("a poller shares its core with other user threads, tick by tick") {
  CpuBench b;
  Flag flag(b);
  flag.poll(b.cpu.new_thread("poller", 1), 0us);
  b.run(b.cpu.new_thread("worker", 1), Work::user, 1ms, 1us);
  flag.store(1, 12500us);
  sc_core::sc_start();
  CHECK(b.done[0] == 12ms + kSwitch + 1ms);
  CHECK(flag.seen == b.done[0] + kSwitch);
}
