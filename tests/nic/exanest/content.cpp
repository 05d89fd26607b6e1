// SPDX-License-Identifier: Apache-2.0
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include "tests/support/dma_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kBase[2] = {0x100000, 0x400000};

// A transfer of random size, alignment, direction and missing pages completes, and moves exactly its bytes.
void check_one(DmaBench& bench, std::uint64_t seed) {
  const bool read = *rc::gen::arbitrary<bool>();
  const auto length = *rc::gen::inRange<std::uint64_t>(1, 70000);
  const auto from_offset = *rc::gen::inRange<std::uint64_t>(0, 5000);
  const auto to_offset = *rc::gen::inRange<std::uint64_t>(1, 5000);
  const auto lost = *rc::gen::container<std::vector<int>>(2, rc::gen::inRange(0, 40));
  const sim::NodeId from = read ? 1 : 0;
  const sim::NodeId to = 1 - from;
  const std::uint64_t source = kBase[0] + from_offset;
  const std::uint64_t destination = kBase[1] + to_offset;
  bench.memory[from]->fill(source, length, 2 * seed);
  bench.memory[to]->fill(destination - 1, length + 2, 2 * seed + 1);
  const auto before = bench.memory[to]->read(destination - 1, 1);
  const auto after = bench.memory[to]->read(destination + length, 1);
  for (std::uint64_t page = 0; page <= 20; ++page) {
    if (*rc::gen::inRange(0, 4) == 0) bench.memory[from]->missing.insert(kBase[0] / 4096 + page);
    if (*rc::gen::inRange(0, 4) == 0) bench.memory[to]->missing.insert(kBase[1] / 4096 + page);
  }
  int packet = 0;
  bench.fabric->loses = [lost, packet](const auto&) mutable {
    ++packet;
    return packet == lost[0] || packet == lost[1];
  };
  const DmaPost post{source, destination, length,
                     1,      seed,        read ? exanest::reg::kCommandRead : exanest::reg::kCommandWrite};
  bench.steps.clear();
  RC_ASSERT(bench.post(0, post) != 0);
  RC_ASSERT(bench.run_to_notification(0));
  RC_ASSERT(bench.memory[0]->word(DmaBench::kNotify) == (seed << 8 | exanest::reg::kNotifyDone));
  RC_ASSERT(bench.memory[to]->read(destination, length) == bench.memory[from]->read(source, length));
  RC_ASSERT(bench.memory[to]->read(destination - 1, 1) == before);
  RC_ASSERT(bench.memory[to]->read(destination + length, 1) == after);
  bench.run(10ms);
  bench.memory[0]->missing.clear();
  bench.memory[1]->missing.clear();
}

// Lanes and lines keep what they sent last until they send something else, so that what a case leaves depends on its
// faults and losses. After one more transfer each way, which meets none, only what leaks is more than the bound.
void check_payloads(DmaBench& bench) {
  bench.fabric->loses = [](const auto&) { return false; };
  for (const auto command : {exanest::reg::kCommandWrite, exanest::reg::kCommandRead}) {
    REQUIRE(bench.post(0, {kBase[0], kBase[1], 65536, 1, 1, command}) != 0);
    REQUIRE(bench.run_to_notification(0));
    bench.run(10ms);
  }
  CHECK(bench.payloads.in_use() <= DmaBench::kKeptPayloads);
}

}  // namespace

TEST_CASE("any transfer completes and moves exactly its bytes, whatever faults and losses it meets") {
  DmaBench bench;
  bench.set_up();
  bench.resolve_after = 20us;
  std::uint64_t seed = 1;
  CHECK(rc::check([&] { check_one(bench, ++seed); }));
  check_payloads(bench);
}

TEST_CASE("cell by cell, too, any transfer completes and moves exactly its bytes") {
  DmaBench bench({}, 1);
  bench.set_up();
  bench.resolve_after = 20us;
  std::uint64_t seed = 1;
  CHECK(rc::check([&] { check_one(bench, ++seed); }));
  check_payloads(bench);
}

TEST_CASE("with odd blocks and two contexts, too, any transfer completes and moves exactly its bytes") {
  exanest::EngineConfig config;
  config.block_bytes = 5000;
  config.block_contexts = 2;
  DmaBench bench(config);
  bench.set_up();
  bench.resolve_after = 20us;
  std::uint64_t seed = 1;
  CHECK(rc::check([&] { check_one(bench, ++seed); }));
  check_payloads(bench);
}
