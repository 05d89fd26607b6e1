// SPDX-License-Identifier: Apache-2.0
// What concerns single cells of trains at the DDR controller: who goes first at one instant, and which accesses are
// stale. Trains are compared with single cells and with the rule, cell by cell.
#include <catch2/catch.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <tuple>
#include <vector>

#include "models/sim/task.hpp"
#include "tests/soc/ddr_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using namespace std::chrono_literals;
using sim::Time;
using sim::TimeSequence;

namespace {

using Answer = MemoryMaster::Answer;

void run_until(Time when) { sc_core::sc_start(sim::to_sc_time(when) - sc_core::sc_time_stamp()); }

enum class Kind { read, write, bulk };

struct Traffic {
  unsigned inlet;
  Kind kind;
  std::uint32_t begins;  // steps behind the others
  std::uint32_t cells;
};

// Each has cells that come at the instants of others', and none is there first in the order in which they are to go.
constexpr std::array<Traffic, 5> kTraffic{{{0, Kind::bulk, 0, 6},
                                           {0, Kind::write, 1, 6},
                                           {0, Kind::read, 2, 4},
                                           {1, Kind::write, 0, 7},
                                           {1, Kind::read, 1, 6}}};
using Order = std::array<std::size_t, kTraffic.size()>;

TimeSequence arrivals(const Traffic& traffic, Time begin, Time step) {
  return TimeSequence::regular(begin + traffic.begins * step, step, traffic.cells);
}

// When the controller answers all cells, by traffic.
std::vector<TimeSequence> expected(Time begin, Time step) {
  struct Cell {
    Time at;
    bool bulk;
    unsigned inlet;
    bool write;
    std::size_t traffic;
    auto operator<=>(const Cell&) const = default;
  };
  std::vector<Cell> cells;
  for (std::size_t t = 0; t < kTraffic.size(); ++t) {
    const Traffic& traffic = kTraffic[t];
    for (std::uint32_t i = 0; i < traffic.cells; ++i) {
      cells.push_back({arrivals(traffic, begin, step).at(i), traffic.kind == Kind::bulk, traffic.inlet,
                       traffic.kind == Kind::write, t});
    }
  }
  std::sort(cells.begin(), cells.end());
  std::vector<TimeSequence> responses(kTraffic.size());
  Time free{0};
  for (const Cell& cell : cells) {
    free = std::max(free, cell.at) + kCell;
    responses[cell.traffic].append(free + (cell.bulk ? Time{0} : kLatency));
  }
  return responses;
}

// The same, when all is announced in this order.
std::vector<TimeSequence> answered(Bench& bench, const Order& order, Time begin, Time step, bool singly) {
  std::array<std::vector<const Answer*>, kTraffic.size()> answers;
  for (const std::size_t t : order) {
    const Traffic& traffic = kTraffic[t];
    MemoryMaster& master = traffic.inlet == 0 ? bench.first : bench.second;
    const TimeSequence all = arrivals(traffic, begin, step);
    const std::uint32_t most = singly ? 1 : traffic.cells;
    for (std::uint32_t i = 0; i < traffic.cells; i += most) {
      const std::uint64_t address = t * kPage + i * 256;
      const TimeSequence times = all.slice(i, most);
      answers[t].push_back(traffic.kind == Kind::read    ? &master.read(address, times, 256)
                           : traffic.kind == Kind::write ? &master.write(address, times, 256, {})
                                                         : &master.bulk(address, times, 256));
    }
  }
  sc_core::sc_start();
  std::vector<TimeSequence> responses;
  for (const auto& of_one : answers) {
    TimeSequence& sequence = responses.emplace_back();
    for (const Answer* answer : of_one) sequence.append(answer->responses);
  }
  return responses;
}

// A train of sixteen reads; the mapping of its frame changes at one instant, and before one cell it and those behind it
// are recalled.
struct Remapping {
  std::vector<Time> changes;
  std::uint32_t kept = 16;
  Time begin{0};

  TimeSequence times() const { return TimeSequence::regular(begin, 50ns, 16); }
  Time recalled_at() const { return times().at(kept) - 10ns; }
  // Those that come behind the first change. Software, which changes mappings, comes behind the cells of the instant.
  std::uint32_t stale() const {
    const std::uint32_t before = changes.empty() ? 16 : times().count_before(changes.front() + Time{1});
    return kept - std::min(kept, before);
  }
};

sim::Task<void> change(Bench& bench, Time when, std::uint64_t frame) {
  co_await bench.node.loop.until(when);
  bench.ddr.frames().mapping_changed(frame);
}
sim::Task<void> recall(Bench& bench, Time when, const Answer& answer, std::uint32_t kept) {
  co_await bench.node.loop.until(when);
  bench.first.recall(answer, kept);
}

// How many accesses the controller counted as stale, and how many bytes as read.
struct Counted {
  std::uint64_t stale, bytes;
  bool operator==(const Counted&) const = default;
};
Counted counted(const Bench& bench) {
  return {bench.node.counted("memory.stale_accesses"), bench.node.counted("memory.read_bytes")};
}

Counted run(Bench& bench, const Remapping& story, bool singly) {
  const Counted before = counted(bench);
  const std::uint64_t walked = bench.ddr.frames().epoch();
  run_until(story.begin - 1us);
  sim::TaskGroup tasks;
  for (const Time when : story.changes) tasks.start(change(bench, when, 0));
  if (singly) {
    for (std::uint32_t i = 0; i < story.kept; ++i) {
      bench.first.read(i * 256, TimeSequence::single(story.times().at(i)), 256, walked);
    }
  } else {
    const Answer& train = bench.first.read(0, story.times(), 256, walked);
    if (story.kept < 16) tasks.start(recall(bench, story.recalled_at(), train, story.kept));
  }
  sc_core::sc_start();
  const Counted after = counted(bench);
  return {after.stale - before.stale, after.bytes - before.bytes};
}

}  // namespace

TEST_CASE("DDR: at one instant reads go before writes of an inlet, inlets by number, and bulk traffic goes last") {
  Bench bench;
  Time begin = 1us;
  // Cells queue; the queue is empty at each instant; it is just not.
  for (const Time step : {Time{40ns}, Time{80ns}, Time{80ns} - Time{1}}) {
    const std::vector<TimeSequence> wanted = expected(Time{0}, step);
    Order order{0, 1, 2, 3, 4};
    do {
      INFO("step " << step.count() << ", order " << order[0] << order[1] << order[2] << order[3] << order[4]);
      for (const bool singly : {false, true}) {
        begin += 10us;
        std::vector<TimeSequence> responses = answered(bench, order, begin, step, singly);
        for (TimeSequence& of_one : responses) of_one = of_one.shifted(-begin);
        CHECK(responses == wanted);
      }
    } while (std::next_permutation(order.begin(), order.end()));
  }
}

TEST_CASE("DDR: a mapping that changes makes exactly the cells behind it stale, of which those that come are counted") {
  Bench bench;
  bench.ddr.frames().mapping_changed(0);
  // Whoever listens is told of these cells, each when it arrives.
  using Told = std::vector<std::pair<Time, std::uint64_t>>;
  Told told;
  bench.ddr.on_stale([&](const soc::StaleCell& stale) {
    CHECK((stale.bytes == 256 && !stale.write));
    told.emplace_back(bench.node.loop.now(), stale.address);
  });
  Time begin = 0us;
  for (const std::uint32_t cell : {0U, 1U, 5U, 6U, 15U}) {
    for (const Time early : {Time{0}, Time{1}}) {
      for (const std::uint32_t kept : {1U, 2U, 5U, 6U, 9U, 15U, 16U}) {
        for (const bool singly : {false, true}) {
          Remapping story{{}, kept, begin += 10us};
          story.changes = {story.times().at(cell) - early};
          INFO("change at cell " << cell << " - " << early.count() << " ps, kept " << kept << ", singly " << singly);
          told.clear();
          CHECK(run(bench, story, singly) == Counted{story.stale(), kept * 256});
          Told wanted;
          for (std::uint32_t i = kept - story.stale(); i < kept; ++i) wanted.emplace_back(story.times().at(i), i * 256);
          CHECK(told == wanted);
        }
      }
    }
  }
}

TEST_CASE("DDR: a cell is stale once, however often the mapping changes, and not when another frame's does") {
  Bench bench;
  bench.ddr.frames().mapping_changed(0);
  for (const bool singly : {false, true}) {
    Remapping story{{}, 12, singly ? 20us : 10us};
    story.changes = {story.times().at(3), story.times().at(7), story.times().at(9)};
    CHECK(run(bench, story, singly) == Counted{12 - 4, 12 * 256});
  }
  // Of two trains at once, the one whose translation was walked after the first change meets the second change only.
  const TimeSequence times = TimeSequence::regular(100us, 50ns, 16);
  const std::uint64_t walked = bench.ddr.frames().epoch();
  const Counted before = counted(bench);
  run_until(99us);
  sim::TaskGroup tasks;
  for (const std::uint64_t other : {1, 2}) tasks.start(change(bench, times.at(1), other * kPage));
  tasks.start(change(bench, times.at(3), 0));
  tasks.start(change(bench, times.at(12), 0));
  bench.first.read(0, times, 256, walked);
  bench.second.read(0, times.suffix(4), 256, walked + 3);
  bench.second.read(3 * kPage, times, 256, walked);
  sc_core::sc_start();
  CHECK(counted(bench).stale - before.stale == (16 - 4) + (16 - 13));
}

TEST_CASE("DDR: of a train over several frames the cells behind a frame's change are stale") {
  Bench bench;
  const std::uint64_t walked = bench.ddr.frames().epoch();
  // Cells 0 to 3 go to frame 0, 4 to 19 to frame 1, 20 to 29 to frame 2. Frame 0 is remapped when it has all of its
  // cells, frame 1 with its sixth, and frame 2 before its first; the last four cells of all are recalled.
  const TimeSequence times = TimeSequence::regular(10us, 50ns, 30);
  sim::TaskGroup tasks;
  tasks.start(change(bench, times.at(3), 0));
  tasks.start(change(bench, times.at(9), kPage));
  tasks.start(change(bench, times.at(12), kPage));
  tasks.start(change(bench, times.at(15), 2 * kPage));
  const Answer& train = bench.first.read(kPage - 4 * 256, times, 256, walked);
  tasks.start(recall(bench, times.at(20) - 10ns, train, 26));
  sc_core::sc_start();
  CHECK(counted(bench) == Counted{(20 - 10) + (26 - 20), 26 * 256});
  // A frame that had changed before is stale from its first cell on.
  bench.first.read(2 * kPage - 256, TimeSequence::regular(20us, 50ns, 3), 256, walked + 3);
  sc_core::sc_start();
  CHECK(counted(bench).stale == 16 + 2);
}
