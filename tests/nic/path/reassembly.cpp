// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/reassembly.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <set>

#include "models/nic/path/cells.hpp"

using namespace faultline;
using namespace faultline::nic;
using namespace std::chrono_literals;
using Verdict = Reassembly::Verdict;

namespace {

const NoticeRecord kNoNotices(true);

}  // namespace

TEST_CASE("a block set holds what was put in, in as few intervals as there are runs") {
  CHECK(rc::check([](const std::set<std::uint8_t>& wanted, std::uint32_t seed) {
    std::vector<std::uint8_t> order(wanted.begin(), wanted.end());
    std::rotate(order.begin(), order.begin() + (order.empty() ? 0 : static_cast<std::ptrdiff_t>(seed % order.size())),
                order.end());
    BlockSet set;
    for (const auto block : order) set.insert(block);
    std::size_t runs = 0;
    for (std::uint32_t block = 0; block < 300; ++block) {
      const bool in = block < 256 && wanted.contains(static_cast<std::uint8_t>(block));
      RC_ASSERT(set.contains(block) == in);
      if (in && (block == 0 || !wanted.contains(static_cast<std::uint8_t>(block - 1)))) ++runs;
    }
    RC_ASSERT(set.intervals() == runs);
  }));
}

TEST_CASE("cells of an attempt older than the newest seen are stale, and their late responses do not count") {
  const sim::Counter::About about{"evicted", "count", ""};
  sim::Counter evicted(about);
  Reassembly r(4, kNoNotices, evicted);
  CHECK(r.judge(1, {5, 0, 0}) == Verdict::write);
  CHECK(r.judge(1, {5, 0, 1}) == Verdict::write);
  CHECK(r.judge(1, {5, 0, 0}) == Verdict::stale);
  CHECK_FALSE(r.written(1, {5, 0, 0}, 256, 256));
  CHECK_FALSE(r.failed(1, {5, 0, 0}));
  CHECK(r.judge(1, {5, 0, 1}) == Verdict::write);
  // The same block of another source or transfer is another block.
  CHECK(r.judge(2, {5, 0, 0}) == Verdict::write);
  CHECK(r.judge(1, {6, 0, 0}) == Verdict::write);
}

TEST_CASE("a block completes at its last response and its copies are duplicates from then on") {
  const sim::Counter::About about{"evicted", "count", ""};
  sim::Counter evicted(about);
  Reassembly r(4, kNoNotices, evicted);
  r.judge(1, {5, 2, 0});
  CHECK_FALSE(r.written(1, {5, 2, 0}, 256, 512));
  CHECK(r.written(1, {5, 2, 0}, 256, 512));
  CHECK(r.judge(1, {5, 2, 1}) == Verdict::duplicate);
  CHECK(r.judge(1, {5, 2, 0}) == Verdict::duplicate);
}

TEST_CASE("an attempt has one first fault, its cells are dropped from then on, the next attempt starts afresh") {
  const sim::Counter::About about{"evicted", "count", ""};
  sim::Counter evicted(about);
  Reassembly r(4, kNoNotices, evicted);
  r.judge(1, {5, 0, 0});
  CHECK(r.failed(1, {5, 0, 0}));
  CHECK_FALSE(r.failed(1, {5, 0, 0}));
  CHECK(r.judge(1, {5, 0, 0}) == Verdict::faulted);
  CHECK(r.judge(1, {5, 0, 1}) == Verdict::write);
  CHECK(r.failed(1, {5, 0, 1}));
}

TEST_CASE("what is remembered is bounded and the transfer that was silent for longest goes first") {
  const sim::Counter::About about{"evicted", "count", ""};
  sim::Counter evicted(about);
  Reassembly r(2, kNoNotices, evicted);
  r.judge(1, {5, 0, 0});
  r.judge(1, {6, 0, 0});
  r.judge(1, {5, 0, 0});
  r.judge(1, {7, 0, 0});
  CHECK(r.transfers() == 2);
  CHECK(evicted.value() == 1);
  CHECK(r.judge(1, {5, 0, 1}) == Verdict::write);
  CHECK(r.judge(1, {5, 0, 0}) == Verdict::stale);  // 5 was kept
}

TEST_CASE("cells cover a block once, never cross a page at either end, and do not depend on the train's length") {
  CHECK(rc::check([] {
    const auto source = *rc::gen::inRange<std::uint64_t>(0, 20000);
    const auto destination = *rc::gen::inRange<std::uint64_t>(0, 20000);
    const auto bytes = *rc::gen::inRange<std::uint32_t>(1, 20000);
    const auto most = *rc::gen::inRange<std::uint32_t>(1, 17);
    std::vector<std::uint32_t> starts[2];
    for (const bool single : {false, true}) {
      for (std::uint32_t at = 0; at < bytes;) {
        const CellRun run = next_run(source, destination, at, bytes, single ? 1 : most);
        RC_ASSERT(run.offset == at);
        RC_ASSERT(run.cells >= 1 && run.cells <= (single ? 1 : most));
        RC_ASSERT(run.cell_bytes >= 1 && run.cell_bytes <= 256);
        for (const std::uint64_t base : {source, destination}) {
          RC_ASSERT((base + at) / 4096 == (base + at + run.bytes() - 1) / 4096);
        }
        for (std::uint32_t i = 0; i < run.cells; ++i) starts[single ? 1 : 0].push_back(at + i * run.cell_bytes);
        at += run.bytes();
        RC_ASSERT(at <= bytes);
      }
    }
    RC_ASSERT(starts[0] == starts[1]);
  }));
}
