// SPDX-License-Identifier: Apache-2.0
#include "models/sim/event_loop.hpp"

#include <catch2/catch.hpp>

#include <vector>

#include "models/sim/task.hpp"

using namespace faultline::sim;

namespace {

struct Log {
  std::vector<std::uint64_t> order;
  void note(std::uint64_t what) { order.push_back(what); }
};

Task<int> answer(EventLoop& loop) {
  co_await loop.delay(7ns);
  co_return 42;
}

}  // namespace

TEST_CASE("events of one instant run in the order of their ports, then of their scheduling") {
  EventLoop loop("loop");
  Log log;
  loop.at<&Log::note>(5ns, 2, log, 20);
  loop.at<&Log::note>(5ns, 1, log, 10);
  loop.at<&Log::note>(5ns, 2, log, 21);
  loop.at<&Log::note>(Time{4999}, 9, log, 1);
  sc_core::sc_start();
  CHECK(log.order == std::vector<std::uint64_t>{1, 10, 20, 21});
  CHECK(loop.now() == 5ns);
}

TEST_CASE("software resumes after the hardware's events of the instant, whatever their ports") {
  EventLoop loop("loop");
  TaskGroup tasks;
  Log log;
  const auto wait = [](EventLoop& l, Log& out, std::uint64_t mark) -> Task<void> {
    co_await l.until(5ns);
    out.note(mark);
    // What software asks of hardware at once comes before other software.
    l.at<&Log::note>(l.now(), 3, out, mark + 1);
  };
  tasks.start(wait(loop, log, 10));
  tasks.start(wait(loop, log, 20));
  loop.at<&Log::note>(5ns, UINT32_MAX - 1, log, 2);
  loop.at<&Log::note>(5ns, 0, log, 1);
  sc_core::sc_start();
  CHECK(log.order == std::vector<std::uint64_t>{1, 2, 10, 11, 20, 21});
}

TEST_CASE("an event in the past is refused") {
  EventLoop loop("loop");
  Log log;
  loop.at<&Log::note>(5ns, 0, log, 0);
  sc_core::sc_start();
  CHECK_THROWS_AS(loop.at<&Log::note>(4ns, 0, log, 0), std::logic_error);
}

TEST_CASE("an earlier event scheduled later still runs on time") {
  EventLoop loop("loop");
  Log log;
  loop.at<&Log::note>(1ms, 0, log, 2);
  loop.at<&Log::note>(3ns, 0, log, 1);
  sc_core::sc_start(sc_core::sc_time(4, sc_core::SC_NS));
  CHECK(log.order == std::vector<std::uint64_t>{1});
  sc_core::sc_start();
  CHECK(log.order == std::vector<std::uint64_t>{1, 2});
}

TEST_CASE("tasks wait, return values and wake each other") {
  EventLoop loop("loop");
  TaskGroup tasks;
  Queue<int> queue(loop);
  Semaphore one(loop, 1);
  std::vector<std::pair<int, Time>> seen;
  tasks.start([](EventLoop& l, Queue<int>& q) -> Task<void> {
    const int value = co_await answer(l);
    q.push(value);
    co_await l.delay(1us);
    q.push(value + 1);
  }(loop, queue));
  tasks.start([](EventLoop& l, Queue<int>& q, Semaphore& s, auto& out) -> Task<void> {
    co_await s.acquire();
    for (int i = 0; i < 2; ++i) {
      const int value = co_await q.take();
      out.emplace_back(value, l.now());
    }
    s.release();
  }(loop, queue, one, seen));
  tasks.start([](EventLoop& l, Semaphore& s, auto& out) -> Task<void> {
    co_await s.acquire();
    out.emplace_back(0, l.now());
  }(loop, one, seen));
  sc_core::sc_start();
  CHECK(seen == std::vector<std::pair<int, Time>>{{42, 7ns}, {43, 1007ns}, {0, 1007ns}});
  CHECK(tasks.running() == 0);
}

TEST_CASE("a task that waits for ever dies with its group") {
  EventLoop loop("loop");
  auto owner = std::make_shared<int>(1);
  {
    TaskGroup tasks;
    Signal never(loop);
    tasks.start([](Signal& s, std::shared_ptr<int> kept) -> Task<void> {
      co_await s;
      *kept = 2;
    }(never, owner));
    sc_core::sc_start();
    CHECK(owner.use_count() == 2);
  }
  CHECK(owner.use_count() == 1);
}

TEST_CASE("an exception in a task reaches the caller of the simulation") {
  EventLoop loop("loop");
  TaskGroup tasks;
  tasks.start([](EventLoop& l) -> Task<void> {
    co_await l.delay(1ns);
    throw std::runtime_error("broken");
  }(loop));
  CHECK_THROWS(sc_core::sc_start());
}
