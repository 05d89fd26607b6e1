// SPDX-License-Identifier: Apache-2.0
// Points as processes: order, crashes, interrupts, progress.
#include <catch2/catch.hpp>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <ctime>
#include <limits>
#include <numeric>
#include <thread>

#include "src/runs/host.hpp"
#include "src/runs/point_result_json.hpp"
#include "src/runs/point_runner.hpp"
#include "src/runs/progress.hpp"
#include "tests/support/fake_simulator.hpp"

using namespace faultline;
using namespace faultline::experiment;
using namespace faultline::runs;
using namespace faultline::test;

namespace {

// Of the points 0 to count - 1, in their order.
std::vector<PointOutcome> run_all(std::size_t count, const PointFunction& point, unsigned jobs,
                                  const ProgressFunction& progress) {
  std::vector<PointOutcome> outcomes(count);
  std::vector<std::size_t> indices(count);
  std::iota(indices.begin(), indices.end(), std::size_t{0});
  run_points(
      each_of(indices), point, {jobs, {}},
      [&](std::size_t index, PointOutcome outcome) { return outcomes[index] = std::move(outcome), true; }, progress);
  return outcomes;
}

void no_progress(const Standing&) {}

workloads::PointResult numbered(std::size_t index) {
  workloads::PointResult result;
  result.metrics = {{"index", static_cast<double>(index), "1", ""}};
  return result;
}

}  // namespace

TEST_CASE("outcomes come in the order of points however they end") {
  const unsigned jobs = GENERATE(1U, 3U, 64U);
  const auto backwards = [](std::size_t index, const Heartbeat&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * (6 - index)));
    return numbered(index);
  };
  std::size_t last = 0;
  const auto outcomes = run_all(6, backwards, jobs, [&](const Standing& standing) {
    CHECK(standing.done >= last);
    last = standing.done;
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
  const auto outcomes = run_all(
      3,
      [](std::size_t, const Heartbeat&) {
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
  const auto outcomes = run_all(
      6,
      [](std::size_t index, const Heartbeat&) {
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
  const auto outcomes = run_all(
      1,
      [](std::size_t, const Heartbeat&) {
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
  result.parts = {{"flow 0", "node 0 writes to node 1", {{"goodput", 0.1, "MB/s", "a"}}}};
  result.notes = {"n"};
  result.events = std::numeric_limits<std::uint64_t>::max();
  result.cell_hops = result.events - 1;
  result.profile = {{"smmu::Tbu", 1, 2, result.events - 2}};
  result.error_keys = {"k"};
  const auto text = to_json(result).dump();
  const auto back = point_result_from_json(nlohmann::ordered_json::parse(text));
  CHECK(to_json(back).dump() == text);
  for (std::size_t i = 0; i < 3; ++i) CHECK(back.metrics[i].value == result.metrics[i].value);
  CHECK(back.metrics[3].value != back.metrics[3].value);
  REQUIRE(back.parts.size() == 1);
  CHECK(back.parts[0].about == result.parts[0].about);
  CHECK(back.parts[0].metrics.at(0).value == 0.1);
  CHECK(back.events == result.events);
  CHECK(back.cell_hops == result.cell_hops);
  REQUIRE(back.profile.size() == 1);
  CHECK(back.profile[0].host_ns == result.profile[0].host_ns);
}

TEST_CASE("a point that runs tells how far it is, and its result has the last word") {
  int go_on[2];
  REQUIRE(pipe(go_on) == 0);
  const auto point = [&](std::size_t index, const Heartbeat& heartbeat) {
    heartbeat({10, 20, 30, false, 60});
    char byte = 0;
    if (index == 1) throw std::logic_error("failed in mid-run");
    if (read(go_on[0], &byte, 1) != 1) throw std::logic_error("nobody told it to go on");
    auto result = numbered(index);
    result.events = 100;
    result.cell_hops = 200;
    result.simulated_ps = 300;
    return result;
  };
  workloads::Totals while_running;
  workloads::Totals at_the_end;
  double in_all = 0;
  int ticks = 0;
  const auto outcomes = run_all(2, point, 1, [&](const Standing& standing) {
    at_the_end = standing.so_far;
    if (standing.done > 0) return;
    while_running = standing.so_far;
    in_all = standing.at.empty() ? in_all : standing.at.front().in_all;
    // Twice a second; it would wait for ever if it were never heard.
    if (while_running.events > 0 || ++ticks == 60) CHECK(write(go_on[1], "x", 1) == 1);
  });
  close(go_on[0]);
  close(go_on[1]);
  CHECK(while_running.events == 10);
  CHECK(while_running.cell_hops == 20);
  CHECK(while_running.simulated_ps == 30);
  CHECK(in_all == 60);
  CHECK(outcomes[0].totals.events == 100);
  CHECK(outcomes[1].status == PointStatus::bug);
  CHECK(outcomes[1].totals.events == 10);
  CHECK(at_the_end.events == 110);
  CHECK(at_the_end.cell_hops == 220);
  CHECK(at_the_end.simulated_ps == 330);
}

TEST_CASE("a point's process is charged for its CPU time and memory") {
  const auto outcomes = run_all(
      2,
      [](std::size_t index, const Heartbeat&) {
        if (index == 1) return numbered(index);
        volatile std::uint64_t spun = 0;
        std::vector<char> memory(64 << 20);
        for (const auto start = std::clock(); std::clock() - start < CLOCKS_PER_SEC / 5;) {
          spun = spun + 1;
          memory[(spun * 4096) % memory.size()] = 1;
        }
        return numbered(index);
      },
      1, no_progress);
  CHECK(outcomes[0].cpu_seconds >= 0.2);
  CHECK(outcomes[0].cpu_seconds <= outcomes[0].host_seconds + 0.05);  // the kernel's ticks
  CHECK(outcomes[0].peak_mib >= outcomes[1].peak_mib + 32);
}

TEST_CASE("Ctrl-C ends the points that run and keeps those that are complete") {
  const int signal = GENERATE(SIGINT, SIGTERM, SIGHUP);
  const auto start = std::chrono::steady_clock::now();
  const auto outcomes = run_all(
      4,
      [](std::size_t index, const Heartbeat&) {
        if (index == 1) std::this_thread::sleep_for(std::chrono::hours(1));
        return numbered(index);
      },
      1,
      [&](const Standing& standing) {
        if (standing.done == 1) kill(getpid(), signal);
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
    Progress progress(terminal, 80, 4, start);
    progress.update({.done = 1}, start + std::chrono::milliseconds(1999));
    CHECK(terminal.str().empty());
    progress.update({.done = 1}, start + std::chrono::seconds(10));
    CHECK(terminal.str() == "\r[#######.......................] 1/4 points, one in 10 s, about 0:30 left\033[K");
  }
  CHECK(terminal.str().ends_with("\r\033[K"));
  std::ostringstream plain;
  Progress progress(plain, 0, 4, start);
  progress.update({.done = 0}, start + std::chrono::seconds(3));
  progress.update({.done = 1}, start + std::chrono::seconds(10));
  progress.update({.done = 2}, start + std::chrono::seconds(11));
  progress.update({.done = 3, .failed = 1, .running = 2}, start + std::chrono::seconds(20));
  CHECK(plain.str() ==
        "1 of 4 points done, one in 10 s, about 0:30 left\n"
        "3 of 4 points done, 1 failed, 2 running, one in 6.67 s, about 0:07 left\n");
  CHECK(clock_text(3725) == "1:02:05");
  // What an earlier run has done counts, and says nothing of the rate.
  std::ostringstream again;
  Progress rest(again, 0, 7, start, "points", 3);
  rest.update({.done = 0}, start + std::chrono::seconds(3));
  rest.update({.done = 1}, start + std::chrono::seconds(10));
  CHECK(again.str() == "4 of 7 points done, one in 10 s, about 0:30 left\n");
}

TEST_CASE("progress tells what is simulated and how fast, within the terminal's width") {
  const auto start = Progress::Clock::time_point{} + std::chrono::hours(1);
  const workloads::Totals so_far{45'678'900, 1'234, 5'000'000'000};
  const std::string figures = "45.7 M events (4.57 M/s), 1.23 k cell-hops (123/s), 5 ms simulated (500 us/s)";
  const auto drawn = [&](std::size_t columns) {
    std::ostringstream terminal;
    Progress progress(terminal, columns, 4, start);
    progress.update({.done = 2, .so_far = so_far}, start + std::chrono::seconds(10));
    return terminal.str();
  };
  const std::string text = "2/4 points, one in 5 s, about 0:10 left; " + figures;
  CHECK(drawn(160) == "\r[###############...............] " + text + "\033[K");
  // A shorter bar, none, and the beginning of the line; the last column stays free, where some terminals wrap.
  CHECK(drawn(text.size() + 14) == "\r[#####.....] " + text + "\033[K");
  CHECK(drawn(text.size() + 8) == "\r" + text + "\033[K");
  CHECK(drawn(21) == "\r" + text.substr(0, 20) + "\033[K");
}

TEST_CASE("where there is no terminal, a long point gives a sign of life every half minute") {
  const auto start = Progress::Clock::time_point{} + std::chrono::hours(1);
  std::ostringstream plain;
  Progress progress(plain, 0, 2, start);
  for (int seconds = 1; seconds <= 70; ++seconds) {
    progress.update({.so_far = {1000, 0, 0}}, start + std::chrono::seconds(seconds));
  }
  CHECK(plain.str() ==
        "0 of 2 points done, time left unknown; 1 k events (33.3/s), 0 cell-hops (0/s), 0 ps simulated (0 ps/s)\n"
        "0 of 2 points done, time left unknown; 1 k events (16.7/s), 0 cell-hops (0/s), 0 ps simulated (0 ps/s)\n");
}

TEST_CASE("a run of which no point has ended tells the time left as soon as somebody knows") {
  const auto start = Progress::Clock::time_point{} + std::chrono::hours(1);
  std::ostringstream terminal;
  Progress progress(terminal, 80, 1, start);
  progress.update({.running = 1, .seconds_left = 90}, start + std::chrono::seconds(10));
  CHECK(terminal.str() == "\r[..............................] 0/1 points, 1 running, about 1:30 left\033[K");
}

TEST_CASE("figures for people have three digits and a prefix that fits") {
  CHECK(speed_text({999, 1000, 999'499}, 0) == "999 events, 1 k cell-hops, 999 ns simulated");
  CHECK(speed_text({999'499, 999'500, 999'500}, 0) == "999 k events, 1 M cell-hops, 1 us simulated");
  CHECK(speed_text({0, 12'345, 7'200'000'000'000'000}, 0) == "0 events, 12.3 k cell-hops, 7200 s simulated");
}

TEST_CASE("a point that takes too long is ended, and is an outcome with its reason; the others go on") {
  std::vector<PointOutcome> outcomes(3);
  const auto start = std::chrono::steady_clock::now();
  const auto point = [](std::size_t index, const Heartbeat& heartbeat) {
    heartbeat({7, 0, 0});
    if (index == 1) std::this_thread::sleep_for(std::chrono::minutes(5));
    return numbered(index);
  };
  run_points(
      each_of({0, 1, 2}), point, {2, std::chrono::seconds(1)},
      [&](std::size_t index, PointOutcome outcome) { return outcomes[index] = std::move(outcome), true; }, no_progress);
  CHECK(std::chrono::steady_clock::now() - start < std::chrono::seconds(30));
  CHECK(outcomes[0].status == PointStatus::complete);
  CHECK(outcomes[1].status == PointStatus::timed_out);
  CHECK(outcomes[1].error == "took longer than 1 s (--timeout)");
  CHECK(outcomes[1].totals.events == 7);
  CHECK(outcomes[2].status == PointStatus::complete);
}

TEST_CASE("a point begins where there is memory for it when the others have grown") {
  CHECK(fits_one_more(10, 1000, {}));
  CHECK(fits_one_more(1000, 1000, {1000, 1000}));
  CHECK_FALSE(fits_one_more(999, 1000, {1000}));
  CHECK_FALSE(fits_one_more(1500, 1000, {400}));
  CHECK(fits_one_more(1600, 1000, {400}));
  CHECK(available_mib() > 10);
  CHECK(resident_mib(getpid()) > 1);
  CHECK(resident_mib(getpid()) < available_mib() * 100);
  CHECK(resident_mib(-1) == 0);
}
