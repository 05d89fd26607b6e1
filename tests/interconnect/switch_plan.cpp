// SPDX-License-Identifier: Apache-2.0
// The plan of a switch against decisions on one cell at a time, made with everything known.
#include "models/interconnect/switch_plan.hpp"

#include <fmt/format.h>
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <deque>
#include <map>

using namespace faultline;
using namespace faultline::sim;
using interconnect::Outages;
using interconnect::SwitchPlan;

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
// What happens at a switch: trains whose cells come mixed, a first forecast of their arrivals and, from an instant on,
// other ones.
struct Case {
  unsigned queues, outputs;
  std::uint32_t slots;  // of each channel of each output
  Time service, spacing, to_ready, slot_return;
  bool mixed = true;
  std::vector<Outages> outages;
  std::vector<TrainOf> trains;
  std::vector<std::vector<Cell>> cells;     // by queue, as they come in the end
  std::vector<std::vector<Cell>> forecast;  // and as it is said at first
  std::vector<Time> moved_at;               // by queue
};

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

// What a router does with the plan: learns of trains and moves when they are known, announces what starts, hears of
// slots then, and tells of changes.
class Driver {
 public:
  explicit Driver(const Case& c) : case_(c), transits_(c.trains.size()) {
    for (unsigned q = 0; q < c.queues; ++q) plan_.add_queue();
    for (unsigned o = 0; o < c.outputs; ++o) {
      plan_.add_output(std::vector(kChannels, c.slots), c.mixed && c.outages[o].empty(), c.outages[o]);
    }
  }

  std::vector<std::vector<Time>> run() {
    std::vector<bool> known(case_.trains.size()), moved(case_.queues);
    for (Time now{0};; now = next_) {
      next_ = kNever;
      for (std::size_t i = 0; i < known.size(); ++i) {
        if (!known[i] && once(case_.trains[i].known_at, now)) {
          known[i] = true;
          enter(i, now);
        }
      }
      for (unsigned q = 0; q < case_.queues; ++q) {
        if (!moved[q] && once(case_.moved_at[q], now)) {
          moved[q] = true;
          move(q, now, known);
        }
      }
      if (const Time due = plan_.due(); due <= now) wake(now);
      next_ = std::min(next_, plan_.due());
      if (next_ == kNever) break;
    }
    std::vector<std::vector<Time>> departures;
    for (std::size_t i = 0; i < transits_.size(); ++i) {
      const TimeSequence& told = transits_[i].told;
      RC_ASSERT(told == transits_[i].departures);
      auto& all = departures.emplace_back();
      for (std::uint32_t k = 0; k < told.size(); ++k) all.push_back(told.at(k));
    }
    return departures;
  }

 private:
  bool once(Time at, Time now) {
    if (at <= now) return true;
    next_ = std::min(next_, at);
    return false;
  }
  TimeSequence arrivals_of(std::size_t train, const std::vector<std::vector<Cell>>& all) const {
    TimeSequence arrivals;
    for (const Cell& cell : all[case_.trains[train].queue]) {
      if (cell.train == train) arrivals.append(cell.arrival);
    }
    return arrivals;
  }
  void enter(std::size_t i, Time now) {
    const TrainOf& train = case_.trains[i];
    SwitchPlan::Transit& transit = transits_[i];
    transit.queue = train.queue;
    transit.output = train.output;
    transit.channel = train.channel;
    transit.spacing = case_.spacing;
    transit.service = case_.service;
    transit.to_ready = case_.to_ready;
    transit.arrivals = arrivals_of(i, case_.moved_at[train.queue] <= now ? case_.cells : case_.forecast);
    plan_.let_go(train.queue, now, [](auto&) {});
    if (!plan_.enter(transit, now)) return;
    transit.use = &uses_.emplace_back();
    announce(transit, transit.departures.size(), now);
  }
  void move(unsigned queue, Time now, const std::vector<bool>& known) {
    for (std::size_t i = 0; i < transits_.size(); ++i) {
      if (case_.trains[i].queue == queue && known[i]) plan_.rearrive(transits_[i], arrivals_of(i, case_.cells), now);
    }
  }
  void wake(Time now) {
    do {
      plan_.advance(now);
      const std::vector<SwitchPlan::Transit*> revised = std::move(plan_.revised());
      plan_.revised().clear();
      for (SwitchPlan::Transit* transit : revised) plan_.complete(*transit, transit->told.size());
      for (SwitchPlan::Transit* transit : revised) revise(*transit, now);
    } while (plan_.disturbed_at() != kNever);
    std::vector<SwitchPlan::Transit*> starting;
    for (SwitchPlan::Transit* transit : plan_.awaited()) {
      if (transit->start(transit->told.size()) <= now) starting.push_back(transit);
    }
    for (SwitchPlan::Transit* transit : starting) plan_.complete(*transit);
    for (SwitchPlan::Transit* transit : starting) {
      const std::uint32_t begin = transit->told.size();
      RC_ASSERT(transit->start(begin) == now);
      const bool lost = plan_.is_lost(*transit, begin);
      if (lost || transit->use == nullptr || !case_.outages[transit->output].empty()) {
        transit->use = lost ? nullptr : &uses_.emplace_back();
        if (!lost) transit->use->first = begin;
      }
      announce(*transit, plan_.piece_end(*transit, begin), now);
    }
  }
  void announce(SwitchPlan::Transit& transit, std::uint32_t end, Time now) {
    const std::uint32_t begin = transit.told.size();
    transit.told.append(transit.departures.slice(begin, end - begin));
    plan_.announced(transit);
    if (transit.use == nullptr) return;
    const TimeSequence slots = transit.told.suffix(begin).shifted(case_.slot_return);
    transit.use->freed.append(slots);
    plan_.slots_freed(transit.output, transit.channel, slots, now);
  }
  void revise(SwitchPlan::Transit& transit, Time now) {
    transit.revised = false;
    const std::uint32_t before = transit.told.size();
    std::uint32_t same = transit.told.common_prefix(transit.departures);
    const bool mixed = case_.mixed && case_.outages[transit.output].empty();
    if (!mixed) same = plan_.still_together(transit, same);
    if (same == before) return plan_.announced(transit);
    RC_ASSERT(transit.told.at(same) - case_.service >= now);
    if (SwitchPlan::SlotUse* use = transit.use; use != nullptr) {
      use->aside = {};
      if (use->freed.size() > same - use->first) {
        plan_.slots_held(transit.output, transit.channel, use->freed.suffix(same - use->first), now);
        use->freed.drop_back(use->freed.size() - (same - use->first));
      }
    }
    transit.told.drop_back(before - same);
    const std::uint32_t again = mixed ? std::min(before, transit.departures.size()) : same;
    if (again > same) {
      announce(transit, again, now);
    } else {
      plan_.announced(transit);
    }
  }

  const Case& case_;
  SwitchPlan plan_;
  std::vector<SwitchPlan::Transit> transits_;
  std::deque<SwitchPlan::SlotUse> uses_;
  Time next_{0};
};

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
    const Time from{*rc::gen::inRange(0, 5'000)};
    outages.add(from, from + Time{*rc::gen::inRange(1, 3'000)});
  }
  c.mixed = *rc::gen::inRange(0, 4) > 0;
  const bool regular = *rc::gen::arbitrary<bool>();
  for (unsigned q = 0; q < c.queues; ++q) {
    Time at{*rc::gen::inRange(1'000, 2'000)};
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
  // Forecasts differ from some cell on: its arrival, and that of all behind it, was to be earlier or later.
  c.forecast = c.cells;
  c.moved_at.assign(c.queues, kNever);
  for (unsigned q = 0; q < c.queues; ++q) {
    auto& forecast = c.forecast[q];
    if (forecast.empty() || *rc::gen::arbitrary<bool>()) continue;
    const auto from = *rc::gen::inRange<std::size_t>(0, forecast.size());
    const Time slack = forecast[from].arrival - (from == 0 ? Time{0} : forecast[from - 1].arrival) - c.spacing;
    const Time by = *rc::gen::arbitrary<bool>() ? Time{*rc::gen::inRange(1, 900)} : -slack;
    for (std::size_t i = from; i < forecast.size(); ++i) forecast[i].arrival += by;
    c.moved_at[q] = std::min(c.cells[q][from].arrival, forecast[from].arrival) - Time{*rc::gen::inRange(100, 700)};
  }
  // A train is known a while before its first cell could leave.
  for (unsigned q = 0; q < c.queues; ++q) {
    for (const auto* all : {&c.cells, &c.forecast}) {
      for (const Cell& cell : (*all)[q]) {
        TrainOf& train = c.trains[cell.train];
        train.known_at = std::min(train.known_at, cell.arrival - Time{100});
      }
    }
  }
  for (TrainOf& train : c.trains) train.known_at -= Time{*rc::gen::inRange(0, 600)};
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
    if (c.moved_at[q] != kNever) {
      text += fmt::format("\n  until {}:", c.moved_at[q].count());
      for (const Cell& cell : c.forecast[q]) text += fmt::format(" {}@{}", cell.train, cell.arrival.count());
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

}  // namespace

TEST_CASE("a plan that learns of trains, changes and slots bit by bit ends as if cells were decided on one by one") {
  REQUIRE(rc::check([] {
    const Case c = any_case();
    const auto expected = one_by_one(c);
    const auto planned = Driver(c).run();
    RC_LOG() << described(c) << "one by one\n" << described(expected) << "planned\n" << described(planned);
    RC_ASSERT(planned == expected);
  }));
}

TEST_CASE("trains of queues that compete without a pause are planned in rounds") {
  SwitchPlan plan;
  for (int i = 0; i < 3; ++i) plan.add_queue();
  plan.add_output({1000}, true, {});
  std::vector<SwitchPlan::Transit> transits(3);
  for (unsigned i = 0; i < 3; ++i) {
    transits[i].queue = i;
    transits[i].service = Time{10 + i};
    transits[i].arrivals = TimeSequence::regular(Time{100}, Time{10}, 16);
    plan.enter(transits[i], Time{0});
  }
  plan.advance(Time{100});
  plan.complete(transits[0]);
  // The turn begins behind queue 0.
  CHECK(transits[1].departures == TimeSequence::regular(Time{111}, Time{33}, 16));
  CHECK(transits[2].departures == TimeSequence::regular(Time{123}, Time{33}, 16));
  CHECK(transits[0].departures == TimeSequence::regular(Time{133}, Time{33}, 16));
  for (const auto& transit : transits) CHECK(transit.departures.segments().size() == 1);
}
