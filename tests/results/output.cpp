// SPDX-License-Identifier: Apache-2.0
// The run folder and the small pieces that tables are made of.
#include <catch2/catch.hpp>

#include <limits>

#include "src/experiment/diagnostics.hpp"
#include "src/results/query.hpp"
#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/text_table.hpp"
#include "src/results/verdict.hpp"
#include "src/runs/folder.hpp"
#include "tests/results/made_run.hpp"

using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::results;
using namespace faultline::test;
namespace fs = std::filesystem;

namespace {
const auto kNever = [](const Folder&) { return false; };
}  // namespace

TEST_CASE("a run folder that is not kept leaves nothing, not even the folder of runs") {
  const Sandbox sandbox;
  {
    Folder folder = Folder::open("", "name", kNever);
    folder.write("results.json", "[]");
    CHECK(fs::exists("runs/name-1/results.json"));
  }
  CHECK_FALSE(fs::exists("runs"));
}

TEST_CASE("runs at the same time get folders of their own, under a name that is a file's") {
  const Sandbox sandbox;
  Folder first = Folder::open("", "a b/../c", kNever);
  Folder second = Folder::open("", "a b/../c", kNever);
  CHECK(first.path() == "runs/a-b-..-c-1");
  CHECK(second.path() == "runs/a-b-..-c-2");
}

TEST_CASE("a file of a run is whole or absent, and a folder that was there stays") {
  const Sandbox sandbox;
  fs::create_directory("mine");
  {
    Folder folder = Folder::open("mine", "x", kNever);
    folder.write("a.json", std::string(100000, 'a'));
    CHECK(read_text("mine/a.json").size() == 100000);
    CHECK_FALSE(fs::exists("mine/.a.json.part"));
    // A folder in the way: refused, and no part is left behind.
    fs::create_directories("mine/b.json/c");
    CHECK_THROWS_AS(folder.write("b.json", "b"), UserError);
    CHECK_FALSE(fs::exists("mine/.b.json.part"));
  }
  CHECK_FALSE(fs::exists("mine/a.json"));
  CHECK(fs::exists("mine/b.json/c"));
}

TEST_CASE("table cells line up, also with letters of several bytes") {
  TextTable table({{"name", "", Align::left}, {"t", "[µs]", Align::right}});
  table.add({"größe", "1.00"});
  table.gap();
  table.add({"x", "-"});
  CHECK(table.text() == "name      t\n       [µs]\n-----------\ngröße  1.00\n\nx         -\n");
  CHECK(table.width() == 11);
  CHECK_THROWS_AS(table.add({"too few"}), std::logic_error);
}

TEST_CASE("rows and columns of a matrix come in the experiment's order although its first points are skipped") {
  const Sandbox sandbox;
  const MadeRun run(
      sandbox,
      "skip = [{ workload.size = \"64 B\", workload.kind = \"write\" }, { workload.size = \"4 KiB\" }]\n"
      "axes.workload.kind = [\"write\", \"read\"]\naxes.workload.size = [\"64 B\", \"4 KiB\", \"1 KiB\"]\n");
  REQUIRE(run.points.front().label().find("1 KiB") != std::string::npos);
  const Results results{run.experiment, run.points, run.outcomes};
  const std::string text = matrix_view(results, {View::matrix, {}, "faults", "workload.size", "workload.kind", ""});
  CHECK(text.find("workload.size  write  read\n") != std::string::npos);
  CHECK(text.find("         64 B      -     0\n        1 KiB      0     0\n") != std::string::npos);
  const std::string turned = matrix_view(results, {View::matrix, {}, "faults", "workload.kind", "workload.size", ""});
  CHECK(turned.find("workload.kind  64 B  1 KiB\n") != std::string::npos);
}

TEST_CASE("causes of faults have a column behind the faults where any point has some, for each transfer") {
  const Sandbox sandbox;
  MadeRun run(sandbox, "axes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  for (auto& outcome : run.outcomes) {
    for (const char* name : {"faults_swap", "faults_absent", "faults_injected"}) {
      outcome.result.metrics.push_back({name, 0, "1", "faults"});
    }
  }
  run.outcomes[1].result.metrics.push_back({"transfers", 4, "1", "transfers"});
  run.metric(1, "faults").value = 8;
  run.metric(1, "faults_absent").value = 8;
  const std::string text = points_view({run.experiment, run.points, run.outcomes}, {}, 200);
  const std::string head = text.substr(0, text.find('\n'));
  INFO(text);
  CHECK(head.find("faults  absent") != std::string::npos);
  CHECK(head.find("swap") == std::string::npos);
  CHECK(head.find("injected") == std::string::npos);
  CHECK(text.find("     2       2") != std::string::npos);
  CHECK(is_sum("faults_swap"));
  CHECK(is_sum("refaults"));
  CHECK_FALSE(is_sum("latency_mean"));
}

TEST_CASE("numbers stand below each other whether they have marks or not") {
  TextTable table({{"t", "", Align::right}, {"n", "", Align::right}});
  table.add({"9.50", "1"});
  table.add({"10.25 !2 !!1", "2"});
  CHECK(table.text() == "           t  n\n---------------\n 9.50         1\n10.25 !2 !!1  2\n");
}

TEST_CASE("marks are for metrics of completed transfers, and points without any result are told by a word") {
  CHECK(mark_of("latency_p99", {2, 100, 1, 3}) == " !2 !!1");
  CHECK(mark_of("goodput", {2, 100, 0, 3}) == " !2");
  CHECK(mark_of("latency_mean", {0, 100, 0, 3}).empty());
  CHECK(mark_of("latency_mean", {0, 0, 3, 3}).empty());
  CHECK(mark_of("faults", {2, 100, 1, 3}).empty());
  CHECK(mark_of("clean_goodput", {2, 100, 0, 1}).empty());
  Legend legend;
  CHECK(legend.text(200).empty());
  for (int i = 0; i < 8; ++i) legend.add("row " + std::to_string(i), {i == 0 ? 0u : 1u, 9, 0, 1});
  CHECK(legend.text(300) ==
        "(!: so many transfers failed, and are in no latency and no goodput: row 1: 1 of 9; row 2: 1 of 9; row 3: 1 of "
        "9; "
        "row 4: 1 of 9; row 5: 1 of 9; row 6: 1 of 9; and 1 more)\n");
}

TEST_CASE("where all transfers of a point failed a dash has the mark, in a matrix, its ratios and the points") {
  const Sandbox sandbox;
  MadeRun run(sandbox,
              "strategies = [\"resident\", \"fault/touch-ahead\"]\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  for (auto& outcome : run.outcomes) outcome.result.metrics.push_back({"transfers", 20, "1", "transfers"});
  auto& metrics = run.outcomes[3].result.metrics;
  std::erase_if(metrics, [](const auto& metric) { return metric.name.starts_with("latency"); });
  metrics.push_back({"transfers_failed", 20, "1", "failed"});
  const Results results{run.experiment, run.points, run.outcomes};
  const auto matrix = [&](const std::string& baseline) {
    return matrix_view(results, {View::matrix, {}, "latency_mean", "workload.size", "strategy", baseline});
  };
  CHECK(matrix("").find("- !20\n") != std::string::npos);
  CHECK(matrix("resident").find("1.000              - !20\n") != std::string::npos);
  const std::string ratios = matrix("fault/touch-ahead");  // of both strategies, to a value that is not there
  CHECK(ratios.find("- !20") != ratios.rfind("- !20"));
  CHECK(points_view(results, {}, 200).find("- !20") != std::string::npos);
  run.write();
  Run read("o");
  const Answer answer = ask(read, {{"latency_mean"}, {}, {}});
  CHECK(answer.rows[3].summary.count == 0);
  CHECK(answer.rows[3].failures.failed == 20);
}

TEST_CASE("delays of a verdict are marked by the transfers that failed in all runs") {
  const Sandbox sandbox;
  MadeRun run(sandbox,
              "repetitions = 2\nparameters.workload.label = \"loses\"\naxes.workload.size = [\"4 KiB\"]\n"
              "strategies = [\"resident\", \"fault/touch-ahead\"]\n");
  for (auto& outcome : run.outcomes) outcome.result.metrics.push_back({"injections", 1, "1", ""});
  ReportSpec spec;
  spec.view = View::verdict;
  spec.columns_axis = "strategy";
  Verdict verdict("workload.size", spec);
  for (std::size_t i = 0; i < run.points.size(); ++i) verdict.add(run.points[i], run.outcomes[i]);
  CHECK(verdict.word("4 KiB", "fault/touch-ahead") == "race 2/2, failed");
  CHECK(verdict.delays("4 KiB", "fault/touch-ahead") == "0/200 !5");
  CHECK(verdict.delays("4 KiB", "resident") == "0/200");
}

TEST_CASE("what limits points is said once for those of which one sentence says it") {
  const Sandbox sandbox;
  MadeRun run(sandbox, "axes.workload.size = [\"64 B\", \"1 KiB\", \"4 KiB\", \"64 KiB\", \"1 MiB\"]\n");
  CHECK(report_tables({run.experiment, run.points, run.outcomes}, 200).find("limit: ") == std::string::npos);
  const auto busy = [&](std::size_t point, const char* metric, const char* part, double percent) {
    run.outcomes[point].result.metrics.push_back({metric, percent, "%", ""});
    run.outcomes[point].result.parts = {{part, "", {{metric, percent, "%", ""}}}};
  };
  busy(0, "utilisation_ddr", "node 1", 30);
  busy(1, "utilisation_link", "node 0", 97.26);
  busy(2, "utilisation_r5", "node 0", 45);
  busy(3, "utilisation_link", "node 0", 91);
  busy(4, "utilisation_link", "node 2", 91);
  const std::string text = report_tables({run.experiment, run.points, run.outcomes}, 200);
  INFO(text);
  CHECK(text.find(
            "\nlimit: Limited by no part of the machine alone: none is busy for more than 30.0 % of the time (the DDR "
            "controller of node 1). "
            "[default, workload.size = 64 B]\n"
            "limit: Limited by the busiest outgoing link of node 0, busy 91.0 to 97.3 % of the time: whatever else "
            "were faster would save 2.7 to 9.0 % of the time at most. [default, workload.size = 1 KiB, and 1 more]\n"
            "limit: Limited by no part of the machine alone: none is busy for more than 45.0 % of the time (the R5 of "
            "node 0). "
            "[default, workload.size = 4 KiB]\n"
            "limit: Limited by the busiest outgoing link of node 2, busy 91.0 % of the time: whatever else were "
            "faster would save 9.0 % of the time at most. [default, workload.size = 1 MiB]\n") != std::string::npos);
}

TEST_CASE("numbers, lines and fields of CSV") {
  CHECK(fixed(1234.5678, 2) == "1234.57");
  CHECK(fixed(std::numeric_limits<double>::quiet_NaN(), 2) == "-");
  CHECK(wrap("one two three", 7, 2) == "one two\n  three");
  CHECK(csv_line({"a,b"}) == "\"a,b\"\n");
  CHECK(csv_line({"say \"x\""}) == "\"say \"\"x\"\"\"\n");
  CHECK(csv_line({"plain"}) == "plain\n");
}

TEST_CASE("numbers in CSV are whole where they are whole, and absent where there is none") {
  CHECK(csv_line({4194304}) == "4194304\n");
  CHECK(csv_line({1e14}) == "100000000000000\n");
  CHECK(csv_line({-0.5}) == "-0.5\n");
  CHECK(csv_line({0.1}) == "0.1\n");
  CHECK(csv_line({1e300}) == "1e+300\n");
  CHECK(csv_line({std::numeric_limits<double>::quiet_NaN()}) == "\n");
  CHECK(csv_line({std::numeric_limits<double>::infinity()}) == "\n");
}

TEST_CASE("percentiles are the greatest values of their buckets") {
  faultline::workloads::Distribution latency;
  latency.count = 1000;
  latency.max = 90;
  latency.buckets = {{1, 10, 500}, {11, 20, 400}, {21, 30, 90}, {31, 40, 9}, {81, 99, 1}};
  CHECK(percentiles_of(latency) == std::array<double, 4>{10, 20, 30, 40});
  latency.buckets = {{1, 99, 1000}};
  CHECK(percentiles_of(latency)[0] == 90);
}

TEST_CASE("a metric that a point lacks is a dash, also where its checks failed; a point without result says why") {
  PointOutcome outcome;
  CHECK(absent_text(outcome) == "not run");
  outcome.status = PointStatus::complete;
  CHECK(absent_text(outcome) == "-");
  outcome.result.failed_checks = {"it differs"};
  CHECK(absent_text(outcome) == "-");
  outcome.result.refused = "no room";
  CHECK(absent_text(outcome) == "refused");
  outcome.result.refused.clear();
  outcome.status = PointStatus::timed_out;
  CHECK(absent_text(outcome) == "error");
}
