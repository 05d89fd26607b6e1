// SPDX-License-Identifier: Apache-2.0
// cpu.jitter: how long a piece of software takes is drawn.
#include <catch2/catch.hpp>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr unsigned kPieces = 1000;
constexpr Time kPiece = 10us;

Task<void> time_pieces(CpuBench& b, Execution& who, std::vector<Time>& times) {
  co_await b.cpu.run(who, Work::user, 1us);  // the context switch is before it
  for (unsigned i = 0; i < kPieces; ++i) {
    const Time begin = b.node.now();
    co_await b.cpu.run(who, Work::user, kPiece);
    times.push_back(b.node.now() - begin);
  }
}

// Of two threads on cores of their own, after others of other names have been made.
std::vector<Time> times_of_two(double jitter, const std::string& second, unsigned others) {
  const std::string text = text_from_child([&] {
    cpu::CpuConfig config = cores(2);
    config.jitter = jitter;
    CpuBench b(config);
    for (unsigned i = 0; i < others; ++i) b.cpu.new_thread("other");
    std::vector<Time> first_times, second_times;
    b.tasks.start(time_pieces(b, b.cpu.new_thread("first", 0), first_times));
    b.tasks.start(time_pieces(b, b.cpu.new_thread(second, 1), second_times));
    sc_core::sc_start();
    std::ostringstream out;
    for (const auto& times : {first_times, second_times}) {
      for (const Time time : times) out << time.count() << ' ';
    }
    return out.str();
  });
  std::istringstream in(text);
  std::vector<Time> times;
  for (std::int64_t time = 0; in >> time;) times.emplace_back(time);
  return times;
}

}  // namespace

TEST_CASE("without jitter each piece of work takes its cost") {
  CHECK(times_of_two(0.0, "second", 0) == std::vector<Time>(2 * kPieces, kPiece));
}

TEST_CASE("with jitter a piece takes up to that share longer or shorter, as often the one as the other") {
  const std::vector<Time> times = times_of_two(0.1, "second", 0);
  REQUIRE(times.size() == 2 * kPieces);
  Time sum{0};
  unsigned longer = 0, outer = 0;
  for (const Time time : times) {
    REQUIRE(time >= kPiece - kPiece / 10);
    REQUIRE(time <= kPiece + kPiece / 10);
    sum += time;
    longer += time > kPiece ? 1 : 0;
    outer += time < kPiece - kPiece / 20 || time > kPiece + kPiece / 20 ? 1 : 0;
  }
  CHECK(longer > 900);
  CHECK(longer < 1100);
  CHECK(outer > 900);
  CHECK(outer < 1100);
  CHECK(sum > 2 * kPieces * kPiece * 997 / 1000);
  CHECK(sum < 2 * kPieces * kPiece * 1003 / 1000);
}

TEST_CASE("draws go with the thread's name: namesakes have their own, and other threads change none") {
  const std::vector<Time> two = times_of_two(0.1, "second", 0);
  CHECK(two == times_of_two(0.1, "second", 5));
  const std::vector<Time> namesakes = times_of_two(0.1, "first", 0);
  const auto half = static_cast<std::ptrdiff_t>(kPieces);
  CHECK(std::equal(two.begin(), two.begin() + half, namesakes.begin()));
  CHECK_FALSE(std::equal(two.begin() + half, two.end(), namesakes.begin() + half));
  CHECK_FALSE(std::equal(namesakes.begin(), namesakes.begin() + half, namesakes.begin() + half));
}
