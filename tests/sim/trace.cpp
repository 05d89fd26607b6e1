// SPDX-License-Identifier: Apache-2.0
// Who is told of which step, and the order of steps and tracks.
#include "models/sim/trace.hpp"

#include <catch2/catch.hpp>

#include <array>
#include <stdexcept>

#include "tests/support/toy_nic.hpp"

using namespace faultline;
namespace toy = test::toy;

namespace {

struct Told : sim::Timeline {
  void on_step(const sim::StepRecord& record) override { names.emplace_back(record.step->name); }
  void on_slice(const sim::Slice&) override {}
  void on_level(sim::Time, const sim::Track&, std::uint64_t) override {}
  void on_link(const sim::Slice&, const void*) override {}
  std::vector<std::string_view> names;
};

using Names = std::vector<std::string_view>;

}  // namespace

TEST_CASE("Listeners are told of steps, timelines also of those for them alone") {
  sim::Trace trace;
  Told listener;
  Told timeline;
  trace.listen(listener);
  trace.record(timeline);
  for (const sim::Step step : {sim::Step(toy::kArrived), sim::Step(toy::kWritten), sim::Step(toy::kAnswered)})
    trace.report(sim::Time{1}, 0, step, {1, 0, 0});
  CHECK(listener.names == Names{"arrived", "answered"});
  CHECK(timeline.names == Names{"arrived", "written", "answered"});
}

TEST_CASE("A step has its place in the life of a transfer, or there is a bug") {
  CHECK(toy::kLife.position(toy::kBegin) == 0);
  CHECK(toy::kLife.position(toy::kDone) == 11);
  CHECK(toy::kLife.position(toy::kNoteGone) + 1 == toy::kSteps.size());
  static constexpr sim::StepInfo kForgotten{.name = "forgotten"};
  CHECK_THROWS_AS(toy::kLife.position(kForgotten), std::logic_error);
}

TEST_CASE("A copy of a step's description is the same step, one of another name is not") {
  static constexpr sim::StepInfo kCopy = toy::kArrived;
  static constexpr sim::StepInfo kSameName{.name = toy::kArrived.name, .scope = sim::Scope::node};
  static constexpr sim::StepInfo kOtherName{
      .name = "arrived_late", .scope = toy::kArrived.scope, .mark = toy::kArrived.mark, .phase = toy::kArrived.phase};
  const sim::Step arrived = toy::kArrived;
  CHECK_FALSE(arrived.has_same_address(kCopy));
  CHECK(arrived == sim::Step(kCopy));
  CHECK(arrived == sim::Step(kSameName));
  CHECK_FALSE(arrived == sim::Step(kOtherName));
  CHECK_FALSE(arrived == sim::Step());
  CHECK(sim::Step() == sim::Step());
  CHECK(toy::kLife.position(kCopy) == toy::kLife.position(toy::kArrived));
  CHECK_THROWS_AS(toy::kLife.position(kOtherName), std::logic_error);
  CHECK(sim::all_differ(std::array{arrived, sim::Step(kOtherName)}));
  CHECK_FALSE(sim::all_differ(std::array{arrived, sim::Step(kOtherName), sim::Step(kCopy)}));
}

TEST_CASE("A copy of a track's description is the same track: neither comes before the other") {
  static constexpr sim::TrackInfo kCopy = toy::kReader;
  static constexpr sim::TrackInfo kOtherName{"another reader", toy::kReader.rank};
  static constexpr sim::TrackInfo kOtherRank{toy::kReader.name, toy::kReader.rank + 1};
  const sim::Track reader{0, toy::kReader, 3};
  CHECK(reader == sim::Track{0, kCopy, 3});
  CHECK_FALSE(reader < sim::Track{0, kCopy, 3});
  CHECK_FALSE(sim::Track{0, kCopy, 3} < reader);
  CHECK(sim::Track{0, kCopy, 2} < reader);
  for (const sim::TrackKind kind : {sim::TrackKind(kOtherName), sim::TrackKind(kOtherRank)}) {
    const sim::Track other{0, kind, 3};
    CHECK_FALSE(reader == other);
    CHECK((reader < other) != (other < reader));
  }
}

TEST_CASE("Tracks are sorted by node, rank, name and number") {
  static constexpr sim::TrackInfo kSameRank{"another reader", 1};
  const std::array<sim::Track, 6> sorted{{{0, toy::kThread, 2},
                                          {0, toy::kThread, 10},
                                          {0, kSameRank, 1},
                                          {0, toy::kReader, 0},
                                          {0, toy::kRing, 0},
                                          {1, toy::kThread, 0}}};
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    for (std::size_t j = 0; j < sorted.size(); ++j) CHECK((sorted.at(i) < sorted.at(j)) == (i < j));
  }
}
