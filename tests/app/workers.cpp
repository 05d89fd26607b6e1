// SPDX-License-Identifier: Apache-2.0
// Workers: processes that help with a run's points. By kill -9, and many at a time: tests/scripts/workers.sh.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <thread>

#include "src/runs/claimed_points.hpp"
#include "src/runs/host.hpp"
#include "src/runs/seal.hpp"
#include "src/runs/worker_record.hpp"
#include "tests/support/program.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;
namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

std::string id_of(const std::string& folder, std::size_t index) {
  return Json::parse(read_text(fs::path(folder) / "manifest.json")).at("points").at(index).at("id");
}

// The record that a worker leaves which dies at a point.
void die_at(const Sandbox& sandbox, const std::string& folder, const std::string& worker, const std::string& id) {
  const Json record{{"worker", worker}, {"slurm_task", ""}, {"jobs", 1},
                    {"simulated", 3},   {"failed", 0},      {"at", {{id, "a point"}}}};
  sandbox.write(fs::path(folder) / "workers" / (worker + ".json"), sealed_json(record, -1));
}

Folder taken(const std::string& folder) {
  return Folder::open(folder, "", [](const Folder&) { return true; });
}

}  // namespace

TEST_CASE("a prepared run is simulated by workers, and its tables are those of a run of its own") {
  const Sandbox sandbox;
  const Ran alone = faultline_program({"run", "sizes", "--out", "alone"});
  const Ran prepared = faultline_program({"run", "sizes", "--out", "o", "--prepare"});
  CHECK(prepared.code == 0);
  CHECK(prepared.out == "o\n");
  CHECK(prepared.err == "6 of 6 points to do, by 'faultline worker o'; then 'faultline run o' makes the tables\n");
  CHECK(!fs::exists("o/points"));
  const Ran worker = faultline_program({"worker", "o"});
  CHECK(worker.code == 0);
  CHECK(worker.out.empty());
  CHECK(worker.err.starts_with("worker "));
  CHECK(worker.err.ends_with(": 6 points simulated\n"));
  CHECK(!fs::exists("o/results.json"));
  CHECK(faultline_program({"worker", "o"}).err.ends_with(": 0 points simulated\n"));

  const Ran collected = faultline_program({"run", "o"});
  CHECK(collected.err == "6 of 6 points are there already\nrun folder: o\n");
  CHECK(collected.out == alone.out);
  for (const char* file : {"results.json", "results.csv", "manifest.json", "effective.toml"}) {
    CHECK(read_text(fs::path("o") / file) == read_text(fs::path("alone") / file));
  }
  CHECK(!fs::exists("o/workers"));
}

TEST_CASE("a worker leaves what others are at, and tells what its points came to") {
  const Sandbox sandbox;
  sandbox.write(
      "mine.toml",
      "repetitions = 3\nparameters.workload.label = \"fails at 2\"\naxes.workload.size = [\"64 B\", \"4 KiB\"]\n");
  REQUIRE(faultline_program({"run", "mine.toml", "--out", "o", "--prepare", "--quiet"}).err.empty());
  {
    Folder other = taken("o");
    REQUIRE(other.locks().take("point " + id_of("o", 0)));
    const Ran worker = faultline_program({"worker", "o"});
    CHECK(worker.code == 3);
    const std::string bug = ", seed 2: exception: the queue is longer than itself\n";
    CHECK(worker.err.find("default, workload.size = 64 B" + bug) != std::string::npos);
    CHECK(worker.err.find("default, workload.size = 4 KiB" + bug) != std::string::npos);
    CHECK(worker.err.ends_with(
        ": 5 points simulated, 2 of them failed; 1 have no result yet: others are at them, or were\n"));
  }
  // A point that failed is not tried again by workers, but when a run starts anew.
  CHECK(faultline_program({"worker", "o"}).err.ends_with(": 1 points simulated\n"));
  CHECK(faultline_program({"run", "o"}).err.starts_with("4 of 6 points are there already\n"));
}

TEST_CASE("a run waits for what a worker is at") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  const std::string id = id_of("o", 3);
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t worker = fork();
  if (worker == 0) {
    Folder folder = Folder::join("o");
    const bool mine = folder.locks().take("point " + id);
    if (write(ready[1], mine ? "y" : "n", 1) != 1) _exit(1);
    std::this_thread::sleep_for(std::chrono::milliseconds(1500));
    _exit(0);  // without a result: whoever waits takes the point
  }
  char mine = 0;
  REQUIRE(read(ready[0], &mine, 1) == 1);
  REQUIRE(mine == 'y');
  const auto start = std::chrono::steady_clock::now();
  const Ran ran = faultline_program({"run", "o"});
  CHECK(std::chrono::steady_clock::now() - start > std::chrono::milliseconds(1000));
  CHECK(ran.code == 0);
  CHECK(Json::parse(read_text("o/results.json")).size() == 6);
  waitpid(worker, nullptr, 0);
}

TEST_CASE("a worker simulates a point again whose file is damaged") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o"}).code == 0);
  const std::string file = "o/points/" + id_of("o", 2) + ".json";
  const std::string whole = read_text(file);
  sandbox.write(file, whole.substr(0, 300) + "7" + whole.substr(301));
  REQUIRE(read_text(file) != whole);
  CHECK(faultline_program({"status", "o"})
            .out.ends_with(file + ": is damaged; the same 'faultline run' with --out o simulates its point again\n"));
  const Ran worker = faultline_program({"worker", "o"});
  CHECK(worker.err.starts_with(file + ": was damaged; its point is simulated again\n"));
  CHECK(worker.err.ends_with(": 1 points simulated\n"));
  CHECK(faultline_program({"run", "o"}).err == "6 of 6 points are there already\nrun folder: o\n");
}

TEST_CASE("a run that waits for a worker which stands still says so") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  const std::string id = id_of("o", 3);
  int ready[2];
  REQUIRE(pipe(ready) == 0);
  const pid_t worker = fork();
  if (worker == 0) {
    Folder folder = Folder::join("o");
    WorkerRecord record(folder, 1);
    folder.locks().take("point " + id);
    record.begins(id, "a point");
    fs::last_write_time("o/workers/" + record.state().name + ".json",
                        fs::file_time_type::clock::now() - std::chrono::minutes(1));
    if (write(ready[1], "y", 1) != 1) _exit(1);
    std::this_thread::sleep_for(std::chrono::seconds(4));
    _exit(0);
  }
  char there = 0;
  REQUIRE(read(ready[0], &there, 1) == 1);
  const Ran ran = faultline_program({"run", "o"});
  CHECK(ran.code == 0);
  CHECK(ran.err.find("5 of 6 points done, 1 worker silent at points ('faultline status o'), ") != std::string::npos);
  waitpid(worker, nullptr, 0);
}

TEST_CASE("a point at which two workers have died is left for a run that starts anew") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  const std::string id = id_of("o", 2);
  die_at(sandbox, "o", "here-1", id);
  {
    Folder folder = Folder::join("o");
    CHECK(deaths_in(folder).at(id) == 1);
    CHECK(workers_in(folder).at(0).simulated == 3);
    CHECK_FALSE(workers_in(folder).at(0).alive);
  }
  SECTION("one may have been killed by somebody") {
    CHECK(faultline_program({"worker", "o"}).err.ends_with(": 6 points simulated\n"));
  }
  SECTION("two are a pattern") {
    die_at(sandbox, "o", "there-2", id);
    CHECK(faultline_program({"worker", "o"})
              .err.ends_with(": 5 points simulated; 1 have no result yet: others are at them, or were\n"));
    CHECK(faultline_program({"run", "o"}).err == "5 of 6 points are there already\nrun folder: o\n");
    CHECK_FALSE(fs::exists("o/workers"));
  }
}

TEST_CASE("a worker has a record while it is at work, and what it was at when it was interrupted") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  Folder folder = Folder::join("o");
  {
    WorkerRecord record(folder, 2);
    record.begins("one", "size = 1");
    REQUIRE(workers_in(folder).size() == 1);
    const WorkerState state = workers_in(folder)[0];
    CHECK(state.alive);
    CHECK(state.jobs == 2);
    CHECK(state.at == std::map<std::string, std::string>{{"one", "size = 1"}});
    record.ended("one", true);
    CHECK(record.state().failed == 1);
  }
  CHECK(workers_in(folder).empty());
  { WorkerRecord(folder, 1).begins("two", "size = 2"); }
  REQUIRE(workers_in(folder).size() == 1);
  CHECK_FALSE(workers_in(folder)[0].alive);
  CHECK(workers_in(folder)[0].at.count("two") == 1);
  CHECK(deaths_in(folder).at("two") == 1);
  const std::string told = faultline_program({"status", "o"}).out;
  INFO(told);
  CHECK(told.find(": was stopped, heard of 0:00 ago; 0 points simulated; it was at size = 2\n") != std::string::npos);
}

TEST_CASE("a worker of another program, or in a folder whose files do not go together, is refused") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  nlohmann::ordered_json manifest = *unsealed_json(read_text("o/manifest.json"));
  const std::string build = manifest.at("build");
  manifest.at("points").at(0).at("id") = "another";
  sandbox.write("o/manifest.json", sealed_json(manifest, 1));
  CHECK(faultline_program({"worker", "o"})
            .err.starts_with("o: its effective.toml does not give the points of its manifest.json"));
  manifest["build"] = "0123";
  sandbox.write("o/manifest.json", sealed_json(manifest, 1));
  const Ran other = faultline_program({"worker", "o"});
  CHECK(other.code == 2);
  CHECK(other.err.starts_with("o: was made by another program (faultline "));
  CHECK(other.err.find(", build 0123); this one is faultline ") != std::string::npos);
  CHECK(other.err.find(", build " + build + ", and its points would be others") != std::string::npos);
  sandbox.write("o/manifest.json", "{\"format\": 99}");
  CHECK(faultline_program({"worker", "o"}).err ==
        "o: holds a run of another version of the program: its format is not 2; use the program that made it\n");
  fs::remove("o/manifest.json");
  CHECK(faultline_program({"worker", "o"}).err.starts_with("o: holds no run: it has no manifest.json"));
}

TEST_CASE("half-written files stay while workers are at work, and go with the next run") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  sandbox.write("o/points/.half.json.part", "{");
  {
    const Folder worker = Folder::join("o");
    CHECK(faultline_program({"run", "o"}).code == 0);
    CHECK(fs::exists("o/points/.half.json.part"));
  }
  CHECK(faultline_program({"run", "o"}).code == 0);
  CHECK_FALSE(fs::exists("o/points/.half.json.part"));
}

TEST_CASE("status shows who is at work and at what, and who is gone") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  die_at(sandbox, "o", "there-2", id_of("o", 2));
  fs::last_write_time("o/workers/there-2.json", fs::file_time_type::clock::now() - std::chrono::minutes(5));
  Folder folder = Folder::join("o");
  WorkerRecord record(folder, 2);
  record.begins("one", "size = 1");
  record.begins("two", "size = 2");
  const std::string name = record.state().name;
  const std::string text = faultline_program({"status", "o"}).out;
  CHECK(text.starts_with("o: 6 points: 6 to do; one worker is at work in it\n"));
  CHECK(text.find("worker " + name + ": alive, heard of 0:00 ago; 0 points simulated; at size = 1; size = 2\n") !=
        std::string::npos);
  CHECK(text.find("worker there-2: gone, heard of 5:00 ago; 3 points simulated; it was at a point\n") !=
        std::string::npos);
  const Json json = Json::parse(faultline_program({"status", "o", "--format", "json"}).out);
  CHECK(json.at("at_work") == true);
  REQUIRE(json.at("workers").size() == 2);
  for (const Json& worker : json.at("workers")) {
    CHECK(worker.at("alive") == (worker.at("worker") == name));
    if (worker.at("alive")) CHECK(worker.at("at") == Json::parse(R"(["size = 1", "size = 2"])"));
  }
}

TEST_CASE("a worker that is stopped holds its points: status and the progress of a run say so") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  Folder folder = Folder::join("o");
  WorkerRecord record(folder, 1);
  record.begins("one", "size = 1");
  const auto since = [&](int seconds) {
    fs::last_write_time("o/workers/" + record.state().name + ".json",
                        fs::file_time_type::clock::now() - std::chrono::seconds(seconds));
    return faultline_program({"status", "o"}).out;
  };
  const std::string silent =
      ": alive but silent, stopped perhaps: its points wait for it (kill -CONT, or kill it), heard";
  CHECK(since(20).find(": alive, heard") != std::string::npos);
  CHECK(silent_workers(folder).empty());
  CHECK(since(40).find(silent) != std::string::npos);
  CHECK(silent_workers(folder) == "1 worker silent at points ('faultline status o')");
  CHECK(Json::parse(faultline_program({"status", "o", "--format", "json"}).out).at("workers")[0].at("silent") == true);
}

TEST_CASE("a worker's log has its points, how they ended, and a heartbeat twice a minute") {
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  REQUIRE(faultline_program({"worker", "o", "-j", "1"}).code == 0);
  REQUIRE(std::distance(fs::directory_iterator("o/logs"), fs::directory_iterator()) == 1);
  const std::string log = read_text(fs::directory_iterator("o/logs")->path());
  CHECK(log.find("Z at work, 1 points at a time\n") == 19);
  CHECK(log.find("Z begins resident, workload.size = 64 B\n") != std::string::npos);
  CHECK(log.find("Z complete after 0.") != std::string::npos);
  CHECK(log.ends_with("Z ends: 6 points done, 0 failed\n"));

  Folder folder = Folder::join("o");
  WorkerState worker;
  worker.name = "here-1";
  worker.task = "12_3";
  worker.simulated = 2;
  worker.at = {{"id", "size = 1"}};
  const auto start = std::chrono::steady_clock::now();
  WorkerLog beating(folder, worker);
  beating.heartbeat({.running = 1}, worker, start + std::chrono::seconds(29));
  beating.heartbeat({.running = 1, .so_far = {5000, 0, 0}}, worker, start + std::chrono::seconds(100));
  beating.heartbeat({.running = 1}, worker, start + std::chrono::seconds(120));
  const std::string beats = read_text("o/logs/worker-12_3-here-1.log");
  CHECK(beats.find("2 points done, 0 failed, 1 running; 5 k events (50/s), ") != std::string::npos);
  CHECK(beats.ends_with("; at size = 1\n"));
  CHECK(std::count(beats.begin(), beats.end(), '\n') == 2);
}

TEST_CASE("a rank has one point at a time, a Slurm task as many as its processors, elsewhere a worker has all cores") {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "SLURM_CPUS_PER_TASK", "SLURM_JOB_ID",
                           "SLURM_ARRAY_JOB_ID", "SLURM_ARRAY_TASK_ID"})
    unsetenv(name);
  CHECK(jobs_of_worker(8) == 8);
  CHECK(mpi_rank() == -1);
  CHECK(slurm_task().empty());
  setenv("SLURM_JOB_ID", "15", 1);
  CHECK(jobs_of_worker(8) == 1);
  CHECK(slurm_task() == "15");
  setenv("SLURM_CPUS_PER_TASK", "4", 1);
  setenv("SLURM_ARRAY_JOB_ID", "12", 1);
  setenv("SLURM_ARRAY_TASK_ID", "3", 1);
  CHECK(jobs_of_worker(8) == 4);
  CHECK(slurm_task() == "12_3");
  setenv("SLURM_CPUS_PER_TASK", "several", 1);
  CHECK(jobs_of_worker(8) == 1);
  setenv("PMI_RANK", "-5", 1);
  CHECK(mpi_rank() == -1);
  unsetenv("PMI_RANK");
  const char* rank = GENERATE("OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK");
  setenv(rank, "5", 1);
  CHECK(mpi_rank() == 5);
  CHECK(jobs_of_worker(8) == 1);
  // The ranks share a terminal: only the first speaks.
  const Sandbox sandbox;
  REQUIRE(faultline_program({"run", "sizes", "--out", "o", "--prepare"}).code == 0);
  CHECK(faultline_program({"worker", "o"}).err.empty());
  setenv(rank, "0", 1);
  CHECK(faultline_program({"worker", "o"}).err.ends_with("0 points simulated\n"));
  unsetenv(rank);
}
