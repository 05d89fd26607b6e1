// SPDX-License-Identifier: Apache-2.0
// How deep tasks stack up: as deep as they call each other, however many of them follow one another. Builds without
// tail calls (debug, sanitizers) are the ones that could fail.
#include "models/sim/task.hpp"

#include <catch2/catch.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <string>

using namespace faultline::sim;

namespace {

struct Depth {
  std::uintptr_t lowest = UINTPTR_MAX;
  std::uintptr_t highest = 0;
  void look() {
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
    lowest = std::min(lowest, here);
    highest = std::max(highest, here);
  }
  std::uintptr_t bytes() const { return highest - lowest; }
};

Task<int> at_once(Depth& depth) {
  depth.look();
  co_return 1;
}
Task<int> at_once_below(Depth& depth) { co_return co_await at_once(depth) + co_await at_once(depth); }
// Every `waits_every`th waits.
Task<int> at_times(EventLoop& loop, Depth& depth, int i, int waits_every) {
  if (i % waits_every == 0) co_await loop.delay(1ns);
  depth.look();
  co_return 2;
}

constexpr int kMany = 20'000;
constexpr std::uintptr_t kFewFrames = 16 * 1024;

}  // namespace

TEST_CASE("tasks that end at once do not stack up") {
  EventLoop loop("loop");
  TaskGroup tasks;
  Depth depth;
  int sum = 0;
  tasks.start([](Depth& d, int& total) -> Task<void> {
    for (int i = 0; i < kMany; ++i) total += co_await at_once_below(d);
  }(depth, sum));
  CHECK(sum == 2 * kMany);
  CHECK(tasks.running() == 0);
  CHECK(depth.bytes() < kFewFrames);
}

TEST_CASE("tasks that wait at times do not stack up") {
  EventLoop loop("loop");
  TaskGroup tasks;
  for (const int waits_every : {1, 2, 1000}) {
    INFO(waits_every);
    Depth depth;
    int sum = 0;
    tasks.start([](EventLoop& l, Depth& d, int& total, int every) -> Task<void> {
      for (int i = 0; i < kMany; ++i) total += co_await at_times(l, d, i, every);
    }(loop, depth, sum, waits_every));
    loop.run(loop.now() + 1s);
    CHECK(sum == 2 * kMany);
    CHECK(depth.bytes() < kFewFrames);
  }
}

TEST_CASE("an exception of a task that ends at once reaches its awaiter") {
  TaskGroup tasks;
  std::string caught;
  tasks.start([](std::string& what) -> Task<void> {
    const auto fails = []() -> Task<int> {
      throw std::runtime_error("at once");
      co_return 0;
    };
    try {
      co_await fails();
    } catch (const std::runtime_error& error) {
      what = error.what();
    }
  }(caught));
  CHECK(caught == "at once");
}
