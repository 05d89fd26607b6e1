// SPDX-License-Identifier: Apache-2.0
// The decisions of both switches against decisions on one cell at a time, made with everything known.
#include "models/network/switch.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <map>

#include "models/network/cell_switch.hpp"
#include "models/sim/event_loop.hpp"
#include "tests/support/number_of_cases.hpp"

using namespace faultline;
using namespace faultline::sim;
using network::Outages;

namespace {

constexpr std::uint32_t kChannels = 2;

struct Cell {
  std::size_t train;
  Time arrival;
};
struct TrainOf {
  unsigned queue, output, channel;
  Time known_at;
  std::uint32_t cells = 0;
};
// What is said of a queue's cells from an instant on.
struct Forecast {
  Time from;
  std::vector<Cell> cells;
};
// What happens at a switch: trains whose cells come mixed, and what is said of their arrivals before.
struct Case {
  unsigned queues, outputs;
  std::uint32_t slots;  // of each channel of each output
  Time service, spacing, to_ready, slot_return;
  bool mixed = true;
  std::vector<Outages> outages;
  std::vector<TrainOf> trains;
  std::vector<std::vector<Cell>> cells;          // by queue, as they come in the end
  std::vector<std::vector<Forecast>> forecasts;  // by queue, one after the other, the last is true
};

TimeSequence arrivals_of(std::size_t train, const std::vector<Cell>& cells) {
  TimeSequence arrivals;
  for (const Cell& cell : cells) {
    if (cell.train == train) arrivals.append(cell.arrival);
  }
  return arrivals;
}

// One cell after the other: by train, their departures; kNever for a cell that never finds a slot.
std::vector<std::vector<Time>> one_by_one(const Case& c) {
  std::vector<std::vector<Time>> departures(c.trains.size());
  std::vector<std::size_t> next(c.queues, 0);
  std::vector<Time> queue_free(c.queues, Time{0}), output_free(c.outputs, Time{0});
  std::vector<unsigned> served(c.outputs, 0);
  std::map<std::pair<unsigned, unsigned>, std::vector<Time>> slots;
  const auto eligible = [&](unsigned q, Time from) {
    const Cell& cell = c.cells[q][next[q]];
    const TrainOf& train = c.trains[cell.train];
    const Time ready = std::max({cell.arrival + c.to_ready, queue_free[q], from});
    const Outages& outages = c.outages[train.output];
    if (outages.cover(ready)) return ready;
    auto& freed = slots[{train.output, train.channel}];
    std::sort(freed.begin(), freed.end());
    const std::size_t taken = freed.size();
    Time at = ready;
    if (taken >= c.slots) at = std::max(ready, freed[taken - c.slots]);
    return std::min(at, outages.next_change(ready));
  };
  for (;;) {
    Time first = kNever;
    unsigned output = 0;
    for (unsigned q = 0; q < c.queues; ++q) {
      if (next[q] == c.cells[q].size()) continue;
      const unsigned to = c.trains[c.cells[q][next[q]].train].output;
      const Time at = eligible(q, output_free[to]);
      if (at < first) {
        first = at;
        output = to;
      }
    }
    if (first == kNever) return departures;
    unsigned winner = c.queues;
    for (unsigned i = 1; i <= c.queues && winner == c.queues; ++i) {
      const unsigned q = (served[output] + i) % c.queues;
      if (next[q] == c.cells[q].size() || c.trains[c.cells[q][next[q]].train].output != output) continue;
      if (eligible(q, first) == first) winner = q;
    }
    const Cell& cell = c.cells[winner][next[winner]++];
    const TrainOf& train = c.trains[cell.train];
    const Time departure = first + c.service;
    departures[cell.train].push_back(departure);
    if (!c.outages[output].cover(first)) slots[{output, train.channel}].push_back(departure + c.slot_return);
    queue_free[winner] = output_free[output] = departure;
    served[output] = winner;
  }
}

Outages later(const Outages& outages, Time begin) {
  Outages moved;
  if (outages.empty()) return moved;
  const Time from = outages.next_change(Time{-1});
  moved.add(begin + from, begin + outages.next_change(from));
  return moved;
}

// What a router does with a switch: tells of trains and moves when they are known, and of slots when they are decided.
class Driver : network::Switch::Owner {
 public:
  Driver(const Case& c, EventLoop& loop, network::Switch::Foresight foresight)
      : case_(c),
        loop_(loop),
        port_(loop.new_port()),
        begin_(loop.now() + 1us),
        switch_(*this, loop, foresight),
        transits_(c.trains.size()),
        arrivals_(c.trains.size()),
        told_(c.trains.size()),
        said_(c.queues) {
    for (unsigned q = 0; q < c.queues; ++q) switch_.add_queue();
    for (unsigned o = 0; o < c.outputs; ++o) {
      switch_.add_output(std::vector(kChannels, c.slots), c.mixed && c.outages[o].empty(), later(c.outages[o], begin_));
    }
  }

  std::vector<std::vector<Time>> run() {
    for (unsigned q = 0; q < case_.queues; ++q) {
      for (std::size_t i = 1; i < case_.forecasts[q].size(); ++i) {
        const Time from = case_.forecasts[q][i].from;
        if (from < 1s) loop_.at<&Driver::say>(begin_ + from, port_, *this, q);
      }
    }
    for (std::size_t i = 0; i < transits_.size(); ++i) {
      if (case_.trains[i].known_at != kNever) {
        loop_.at<&Driver::enter>(begin_ + case_.trains[i].known_at, port_, *this, i);
      }
    }
    if (loop_.pending()) sc_core::sc_start();
    loop_.rethrow_failure();
    RC_ASSERT_FALSE(wrong_);
    std::vector<std::vector<Time>> departures;
    for (std::size_t i = 0; i < transits_.size(); ++i) {
      RC_ASSERT(told_[i] == transits_[i].departures);
      auto& all = departures.emplace_back();
      for (std::uint32_t k = 0; k < told_[i].size(); ++k) all.push_back(told_[i].at(k) - begin_);
    }
    return departures;
  }

 private:
  TimeSequence forecast(std::size_t i) const {
    const unsigned queue = case_.trains[i].queue;
    return arrivals_of(i, case_.forecasts[queue][said_[queue]].cells).shifted(begin_);
  }
  void enter(std::uint64_t i) {
    const TrainOf& train = case_.trains[i];
    network::Switch::Transit& transit = transits_[i];
    if (transit.arrivals != nullptr) return;
    arrivals_[i] = forecast(i);
    if (arrivals_[i].empty()) return;  // nothing is known of it yet
    transit.queue = train.queue;
    transit.output = train.output;
    transit.channel = train.channel;
    transit.spacing = case_.spacing;
    transit.service = case_.service;
    transit.to_ready = case_.to_ready;
    transit.arrivals = &arrivals_[i];
    switch_.arrive(transit, 0);
  }
  void say(std::uint64_t queue) {
    ++said_[queue];
    for (std::size_t i = 0; i < transits_.size(); ++i) {
      if (case_.trains[i].queue != queue) continue;
      if (transits_[i].arrivals == nullptr) {
        if (loop_.now() >= begin_ + case_.trains[i].known_at) enter(i);
        continue;
      }
      const TimeSequence now = forecast(i);
      if (now == arrivals_[i]) continue;
      const std::uint32_t same = arrivals_[i].common_prefix(now);
      arrivals_[i] = now;
      switch_.arrive(transits_[i], same);
    }
  }
  void decided(network::Switch::Transit& transit, std::uint32_t from) override {
    TimeSequence& told = told_[static_cast<std::size_t>(&transit - transits_.data())];
    const auto slots = [&] { return told.suffix(from).shifted(case_.slot_return); };
    if (from < told.size()) {
      // A cell that has started never moves.
      wrong_ |= told.at(from) - case_.service < loop_.now();
      switch_.slots_held(transit.output, transit.channel, slots());
      told.drop_back(told.size() - from);
    }
    told.append(transit.departures.suffix(from));
    if (from == told.size() || switch_.is_lost(transit, from)) return;
    switch_.slots_freed(transit.output, transit.channel, slots());
  }
  void left(network::Switch::Transit& transit) override {
    wrong_ |= !transit.departures.empty() && transit.last_start() > loop_.now();
  }

  const Case& case_;
  EventLoop& loop_;
  Port port_;
  Time begin_;
  network::Switch switch_;
  std::vector<network::Switch::Transit> transits_;
  std::vector<TimeSequence> arrivals_, told_;
  std::vector<std::size_t> said_;  // by queue: the forecast that stands
  bool wrong_ = false;             // what has started was moved, or did not start
};

// What the plain router does with its switch: tells of each cell a while before it could leave, and of its slot when
// the cell starts or when the slot comes free.
class CellDriver : network::CellSwitch::Owner {
 public:
  CellDriver(const Case& c, EventLoop& loop)
      : case_(c), loop_(loop), port_(loop.new_port()), begin_(loop.now() + 1us), switch_(*this, loop) {
    for (unsigned q = 0; q < c.queues; ++q) switch_.add_queue();
    for (unsigned o = 0; o < c.outputs; ++o) {
      switch_.add_output(std::vector(kChannels, c.slots), later(c.outages[o], begin_));
    }
    next_.resize(c.queues);
    departures_.resize(c.trains.size());
  }

  std::vector<std::vector<Time>> run() {
    for (unsigned q = 0; q < case_.queues; ++q) {
      for (const Cell& cell : case_.cells[q]) {
        const Time before{*rc::gen::inRange(0, 600)};
        const Time ready = begin_ + cell.arrival + std::min(case_.to_ready, Time{0});
        loop_.at<&CellDriver::enter>(ready - before, port_, *this, q);
      }
    }
    if (loop_.pending()) sc_core::sc_start();
    loop_.rethrow_failure();
    RC_ASSERT_FALSE(wrong_);
    return departures_;
  }

 private:
  void enter(std::uint64_t queue) {
    const Cell& cell = case_.cells[queue][next_[queue]++];
    const TrainOf& train = case_.trains[cell.train];
    switch_.arrive(train.queue, {nullptr, nullptr, nullptr, begin_ + cell.arrival + case_.to_ready, case_.service,
                                 static_cast<std::uint16_t>(cell.train), static_cast<std::uint16_t>(train.output),
                                 static_cast<std::uint16_t>(train.channel), kCellBytes});
  }
  void starts(unsigned queue, const network::CellSwitch::Cell& cell, Time departure, bool lost) override {
    wrong_ |= case_.trains[cell.input].queue != queue || departure != loop_.now() + case_.service;
    departures_[cell.input].push_back(departure - begin_);
    if (lost) return;
    const Time freed = departure + case_.slot_return;
    if (++slots_ % 3 > 0) return switch_.slot_freed(cell.output, cell.channel, freed);
    loop_.at<&CellDriver::free>(freed, port_, *this, cell.output * kChannels + cell.channel);
  }
  void free(std::uint64_t lane) {
    switch_.slot_freed(static_cast<unsigned>(lane / kChannels), static_cast<unsigned>(lane % kChannels), loop_.now());
  }

  const Case& case_;
  EventLoop& loop_;
  Port port_;
  Time begin_;
  network::CellSwitch switch_;
  std::vector<std::size_t> next_;  // by queue
  std::vector<std::vector<Time>> departures_;
  unsigned slots_ = 0;  // that were freed
  bool wrong_ = false;
};

// From some cell on all come earlier or later; or more do at the end, or fewer, which may leave a train without any.
std::vector<Cell> other_than(std::vector<Cell> cells, Time spacing) {
  const auto from = *rc::gen::inRange<std::size_t>(0, cells.size());
  switch (*rc::gen::inRange(0, 3)) {
    case 0: {
      const Time slack = from == 0 ? Time{900} : cells[from].arrival - cells[from - 1].arrival - spacing;
      const Time by = *rc::gen::arbitrary<bool>() ? Time{*rc::gen::inRange(1, 900)} : -slack;
      for (std::size_t i = from; i < cells.size(); ++i) cells[i].arrival += by;
      break;
    }
    case 1: {
      const std::size_t train = cells.back().train;
      for (int more = *rc::gen::inRange(1, 9); more > 0; --more) {
        cells.push_back({train, cells.back().arrival + spacing});
      }
      break;
    }
    default: cells.resize(from);
  }
  return cells;
}

// The last is what happens. News of a cell come before it can leave, and news of a train before the last of its cells
// that are known has arrived: whoever tells of it is still at it.
std::vector<Forecast> any_forecasts(const std::vector<Cell>& cells, Time spacing) {
  std::vector<Forecast> all{{Time{0}, cells}};
  if (cells.empty()) return all;
  for (int earlier = *rc::gen::inRange(0, 3); earlier > 0; --earlier) {
    Forecast& next = all.front();
    std::vector<Cell> other = other_than(cells, spacing);
    next.from = kNever;
    for (std::size_t i = 0; i < std::max(other.size(), next.cells.size()); ++i) {
      const Cell* was = i < other.size() ? &other[i] : nullptr;
      const Cell* is = i < next.cells.size() ? &next.cells[i] : nullptr;
      if (was != nullptr && is != nullptr && was->train == is->train && was->arrival == is->arrival) continue;
      for (const Cell* cell : {was, is}) {
        if (cell == nullptr) continue;
        next.from = std::min(next.from, cell->arrival - Time{*rc::gen::inRange(100, 700)});
        const TimeSequence known = arrivals_of(cell->train, other);
        if (!known.empty()) next.from = std::min(next.from, known.back());
      }
    }
    if (all.size() > 1) next.from = std::min(next.from, all[1].from - Time{1});
    all.insert(all.begin(), {Time{0}, std::move(other)});
  }
  return all;
}

// Cells that come one after the other, in trains that come one after the other or mixed, at random gaps or none.
Case any_case() {
  Case c;
  c.queues = *rc::gen::inRange(1U, 5U);
  c.outputs = *rc::gen::inRange(1U, 4U);
  c.slots = *rc::gen::element(1U, 3U, 8U, 1000U);
  c.service = Time{*rc::gen::element(100, 100, 70, 130)};
  c.spacing = Time{*rc::gen::element(100, 100, 130)};
  c.to_ready = Time{*rc::gen::element(40, 0, -60)};
  c.slot_return = Time{*rc::gen::element(1, 100, 777)};
  c.outages.resize(c.outputs);
  c.cells.resize(c.queues);
  for (Outages& outages : c.outages) {
    if (*rc::gen::inRange(0, 6) > 0) continue;
    const Time from{*rc::gen::inRange(2'000, 7'000)};
    outages.add(from, from + Time{*rc::gen::inRange(1, 3'000)});
  }
  c.mixed = *rc::gen::inRange(0, 4) > 0;
  const bool regular = *rc::gen::arbitrary<bool>();
  for (unsigned q = 0; q < c.queues; ++q) {
    Time at{*rc::gen::inRange(3'000, 4'000)};
    const int groups = *rc::gen::inRange(0, 4);
    for (int group = 0; group < groups; ++group) {
      const std::size_t first = c.trains.size();
      const auto abreast = *rc::gen::inRange<std::size_t>(1, 4);
      for (std::size_t i = 0; i < abreast; ++i) {
        c.trains.push_back({q, *rc::gen::inRange(0U, c.outputs), *rc::gen::inRange(0U, kChannels), kNever});
      }
      const auto cells = *rc::gen::inRange<std::size_t>(abreast, 20 * abreast);
      for (std::size_t i = 0; i < cells; ++i) {
        const std::size_t train =
            first + (regular || i < abreast ? i % abreast : *rc::gen::inRange<std::size_t>(0, abreast));
        c.cells[q].push_back({train, at});
        ++c.trains[train].cells;
        at += c.spacing + Time{regular || *rc::gen::inRange(0, 3) > 0 ? 0 : *rc::gen::inRange(0, 300)};
      }
      at += Time{*rc::gen::element(0, 50, 2'000)};
    }
  }
  for (const auto& cells : c.cells) c.forecasts.push_back(any_forecasts(cells, c.spacing));
  // A train is known a while before its first cell could leave.
  for (std::size_t i = 0; i < c.trains.size(); ++i) {
    for (const Forecast& said : c.forecasts[c.trains[i].queue]) {
      const TimeSequence arrivals = arrivals_of(i, said.cells);
      if (!arrivals.empty()) c.trains[i].known_at = std::min(c.trains[i].known_at, arrivals.front() - Time{100});
    }
    c.trains[i].known_at -= Time{*rc::gen::inRange(0, 600)};
  }
  return c;
}

std::string described(const Case& c) {
  std::string text =
      fmt::format("{} slots, service {}, spacing {}, to_ready {}, slot_return {}, {}\n", c.slots, c.service.count(),
                  c.spacing.count(), c.to_ready.count(), c.slot_return.count(), c.mixed ? "mixed" : "apart");
  for (std::size_t i = 0; i < c.trains.size(); ++i) {
    const TrainOf& train = c.trains[i];
    text += fmt::format("train {}: queue {} output {} channel {}, known at {}\n", i, train.queue, train.output,
                        train.channel, train.known_at.count());
  }
  for (unsigned o = 0; o < c.outputs; ++o) {
    if (c.outages[o].empty()) continue;
    const Time from = c.outages[o].next_change(Time{-1});
    text += fmt::format("output {} dead from {} to {}\n", o, from.count(), c.outages[o].next_change(from).count());
  }
  for (unsigned q = 0; q < c.queues; ++q) {
    text += fmt::format("queue {}:", q);
    for (const Cell& cell : c.cells[q]) text += fmt::format(" {}@{}", cell.train, cell.arrival.count());
    for (const Forecast& said : c.forecasts[q]) {
      text += fmt::format("\n  said at {}:", said.from.count());
      for (const Cell& cell : said.cells) text += fmt::format(" {}@{}", cell.train, cell.arrival.count());
    }
    text += "\n";
  }
  return text;
}
std::string described(const std::vector<std::vector<Time>>& departures) {
  std::string text;
  for (std::size_t i = 0; i < departures.size(); ++i) {
    text += fmt::format("train {}:", i);
    for (const Time t : departures[i]) text += fmt::format(" {}", t.count());
    text += "\n";
  }
  return text;
}

// Random cases against the list; decide(case, loop) are the ways in which switches decide on one.
template <typename... Decide>
bool decides_as_the_list(Decide... decide) {
  test::set_number_of_cases(2000);
  EventLoop loop("loop");
  const auto compare = [](const Case& c, const auto& expected, const auto& decided) {
    RC_LOG() << described(c) << "expected\n" << described(expected) << "decided\n" << described(decided);
    RC_ASSERT(decided == expected);
  };
  return rc::check([&] {
    const Case c = any_case();
    const auto expected = one_by_one(c);
    (compare(c, expected, decide(c, loop)), ...);
  });
}

}  // namespace

TEST_CASE("a switch that learns of trains, changes and slots bit by bit ends as if cells were decided on one by one") {
  using enum network::Switch::Foresight;
  CHECK(decides_as_the_list([](const Case& c, EventLoop& loop) { return Driver(c, loop, begun).run(); },
                            [](const Case& c, EventLoop& loop) { return Driver(c, loop, at_once).run(); }));
}

TEST_CASE("a switch for single cells decides as if it knew everything") {
  CHECK(decides_as_the_list([](const Case& c, EventLoop& loop) { return CellDriver(c, loop).run(); }));
}
