// SPDX-License-Identifier: Apache-2.0
#include "models/sim/issue_queue.hpp"

#include <rapidcheck.h>
#include <algorithm>
#include <catch2/catch.hpp>
#include <deque>
#include <stdexcept>
#include <tuple>
#include <vector>

using namespace faultline::sim;
using namespace std::chrono_literals;

namespace {

struct Cells {
  std::uint32_t first;
  TimeSequence ready;
  std::uint64_t number = 0;

  Cells split(std::uint32_t begin) {
    Cells rest{first + begin, ready.suffix(begin), number};
    ready.drop_back(rest.ready.size());
    return rest;
  }
};

struct Owner;
struct Nothing {};
using Queue = IssueQueue<Cells, Nothing, Owner>;

struct Owner {
  TimeSequence back;
  void taken_back(Queue::Run&, const Cells&, const TimeSequence& instants) { back = instants; }
};

// A server with a buffer of few slots: a cell has one until it has been served. The n-th cell takes service(n).
class Stage {
 public:
  Stage(std::uint32_t slots, bool tells_late, std::vector<Time> service)
      : queue({slots}, *this), tells_late_(tells_late), service_(std::move(service)) {}

  // Runs until all items, which are known at an instant each, have been served.
  void run(std::deque<std::pair<Time, Cells>> items) {
    for (Time now{0}; now != kNever; now = next(items, now)) {
      while (!items.empty() && items.front().first <= now) {
        queue.submit(items.front().second);
        items.pop_front();
      }
      while (told_ < departures.size() && tell_at(told_) <= now) tell(now);
      queue.reconcile(now);
      while (!queue.empty() && std::max(queue.turn(), queue.next_slot()) <= now) {
        Queue2::Run& run = queue.issue(now);
        for (std::uint32_t i = 0; i < run.issued.size(); ++i) serve(run.item.first + i, run.issued.at(i));
        while (!tells_late_ && told_ < departures.size()) tell(now);
      }
    }
  }

  struct Details {};
  using Queue2 = IssueQueue<Cells, Details, Stage>;
  Queue2 queue;
  std::vector<Time> issued;
  std::vector<std::uint32_t> cells;
  std::vector<Time> departures;
  std::uint32_t runs_taken_back = 0;

 private:
  friend Queue2;
  Time next(const std::deque<std::pair<Time, Cells>>& items, Time now) const {
    Time first = queue.due(now);
    if (!items.empty()) first = std::min(first, items.front().first);
    if (told_ < departures.size()) first = std::min(first, tell_at(told_));
    return first;
  }
  // Late: when its service begins.
  Time tell_at(std::size_t cell) const { return tells_late_ ? departures[cell] - service_[cell] : Time{0}; }
  void serve(std::uint32_t cell, Time at) {
    const Time free = departures.empty() ? Time{0} : departures.back();
    departures.push_back(std::max(at, free) + service_[departures.size()]);
    issued.push_back(at);
    cells.push_back(cell);
  }
  void tell(Time now) {
    queue.give(TimeSequence::single(departures[told_]), issued[told_], now);
    ++told_;
  }
  void taken_back(Queue2::Run&, const Cells& rest, const TimeSequence&) {
    ++runs_taken_back;
    for (std::uint32_t i = 0; i < rest.ready.size(); ++i) {
      if (told_ == departures.size()) queue.withdraw(TimeSequence::single(departures[--told_]));
      departures.pop_back();
      issued.pop_back();
      cells.pop_back();
    }
  }

  bool tells_late_;
  std::vector<Time> service_;  // by place in the order of issue
  std::size_t told_ = 0;       // departures
};

}  // namespace

TEST_CASE("issue queue: cells whose slots do not come free in time go later, the others as they were to") {
  Owner owner;
  Queue queue({4}, owner);
  queue.submit({0, TimeSequence::regular(10ns, 0ns, 8)});
  CHECK(queue.due(5ns) == 10ns);
  const TimeSequence first = queue.issue(10ns).issued;
  CHECK(first.size() == 8);
  CHECK(first.prefix(4) == TimeSequence::regular(10ns, 0ns, 4));
  CHECK(first.at(4) > 10ns);  // a guess
  const Time doubtful = queue.doubtful_at();
  CHECK(doubtful == first.at(4) - Time{1});
  queue.reconcile(doubtful);
  CHECK(owner.back == first.suffix(4));
  CHECK(queue.head().first == 4);
  CHECK(queue.due(15ns) == kNever);
  queue.give(TimeSequence::regular(20ns, 10ns, 2), 10ns, 15ns);
  CHECK(queue.due(15ns) == 20ns);
  CHECK(queue.issue(20ns).issued == TimeSequence::regular(20ns, 10ns, 2));  // no guess after a wrong one
  queue.withdraw(TimeSequence::single(30ns));
  CHECK(queue.due(25ns) == 25ns);
  queue.reconcile(25ns);
  queue.reconcile(queue.doubtful_at());
  CHECK(owner.back == TimeSequence::single(30ns));
  CHECK(queue.head().first == 5);
  CHECK(queue.due(30ns) == kNever);
  queue.give(TimeSequence::single(40ns), 10ns, 35ns);
  CHECK(queue.due(35ns) == 40ns);
}

TEST_CASE("issue queue: a run whose slots come free as was guessed stays whole") {
  Stage stage(2, true, std::vector<Time>(64, 10ns));
  std::deque<std::pair<Time, Cells>> items;
  for (std::uint32_t i = 0; i < 4; ++i) items.push_back({0ns, Cells{16 * i, TimeSequence::regular(0ns, 0ns, 16)}});
  stage.run(items);
  CHECK(stage.departures.back() == 640ns);
  // Once, before it has seen a slot come free.
  CHECK(stage.runs_taken_back <= 1);
}

TEST_CASE("issue queue: the first slot that is known says nothing of the gap to the next") {
  Owner owner;
  Queue queue({2}, owner);
  const Time start = 24h;
  queue.submit({0, TimeSequence::regular(start, 1ns, 2)});
  queue.issue(start);
  // Only the second cell's slot is known: the first one's may come as soon as that.
  queue.give(TimeSequence::single(start + 20ns), start + 1ns, start + 5ns);
  queue.submit({2, TimeSequence::regular(start + 20ns, 0ns, 4)});
  const TimeSequence& issued = queue.issue(start + 20ns).issued;
  CHECK(issued.size() == 4);
  CHECK(issued.back() < start + 1us);
}

TEST_CASE("issue queue: what is ready earlier takes the turn of cells that have not gone, and their slots") {
  Owner owner;
  Queue queue({8}, owner);
  queue.submit({0, TimeSequence::regular(10ns, 10ns, 4)});
  CHECK(queue.issue(10ns).issued == TimeSequence::regular(10ns, 10ns, 4));
  queue.submit({100, TimeSequence::single(25ns)});
  CHECK(queue.due(15ns) == 15ns);
  queue.reconcile(15ns);
  CHECK(owner.back == TimeSequence::regular(30ns, 10ns, 2));
  CHECK(queue.head().first == 100);
  CHECK(queue.due(15ns) == 25ns);
  queue.submit({200, TimeSequence::single(60ns)});  // behind all of them
  CHECK(queue.due(15ns) == 25ns);
}

TEST_CASE("issue queue: cells that do not come after all are those that have not gone") {
  Owner owner;
  Queue queue({8}, owner);
  queue.submit({0, TimeSequence::regular(10ns, 10ns, 4)});
  queue.issue(10ns);
  queue.submit({4, TimeSequence::single(50ns)});
  const auto any = [](const Cells&) { return true; };
  queue.recall(15ns, 3, any);  // one that waits, and two that were announced
  CHECK(queue.empty());
  CHECK(queue.runs().back().issued == TimeSequence::regular(10ns, 10ns, 2));
  CHECK_THROWS_AS(queue.recall(21ns, 1, any), std::logic_error);  // that of 20 ns has gone
  CHECK_THROWS_AS(queue.recall(20ns, 2, any), std::logic_error);  // that of 20 ns may have, that of 10 ns has
  CHECK_THROWS_AS(queue.recall(20ns, 1, [](const Cells&) { return false; }), std::logic_error);
}

TEST_CASE("issue queue: every cell goes when one event for each would have sent it, however slots come free") {
  CHECK(rc::check([] {
    const auto slots = *rc::gen::inRange(1U, 10U);
    const auto late = *rc::gen::arbitrary<bool>();
    const auto count = *rc::gen::inRange(1, 8);
    // Cells by readiness and item: what the queue is to send them in.
    std::vector<std::tuple<Time, int, std::uint32_t>> order;
    std::deque<std::pair<Time, Cells>> items;
    Time known{0};
    for (int i = 0; i < count; ++i) {
      known += Time{*rc::gen::inRange<std::int64_t>(0, 300)};
      const Time first = known + Time{*rc::gen::inRange<std::int64_t>(0, 200)};
      const Time gap{*rc::gen::inRange<std::int64_t>(0, 40)};
      const auto ready = TimeSequence::regular(first, gap, *rc::gen::inRange(1U, 20U));
      for (std::uint32_t c = 0; c < ready.size(); ++c) order.emplace_back(ready.at(c), i, 100U * i + c);
      items.push_back({known, Cells{100U * i, ready}});
    }
    std::sort(order.begin(), order.end());
    // Phases of equal service, so that some guesses are right.
    std::vector<Time> service;
    while (service.size() < order.size()) {
      service.insert(service.end(), *rc::gen::inRange<std::size_t>(1, 30),
                     Time{*rc::gen::inRange<std::int64_t>(1, 50)});
    }
    Stage stage(slots, late, service);
    stage.run(items);
    RC_ASSERT(stage.issued.size() == order.size());
    std::vector<Time> served;
    Time before{0};
    for (std::size_t n = 0; n < order.size(); ++n) {
      const Time slot = n < slots ? Time{0} : served[n - slots];
      before = std::max({std::get<0>(order[n]), slot, before});
      served.push_back(std::max(before, n == 0 ? Time{0} : served.back()) + service[n]);
      RC_ASSERT(stage.cells[n] == std::get<2>(order[n]));
      RC_ASSERT(stage.issued[n] == before);
    }
  }));
}

TEST_CASE("issue queue: cells whose slots are not known are guessed one after the other, however regular they are") {
  CHECK(rc::check([] {
    const auto instant = [](std::int64_t least, std::int64_t end) { return Time{*rc::gen::inRange(least, end)}; };
    const auto slots = *rc::gen::inRange(1U, 12U);
    Owner owner;
    Queue queue({slots}, owner);
    // All slots are taken, and some of them come free with a rhythm.
    const auto before = TimeSequence::regular(Time{100}, instant(0, 30), slots);
    queue.submit({0, before});
    queue.issue(before.front());
    const std::uint32_t known = *rc::gen::inRange(1U, slots + 1);
    const Time round_trip = before.back() + instant(1, 200) - before.front();
    const auto freed = TimeSequence::regular(before.front() + round_trip, instant(0, 60), known);
    queue.give(freed, before.front(), before.back());
    const auto ready =
        TimeSequence::regular(before.back() + instant(1, 300), instant(0, 60), *rc::gen::inRange(1U, 40U));
    const Time now = std::max(ready.front(), freed.front());
    queue.submit({100, ready});
    const TimeSequence& issued = queue.issue(now).issued;

    const Time gap = known > 1 ? freed.back() - freed.at(known - 2) : Time{0};
    Time slot{0};
    Time last = now;
    for (std::uint32_t cell = 0; cell < ready.size(); ++cell) {
      if (cell < known) {
        slot = freed.at(cell);
      } else {
        const Time went = cell < slots ? before.at(cell) : issued.at(cell - slots);
        slot = std::max(slot + gap, went + round_trip);
        last = std::max(last, now + Time{1});
      }
      last = std::max({last, ready.at(cell), slot});
      RC_ASSERT(issued.at(cell) == last);
    }
  }));
}
