// SPDX-License-Identifier: Apache-2.0
// Points as processes: order, crashes, interrupts, progress.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <limits>
#include <thread>

#include "src/point_result_json.hpp"
#include "src/point_runner.hpp"
#include "src/progress.hpp"
#include "tests/app/fake_simulator.hpp"

using namespace faultline;
using namespace faultline::app;
using namespace faultline::test;

namespace {

void no_progress(std::size_t) {}

workloads::PointResult numbered(std::size_t index) {
  workloads::PointResult result;
  result.metrics = {{"index", static_cast<double>(index), "1", ""}};
  return result;
}

}  // namespace

TEST_CASE("outcomes come in the order of points however they end") {
  const unsigned jobs = GENERATE(1U, 3U, 64U);
  const auto backwards = [](std::size_t index) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * (6 - index)));
    return numbered(index);
  };
  std::size_t last = 0;
  const auto outcomes = run_points(6, backwards, jobs, [&](std::size_t done) {
    CHECK(done >= last);
    last = done;
  });
  CHECK(last == 6);
  REQUIRE(outcomes.size() == 6);
  for (std::size_t i = 0; i < 6; ++i) {
    CHECK(outcomes[i].status == PointStatus::complete);
    REQUIRE(outcomes[i].result.metrics.size() == 1);
    CHECK(outcomes[i].result.metrics[0].value == static_cast<double>(i));
  }
}

TEST_CASE("each point has a process of its own, whose printing does not reach ours") {
  static int state = 0;
  const auto outcomes = run_points(
      3,
      [](std::size_t) {
        std::puts("noise");
        workloads::PointResult result;
        result.events = static_cast<std::uint64_t>(++state);
        return result;
      },
      1, no_progress);
  for (const auto& outcome : outcomes) CHECK(outcome.result.events == 1);
  CHECK(state == 0);
}

TEST_CASE("a point that fails is told apart by whose fault it is, and the others go on") {
  const auto outcomes = run_points(
      6,
      [](std::size_t index) {
        if (index == 0) misbehave("bug");
        if (index == 1) misbehave("no memory");
        if (index == 2) {
          std::signal(SIGSEGV, SIG_DFL);  // a sanitizer would turn it into an exit code
          std::fputs("last words\n", stderr);
          misbehave("crash");
        }
        if (index == 3) misbehave("killed");
        if (index == 4) _exit(5);
        return numbered(index);
      },
      2, no_progress);
  CHECK(outcomes[0].status == PointStatus::bug);
  CHECK(outcomes[0].error == "exception: the queue is longer than itself");
  CHECK(outcomes[1].status == PointStatus::host_failed);
  CHECK(outcomes[2].status == PointStatus::bug);
  CHECK(outcomes[2].error == "crashed: Segmentation fault (signal 11); it last said: last words");
  CHECK(outcomes[3].status == PointStatus::host_failed);
  CHECK(outcomes[4].status == PointStatus::bug);
  CHECK(outcomes[4].error == "ended without a result (exit code 5)");
  CHECK(outcomes[5].status == PointStatus::complete);
}

TEST_CASE("a result larger than a pipe arrives whole") {
  const auto outcomes = run_points(
      1,
      [](std::size_t) {
        workloads::PointResult result;
        result.notes = {std::string(3'000'000, 'x')};
        return result;
      },
      1, no_progress);
  CHECK(outcomes[0].result.notes.at(0).size() == 3'000'000);
}

TEST_CASE("a result crosses the pipe to the last bit") {
  workloads::PointResult result;
  result.metrics = {{"third", 1.0 / 3, "us", "a"},
                    {"tiny", 5e-324, "us", ""},
                    {"large", 1.7976931348623157e308, "B", ""},
                    {"none", std::numeric_limits<double>::quiet_NaN(), "us", ""}};
  result.breakdown = {{"step", "there", 0.1, std::numeric_limits<std::uint64_t>::max(), "d"}};
  result.notes = {"n"};
  result.events = std::numeric_limits<std::uint64_t>::max();
  result.error_keys = {"k"};
  const auto text = to_json(result).dump();
  const auto back = point_result_from_json(nlohmann::ordered_json::parse(text));
  CHECK(to_json(back).dump() == text);
  for (std::size_t i = 0; i < 3; ++i) CHECK(back.metrics[i].value == result.metrics[i].value);
  CHECK(back.metrics[3].value != back.metrics[3].value);
  CHECK(back.events == result.events);
}

TEST_CASE("Ctrl-C ends the points that run and keeps those that are complete") {
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = run_points(
      4,
      [](std::size_t index) {
        if (index == 1) std::this_thread::sleep_for(std::chrono::hours(1));
        return numbered(index);
      },
      1,
      [&](std::size_t done) {
        if (done == 1) kill(getpid(), signal);
      });
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  CHECK(outcomes[0].status == PointStatus::complete);
  for (std::size_t i = 1; i < 4; ++i) CHECK(outcomes[i].status == PointStatus::not_run);
  // None is left running or unwaited for.
  CHECK(waitpid(-1, nullptr, WNOHANG) == -1);
  CHECK(errno == ECHILD);
}

TEST_CASE("progress is silent for two seconds, then a bar on a terminal and lines elsewhere") {
  const auto start = Progress::Clock::time_point{} + std::chrono::hours(1);
  std::ostringstream terminal;
  {
    Progress progress(terminal, true, 4, start);
    progress.update(1, start + std::chrono::milliseconds(1999));
    CHECK(terminal.str().empty());
    progress.update(1, start + std::chrono::seconds(10));
    CHECK(terminal.str() == "\r[#######.......................] 1/4 points, about 0:30 left\033[K");
  }
  CHECK(terminal.str().ends_with("\r\033[K"));
  std::ostringstream plain;
  Progress progress(plain, false, 4, start);
  progress.update(0, start + std::chrono::seconds(3));
  progress.update(1, start + std::chrono::seconds(10));
  progress.update(2, start + std::chrono::seconds(11));
  progress.update(3, start + std::chrono::seconds(20));
  CHECK(plain.str() == "1 of 4 points done, about 0:30 left\n3 of 4 points done, about 0:07 left\n");
  CHECK(clock_text(3725) == "1:02:05");
}
