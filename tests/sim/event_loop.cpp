// SPDX-License-Identifier: Apache-2.0
#include "models/sim/event_loop.hpp"

#include <catch2/catch.hpp>

#include <optional>
#include <stdexcept>
#include <utility>
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

TEST_CASE("ports come in the order in which they are asked for") {
  EventLoop loop("loop");
  Log log;
  const Port first = loop.new_port();
  const Port second = loop.new_port();
  loop.at<&Log::note>(5ns, second, log, 2);
  loop.at<&Log::note>(5ns, first, log, 1);
  sc_core::sc_start();
  CHECK(log.order == std::vector<std::uint64_t>{1, 2});
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

TEST_CASE("what a part does at an instant is settled from its turn on, and all arrivals are when software runs") {
  struct Part {
    EventLoop& loop;
    Port port;
    std::vector<std::pair<Time, Time>> seen;  // of the part, of arrivals
    void look() { seen.emplace_back(loop.settled(port), loop.settled()); }
    void wake_lower() { loop.at<&Part::look>(loop.now(), 0, *this); }
  };
  EventLoop loop("loop");
  Part part{loop, 5, {}};
  loop.at<&Part::look>(8ns, 4, part);
  loop.at<&Part::look>(8ns, 5, part);
  loop.at<&Part::look>(8ns, 6, part);
  loop.at<&Part::look>(8ns, loop.new_arrival_port(), part);
  loop.at<&Part::wake_lower>(8ns, loop.new_core_port(), part);  // an event of a lower port, set going by software
  sc_core::sc_start();
  const Time before{7999};
  CHECK(part.seen ==
        std::vector<std::pair<Time, Time>>{{before, before}, {8ns, before}, {8ns, before}, {8ns, before}, {8ns, 8ns}});
  part.look();  // outside of events
  CHECK(part.seen.back() == std::pair<Time, Time>{8ns, 8ns});
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

TEST_CASE("a unit that is held is given back once, also by a task that fails, and may be handed on") {
  EventLoop loop("loop");
  TaskGroup tasks;
  Semaphore one(loop, 1);
  std::optional<Semaphore::Hold> handed_on;
  std::vector<Time> seen;
  tasks.start([](EventLoop& l, Semaphore& s, auto& to) -> Task<void> {
    Semaphore::Hold hold = co_await s.hold();
    co_await l.delay(1us);
    to.emplace(std::move(hold));
    co_await l.delay(1us);
    to.reset();
  }(loop, one, handed_on));
  tasks.start([](EventLoop& l, Semaphore& s, auto& out) -> Task<void> {
    const auto fails = [](EventLoop& clock, Semaphore& held, auto& times) -> Task<void> {
      const Semaphore::Hold hold = co_await held.hold();
      times.push_back(clock.now());
      co_await clock.delay(1us);
      throw std::runtime_error("in vain");
    };
    try {
      co_await fails(l, s, out);
    } catch (const std::runtime_error&) {
    }
  }(loop, one, seen));
  for (int i = 0; i < 2; ++i) {
    tasks.start([](EventLoop& l, Semaphore& s, auto& out) -> Task<void> {
      const Semaphore::Hold hold = co_await s.hold();
      out.push_back(l.now());
      co_await l.delay(1us);
    }(loop, one, seen));
  }
  sc_core::sc_start();
  CHECK(seen == std::vector<Time>{2us, 3us, 4us});
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

TEST_CASE("run goes on from instant to instant while SystemC has nothing else to do") {
  EventLoop loop("loop");
  Log log;
  std::vector<Time> seen;
  struct Chain {
    EventLoop& loop;
    std::vector<Time>& seen;
    void step(std::uint64_t left) {
      seen.push_back(loop.now());
      CHECK(sc_core::sc_time_stamp() == sc_core::sc_time(1, sc_core::SC_NS));  // of the only wake-up
      if (left > 0) loop.at<&Chain::step>(loop.now() + 2ns, 0, *this, left - 1);
    }
  } chain{loop, seen};
  loop.at<&Chain::step>(1ns, 0, chain, 3);
  loop.at<&Log::note>(100ns, 0, log, 1);
  loop.run(50ns);
  CHECK(seen == std::vector<Time>{1ns, 3ns, 5ns, 7ns});
  CHECK(log.order.empty());
  CHECK(loop.pending());
  CHECK(loop.now() == 50ns);
  loop.run(100ns);
  CHECK(log.order.empty());
  loop.run(Time{100'001});
  CHECK(log.order.size() == 1);
  CHECK_FALSE(loop.pending());
}

TEST_CASE("run does not pass what another SystemC process is about to do") {
  struct Foreign : sc_core::sc_module {
    EventLoop& loop;
    std::vector<Time> woke;
    sc_core::sc_event wake{"wake"};
    Foreign(sc_core::sc_module_name name, EventLoop& l) : sc_module(name), loop(l) {
      SC_HAS_PROCESS(Foreign);
      SC_METHOD(tick);
      sensitive << wake;
      dont_initialize();
    }
    void tick() {
      woke.push_back(loop.now());
      if (woke.size() < 3) wake.notify(sc_core::sc_time(10, sc_core::SC_NS));
    }
    void start() { wake.notify(sc_core::sc_time(3, sc_core::SC_NS)); }
  };
  EventLoop loop("loop");
  Foreign foreign("foreign", loop);
  std::vector<std::size_t> woke_before;  // how often it had woken, at each of our events
  struct Ours {
    Foreign& foreign;
    std::vector<std::size_t>& woke_before;
    void event() { woke_before.push_back(foreign.woke.size()); }
  } ours{foreign, woke_before};
  foreign.start();
  for (const Time at : {1ns, 2ns, 4ns, 12ns, 14ns, 22ns, 24ns}) loop.at<&Ours::event>(at, 0, ours);
  loop.run(1us);
  CHECK(foreign.woke == std::vector<Time>{3ns, 13ns, 23ns});
  CHECK(woke_before == std::vector<std::size_t>{0, 0, 1, 1, 2, 2, 3});
}

TEST_CASE("stop ends run behind the present event, and another run goes on from there") {
  EventLoop loop("loop");
  Log log;
  loop.at<&EventLoop::stop>(5ns, 1, loop);
  loop.at<&Log::note>(5ns, 0, log, 1);
  loop.at<&Log::note>(5ns, 2, log, 2);
  loop.run(1us);
  CHECK(log.order == std::vector<std::uint64_t>{1});
  CHECK(loop.now() == 5ns);
  CHECK(loop.pending());
  loop.at<&Log::note>(9ns, 0, log, 3);
  loop.run(8ns);
  CHECK(log.order == std::vector<std::uint64_t>{1, 2});
  loop.run(1us);
  CHECK(log.order == std::vector<std::uint64_t>{1, 2, 3});
  CHECK_FALSE(loop.pending());
}
