// SPDX-License-Identifier: Apache-2.0
// results.sqlite says what the results say, in the same bytes each time, under the names that docs/results.md gives.
#include <catch2/catch.hpp>

#include <cmath>
#include <set>

#include "src/results/database.hpp"
#include "src/results/statistics.hpp"
#include "src/results/strategy_looks.hpp"
#include "tests/results/made_run.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::results;
using namespace faultline::test;
namespace fs = std::filesystem;

namespace {

// The cells of a query's rows, '|' between them and a new line behind each row.
std::string ask(const std::string& query, const fs::path& folder = "o") {
  SqlDatabase database = open_database(folder);
  SqlStatement rows(database, query);
  std::string text;
  while (rows.step()) {
    for (int i = 0; i < rows.columns(); ++i) text += (i > 0 ? "|" : "") + (rows.is_null(i) ? "NULL" : rows.text(i));
    text += "\n";
  }
  return text;
}

const std::string kSizes =
    "question = \"How long?\"\nstrategies = [\"resident\", \"fault/touch-ahead\"]\n"
    "axes.workload.size = [\"64 B\", \"64 KiB\"]\naxes.network.internal_latency = [\"120 ns\", \"1 us\"]\n";

}  // namespace

TEST_CASE("points, parameters and metrics are in the database with their units") {
  const Sandbox sandbox;
  const MadeRun run(sandbox, kSizes);
  run.write();
  CHECK(ask("SELECT question, experiment, seed, repetitions, points FROM run") == "How long?|mine|1|1|8\n");
  CHECK(ask("SELECT number, strategy, status, error, events FROM points WHERE label LIKE 'res%64 B%latency = 1 us'") ==
        "2|resident|complete|NULL|1001\n");
  CHECK(ask("SELECT key, value, number, unit FROM point_axes WHERE point = 2 ORDER BY position") ==
        "workload.size|64 B|64.0|B\nnetwork.internal_latency|1 us|1.0|us\n");
  CHECK(ask("SELECT number, unit, differs FROM parameters WHERE point = 2 AND key = 'network.internal_latency'") ==
        "1.0|us|1\n");
  CHECK(ask("SELECT value, differs FROM parameters WHERE point = 8 AND key = 'strategy.on_destination_fault'") ==
        "terminate|1\n");
  CHECK(ask("SELECT value, number, differs FROM parameters WHERE point = 1 AND key = 'cpu.cores'") == "4|4.0|0\n");
  CHECK(ask("SELECT count(*) FROM parameters") ==
        std::to_string(8 * kFakeSimulator.machine()->parameters().all().size()) + "\n");
  CHECK(ask("SELECT unit, description FROM metric_docs WHERE name = 'goodput'") == "MB/s|payload per time\n");

  SqlDatabase database = open_database("o");
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    for (const auto& metric : run.outcomes[i].result.metrics) {
      SqlStatement row(database, "SELECT value FROM metrics WHERE point = ? AND name = ?");
      REQUIRE(row.bind(i + 1, metric.name).step());
      CHECK(row.real(0) == metric.value);  // to the last bit
    }
  }
  CHECK(ask("SELECT \"workload.size\", \"network.internal_latency\", faults FROM results WHERE point > 6") ==
        "65536.0|0.12|16.0\n65536.0|1.0|16.0\n");
}

TEST_CASE("axes are in the database with their values in order, who advances with whom, and who stands for them") {
  const Sandbox sandbox;
  MadeRun(
      sandbox,
      "strategies = [\"fault/touch-ahead\", \"resident\"]\nzip = [[\"cpu.cores\", \"workload.size\"]]\n"
      "axes.cpu.cores = [1, 2, 2]\naxes.workload.size = [\"4 KiB\", \"64 B\", \"0.0625 MiB\"]\n"
      "axes.workload.kind = [\"write\", \"read\"]\n[[skip]]\nworkload.size = \"4 KiB\"\nworkload.kind = \"write\"\n")
      .write();
  CHECK(ask("SELECT key, advances_with, leads FROM axes ORDER BY position") ==
        "cpu.cores|cpu.cores|0\nworkload.size|cpu.cores|1\nworkload.kind|NULL|1\n");
  CHECK(ask("SELECT value FROM axis_values WHERE key = 'workload.size' ORDER BY position") == "4 KiB\n64 B\n64 KiB\n");
  // The first point is of another kind.
  CHECK(ask("SELECT value FROM axis_values WHERE key = 'workload.kind' ORDER BY position") == "write\nread\n");
  CHECK(ask("SELECT value FROM point_axes WHERE point = 1 AND key = 'workload.kind'") == "read\n");
  CHECK(ask("SELECT name, look FROM strategies ORDER BY position") == "fault/touch-ahead|2\nresident|0\n");
}

TEST_CASE("every strategy that ships has a look of its own, others have what is left") {
  const fs::path folder = source_tree() / "configs/strategies";
  std::vector<Strategy> strategies{{"mine", "", {}}};
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".toml")
      strategies.push_back({fs::relative(entry.path(), folder).replace_extension().string(), "", {}});
  }
  strategies.push_back({"another", "", {}});
  REQUIRE(strategies.size() > 10);
  const std::vector<unsigned> looks = looks_of(strategies);
  CHECK(std::set<unsigned>(looks.begin(), looks.end()).size() == looks.size());
  for (std::size_t i = 1; i + 1 < strategies.size(); ++i) {
    INFO(strategies[i].name);
    // With a stranger before it, which would take the first one that is free.
    CHECK(looks_of({{"mine", "", {}}, strategies[i]})[1] == looks[i]);
    CHECK(looks_of({strategies[i]})[0] == looks[i]);
  }
}

TEST_CASE("steps, distributions, series, notes and failed checks are in the database") {
  const Sandbox sandbox;
  MadeRun run(sandbox, kSizes + "parameters.workload.label = \"series\"\n");
  run.outcomes[1].result.failed_checks = {"it differs"};
  run.write();
  CHECK(ask("SELECT step, side, samples, description FROM breakdown WHERE point = 1") ==
        "post|library|100|the user posts\nwire|link|100|cells move\n");
  const double latency = run.outcomes[0].result.metrics[0].value;
  CHECK(ask("SELECT name, unit, count, p50 = min, max = 2 * min, p999 = max FROM distributions WHERE point = 1") ==
        "latency|us|100|1|1|1\n");
  SqlDatabase database = open_database("o");
  SqlStatement bucket(database, "SELECT lower, upper, count FROM buckets WHERE point = 1 AND name = 'latency'");
  REQUIRE(bucket.step());
  CHECK(bucket.real(0) == latency);
  CHECK(bucket.whole(2) == 50);
  CHECK(ask("SELECT time_us, value, unit FROM series WHERE point = 8 AND name = 'faults'") ==
        "0.0|1.0|1\n0.5|0.0|1\n1.0|16.0|1\n");
  CHECK(ask("SELECT point, text FROM notes WHERE point < 5") == "3|larger than a block\n4|larger than a block\n");
  CHECK(ask("SELECT point, text FROM failed_checks") == "2|it differs\n");
  CHECK(ask("SELECT status, error, events FROM points WHERE number = 2") == "check failed|it differs|1001\n");
}

TEST_CASE("metrics of nodes and flows are in the database, and what limits a point") {
  const Sandbox sandbox;
  MadeRun run(sandbox, kSizes);
  const workloads::Metric busy{"utilisation_link", 97.25, "%", "a link"};
  run.outcomes[0].result.metrics.push_back(busy);
  run.outcomes[0].result.parts = {{"flow 0", "node 0 writes to node 1", {{"faults", 3, "1", ""}}},
                                  {"node 2", "", {busy}}};
  run.write();
  CHECK(ask("SELECT point, part, about, name, value, unit FROM part_metrics ORDER BY part") ==
        "1|flow 0|node 0 writes to node 1|faults|3.0|1\n1|node 2||utilisation_link|97.25|%\n");
  CHECK(
      ask("SELECT point, text FROM limits") ==
      "1|Limited by the busiest outgoing link of node 2, busy 97.2 % of the time: whatever else were faster would save "
      "2.8 % of the time at most.\n");
}

TEST_CASE("views with a latency have the transfers beside it that are not in it") {
  const Sandbox sandbox;
  MadeRun run(sandbox, kSizes + "repetitions = 2\nparameters.workload.label = \"loses\"\n");
  run.outcomes[15] = {};
  run.outcomes[8].result.parts = {{"flow 0", "", {{"transfers_failed", 2, "1", ""}, {"latency_mean", 7, "us", ""}}},
                                  {"node 1", "", {{"latency_max", 7, "us", ""}}}};
  run.outcomes[8].result.metrics.push_back({"latency_max", 7, "us", ""});
  run.write();
  const std::string last = "SELECT group_concat(coalesce(failed_transfers, '-'), ' ') FROM ";
  CHECK(ask("SELECT group_concat(coalesce(transfers, '-'), ' ') FROM points WHERE number > 12") == "100 100 100 -\n");
  CHECK(ask(last + "points WHERE number > 8") == "2 3 2 3 2 3 2 -\n");
  CHECK(ask(last + "results WHERE point IN (1, 10)") == "0 3\n");
  CHECK(ask(last + "metrics WHERE point = 10 AND name = 'goodput'") == "3\n");
  CHECK(ask(last + "part_metrics WHERE point = 9 AND name LIKE 'latency%'") == "2 -\n");
  CHECK(ask(last + "breakdown WHERE point = 10") == "3 3\n");
  CHECK(ask(last + "distributions WHERE point = 10") == "3\n");
  for (const char* view : {"means", "mean_breakdown", "mean_results"}) {
    INFO(view);
    const std::string both = "SELECT DISTINCT failed_transfers, unfinished_points FROM " + std::string(view);
    CHECK(ask(both + " WHERE combination = 7") == "5|0\n");
    CHECK(ask(both + " WHERE combination = 8") == "2|1\n");
  }
  CHECK(ask("SELECT group_concat(name, ' ') FROM metric_docs WHERE of_completed AND name NOT LIKE 'latency%'") ==
        "goodput\n");
  MadeRun(sandbox, kSizes + "parameters.workload.label = \"loses\"\n").write("single");
  CHECK(ask("SELECT DISTINCT failed_transfers, unfinished_points FROM means WHERE combination = 8", "single") ==
        "2|0\n");
}

TEST_CASE("points without a result are rows with their reason") {
  const Sandbox sandbox;
  MadeRun run(sandbox, kSizes);
  run.outcomes[0] = {};
  run.outcomes[0].status = PointStatus::timed_out;
  run.outcomes[0].error = "it took longer than 1 s";
  run.outcomes[1].result = {};
  run.outcomes[1].result.refused = "by a limit";
  run.outcomes[2] = {};
  run.write();
  CHECK(ask("SELECT number, status, error FROM points WHERE number < 5") ==
        "1|timed out|it took longer than 1 s\n2|refused|by a limit\n3|not run|NULL\n4|complete|NULL\n");
  CHECK(ask("SELECT group_concat(number) FROM points WHERE events IS NULL AND cell_hops IS NULL AND simulated_ps IS "
            "NULL") == "1,3\n");
  CHECK(ask("SELECT count(*) FROM points") == "8\n");
  CHECK(ask("SELECT count(*) FROM results WHERE latency_mean IS NULL") == "3\n");
}

TEST_CASE("means over seeds have half widths; of one seed there is none") {
  const Sandbox sandbox;
  MadeRun run(sandbox, kSizes + "repetitions = 3\nparameters.workload.label = \"noisy\"\n");
  run.outcomes[4].result = {};
  run.outcomes[5].result = {};
  run.write();
  CHECK(ask("SELECT count(*), max(measured) FROM combinations") == "8|3\n");
  // Three values 1 us apart: t is 4.302652729911275.
  CHECK(ask("SELECT seeds, round(half_width, 9), round(deviation, 9) FROM means"
            " WHERE combination = 1 AND name = 'latency_mean'") == "3|2.484137712|1.0\n");
  CHECK(ask("SELECT seeds, half_width FROM means WHERE combination = 2 AND name = 'latency_mean'") == "1|NULL\n");
  CHECK(ask("SELECT half_width FROM means WHERE combination = 1 AND name = 'faults'") == "0.0\n");
  CHECK(ask("SELECT m.mean = avg(v.value) FROM means AS m JOIN points AS p ON p.combination = m.combination"
            " JOIN metrics AS v ON v.point = p.number AND v.name = m.name"
            " WHERE m.combination = 8 AND m.name = 'goodput'") == "1\n");
  CHECK(ask("SELECT round(latency_mean_half_width, 6), \"workload.size\" FROM mean_results WHERE combination = 8") ==
        "2.484138|65536.0\n");
  // A fault of 8 us in one of three seeds: 4.302653 * 4.618802 / sqrt(3).
  CHECK(ask("SELECT step, round(time_us, 6), round(half_width_us, 6) FROM mean_breakdown"
            " WHERE combination = 1 AND step = 'fault'") == "fault|2.666667|11.473741\n");
  // Without repetitions the same views have the points' own values.
  MadeRun(sandbox, kSizes).write("single");
  CHECK(ask("SELECT count(*), count(half_width), max(seeds) FROM means", "single") == "48|0|1\n");
  CHECK(ask("SELECT count(*), count(half_width_us) FROM mean_breakdown", "single") == "16|0\n");
}

TEST_CASE("the same results have the same bytes, and nothing is left beside them") {
  const Sandbox sandbox;
  const MadeRun run(sandbox, kSizes + "repetitions = 2\nparameters.workload.label = \"noisy\"\n");
  run.write("a");
  run.write("b");
  run.write("b");
  CHECK(read_text("a/results.sqlite") == read_text("b/results.sqlite"));
  CHECK_FALSE(fs::exists("b/.results.sqlite.part"));
  CHECK(ask("PRAGMA integrity_check", "b") == "ok\n");
  CHECK(ask("PRAGMA foreign_key_check", "b").empty());
  CHECK(ask("PRAGMA user_version", "b") == std::to_string(kSchemaVersion) + "\n");
}

TEST_CASE("the queries of docs/results.md are answered") {
  const Sandbox sandbox;
  MadeRun run(sandbox, kSizes + "parameters.workload.label = \"loses\"\n");
  const workloads::Metric busy{"utilisation_link", 97.25, "%", "a link"};
  const auto flow = [](const char* name, double latency, double failed) {
    return workloads::PartResult{
        name, "to node 1", {{"latency_mean", latency, "us", ""}, {"transfers_failed", failed, "1", ""}}};
  };
  run.outcomes[6].result.metrics.push_back(busy);
  run.outcomes[6].result.parts = {flow("flow 0", 7, 0), flow("flow 1", 9, 2), {"node 2", "", {busy}}};
  run.write();
  const std::string docs = read_text(source_tree() / "docs/results.md");
  std::vector<std::string> answers;
  for (std::size_t at = docs.find("```sql\n"); at != std::string::npos; at = docs.find("```sql\n", at + 1)) {
    const std::string block = docs.substr(at + 7, docs.find("```", at + 7) - at - 7);
    for (std::size_t from = 0; block.find(';', from) != std::string::npos;) {
      const std::size_t to = block.find(';', from);
      answers.push_back(ask(block.substr(from, to - from)));
      from = to + 1;
    }
  }
  REQUIRE(answers.size() == 6);
  CHECK(answers[3] == "7|node 2|97.25\n");
  CHECK(
      answers[4].starts_with("fault/touch-ahead, workload.size = 64 KiB, network.internal_latency = 120 ns|Limited by "
                             "the busiest outgoing link of node 2"));
  CHECK(answers[5] == "7|flow 1|to node 1|9.0|2\n");
}

TEST_CASE("docs/results.md names every table, view and column of the database") {
  const Sandbox sandbox;
  MadeRun(sandbox, "question = \"no axes\"\n").write();
  const std::string docs = read_text(source_tree() / "docs/results.md");
  SqlDatabase database = open_database("o");
  SqlStatement columns(database,
                       "SELECT s.name, c.name FROM sqlite_schema AS s JOIN pragma_table_info(s.name) AS c"
                       " WHERE s.type IN ('table', 'view') AND s.name NOT IN ('results', 'mean_results')");
  std::size_t count = 0;
  while (columns.step()) {
    INFO(columns.text(0) << "." << columns.text(1));
    const std::size_t row = docs.find("\n| `" + columns.text(0) + "` |");
    REQUIRE(row != std::string::npos);
    const std::string line = docs.substr(row + 1, docs.find('\n', row + 1) - row);
    CHECK(line.find("`" + columns.text(1) + "`") != std::string::npos);
    ++count;
  }
  CHECK(count > 100);
}

TEST_CASE("means, deviations and intervals are those of the textbook; values that are none do not count") {
  const Summary summary = summary_of({2, 4, 4, 4, 5, 5, 7, 9, std::nan("")});
  CHECK(summary.count == 8);
  CHECK(summary.mean == 5);
  CHECK(summary.deviation == Approx(2.138089935));
  CHECK(summary.half_width == Approx(2.364624252 * 2.138089935 / std::sqrt(8)));
  CHECK(summary_of({0.1, 0.1, 0.1}).mean == 0.1);
  CHECK(summary_of({0.1, 0.1, 0.1}).half_width == 0);
  CHECK(summary_of({3}).half_width == 0);
  CHECK(std::isnan(summary_of({}).mean));
}

TEST_CASE("Welch's test gives the probabilities that scipy.stats.ttest_ind(equal_var=False) does") {
  const Summary a =
      summary_of({27.5, 21.0, 19.0, 23.6, 17.0, 17.9, 16.9, 20.1, 21.9, 22.6, 23.1, 19.6, 19.0, 21.7, 21.4});
  const Summary b =
      summary_of({27.1, 22.0, 20.8, 23.4, 23.4, 23.5, 25.8, 22.0, 24.8, 20.2, 21.9, 22.1, 22.9, 30.5, 24.3});
  CHECK(welch_probability(a, b) == Approx(0.008185629704967038));
  CHECK(welch_probability(summary_of({1, 2, 3, 4}), summary_of({2.5, 9, 4})) == Approx(0.3060847485179307));
  CHECK(welch_probability(a, a) == Approx(1));
  // One that is exact: the t test of one sample against its value.
  CHECK(welch_probability(exact_summary({3}), summary_of({2, 4, 4, 4, 5, 5, 7, 9})) == Approx(0.0331455).epsilon(1e-4));
}

TEST_CASE("a difference is beyond noise, within it, exact or unknown") {
  const Summary low = summary_of({1, 2, 3}), high = summary_of({101, 102, 103}), near = summary_of({1.1, 2.2, 3.1});
  CHECK(beyond_noise(low, high) == BeyondNoise::yes);
  CHECK(beyond_noise(low, near) == BeyondNoise::no);
  CHECK(beyond_noise(low, summary_of({100})) == BeyondNoise::unknown);
  CHECK(beyond_noise(summary_of({1}), summary_of({2})) == BeyondNoise::unknown);
  CHECK(beyond_noise(summary_of({}), low) == BeyondNoise::unknown);
  // What draws nothing, or gave the same value each time, has no interval of width zero that proves anything.
  CHECK(beyond_noise(exact_summary({1, 1, 1}), exact_summary({2})) == BeyondNoise::exact);
  CHECK(beyond_noise(exact_summary({1}), exact_summary({1})) == BeyondNoise::exact);
  CHECK(beyond_noise(summary_of({1, 1, 1}), summary_of({2, 2, 2})) == BeyondNoise::exact);
  CHECK(beyond_noise(exact_summary({1}), summary_of({2})) == BeyondNoise::unknown);
  CHECK(beyond_noise(exact_summary({50}), low) == BeyondNoise::yes);
  CHECK(beyond_noise(exact_summary({2}), low) == BeyondNoise::no);
  CHECK(beyond_noise(exact_summary({}), low) == BeyondNoise::unknown);
  CHECK(exact_summary({4, 4, 4}).count == 1);
  CHECK(exact_summary({4, 4, 4}).half_width == 0);
}
