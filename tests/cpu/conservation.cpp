// SPDX-License-Identifier: Apache-2.0
// Under any mix of work no core's time is lost, counted twice or given to the wrong kind.
#include <catch2/catch.hpp>

#include <array>

#include "tests/cpu/bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

struct Piece {
  Time pause;  // before it
  Time cost;
  Work kind;
  bool sleeps;  // through the pause, else waits elsewhere
};

Task<void> perform(CpuBench& b, Execution& who, std::vector<Piece> pieces, bool thread, unsigned& finished) {
  for (const Piece& piece : pieces) {
    if (thread && piece.sleeps) {
      sim::Signal alarm(b.node.loop);
      b.notify(alarm, b.node.now() + piece.pause);
      co_await b.cpu.sleep(who, alarm);
    } else {
      co_await b.node.loop.delay(piece.pause);
    }
    const Time asked = b.node.now();
    co_await b.cpu.run(who, piece.kind, piece.cost);
    if (b.node.now() < asked + piece.cost) throw std::logic_error("work ended before it can have");
  }
  ++finished;
}

std::vector<Piece> arbitrary_pieces(sim::RandomStream& random, bool thread) {
  std::vector<Piece> pieces(random.below(12));
  for (Piece& piece : pieces) {
    piece.pause = Time{static_cast<std::int64_t>(random.below(20'000'000))};
    piece.cost = Time{static_cast<std::int64_t>(random.below(12'000'000))};
    piece.kind = thread ? (random.below(2) == 0 ? Work::user : Work::system)
                        : (random.below(2) == 0 ? Work::softirq : Work::irq);
    piece.sleeps = random.below(2) == 0;
  }
  return pieces;
}

}  // namespace

// One elaboration a process, so the mixes follow one another on the same machine.
TEST_CASE("conservation: charged time equals the work asked for plus the context switches") {
  cpu::CpuConfig config;
  config.cores = 2;
  config.sched.hz = 1000;
  CpuBench b(config);
  std::vector<Execution*> threads;
  for (int i = 0; i < 5; ++i) threads.push_back(&b.cpu.new_thread("t" + std::to_string(i)));
  threads.push_back(&b.cpu.new_thread("bound", 0));

  std::array<Time, cpu::kWorks> asked{};
  for (std::uint64_t mix = 0; mix < 300; ++mix) {
    sim::RandomStream random(mix, "mix");
    const Time begin = b.node.now();
    unsigned started = 0;
    unsigned finished = 0;
    const auto start = [&](Execution& who, bool thread) {
      const std::vector<Piece> pieces = arbitrary_pieces(random, thread);
      for (const Piece& piece : pieces) asked[static_cast<std::size_t>(piece.kind)] += piece.cost;
      ++started;
      b.tasks.start(perform(b, who, pieces, thread, finished));
    };
    for (Execution* thread : threads) start(*thread, true);
    start(b.cpu.irq_context(), false);
    start(b.cpu.softirq_context(), false);
    start(b.cpu.softirq_context(), false);
    sc_core::sc_start();
    REQUIRE(finished == started);

    const Time switches = static_cast<std::int64_t>(b.node.counted("cpu.context_switches")) * b.switch_cost();
    std::array<Time, cpu::kWorks> by_core{};
    for (std::size_t kind = 0; kind < cpu::kWorks; ++kind) {
      for (unsigned core = 0; core < 2; ++core) by_core[kind] += b.cpu.charged(core, static_cast<Work>(kind));
    }
    REQUIRE(by_core[static_cast<std::size_t>(Work::user)] == asked[0]);
    REQUIRE(by_core[static_cast<std::size_t>(Work::system)] == asked[1] + switches);
    REQUIRE(by_core[static_cast<std::size_t>(Work::softirq)] == asked[2]);
    REQUIRE(by_core[static_cast<std::size_t>(Work::irq)] == asked[3]);
    REQUIRE(b.node.counted("cpu.time_user") == static_cast<std::uint64_t>(asked[0].count()));
    REQUIRE(b.node.now() > begin);
  }
  // No core is charged more than the time there was.
  for (unsigned core = 0; core < 2; ++core) {
    Time charged{0};
    for (std::size_t kind = 0; kind < cpu::kWorks; ++kind) charged += b.cpu.charged(core, static_cast<Work>(kind));
    CHECK(charged <= b.node.now());
  }
  CHECK(b.node.counted("cpu.migrations") > 0);
}
