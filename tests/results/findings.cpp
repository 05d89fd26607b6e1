// SPDX-License-Identifier: Apache-2.0
// The sentences that a run begins with, on results whose answer is known.
#include <catch2/catch.hpp>

#include <functional>

#include "src/results/findings.hpp"
#include "tests/results/made_run.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::results;
using namespace faultline::test;

namespace {

const std::string kTwo = "strategies = [\"resident\", \"fault/touch-ahead\"]\n";
const std::string kTwoBySize = kTwo + "axes.workload.size = [\"64 B\", \"4 KiB\", \"64 KiB\"]\n";
const std::string kThree = "strategies = [\"resident\", \"fault/touch-ahead\", \"fault/touch-a-page\"]\n";
const std::string kThreeBySize = kThree + "axes.workload.size = [\"64 B\", \"4 KiB\", \"64 KiB\"]\n";
const std::string kOneRun =
    "Values within 1 % of each other count as alike; points that drew random numbers ran once, so nobody knows how far "
    "another seed would move them (--repetitions)";

using Texts = std::vector<std::string>;

// A run whose metrics are set by hand.
struct ToldRun {
  explicit ToldRun(const std::string& text) : run(sandbox, text) {}

  // Of all points in their order: strategy by strategy.
  void set(const std::string& name, const std::vector<double>& values) {
    REQUIRE(values.size() == run.points.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      auto& metrics = run.outcomes[i].result.metrics;
      std::erase_if(metrics, [&](const auto& metric) { return metric.name == name; });
      metrics.push_back({name, values[i], "us", ""});
    }
  }
  void prepare(const std::string& strategy, const std::string& how) { has(strategy, "strategy.registration", how); }
  void has(const std::string& strategy, const std::string& key, const std::string& value) {
    const std::vector<NamedText> changed{{key, value}};
    for (Point& point : run.points) {
      if (point.strategy == strategy) point.changed = std::make_shared<const std::vector<NamedText>>(changed);
    }
  }
  Texts sentences() const {
    return findings_of({run.experiment, run.points, run.outcomes}, kFakeSimulator).sentences();
  }

  Sandbox sandbox;
  MadeRun run;
};

}  // namespace

TEST_CASE("findings: who is first from where to where, and by how much") {
  ToldRun told(kTwoBySize);
  told.set("latency_mean", {10, 20, 90, 15, 21, 45});
  CHECK(told.sentences() ==
        Texts{"latency_mean: resident is lowest up to workload.size = 4 KiB, by a factor of 1.05 to "
              "1.50 ahead of fault/touch-ahead; fault/touch-ahead at 64 KiB, by a factor of "
              "2.00 ahead of resident",
              kOneRun});
  told.set("latency_mean", {10, 20, 40, 20, 30, 80});
  CHECK(told.sentences().front() ==
        "latency_mean: resident is lowest at every workload.size (64 B to 64 KiB), by a "
        "factor of 1.50 to 2.00 ahead of fault/touch-ahead");
}

TEST_CASE("findings: within one percent nobody is ahead") {
  ToldRun told(kTwoBySize);
  told.set("latency_mean", {100, 100, 100, 100.9, 100, 99.1});
  CHECK(told.sentences().front() ==
        "latency_mean: resident and fault/touch-ahead are alike at every workload.size (64 B to 64 KiB)");
  told.set("latency_mean", {100, 100, 100, 101.1, 100, 101.1});
  CHECK(told.sentences().front() ==
        "latency_mean: resident is lowest at every workload.size (64 B to 64 KiB), by a factor of 1.01 ahead of "
        "fault/touch-ahead (fault/touch-ahead is not behind at 1 of 3 places)");
}

TEST_CASE("findings: where values are 0 there is no factor, and equal ones are alike") {
  ToldRun told(kThree + "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  told.set("latency_mean", {0, 1, 0, 1, 3, 3});
  for (const std::string& sentence : told.sentences()) {
    CHECK(sentence.find("nan") == std::string::npos);
    CHECK(sentence.find("inf") == std::string::npos);
    CHECK(sentence.find("seeds do not tell apart") == std::string::npos);
  }
}

TEST_CASE("findings: at places in a row those are first that are first at all of them, and others may share one") {
  ToldRun told(kThreeBySize);
  told.set("latency_mean", {10, 10, 10, 11, 10, 13, 12, 12, 10});
  CHECK(told.sentences().front() ==
        "latency_mean: resident is lowest at every workload.size (64 B to 64 KiB), by a factor of 1.10 ahead of "
        "fault/touch-ahead (fault/touch-ahead or fault/touch-a-page are not behind at 2 of 3 places)");
  // Who is first later does not inherit a verb that nobody had.
  told.set("latency_mean", {10, 10, 20, 10, 10, 20, 10, 10, 10});
  CHECK(told.sentences().front() ==
        "latency_mean: resident, fault/touch-ahead and fault/touch-a-page are alike up to workload.size = 4 KiB; "
        "fault/touch-a-page is lowest at 64 KiB, by a factor of 2.00 ahead of resident");
}

TEST_CASE("findings: what the seeds do not tell apart is not called alike") {
  const std::string seeds = kTwo + "repetitions = 3\nparameters.workload.label = \"noisy\"\n";
  ToldRun told(seeds);
  told.set("latency_mean", {8, 10, 12, 9, 13, 17});  // t = 1.2 of 2.9 degrees of freedom
  CHECK(told.sentences() ==
        Texts{"latency_mean: resident and fault/touch-ahead are not told apart (the seeds do not tell apart what "
              "differs by a factor of up to 1.30)",
              "Values within 1 % of each other count as alike; what differs by more, and is told apart, is beyond "
              "noise (Welch's t test over 3 seeds; of 20 that differ by chance alone it takes one for more)"});
  // Intervals of 4.303 * 1 / sqrt(3) = 2.48 us each meet, and yet they are apart.
  told.set("latency_mean", {9, 10, 11, 13, 14, 15});
  CHECK(told.sentences().front() == "latency_mean: resident is lowest, by a factor of 1.40 ahead of fault/touch-ahead");
}

TEST_CASE("findings: those that are not told apart are each ahead of the next by what the worst is") {
  ToldRun told(kThree + "repetitions = 3\nparameters.workload.label = \"noisy\"\n");
  told.set("latency_mean", {8, 10, 12, 9, 13, 17, 99, 100, 101});
  CHECK(told.sentences().front() ==
        "latency_mean: resident and fault/touch-ahead are lowest, by a factor of 7.69 ahead of fault/touch-a-page (the "
        "seeds do not tell apart what differs by a factor of up to 1.30)");
}

TEST_CASE("findings: one that is in doubt may be behind the next: then only the best of them is ahead") {
  ToldRun told(kThree + "repetitions = 3\nparameters.workload.label = \"noisy\"\n");
  told.set("latency_mean", {9.9, 10, 10.1, 5, 20, 35, 12, 12.1, 12.2});
  CHECK(told.sentences().front() ==
        "latency_mean: resident and fault/touch-ahead are lowest, the best of them by a factor of 1.21 ahead of "
        "fault/touch-a-page (the seeds do not tell apart what differs by a factor of up to 2.00)");
}

TEST_CASE("findings: a stretch ends where nobody could be compared, and who is not there is named") {
  ToldRun told(kThreeBySize);
  told.set("latency_mean", {10, 10, 10, 20, 20, 20, 30, 30, 30});
  told.run.outcomes[3].status = runs::PointStatus::timed_out;
  CHECK(told.sentences()[0] ==
        "latency_mean: resident is lowest at every workload.size (64 B to 64 KiB), by a factor of 2.00 to 3.00 ahead "
        "of the next (without fault/touch-ahead at 1 of 3 places)");
  for (const std::size_t lost : {3, 4, 7}) told.run.outcomes[lost].status = runs::PointStatus::timed_out;
  CHECK(told.sentences()[0] ==
        "latency_mean: resident is lowest at workload.size = 64 B, by a factor of 3.00 ahead of fault/touch-a-page "
        "(without fault/touch-ahead at 1 of 1 place); resident at 64 KiB, by a factor of 2.00 ahead of "
        "fault/touch-ahead");
  CHECK(told.sentences()[1] == "latency_mean: fewer than two strategies are ranked at 1 of 3 places");
}

TEST_CASE("findings: who lost transfers is first nowhere, and it is said how many") {
  ToldRun told(kTwoBySize);
  told.set("latency_mean", {10, 20, 90, 15, 21, 45});
  told.set("transfers", {100, 100, 100, 100, 100, 100});
  told.set("transfers_failed", {0, 0, 0, 0, 0, 2});
  CHECK(
      told.sentences() ==
      Texts{"latency_mean: resident is lowest from workload.size = 64 B to 4 KiB, by a factor of 1.05 to 1.50 ahead of "
            "fault/touch-ahead",
            "latency_mean: fewer than two strategies are ranked at 1 of 3 places",
            "Not ranked, because of what happened there; transfers failed: fault/touch-ahead at 1 of 3 places (up to "
            "2 of 100)",
            kOneRun});
}

TEST_CASE("findings: errors, refusals, wrong data and checks that failed are no results") {
  ToldRun told(kTwoBySize);
  told.set("latency_mean", {10, 20, 90, 5, 5, 45});
  told.set("data_errors", {0, 0, 0, 1, 0, 0});
  told.run.outcomes[4].result.failed_checks = {"credits do not add up"};
  told.run.outcomes[2].status = runs::PointStatus::timed_out;
  const Texts sentences = told.sentences();
  REQUIRE(sentences.size() == 1);  // nobody is left to compare with
  CHECK(sentences.front() ==
        "Not ranked, because of what happened there; check failed: fault/touch-ahead at 1 of 3 places; timed out: "
        "resident at 1 of 3 places; wrong data: fault/touch-ahead at 1 of 3 places");
}

TEST_CASE("findings: of a rate more is better") {
  ToldRun told(kTwoBySize + "[[report]]\nview = \"matrix\"\nmetric = \"goodput\"\n");
  told.set("goodput", {10, 20, 90, 20, 40, 180});
  CHECK(told.sentences().front() ==
        "goodput: fault/touch-ahead is highest at every workload.size (64 B to 64 KiB), by "
        "a factor of 2.00 ahead of resident");
}

TEST_CASE("findings: silent where there is nothing to compare") {
  CHECK(ToldRun("axes.workload.size = [\"64 B\", \"4 KiB\"]\n").sentences().empty());
  // Whether few or many faults are good is not said.
  ToldRun told(kTwoBySize + "[[report]]\nview = \"matrix\"\nmetric = \"faults\"\n");
  CHECK(told.sentences().front().starts_with("latency_mean: "));
}

TEST_CASE("findings: an axis that decides is named; where none does, places are counted") {
  const std::string text =
      kTwo + "axes.workload.kind = [\"write\", \"read\"]\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n";
  ToldRun told(text);
  told.set("latency_mean", {10, 20, 10, 20, 20, 30, 5, 5});
  CHECK(told.sentences() ==
        Texts{"latency_mean: with workload.kind = write, resident is lowest at every workload.size (64 B to 4 KiB), by "
              "a factor of 1.50 to 2.00 ahead of fault/touch-ahead",
              "latency_mean: with workload.kind = read, fault/touch-ahead is lowest at every workload.size (64 B to 4 "
              "KiB), by a factor of 2.00 to 4.00 ahead of resident",
              kOneRun});
  ToldRun more(text + "axes.cpu.cores = [1, 2]\n");
  more.set("latency_mean", {1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2, 0.5, 0.5, 2, 2, 2});
  CHECK(more.sentences().front() ==
        "latency_mean: resident is lowest at 6 of 8 places, fault/touch-ahead at 2 (alone, or with others that are "
        "alike or that the seeds do not tell apart)");
}

TEST_CASE("findings: a strategy that asks for what no kernel does is a bound and no answer") {
  ToldRun told(kThree + "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  told.prepare("resident", "ideal");
  told.set("latency_mean", {10, 20, 15, 60, 18, 30});
  told.set("setup_time", {0, 0, 0, 0, 7, 9});
  CHECK(told.sentences() ==
        Texts{"latency_mean: fault/touch-ahead is lowest at workload.size = 64 B, by a factor of 1.20 ahead of "
              "fault/touch-a-page; fault/touch-a-page "
              "at 4 KiB, by a factor of 2.00 ahead of fault/touch-ahead",
              "latency_mean: the best is 1.50 times the bound, resident",
              "fault/touch-a-page prepares before the first transfer, for up to 9.00 us (setup_time), which is in no "
              "latency_mean",
              kOneRun});
}

TEST_CASE("findings: of several that are first none alone is related to the bound") {
  ToldRun told(kThree);
  told.prepare("resident", "ideal");
  told.set("latency_mean", {10, 20, 20});
  CHECK(told.sentences()[1] == "latency_mean: the best is 2.00 times the bound, resident");
}

TEST_CASE("findings: a bound is one of strategies on its own hardware, and other hardware is named") {
  ToldRun told(kThree + "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  told.prepare("resident", "ideal");
  told.has("fault/touch-a-page", "nic.kind", "elan");
  told.set("latency_mean", {10, 10, 15, 30, 5, 60});
  const Texts sentences = told.sentences();
  // fault/touch-a-page is first at 64 B: the bound of the other NIC says nothing of it.
  CHECK(sentences[1] == "latency_mean: fault/touch-ahead is 3.00 times the bound, resident");
  CHECK(
      sentences.back() ==
      "the strategies are for different hardware (nic.kind = elan for fault/touch-a-page and exanest for the others), "
      "which tells them apart, too");
}

TEST_CASE("findings: where nothing was drawn there is no noise") {
  ToldRun told(kTwo + "parameters.workload.label = \"exact\"\n");
  told.set("latency_mean", {10, 20});
  CHECK(told.sentences().back() ==
        "Values within 1 % of each other count as alike; no run drew a random number, so every seed gives the same");
}

TEST_CASE("findings: where all prepare, nobody does nothing before the first transfer") {
  ToldRun told(kTwo);
  told.prepare("resident", "pin-once");
  told.prepare("fault/touch-ahead", "mlock");
  told.set("latency_mean", {10, 10});
  told.set("setup_time", {46, 58});
  CHECK(told.sentences() == Texts{"latency_mean: resident and fault/touch-ahead are alike",
                                  "resident and fault/touch-ahead prepare before the first transfer, for up to 58.00 "
                                  "us (setup_time), which is in no latency_mean",
                                  kOneRun});
}
