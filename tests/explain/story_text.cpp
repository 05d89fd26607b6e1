// SPDX-License-Identifier: Apache-2.0
// A story as text, word for word.
#include "src/explain/story_text.hpp"

#include <catch2/catch.hpp>

#include "tests/support/fake_story.hpp"

using namespace faultline;
using namespace faultline::explain;
using Json = nlohmann::ordered_json;

namespace {

Json document(std::vector<test::FakeStory> told) {
  Json made{{"title", "One RDMA write"},
            {"experiment", "mine"},
            {"seed", 1},
            {"terms", {{"SMMU", "It translates."}}},
            {"parameters", {{"cpu.cores", {{"value", "4"}}}}},
            {"stories", Json::array()}};
  for (const auto& story : told) {
    Json one{
        {"strategy", made["stories"].empty() ? "first" : "second"}, {"meaning", "what it does"}, {"point", "resident"}};
    one.update(story.json());
    made["stories"].push_back(one);
  }
  return made;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; at += part.size()) ++found;
  return found;
}

}  // namespace

TEST_CASE("a story is its head, its sentences with times, and the time by cause") {
  const std::string text = story_text(document({{}}), {.width = 100});
  INFO(text);
  CHECK(has(text, "One RDMA write\nstrategy first: what it does\n"));
  CHECK(has(text, "transfer 1 of experiment mine: resident; seed 1\n"));
  CHECK(has(text, "source: 4 KiB at 0x1000 of 'sender' on node 0, 1 page, translated by the process's own page table"));
  CHECK(has(text, "It took 2.620 us, from the program's first step for it to its last.\n"));
  CHECK(has(text, "       1.120      1.000  node 1 kernel   The page is brought.\n"));
  CHECK(has(text, "       0.120             node 1 SMMU     PAGE FAULT of the device, number 1.\n"));
  CHECK(has(text, "the transfer itself"));
  CHECK_FALSE(has(text, "met no page fault"));
  CHECK_FALSE(has(text, "cpu.cores"));
  CHECK(has(story_text(document({{}}), {.width = 100, .costs = true}), "The page is brought. [7 cpu.cores = 4]"));
}

TEST_CASE("steps stand below the cause that they make up, where there are several") {
  Json told = document({{}});
  Json& totals = told["stories"][0]["totals"];
  totals[0]["steps"] = {{{"step", "walk"}, {"ps", 1'000'000}}, {{"step", "record"}, {"ps", 1'120'000}}};
  totals[1]["steps"] = {{{"step", "all of it"}, {"ps", 500'000}}};
  const std::string text = story_text(told, {.width = 100});
  INFO(text);
  CHECK(has(text, "\n  of it: walk"));
  CHECK(has(text, "\n  of it: record"));
  CHECK_FALSE(has(text, "all of it"));
}

TEST_CASE("what comes several times in a row is told once") {
  test::FakeStory six;
  six.tries = 6;
  const std::string text = story_text(document({six}), {});
  INFO(text);
  CHECK(count(text, "PAGE FAULT") == 1);
  CHECK(has(text, "... and so 5 more times (10 lines; --all shows them)."));
  CHECK(count(story_text(document({six}), {.all = true}), "PAGE FAULT") == 6);
  test::FakeStory two;
  two.tries = 2;
  CHECK(count(story_text(document({two}), {}), "PAGE FAULT") == 2);
}

TEST_CASE("a transfer that did not end well, or met no fault, is told as such") {
  test::FakeStory story;
  story.faults = false;
  CHECK(has(story_text(document({story}), {}), "The device met no page fault"));
  for (const auto& [outcome, words] :
       {std::pair("failed", "It FAILED after 2.620 us: why not."), std::pair("unfinished", "It did NOT END"),
        std::pair("refused", "It was REFUSED")}) {
    story.outcome = outcome;
    story.why = "why not";
    CHECK(has(story_text(document({story}), {}), words));
  }
}

TEST_CASE("two stories stand side by side on one clock") {
  test::FakeStory clean;
  clean.faults = false;
  const std::string text = comparison_text(document({{}, clean}), {.width = 120});
  INFO(text);
  CHECK(has(text, "One RDMA write, under two strategies"));
  CHECK(has(text, "strategy first: what it does"));
  CHECK(has(text, "strategy second: what it does"));
  CHECK(count(text, "The program posts the transfer.") == 2);
  CHECK(count(text, "\n       0.000  ") == 1);
  CHECK(has(text, "first  share  second  share"));
  for (std::size_t at = 0; at < text.size(); at = text.find('\n', at) + 1) {
    CHECK(text.find('\n', at) - at <= 120);
    if (text.find('\n', at) == std::string::npos) break;
  }
}

TEST_CASE("terms are told with where the glossary has them") {
  CHECK(terms_text(document({{}}), {}) == "Terms (docs/glossary.md):\n  SMMU (#smmu): It translates.\n");
}
