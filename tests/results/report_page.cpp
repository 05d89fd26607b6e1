// SPDX-License-Identifier: Apache-2.0
// What the page of `faultline report` is made of: columns, the data of a run, and the page around them.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <nlohmann/json.hpp>

#include "src/experiment/diagnostics.hpp"
#include "src/experiment/effective.hpp"
#include "src/results/column.hpp"
#include "src/results/findings.hpp"
#include "src/results/html_report.hpp"
#include "src/results/report_data.hpp"
#include "src/results/results_writer.hpp"
#include "src/runs/folder.hpp"
#include "src/runs/seal.hpp"
#include "tests/support/fake_simulator.hpp"

using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::results;
using namespace faultline::test;
using Json = nlohmann::ordered_json;

namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// The way back, by the definition of base64.
std::string bytes_of(const std::string& text) {
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string bytes;
  unsigned bits = 0;
  unsigned have = 0;
  for (const char c : text) {
    if (c == '=') break;
    bits = bits << 6U | static_cast<unsigned>(digits.find(c));
    have += 6;
    if (have < 8) continue;
    have -= 8;
    bytes += static_cast<char>(bits >> have & 0xffU);
  }
  return bytes;
}

template <typename T>
std::vector<double> values_as(const Json& column) {
  const std::string bytes = bytes_of(column.at("data"));
  REQUIRE(bytes.size() % sizeof(T) == 0);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return {values.begin(), values.end()};
}

std::vector<double> values_of(const Json& column, std::size_t count) {
  if (!column.contains("type")) return std::vector<double>(count, column.at("value").get<double>());
  const std::string type = column.at("type");
  if (type == "u8") return values_as<std::uint8_t>(column);
  if (type == "u16") return values_as<std::uint16_t>(column);
  if (type == "i32") return values_as<std::int32_t>(column);
  if (type == "f32") return values_as<float>(column);
  REQUIRE(type == "f64");
  return values_as<double>(column);
}

// A run of the fake machine: its folder as `faultline run` leaves it.
struct ReadBack {
  Sandbox sandbox;
  FakeSimulator simulator;
  ConfigLibrary library{test_configs()};
  std::vector<std::string> told;  // at the end of the run

  explicit ReadBack(const std::string& toml) {
    sandbox.write("trial.toml", toml);
    const Experiment experiment = read_experiment("trial.toml", {}, library, simulator);
    const std::vector<Point> points = expand(experiment, simulator);
    std::vector<PointOutcome> outcomes;
    for (const Point& point : points) {
      PointOutcome& outcome = outcomes.emplace_back();
      try {
        outcome.result = configure(point, simulator)->run(point.seed, {});
        outcome.status = PointStatus::complete;
      } catch (const std::logic_error& error) {
        outcome.status = PointStatus::bug;
        outcome.error = error.what();
      }
    }
    Manifest manifest = manifest_of(experiment, points);
    manifest.version = "7.1";
    manifest.commit = "abc";
    std::filesystem::create_directories("run");
    sandbox.write("run/manifest.json", to_text(manifest));
    sandbox.write("run/effective.toml", sealed(effective_experiment(experiment, simulator), kTomlSeal));
    write_results(results_json(points, outcomes));
    told = findings_of({experiment, points, outcomes}, simulator).sentences(Folder::look_at("run"), manifest);
  }

  void write_results(const std::string& text) const {
    sandbox.write("run/results.json", text);
    sandbox.write("run/meta.json", sealed_json({{kResultsChecksum, checksum_of(text)}}, 2));
  }

  Json data() const {
    const Folder folder = Folder::look_at("run");
    const Manifest manifest = read_manifest(folder);
    const EffectiveExperiment effective = read_effective(folder, manifest, library, simulator);
    check_results(folder);
    ReportData data(effective, manifest, simulator);
    read_results(folder, effective.experiment, [&](Point point, PointOutcome outcome, double share) {
      CHECK((share > 0 && share <= 1));
      data.add(std::move(point), std::move(outcome));
    });
    return Json::parse(data.json(folder));
  }
};

std::size_t number_of(const Json& list, const std::string& name) {
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i].at("name") == name) return i;
  }
  FAIL("no " << name);
  return 0;
}

}  // namespace

TEST_CASE("a column has the smallest type that holds its values exactly") {
  const auto type_of = [](const std::vector<double>& values) { return encode_column(values).at("type"); };
  CHECK(type_of({0, 255}) == "u8");
  CHECK(type_of({0, 256}) == "u16");
  CHECK(type_of({0, -1}) == "i32");
  CHECK(type_of({0.5, 1}) == "f32");
  CHECK(type_of({0.1, 1}) == "f64");
  CHECK(type_of({kNaN, 1}) == "f32");
  CHECK(type_of({1e300, 1}) == "f64");
  CHECK(encode_column({3, 3}) == Json{{"value", 3.0}});
  CHECK(encode_column({kNaN, kNaN}) == Json{{"value", nullptr}});
  // Seven digits where they are asked for, and never an infinity for a number.
  CHECK(encode_column({0.1, 1}, Digits::seven).at("type") == "f32");
  CHECK(encode_column({1e300, 1}, Digits::seven).at("type") == "f64");
}

TEST_CASE("a column's values come back, whatever their number") {
  for (std::size_t count = 2; count < 9; ++count) {
    std::vector<double> values;
    for (std::size_t i = 0; i < count; ++i) values.push_back(0.1 * static_cast<double>(i * i) - 1);
    CHECK(values_of(encode_column(values), count) == values);
    for (double& value : values) value = std::floor(value * 10);
    CHECK(values_of(encode_column(values), count) == values);
  }
}

TEST_CASE("a page is its parts around title and data, which cannot break out of it") {
  const PageParts parts{"<title>", "</title><script>", "</script>"};
  CHECK(html_page(parts, "a < b & c", R"({"x": "</script><!-- é"})") ==
        "<title>a &lt; b &amp; c</title><script>{\"x\": \"\\u003c/script>\\u003c!-- é\"}</script>");
}

TEST_CASE("the data of a page: axes in the order of the file, metrics of each point, and means with their intervals") {
  const ReadBack run(R"(
question = "how long?"
repetitions = 3
[parameters]
workload.label = "noisy"
[strategy.stall]
[strategy.terminate]
strategy.on_destination_fault = "terminate"
[axes]
workload.size = ["8 KiB", "64 B"]
)");
  const Json data = run.data();
  CHECK(data.at("question") == "how long?");
  CHECK(data.at("version") == "7.1");
  CHECK(data.at("planned") == 12);
  CHECK(data.at("axes")[0].at("values") == Json{"stall", "terminate"});
  CHECK(data.at("axes")[1].at("values") == Json{"8 KiB", "64 B"});
  CHECK(data.at("axes")[1].at("numbers") == Json{8192, 64});
  CHECK(data.at("axes")[1].at("unit") == "B");
  CHECK(data.at("axes")[0].at("looks") == Json{0, 1});
  CHECK(data.at("axes")[1].at("leads") == true);

  const Json& points = data.at("points");
  CHECK(points.at("count") == 12);
  CHECK(values_of(points.at("axes")[0], 12) == std::vector<double>{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1});
  CHECK(values_of(points.at("seed"), 12) == std::vector<double>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3});
  const std::size_t mean = number_of(data.at("metrics"), "latency_mean");
  const auto single = values_of(points.at("metrics")[mean], 12);
  const Json& means = data.at("means");
  const auto mean_of = values_of(means.at("metrics")[mean], 4);
  const auto width_of = values_of(means.at("half_widths")[mean], 4);
  for (std::size_t i = 0; i < 4; ++i) {
    // The seeds 1, 2 and 3 add as many us: deviation 1, t(0.975, 2) = 4.3027.
    CHECK(mean_of[i] == Approx(single[3 * i + 1]));
    CHECK(width_of[i] == Approx(4.302653 / std::sqrt(3.0)).epsilon(1e-6));
  }
  CHECK(values_of(means.at("seeds"), 4) == std::vector<double>{3, 3, 3, 3});

  // Steps of each mean: those of the seeds that never met a fault count as nothing.
  const auto first = values_of(data.at("steps").at("first"), 5);
  CHECK(first == std::vector<double>{0, 3, 6, 9, 12});
  const auto steps = values_of(data.at("steps").at("mean"), 12);
  CHECK(steps[1] == Approx(8.0 / 3));
}

TEST_CASE("the data of a page: what failed is a row with its reason, and said once") {
  const ReadBack run(R"(
repetitions = 2
[parameters]
workload.label = "fails at 2"
[axes]
workload.size = ["64 B", "64 KiB"]
)");
  const Json data = run.data();
  const auto status = values_of(data.at("points").at("status"), 4);
  const auto reason = values_of(data.at("points").at("reason"), 4);
  const auto text = [&](const char* list, double number) { return data.at(list)[static_cast<std::size_t>(number)]; };
  CHECK(text("statuses", status[0]) == "complete");
  CHECK(text("statuses", status[1]) == "bug");
  CHECK(text("reasons", reason[1]) == "the queue is longer than itself");
  CHECK(values_of(data.at("means").at("seeds"), 2) == std::vector<double>{1, 1});
  const auto mean = number_of(data.at("metrics"), "latency_mean");
  CHECK(std::isnan(values_of(data.at("points").at("metrics")[mean], 4)[1]));
  CHECK(data.at("remarks")[0].at("points") == 2);
  CHECK(data.at("remarks")[0].at("kind") == "bug");
  CHECK(data.at("remarks")[1].at("text") == "larger than a block");
}

TEST_CASE("the data of a page: what the platform sets is not the default either") {
  const ReadBack run("platform = \"exanest-qfdb\"\n");
  const Json data = run.data();
  CHECK(data.at("platform") == "exanest-qfdb");
  REQUIRE(data.at("configuration").size() == 2);
  const Json& rate = data.at("configuration")[0];
  CHECK(rate.at("name") == "network.internal_rate");
  CHECK(rate.at("value") == "16 Gb/s");
  CHECK(rate.at("default") == "10 Gb/s");
  CHECK(rate.at("set_by") == "platform exanest-qfdb, line 4 (published: a paper)");
}

TEST_CASE("the data of a page: what is not the default, and who set it") {
  const ReadBack run(R"(
[parameters]
workload.iterations = 7
[strategy.pinned]
description = "held"
strategy.registration = "pin"
)");
  const Json data = run.data();
  REQUIRE(data.at("configuration").size() == 1);
  const Json& iterations = data.at("configuration")[0];
  CHECK(iterations.at("name") == "workload.iterations");
  CHECK(iterations.at("value") == "7");
  CHECK(iterations.at("default") == "100");
  CHECK(iterations.at("set_by") == "experiment, line 3");
  CHECK(data.at("strategies")[0].at("settings") == Json::parse(R"([["strategy.registration", "pin"]])"));
  CHECK_FALSE(data.contains("means"));
}

TEST_CASE("the data of a page: labels stand beside the values of an axis that has any") {
  const ReadBack run(
      "axes.workload.size = [\"64 B\", { value = \"4 KiB\", label = \"a page\" }]\naxes.cpu.cores = [1]\n"
      "report = { view = \"verdict\", only = \"workload.size = 4 KiB\", rows = \"cpu.cores\" }\n");
  const Json data = run.data();
  CHECK(data.at("axes")[1].at("values") == Json({"64 B", "4 KiB"}));
  CHECK(data.at("axes")[1].at("labels") == Json::parse(R"([null, "a page"])"));
  CHECK_FALSE(data.at("axes")[2].contains("labels"));
  CHECK(data.at("reports")[0].at("only") == "workload.size = a page");
}

TEST_CASE("the data of a page: it says what the run has said, bounds and preparations included") {
  const ReadBack run(R"(
[strategy.bound]
strategy.registration = "ideal"
strategy.on_destination_fault = "stall"
[strategy.ahead]
strategy.resolve = "touch-ahead"
strategy.touch_ahead_pages = 8
[strategy.touched]
strategy.registration = "touch"
[axes]
workload.size = ["64 B", "1 KiB"]
)");
  REQUIRE_FALSE(run.told.empty());
  CHECK(std::ranges::any_of(run.told, [](auto& text) { return text.find("the bound, bound") != text.npos; }));
  CHECK(run.data().at("findings").get<std::vector<std::string>>() == run.told);
}

TEST_CASE("distributions of a point become metrics, and its time series are kept") {
  ReadBack run("[parameters]\nworkload.iterations = 1\n");
  Json results = Json::parse(read_text("run/results.json"));
  results[0]["distributions"]["latency"] = {{"unit", "us"}, {"description", "spread"},
                                            {"count", 9},   {"min", 1},
                                            {"p50", 2},     {"p90", 3},
                                            {"p99", 4},     {"p99.9", 5},
                                            {"max", 6}};
  results[0]["series"]["goodput"] = {{"unit", "MB/s"},
                                     {"description", "over time"},
                                     {"interval", {{"value", 2.5}, {"unit", "us"}}},
                                     {"values", {1, 300, 2}}};
  run.write_results(results.dump(2));
  const Json data = run.data();
  const auto p999 = number_of(data.at("metrics"), "latency p99.9");
  CHECK(data.at("metrics")[p999].at("unit") == "us");
  CHECK(values_of(data.at("points").at("metrics")[p999], 1) == std::vector<double>{5});
  const Json& series = data.at("series").at("of")[0];
  CHECK(series.at("point") == 0);
  CHECK(series.at("interval") == 2.5);
  CHECK(values_of(series.at("values"), 3) == std::vector<double>{1, 300, 2});
  CHECK(data.at("series").at("kinds")[0].at("name") == "goodput");
}

TEST_CASE("the data of a page: what limits points, and the parts of each point as rows of columns") {
  ReadBack run("[axes]\nworkload.size = [\"64 B\", \"1 KiB\", \"64 KiB\"]\n");
  Json results = Json::parse(read_text("run/results.json"));
  const auto percent = [](double value) { return Json{{"value", value}, {"unit", "%"}}; };
  for (const auto& [point, value] : {std::pair{0, 30.0}, {2, 95.0}}) {
    Json& of = results[static_cast<std::size_t>(point)];
    of["metrics"]["utilisation_r5"] = percent(value);
    of["metrics"]["utilisation_r5"]["description"] = "busy";
    of["parts"]["node 1"]["utilisation_r5"] = percent(value);
  }
  results[2]["parts"]["flow 0"] = {{"about", "node 0 to node 1"}, {"latency_mean", {{"value", 2.5}, {"unit", "us"}}}};
  run.write_results(results.dump(2));
  const Json data = run.data();
  REQUIRE(data.at("limits").size() == 2);
  CHECK(data.at("limits")[0].at("part") == "");
  CHECK(data.at("limits")[1].at("part") == "the R5 of node 1");
  CHECK(data.at("limits")[1].at("where") == "default, workload.size = 64 KiB");
  const auto limit = values_of(data.at("points").at("limit"), 3);
  CHECK(limit[0] == 0);
  CHECK(std::isnan(limit[1]));
  CHECK(limit[2] == 1);
  const Json& parts = data.at("parts");
  CHECK(values_of(parts.at("first"), 4) == std::vector<double>{0, 1, 1, 3});
  CHECK(parts.at("names") == Json{"node 1", "flow 0"});
  CHECK(values_of(parts.at("part"), 3) == std::vector<double>{0, 0, 1});
  CHECK(parts.at("metrics") == Json{"utilisation_r5", "latency_mean"});
  const auto latency = values_of(parts.at("values")[1], 3);
  CHECK(std::isnan(latency[1]));
  CHECK(latency[2] == 2.5);
  CHECK(parts.at("left_out") == 0);
  CHECK(data.at("metrics")[number_of(data.at("metrics"), "latency_mean")].at("of_completed") == true);
  CHECK(data.at("metrics")[number_of(data.at("metrics"), "faults")].at("of_completed") == false);
}

TEST_CASE("results that cannot be read are refused with the place and the way out") {
  ReadBack run("[parameters]\nworkload.iterations = 1\n[axes]\nworkload.size = [\"64 B\", \"1 KiB\"]\n");
  const std::string whole = read_text("run/results.json");
  const auto complaint = [&] {
    try {
      run.data();
    } catch (const UserError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto damaged = Catch::Contains("is damaged; the same 'faultline run' with --out run writes it again");
  run.sandbox.write("run/results.json", whole.substr(0, whole.size() / 2 + 100));
  CHECK_THAT(complaint(), Catch::StartsWith("run/results.json: ") && damaged);
  std::string other = whole;
  other[other.find("\"value\": ") + 9] ^= 1;  // a digit
  run.sandbox.write("run/results.json", other);
  CHECK_THAT(complaint(), Catch::StartsWith("run/results.json: ") && damaged);
  run.write_results(whole);
  CHECK(complaint().empty());
  run.sandbox.write("run/meta.json", "{}");
  CHECK_THAT(complaint(), Catch::StartsWith("run/meta.json: ") && damaged);
  std::filesystem::remove("run/results.json");
  CHECK_THAT(complaint(), Catch::Contains("run: has no results yet"));
  run.sandbox.write("run/manifest.json", R"({"format": 99})");
  CHECK_THAT(complaint(), Catch::Contains("another version of the program (its format is 99"));
  std::filesystem::remove("run/manifest.json");
  CHECK_THAT(complaint(), Catch::Contains("holds no run"));
}
