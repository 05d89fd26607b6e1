// SPDX-License-Identifier: Apache-2.0
// Trains that go over page boundaries: where they part, and that every cell meets what it would meet alone.
#include "tests/support/smmu_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kRoot = 0x10000;
constexpr std::uint64_t kHuge = 0x4020'0000;  // a 2 MiB page
constexpr std::uint64_t kVa = 0x5000'0000;    // small pages
constexpr std::uint64_t kPage = sim::kPageBytes;
constexpr std::uint32_t kCellsOfPage = 16;

// The same story in trains and cell by cell.
struct Pair {
  SmmuBench trains{{}, 64, "trains_"};
  SmmuBench cells{{}, 1, "cells_"};
  std::vector<std::array<const Answer*, 2>> answers;

  template <typename Do>
  void both(Do what) {
    for (SmmuBench* b : {&trains, &cells}) what(*b);
  }
  void send(bool write, std::uint64_t va, const TimeSequence& times) {
    answers.push_back({&trains.send(0, write, va, times), &cells.send(0, write, va, times)});
  }
  void check(Time end) {
    trains.run_until(end);
    for (std::size_t i = 0; i < answers.size(); ++i) {
      CAPTURE(i);
      CHECK(answers[i][0]->at == answers[i][1]->at);
      CHECK(answers[i][0]->status == answers[i][1]->status);
      CHECK(answers[i][0]->at.back() < sim::kNever);
    }
    for (const char* counter : {"translations", "micro_tlb_hits", "micro_tlb_misses", "merged_misses", "walks",
                                "walk_reads", "translation_faults", "multi", "terminated", "held_off"}) {
      CAPTURE(counter);
      CHECK(trains.count(counter) == cells.count(counter));
    }
  }
};

void check_parts(bool write) {
  Pair pair;
  pair.both([](SmmuBench& b) {
    b.set_up_bank(0, 0, kRoot);
    b.map(kRoot, kHuge, 0x6020'0000, SmmuBench::kUserPage, 2);
    for (unsigned page = 0; page < 4; ++page) b.map(kRoot, kVa + page * kPage, 0x7000'0000 + (3 - page) * 2 * kPage);
  });
  pair.send(false, kHuge, TimeSequence::single(1us));
  pair.send(write, kHuge + kPage - 256, TimeSequence::regular(10us, 20ns, 50));
  pair.send(write, kVa + kPage - 256, TimeSequence::regular(20us, 20ns, 40));  // of the last: 7 cells
  pair.check(40us);

  const auto& seen = pair.trains.ddr.seen;
  REQUIRE(seen.size() == 1 + 1 + 4);
  CHECK(seen[1].address == 0x6020'0000 + kPage - 256);
  CHECK(seen[1].times.size() == 50);
  for (unsigned page = 0; page < 4; ++page) {
    CAPTURE(page);
    const auto part = std::find_if(seen.begin() + 2, seen.end(), [page](const auto& s) {
      return s.address / kPage == (0x7000'0000 + (3 - page) * 2 * kPage) / kPage;
    });
    REQUIRE(part != seen.end());
    CHECK(part->times.size() == (page == 0 ? 1 : page == 3 ? 7 : kCellsOfPage));
  }
}

}  // namespace

TEST_CASE("reads over small pages part at each, those within a huge page stay whole") { check_parts(false); }
TEST_CASE("writes over small pages part at each, those within a huge page stay whole") { check_parts(true); }

TEST_CASE("cells of one instant keep their order where their train parts") {
  Pair pair;
  pair.both([](SmmuBench& b) {
    b.set_up_bank(0, 0, kRoot);
    b.map(kRoot, kVa, 0x7000'0000);
  });
  // The read of the absent page that comes first is recorded, though it parts from the train before it.
  pair.send(false, kVa + kPage - 256, TimeSequence::regular(1us, 0ns, 2));
  pair.send(false, kVa + kPage + 256, TimeSequence::single(1us));
  pair.check(5us);
  const auto fault_address = [](SmmuBench& b) { return b.read(SmmuBench::cb(0, reg::cb::kFAR), 8); };
  CHECK(fault_address(pair.trains) == kVa + kPage);
  CHECK(fault_address(pair.cells) == kVa + kPage);
}

TEST_CASE("the entry of a huge page answers what comes to its other pages from then on") {
  Pair pair;
  pair.both([](SmmuBench& b) {
    b.set_up_bank(0, 0, kRoot);
    b.map(kRoot, kHuge, 0x6020'0000, SmmuBench::kUserPage, 2);
  });
  // Two pages miss; the walk of the first ends before that of the second, of whose cells some come in between.
  pair.send(false, kHuge, TimeSequence::single(1us));
  pair.send(false, kHuge + kPage, TimeSequence::regular(1us + 105ns, 20ns, 16));
  pair.check(10us);
  CHECK(pair.trains.count("walks") == 2);
  CHECK(pair.trains.ddr.seen.size() == 3);  // the second train came in two parts
}

namespace {

// A block that is split between the walks of its pages 0 and 5, so that one entry is the block's and one a page's. How
// many cells of a train over pages 4 to 6 that begins then go where page 5 is now?
std::uint32_t cells_by_own_entry(SmmuBench& b, Time after_first_entry) {
  constexpr std::uint64_t kElsewhere = 0x7000'0000;
  b.set_up_bank(0, 0, kRoot);
  b.map(kRoot, kHuge, 0x6020'0000, SmmuBench::kUserPage, 2);
  b.read_cell(0, kHuge, 1us);
  b.read_cell(0, kHuge + 5 * kPage, 1us + 100ns);
  b.run_until(b.walk_end(1us, 1) + 50ns);  // the first walk has asked for the block's descriptor, the second has not
  b.map(kRoot, kHuge + 5 * kPage, kElsewhere);
  b.send(0, false, kHuge + 4 * kPage,
         TimeSequence::regular(b.walk_done(1us, 2) + after_first_entry, 20ns, 3 * kCellsOfPage));
  b.run_until(10us);
  std::uint32_t cells = 0;
  for (const auto& seen : b.ddr.seen) cells += seen.address >= kElsewhere ? seen.times.size() : 0;
  return cells - 1;  // that of the walk
}

}  // namespace

TEST_CASE("an entry for a page of a block that comes while a train uses the block's entry takes over its cells") {
  SmmuBench b({}, 64);
  CHECK(cells_by_own_entry(b, 1ns) == kCellsOfPage);
}
TEST_CASE("an entry for a page of a block keeps trains that use the block's entry from it") {
  SmmuBench b({}, 64);
  CHECK(cells_by_own_entry(b, 2us) == kCellsOfPage);
}
