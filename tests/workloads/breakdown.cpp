// SPDX-License-Identifier: Apache-2.0
// The rows that a breakdown makes of the steps of a NIC that it does not know, and those that it shows for real ones.
#include "workloads/breakdown.hpp"

#include <catch2/catch.hpp>

#include <set>
#include <string>

#include "models/platform/nics.hpp"
#include "tests/support/toy_nic.hpp"

using namespace std::chrono_literals;
using namespace faultline;
namespace toy = test::toy;
using workloads::Breakdown;

namespace {

struct Transfer {
  Breakdown& breakdown;
  std::uint64_t id;
  sim::Time at;

  void step(sim::Time after, sim::NodeId node, sim::Step step, std::uint32_t part = 0, std::uint32_t attempt = 0) {
    at += after;
    breakdown.on_step({at, node, step, {id, part, attempt}});
  }
};

// "label, where: mean of samples"
std::vector<std::string> texts(const Breakdown& breakdown) {
  std::vector<std::string> texts;
  for (const auto& row : breakdown.rows()) {
    texts.push_back(row.step + ", " + row.where + ": " + std::to_string(static_cast<int>(row.mean_us)) + " of " +
                    std::to_string(row.samples));
  }
  return texts;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("A breakdown follows the part that was over last, with the names of its NIC") {
  Breakdown breakdown(0, toy::kLife);
  Transfer t{breakdown, 7, 10us};
  t.step(0us, 0, toy::kBegin);
  t.step(1us, 0, toy::kPosted);
  t.step(2us, 0, toy::kStarted);
  t.step(3us, 0, toy::kTurned, 1);
  t.step(4us, 1, toy::kArrived, 1);
  t.step(1us, 0, toy::kAnswered, 0);  // of the other part, which does not matter
  t.step(4us, 0, toy::kLost, 1);
  t.step(0us, 0, toy::kTurned, 1, 1);
  t.step(6us, 0, toy::kAnswered, 1, 1);
  t.step(7us, 0, toy::kTold);
  t.step(8us, 0, toy::kDone);
  breakdown.finish(7, 10us, 10us, t.at);
  CHECK(texts(breakdown) == Texts{"post, source: 1 of 1", "set-up, source: 2 of 1", "page's turn, source: 3 of 1",
                                  "wire, destination: 4 of 1", "patience, source: 5 of 1",
                                  "page's turn (resend), source: 0 of 1", "write and answer (resend), source: 6 of 1",
                                  "word, source: 7 of 1", "look, source: 8 of 1"});
}

TEST_CASE("Rows that begin together stand in the order of a transfer's life, the loss of a part last") {
  Breakdown breakdown(0, toy::kLife);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    Transfer t{breakdown, id, 0us};
    t.step(0us, 0, toy::kBegin);
    t.step(1us, 0, toy::kTurned, 0);
    if (id == 1) t.step(5us, 0, toy::kLost, 0);
    if (id == 1) t.step(0us, 0, toy::kTurned, 0, 1);
    t.step(4us, 0, toy::kAnswered, 0, id == 1 ? 1 : 0);
    t.step(1us, 0, toy::kDone);
    breakdown.finish(id, 0us, 0us, t.at);
  }
  const Texts rows = texts(breakdown);
  REQUIRE(rows.size() == 6);
  CHECK(rows[1] == "write and answer, source: 2 of 1");
  CHECK(rows[2] == "patience, source: 2 of 1");
}

TEST_CASE("A message is broken down up to the program that has it") {
  Breakdown breakdown(0, toy::kLife);
  const auto tell = [&](sim::Time at, sim::NodeId node, sim::Step step) { breakdown.on_step({at, node, step, {}}); };
  tell(0us, 0, toy::kNoteSent);  // of one whose begin was before
  tell(1us, 0, toy::kNoteBegin);
  tell(2us, 0, toy::kNoteSent);
  tell(4us, 1, toy::kNoteArrived);
  tell(7us, 1, toy::kNoteRead);
  tell(9us, 1, toy::kNoteGone);
  breakdown.finish_message(true);
  CHECK(texts(breakdown) ==
        Texts{"write note, source: 1 of 1", "note's way, destination: 2 of 1", "read note, destination: 3 of 1"});
}

TEST_CASE("Lists of steps hold each once, under names and labels of their own") {
  for (const auto& kind : platform::nic_kinds()) {
    const sim::TransferLife& life = kind->life();
    std::set<std::string_view> names;
    std::set<std::string_view> labels;
    for (const sim::Step step : life.steps) {
      CAPTURE(step->name);
      CHECK(names.insert(step->name).second);
      const sim::Phase& phase = step->phase;
      if (phase.label.empty()) continue;
      CHECK(labels.insert(phase.label).second);
      CHECK(phase.worker != sim::Worker());
      CHECK(phase.description.empty() == (step->mark == sim::Mark::for_timelines));
    }
    CHECK_FALSE(life.part.empty());
  }
}
