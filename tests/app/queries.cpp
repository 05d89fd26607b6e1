// SPDX-License-Identifier: Apache-2.0
// faultline query and faultline diff as their users see them, and what they say of a database that cannot be read.
#include <catch2/catch.hpp>

#include <sqlite3.h>

#include <nlohmann/json.hpp>

#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

Ran seeds(const Sandbox& sandbox) {
  return run_experiment(
      sandbox,
      "repetitions = 3\nparameters.workload.label = \"noisy\"\n"
      "strategies = [\"resident\", \"fault/touch-ahead\"]\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
}

// As another program would.
void change(const std::string& sql) {
  sqlite3* handle = nullptr;
  REQUIRE(sqlite3_open("o/results.sqlite", &handle) == SQLITE_OK);
  CHECK(sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(handle);
}

}  // namespace

TEST_CASE("query prints a table with units in its head, and the same for programs") {
  const Sandbox sandbox;
  REQUIRE(seeds(sandbox).code == 0);
  const Ran table = faultline_program({"query", "o", "latency_mean", "--where", "workload.size=4 KiB"});
  CHECK(table.code == 0);
  CHECK(table.out ==
        "latency_mean [us]: mean\n"
        "strategy           workload.size  points   mean     \u00b1    min    max\n"
        "                                           [us]  [us]   [us]   [us]\n"
        "-------------------------------------------------------------------\n"
        "resident                   4 KiB       3   5.43  2.48   4.43   6.43\n"
        "fault/touch-ahead          4 KiB       3  43.43  2.48  42.43  44.43\n"
        "(\u00b1: half of the 95 % confidence interval of the mean over the seeds, by Student's t)\n");
  const Ran sums = faultline_program({"query", "o", "faults", "--where", "strategy=resident"});
  CHECK(sums.out.find("faults [/point]: faults\n") == 0);
  CHECK(sums.out.find("(/point: a sum over all transfers of a point; 'faultline run' shows it for each, as /op)\n") !=
        std::string::npos);
  const Ran mixed = faultline_program({"query", "o", "faults", "--by", "strategy", "--format", "csv"});
  CHECK(mixed.out ==
        "strategy,metric,unit,points,mean,half_width,min,max,failed_checks,failed_transfers,unfinished_points\n"
        "resident,faults,1,6,0,,0,0,0,0,0\nfault/touch-ahead,faults,1,6,1,,1,1,0,0,0\n");
  CHECK(faultline_program({"query", "o", "faults", "--by", "strategy"})
            .out.find("(the points of a row differ by workload.size, too: such rows have no interval)\n") !=
        std::string::npos);
  const Json json = Json::parse(faultline_program({"query", "o", "goodput", "--by", "seed", "--format", "json"}).out);
  REQUIRE(json.size() == 3);
  CHECK(json[1].at("seed") == "2");
  CHECK(json[1].at("unit") == "MB/s");
  CHECK(json[1].at("points") == 4);
  CHECK(json[1].at("half_width").is_null());
}

TEST_CASE("query without a metric says what can be asked for; with --sql it asks anything, and changes nothing") {
  const Sandbox sandbox;
  REQUIRE(seeds(sandbox).code == 0);
  const std::string before = read_text("o/results.sqlite");
  const Ran overview = faultline_program({"query", "o"});
  CHECK(overview.out.find("workload.size  64 B, 4 KiB\n") != std::string::npos);
  CHECK(overview.out.find("goodput            MB/s  payload per time\n") != std::string::npos);
  const auto sql = [](const std::string& text, const std::string& format = "table") {
    return faultline_program({"query", "o", "--sql", text, "--format", format});
  };
  CHECK(sql("SELECT strategy, count(*) AS n FROM points GROUP BY strategy ORDER BY 1 DESC;").out ==
        "strategy           n\n--------------------\nresident           6\nfault/touch-ahead  6\n");
  CHECK(sql("SELECT 1.5 AS x, NULL AS y, 'a,b' AS z", "csv").out == "x,y,z\n1.5,,\"a,b\"\n");
  CHECK(Json::parse(sql("SELECT 1.5 AS x, NULL AS y", "json").out) == Json{{{"x", 1.5}, {"y", nullptr}}});
  CHECK(sql("SELECT nobody FROM points").err ==
        "--sql: no such column: nobody; docs/results.md names tables, views and columns\n");
  CHECK(sql("DELETE FROM points").code == 2);
  CHECK(sql("PRAGMA user_version = 7").code == 2);
  CHECK(sql("SELECT 1; SELECT 2").err == "--sql: several statements; allowed: one\n");
  CHECK(faultline_program({"query", "o", "faults", "--sql", "SELECT 1"}).code == 2);
  CHECK(faultline_program({"query", "o", "--by", "seed"}).err ==
        "no METRIC; 'faultline query o' names those that there are\n");
  CHECK(faultline_program({"query"}).err.find("'faultline query' needs a run folder") == 0);
  CHECK(read_text("o/results.sqlite") == before);
}

TEST_CASE("diff prints the configuration first, then metrics with their change and whether it is beyond noise") {
  const Sandbox sandbox;
  REQUIRE(seeds(sandbox).code == 0);
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "p", "--set", "network.internal_rate=5 Gb/s"}).code == 0);
  const Ran diff =
      faultline_program({"diff", "o", "p", "latency_mean", "latency_min", "faults", "--where", "strategy=resident"});
  CHECK(diff.code == 0);
  CHECK(diff.out ==
        "A: o\nB: p\n\n"
        "configuration          A        B\n"
        "--------------------------------------\n"
        "network.internal_rate  10 Gb/s  5 Gb/s\n\n"
        "point                            metric        unit           A           B  change  beyond noise\n"
        "                                                                                [%]\n"
        "-------------------------------------------------------------------------------------------------\n"
        "resident, workload.size = 64 B   latency_mean  us    2.20 \u00b12.48  2.26 \u00b12.48    +2.3  no\n"
        "                                 latency_min   us          0.20        0.26   +25.0  exact\n\n"
        "resident, workload.size = 4 KiB  latency_mean  us    5.43 \u00b12.48  8.71 \u00b12.48   +60.3  yes\n"
        "                                 latency_min   us          3.43        6.71   +95.5  exact\n"
        "2 of 6 metrics of 2 points that both have are equal\n"
        "(\u00b1: half of the 95 % confidence interval over the seeds; beyond noise: Welch's t test at 5 %, so chance "
        "makes\n"
        " one mark in twenty)\n"
        "(exact: no repetition gives another value, so there is no noise to test against; with one seed: no random "
        "number "
        "is drawn)\n");
  const Json json = Json::parse(faultline_program({"diff", "o", "p", "--format", "json"}).out);
  CHECK(json.at("configuration")[0].at("b") == "5 Gb/s");
  CHECK(json.at("metrics")[0].at("a").at("seeds") == 3);
  const Ran csv = faultline_program({"diff", "o:1", "o:4", "latency_min", "--format", "csv"});
  CHECK(csv.out.find("point,metric,unit,a,a_half_width,a_seeds,b,") == 0);
  CHECK(faultline_program({"diff", "o", "o"}).out.find("the configurations are the same\n\n24 of 24 metrics") !=
        std::string::npos);
  CHECK(faultline_program({"diff", "o"}).err.find("'faultline diff' needs two runs") == 0);
  CHECK(faultline_program({"diff", "o", "p", "latncy_mean"}).err.find("did you mean 'latency_mean'?") !=
        std::string::npos);
}

TEST_CASE("diff says that nothing is known of noise where there is one seed") {
  const Sandbox sandbox;
  REQUIRE(run_experiment(sandbox, "axes.workload.size = [\"64 B\", \"4 KiB\"]\n").code == 0);
  const Ran diff = faultline_program({"diff", "o:1", "o:2"});
  CHECK(diff.out.find("  ?\n") != std::string::npos);
  CHECK(diff.out.find("(?: one seed, so nothing is known of noise; 'repetitions' in the experiment adds some)\n") !=
        std::string::npos);
}

TEST_CASE("query shows axes that advance together once, and values in the experiment's order") {
  const Sandbox sandbox;
  REQUIRE(run_experiment(
              sandbox,
              "zip = [[\"workload.iterations\", \"workload.size\"]]\naxes.workload.iterations = [10, 5, 5]\n"
              "axes.workload.size = [\"64 B\", \"4 KiB\", \"1 KiB\"]\naxes.workload.kind = [\"write\", \"read\"]\n"
              "[[skip]]\nworkload.size = \"64 B\"\nworkload.kind = \"write\"\n")
              .code == 0);
  const Ran overview = faultline_program({"query", "o"});
  CHECK(overview.out.find("workload.size        64 B, 4 KiB, 1 KiB (advances with workload.iterations)\n") !=
        std::string::npos);
  CHECK(overview.out.find("workload.kind        write, read\n") != std::string::npos);
  const Ran table = faultline_program({"query", "o", "latency_mean"});
  CHECK(table.out.find("workload.size") != std::string::npos);
  CHECK(table.out.find("workload.iterations") == table.out.rfind("workload.iterations"));
  CHECK(table.out.find("(--by shows what advances with these axes: workload.iterations)\n") != std::string::npos);
}

TEST_CASE("diff tells a point without a value from one of a single seed") {
  const Sandbox sandbox;
  REQUIRE(
      run_experiment(sandbox, "parameters.workload.label = \"refused\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n")
          .code == 0);
  const Ran diff = faultline_program({"diff", "o:1", "o:2", "latency_mean"});
  CHECK(diff.out.find("  -\n") != std::string::npos);
  CHECK(
      diff.out.find("(-: no value on one side: the point failed, was refused or has not run, or lacks the metric)\n") !=
      std::string::npos);
  CHECK(diff.out.find("one seed") == std::string::npos);
}

TEST_CASE("a check that failed is told by everything that shows its point") {
  const Sandbox sandbox;
  const std::string why = "data at the destination differ";
  const Ran ran = run_experiment(
      sandbox, "parameters.workload.label = \"wrong data\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  CHECK(ran.code == 1);
  CHECK(ran.out.find("CHECK FAILED") != std::string::npos);
  CHECK(read_text("o/results.csv").find(",check failed," + why + "\n") != std::string::npos);
  CHECK(Json::parse(read_text("o/results.json"))[0].at("status") == "check failed");
  CHECK(read_text("o/results.csv").find("complete") == std::string::npos);
  const Ran status = faultline_program({"status", "o"});
  CHECK(status.out.starts_with("o: 2 points: 2 check failed, 0 to do;"));
  CHECK(status.out.find("default, workload.size = 64 B: " + why + "\n") != std::string::npos);
  CHECK(Json::parse(faultline_program({"status", "o", "--format", "json"}).out).at("failed").size() == 2);
  const std::string told = "CHECK FAILED at 2 of 2 points: first default, workload.size = 64 B: " + why + "\n";
  for (const char* format : {"table", "csv", "json"}) {
    CHECK(faultline_program({"query", "o", "faults", "--format", format}).err == "o: " + told);
    CHECK(faultline_program({"diff", "o", "o", "--format", format}).err == "o: " + told + "o: " + told);
  }
  CHECK(faultline_program({"query", "o", "--sql", "SELECT 1"}).err == "o: " + told);
  CHECK(faultline_program({"query", "o"}).err == "o: " + told);
  CHECK(faultline_program({"query", "o", "faults", "--where", "workload.size=4 KiB", "--format", "csv"})
            .out.ends_with(",1,0,0\n"));
  CHECK(faultline_program({"diff", "o:1", "o:2"}).err ==
        "o: CHECK FAILED at 1 of 1 points: default, workload.size = 64 B: " + why +
            "\no: CHECK FAILED at 1 of 1 points: default, workload.size = 4 KiB: " + why + "\n");
  fs::remove_all("o/points");
  const Ran worker = faultline_program({"worker", "o"});
  CHECK(worker.code == 1);
  CHECK(worker.err.find("default, workload.size = 4 KiB: " + why + "\n") != std::string::npos);
}

TEST_CASE("query and diff count failed transfers beside what they are not in, and mark it") {
  const Sandbox sandbox;
  REQUIRE(run_experiment(sandbox,
                         "repetitions = 3\nparameters.workload.label = \"loses\"\n"
                         "strategies = [\"resident\", \"fault/touch-ahead\"]\naxes.workload.size = [\"4 KiB\"]\n")
              .code == 0);
  const Ran table = faultline_program({"query", "o", "latency_mean", "faults"});
  INFO(table.out);
  CHECK(table.out.find("resident                   4 KiB       3   3.43     0.00   3.43   3.43\n") !=
        std::string::npos);
  CHECK(table.out.find(
            "fault/touch-ahead          4 KiB       3  41.43 !7  0.00  41.43  41.43\n"
            "(!: so many transfers failed, and are in no latency and no goodput: fault/touch-ahead, 4 KiB: 7 of "
            "300)\n") != std::string::npos);
  CHECK(table.out.find("!7") == table.out.rfind("!7"));  // not beside the faults
  CHECK(faultline_program({"query", "o", "goodput", "--by", "seed", "--where", "strategy!=resident", "--format", "csv"})
            .out.find(",0,3,0\n") != std::string::npos);
  const Json json = Json::parse(faultline_program({"query", "o", "latency_mean", "--format", "json"}).out);
  CHECK(json[1].at("failed_transfers") == 7);
  CHECK(json[1].at("unfinished_points") == 0);

  const std::string told =
      "o: 7 of 600 transfers failed, at 3 of 6 points: they are in no latency and no goodput; the column "
      "failed_transfers "
      "of the views counts them\n";
  const auto sql = [](const std::string& text) { return faultline_program({"query", "o", "--sql", text}); };
  CHECK(sql("SELECT strategy, latency_mean FROM mean_results").err == told);
  CHECK(sql("SELECT latency_mean, failed_transfers FROM mean_results").err.empty());

  const Ran diff =
      faultline_program({"diff", "o:strategy=resident", "o:strategy=fault/touch-ahead", "latency_mean", "faults"});
  INFO(diff.out);
  CHECK(diff.out.find("latency_mean  us    3.43  41.43 !7  +1107.8 !7  marked\n") != std::string::npos);
  CHECK(diff.out.find("  faults  ") != std::string::npos);
  CHECK(diff.out.find("!7", diff.out.find("  faults  ")) == std::string::npos);
  CHECK(diff.out.find(
            "(!: so many transfers failed, and are in no latency and no goodput: resident, workload.size = 4 KiB "
            "in B: 7 of 300)\n") != std::string::npos);
  CHECK(diff.out.find("(marked: no verdict: ") != std::string::npos);
  const auto differs = [](const std::string& format) {
    return faultline_program(
               {"diff", "o:strategy=resident", "o:strategy=fault/touch-ahead", "latency_mean", "--format", format})
        .out;
  };
  CHECK(differs("csv").ends_with(",marked,0,0,7,0\n"));
  CHECK(Json::parse(differs("json")).at("metrics")[0].at("b").at("failed_transfers") == 7);
}

TEST_CASE("seeds without a result are counted beside the mean that they are not in") {
  const Sandbox sandbox;
  REQUIRE(run_experiment(sandbox, "repetitions = 3\nparameters.workload.label = \"fails at 2\"\n").code == 3);
  const Ran table = faultline_program({"query", "o", "latency_mean"});
  CHECK(table.out.find("default        2  3.43 !!1  0.00  3.43  3.43\n"
                       "(!!: so many points have no result, and are in no mean: default: 1 of 3)\n") !=
        std::string::npos);
  CHECK(faultline_program({"query", "o", "latency_mean", "--format", "csv"}).out.ends_with(",0,0,1\n"));
  CHECK(faultline_program({"query", "o", "--sql", "SELECT unfinished_points FROM means WHERE name = 'goodput'"}).out ==
        "unfinished_points\n-----------------\n                1\n");
}

TEST_CASE("a file that is no database is not called a damaged one") {
  const Sandbox sandbox;
  REQUIRE(run_experiment(sandbox, "").code == 0);
  const std::string advice = "; name a run folder, as runs/mine-1, or the results.sqlite in it\n";
  CHECK(faultline_program({"query", "mine.toml", "faults"}).err ==
        "mine.toml: is no database of Faultline's results" + advice);
  sandbox.write("long.txt", std::string(5000, 'x'));
  CHECK(faultline_program({"query", "long.txt", "faults"}).err == "long.txt: is no database" + advice);
  CHECK(faultline_program({"query", "o/results.sqlite", "faults"}).code == 0);
}

TEST_CASE("a database that is locked, damaged, or of another schema is refused, and made again from the points") {
  const Sandbox sandbox;
  REQUIRE(seeds(sandbox).code == 0);
  const std::string whole = read_text("o/results.sqlite");
  const auto refused = [](const std::string& why) {
    for (const std::vector<std::string>& command :
         {std::vector<std::string>{"query", "o", "faults"}, {"diff", "o", "o"}, {"query", "o", "--sql", "SELECT 1"}}) {
      const Ran ran = faultline_program(command);
      INFO(ran.err);
      CHECK(ran.code == 2);
      CHECK(ran.err.find("o/results.sqlite: " + why) == 0);
    }
  };
  const auto made_again = [&] {
    CHECK(faultline_program({"run", "mine.toml", "--out", "o"}).err ==
          "12 of 12 points are there already\nrun folder: o\n");
    CHECK(read_text("o/results.sqlite") == whole);
  };
  const std::string again = "; 'faultline run o' makes it again from the points that are there";

  sqlite3* other = nullptr;
  REQUIRE(sqlite3_open("o/results.sqlite", &other) == SQLITE_OK);
  REQUIRE(sqlite3_exec(other, "BEGIN EXCLUSIVE", nullptr, nullptr, nullptr) == SQLITE_OK);
  CHECK(faultline_program({"query", "o", "faults"}).err ==
        "o/results.sqlite: another program has locked it; end what writes to it (sqlite3?) and try again (database is "
        "locked)\n");
  sqlite3_close(other);
  CHECK(faultline_program({"query", "o", "faults"}).code == 0);

  change("PRAGMA user_version = 99");
  refused("has schema version 99, and this program reads 5" + again);
  made_again();
  change("PRAGMA application_id = 7");
  refused("is no database of Faultline's results" + again);
  made_again();
  sandbox.write("o/results.sqlite",
                "this is no database, but it is long enough to be looked at as one: " + std::string(4096, 'x'));
  refused("is damaged" + again);
  made_again();
  sandbox.write("o/results.sqlite", whole.substr(0, whole.size() / 2));
  refused("is damaged" + again);
  made_again();
  std::string overwritten = whole;
  overwritten.replace(4096, whole.size() - 8192, std::string(whole.size() - 8192, '\xff'));
  sandbox.write("o/results.sqlite", overwritten);
  refused("is damaged" + again);
  made_again();
  sandbox.write("o/results.sqlite", "");
  refused("is no database of Faultline's results" + again);
  made_again();
  change("CREATE INDEX mine ON points(seed)");
  refused("is damaged" + again);
  made_again();
  fs::remove("o/results.sqlite");
  CHECK(faultline_program({"query", "o", "faults"}).err ==
        "o: has no results.sqlite: no run has ended there, or an older program's" + again + "\n");
  made_again();
  CHECK(faultline_program({"query", "nowhere", "faults"}).err == "nowhere: no such folder\n");
  CHECK(faultline_program({"diff", "o", "nowhere:3"}).err == "nowhere: no such folder\n");
  fs::create_symlink("loop", "loop");
  for (const std::vector<std::string>& command : {std::vector<std::string>{"query", "loop", "faults"},
                                                  {"diff", "o", "loop"},
                                                  {"status", "loop"},
                                                  {"worker", "loop"},
                                                  {"report", "loop"},
                                                  {"run", "loop"},
                                                  {"run", "sizes", "--out", "loop"}}) {
    const Ran ran = faultline_program(command);
    CHECK(ran.code == 2);
    CHECK_THAT(ran.err, Catch::StartsWith("loop: ") && Catch::EndsWith("Too many levels of symbolic links\n"));
  }
}

TEST_CASE(
    "a database that cannot be written costs nothing: the tables are printed, the points stay, the next run writes "
    "it") {
  const Sandbox sandbox;
  fs::create_directories("o/points");
  fs::create_directories("o/results.sqlite/in the way");
  const Ran ran = seeds(sandbox);
  CHECK(ran.code == 2);
  CHECK(ran.out.find("resident ") != std::string::npos);
  CHECK(ran.err.find("o/results.sqlite: cannot be written: Is a directory") != std::string::npos);
  CHECK_FALSE(fs::exists("o/.results.sqlite.part"));
  fs::remove_all("o/results.sqlite");
  const Ran again = faultline_program({"run", "mine.toml", "--out", "o"});
  CHECK(again.err == "12 of 12 points are there already\nrun folder: o\n");
  CHECK(fs::is_regular_file("o/results.sqlite"));
  CHECK(fs::exists("o/meta.json"));
}

TEST_CASE("what a program that changed a database has left does not reach the next one") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  for (const char* left : {"o/results.sqlite-wal", "o/results.sqlite-shm", "o/results.sqlite-journal"})
    sandbox.write(left, "left");
  fs::remove("o/results.sqlite");
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  CHECK(fs::exists("o/results.sqlite"));
  for (const char* left : {"o/results.sqlite-wal", "o/results.sqlite-shm", "o/results.sqlite-journal"})
    CHECK_FALSE(fs::exists(left));
}
