// SPDX-License-Identifier: Apache-2.0
// Questions find their answers in two ways, ask no ties, and notice where the two differ.
#include <catch2/catch.hpp>

#include <set>
#include <sstream>

#include "src/quiz/page.hpp"
#include "tests/support/fake_story.hpp"

using namespace faultline;
using namespace faultline::quiz;

namespace {

Told told(const std::string& strategy, double latency) {
  Told made;
  made.point.strategy = strategy;
  made.meaning = "what " + strategy + " does";
  made.story = test::FakeStory{}.json();
  made.result.metrics = {{"latency_mean", latency, "us", "mean"},
                         {"timeouts", 0, "1", "timeouts"},
                         {"pinned_bytes_peak", 0, "B", "pinned"}};
  made.result.breakdown = {{"prepare", "source", 0.5, 1, "before the post"}, {"post", "source", 1, 1, "it is posted"}};
  made.values = {{"strategy.translate", "shared"}, {"exanest.block_timeout", "1 ms"}};
  return made;
}

Scene scene() { return {told("first", 2.62), told("second", 2.0)}; }

std::optional<Question> ask(const char* kind, const Scene& of) {
  Draws draws(sim::Seed(1), "test");
  return question_kind(kind).ask(of, draws);
}

}  // namespace

TEST_CASE("each topic asks four kinds of questions or more, and each kind belongs to a topic") {
  std::set<std::string_view> used;
  std::set<unsigned> labs;
  for (const Topic& topic : topics()) {
    INFO(topic.name);
    CHECK(topic.kinds.size() >= 4);
    CHECK(labs.insert(topic.lab).second);
    for (const std::string_view kind : topic.kinds) {
      CHECK_NOTHROW(question_kind(kind));
      used.insert(kind);
    }
  }
  CHECK(labs == std::set<unsigned>{1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  CHECK(used.size() == question_kinds().size());
}

TEST_CASE("a question whose two computations differ is not sure") {
  Scene asked = scene();
  CHECK(ask("prepared", asked)->answer() == "yes");
  CHECK(ask("prepared", asked)->is_sure());
  asked.told.result.breakdown.erase(asked.told.result.breakdown.begin());
  CHECK_FALSE(ask("prepared", asked)->is_sure());

  asked = scene();
  CHECK(ask("timeouts", asked)->answer() == "0");
  CHECK(ask("timeouts", asked)->is_sure());
  asked.told.result.metrics[1].value = 2;
  CHECK_FALSE(ask("timeouts", asked)->is_sure());

  CHECK(ask("pinned", asked)->is_sure());
  asked.told.result.metrics[2].value = 4096;
  CHECK_FALSE(ask("pinned", asked)->is_sure());
}

TEST_CASE("ties are not asked") {
  Scene asked = scene();
  asked.other.story["end"] = asked.told.story["end"].get<std::int64_t>() - 620'000;
  CHECK(ask("faster", asked)->answer() == "second");
  CHECK(ask("faster", asked)->is_sure());
  asked.other.result.metrics[0].value = 2.61;
  CHECK_FALSE(ask("faster", asked));
}

TEST_CASE("the options are different, and one of them is right") {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Draws draws(sim::Seed(seed), "test");
    Scene asked = scene();
    asked.told.result.metrics[1].value = static_cast<double>(seed);
    const auto question = question_kind("timeouts").ask(asked, draws);
    REQUIRE(question);
    const std::set<std::string> options(question->options.begin(), question->options.end());
    CHECK(options.size() == question->options.size());
    CHECK(options.size() == 4);
    CHECK(question->answer() == std::to_string(seed));
  }
}

TEST_CASE("the page without answers is the page with them, less the answers") {
  const Page page{topics().front(), 7, true, {"A transfer."}, {*ask("timeouts", scene()), *ask("faster", scene())},
                  "explain"};
  const std::string without = page_text(page, false, 80);
  CHECK(without.starts_with("Quiz time (where the microseconds go; lab 1), seed 7, with a secret\n\nA transfer.\n"));
  CHECK(without.find("Answer") == std::string::npos);
  const std::string end = "\nTo see it happen:\n   explain\n";
  const std::string with = page_text(page, true, 80);
  REQUIRE(with.ends_with(end));
  std::istringstream lines(with.substr(0, with.size() - end.size()));
  std::string rest;
  bool in_answer = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("   Answer: ")) in_answer = true;
    if (line.empty()) in_answer = false;
    if (!in_answer) rest += line + "\n";
  }
  CHECK(rest == without);
  const Json json = page_json(page, false);
  CHECK_FALSE(json["questions"][0].contains("answer"));
  CHECK_FALSE(json.contains("command"));
  CHECK(page_json(page, true)["questions"][0]["answer"].get<std::string>().size() == 1);
}
