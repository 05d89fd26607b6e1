// SPDX-License-Identifier: Apache-2.0
// The run folder and the small pieces that tables are made of.
#include <catch2/catch.hpp>

#include <limits>

#include "src/experiment/diagnostics.hpp"
#include "src/results/percentiles.hpp"
#include "src/results/report.hpp"
#include "src/results/results_writer.hpp"
#include "src/results/text_table.hpp"
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

TEST_CASE("numbers, lines and csv fields") {
  CHECK(fixed(1234.5678, 2) == "1234.57");
  CHECK(fixed(std::numeric_limits<double>::quiet_NaN(), 2) == "-");
  CHECK(wrap("one two three", 7, 2) == "one two\n  three");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"x\"") == "\"say \"\"x\"\"\"");
  CHECK(csv_field("plain") == "plain");
}

TEST_CASE("numbers in CSV are whole where they are whole, and absent where there is none") {
  CHECK(csv_number(4194304) == "4194304");
  CHECK(csv_number(1e14) == "100000000000000");
  CHECK(csv_number(-0.5) == "-0.5");
  CHECK(csv_number(0.1) == "0.1");
  CHECK(csv_number(1e300) == "1e+300");
  CHECK(csv_number(std::numeric_limits<double>::quiet_NaN()).empty());
  CHECK(csv_number(std::numeric_limits<double>::infinity()).empty());
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
