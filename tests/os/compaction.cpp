// SPDX-License-Identifier: Apache-2.0
// Free memory in small pieces, and what is done about it for somebody who wants a huge page.
#include "models/os/events/compaction.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::kPagesPerHuge;
using os::ThpDefrag;

namespace {

OsConfig advised(ThpDefrag defrag = ThpDefrag::madvise) {
  OsConfig config;
  config.thp_defrag = defrag;
  config.khugepaged = false;
  return config;
}

// Memory that was full of small pages once, of which every `keep`th has stayed. The frame allocator gives out the
// lowest frames first, so that nothing but such holes is left below the highest page; 16 MiB, of which the bench's
// kernel keeps 2 MiB.
struct Fragmented {
  static constexpr std::uint64_t kMemory = 16 * kMiB;

  Fragmented(OsBench& bench, std::uint64_t keep = 4) : b(bench), every(keep) {
    bytes = (b.vm.frames().free_pages() - kSpare) * kPage;
    va = b.map(bytes);
    REQUIRE(b.vm.make_present(*b.process, va, bytes) == Error::none);
    REQUIRE(b.vm.fill(*b.process, va, bytes, 7) == bytes);
    // Tables for what comes.
    want = b.vm.map(*b.process, 2 * kHugePage, kHugePage).value;
    REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, want, 2 * kHugePage, os::Advice::hugepage)).value == Error::none);
    for (std::uint64_t i = 0; i < bytes / kPage; ++i) {
      if (i % every != 0) REQUIRE(b.vm.discard(*b.process, va + i * kPage, kPage) == Error::none);
    }
  }
  bool intact() const {
    for (std::uint64_t i = 0; i < bytes / kPage; i += every) {
      if (!(b.vm.read(*b.process, va + i * kPage, kPage) == sim::Content::pattern(7, i * kPage, kPage))) return false;
    }
    return true;
  }
  Timed<Error> touch(VirtualAddress where) { return b.run(b.vm.touch(b.thread, *b.process, where, true)); }
  bool huge(VirtualAddress where) const { return b.process->space().is_huge(where); }

  static constexpr std::uint64_t kSpare = 16;  // pages of tables
  OsBench& b;
  std::uint64_t every;
  std::uint64_t bytes = 0;
  VirtualAddress va = 0;
  VirtualAddress want = 0;
};

Task<bool> finish(Task<void> operation) {
  co_await std::move(operation);
  co_return true;
}

}  // namespace

TEST_CASE("holes between pages that stay are no huge page, however many they are") {
  OsBench b(advised(ThpDefrag::never), Fragmented::kMemory);
  Fragmented memory(b);
  CHECK(b.vm.frames().free_pages() > 5 * kPagesPerHuge);
  CHECK_FALSE(b.vm.frames().has_whole_block());
  const auto touched = memory.touch(memory.want);
  CHECK(touched.value == Error::none);
  CHECK(touched.took == b.cold_page());
  CHECK_FALSE(memory.huge(memory.want));
  CHECK(b.counted("os.thp_fault_fallback") == 1);
  CHECK(b.counted("os.compact_migrate_scanned") == 0);
}

TEST_CASE("an advised fault compacts memory itself, and gets its huge page") {
  OsBench b(advised(), Fragmented::kMemory);
  Fragmented memory(b);
  const auto used = b.used();
  const auto touched = memory.touch(memory.want);
  CHECK(touched.value == Error::none);
  CHECK(memory.huge(memory.want));
  CHECK(memory.intact());
  CHECK(b.used() == used + kPagesPerHuge);
  CHECK(b.counted("os.thp_fault_alloc") == 1);
  CHECK(b.counted("os.thp_fault_fallback") == 0);
  CHECK(b.counted("os.compact_stall") == 1);
  CHECK(b.counted("os.compact_success") == 1);
  CHECK(b.counted("os.compact_fail") == 0);
  const std::uint64_t moved = b.counted("os.pgmigrate_success");
  CHECK(moved >= kPagesPerHuge / 4);
  CHECK(b.counted("os.compact_isolated") >= 2 * moved);
  // Every page that was moved was away for a flush, its handling and its copying, and the fault paid for all of it.
  const Time moving = b.flush() + b.config.migrate_page + b.copying(1);
  const auto scans = static_cast<std::int64_t>(b.counted("os.compact_migrate_scanned"));
  const auto free_scans = static_cast<std::int64_t>(b.counted("os.compact_free_scanned"));
  CHECK(touched.took == static_cast<std::int64_t>(moved) * moving + scans * b.config.compact_scan_per_page +
                            free_scans * b.config.compact_free_scan_per_page + b.config.thp_alloc +
                            b.zeroing(kPagesPerHuge));
  b.vm.audit();
}

TEST_CASE("pages go from the low end of memory to the high one") {
  OsBench b(advised(), Fragmented::kMemory);
  Fragmented memory(b);
  const auto lowest = [&] {
    memory::Address low = ~memory::Address{0};
    for (std::uint64_t at = 0; at < memory.bytes; at += memory.every * kPage) {
      low = std::min(low, b.process->space().entry(memory.va + at)->frame);
    }
    return low;
  };
  const memory::Address before = lowest();
  REQUIRE(b.run(finish(b.vm.compaction().compact_memory(b.thread))).took > Time{0});
  CHECK(lowest() > before + 2 * kHugePage);
  CHECK(b.vm.frames().has_whole_block());
  CHECK(memory.intact());
  CHECK(b.counted("os.compact_stall") == 0);  // which was nobody's fault
  b.vm.audit();
}

TEST_CASE("defer: the fault takes a small page at once, kcompactd makes room for the next") {
  OsBench b(advised(ThpDefrag::defer), Fragmented::kMemory);
  Fragmented memory(b);
  const auto touched = memory.touch(memory.want);  // ends when kcompactd does
  CHECK(touched.took == b.cold_page());
  CHECK_FALSE(memory.huge(memory.want));
  CHECK(b.vm.frames().has_whole_block());
  CHECK(b.counted("os.compact_daemon_wake") == 1);
  CHECK(b.counted("os.compact_stall") == 0);
  CHECK(memory.touch(memory.want + kHugePage).value == Error::none);
  CHECK(memory.huge(memory.want + kHugePage));
  CHECK(memory.intact());
  b.vm.audit();
}

namespace {

// What a fault does that is advised, or not: direct compaction, kcompactd.
struct Done {
  bool direct;
  bool background;
  bool operator==(const Done&) const = default;
};
Done done_by(ThpDefrag defrag, bool advise) {
  OsConfig config = advised(defrag);
  config.thp = os::ThpMode::always;
  OsBench b(config, Fragmented::kMemory);
  Fragmented memory(b);
  if (!advise) memory.want = b.map(kHugePage, {.alignment = kHugePage});
  REQUIRE(memory.touch(memory.want).value == Error::none);
  CHECK(memory.huge(memory.want) == (b.counted("os.compact_stall") > 0));
  return {b.counted("os.compact_stall") > 0, b.counted("os.compact_daemon_wake") > 0};
}

}  // namespace

TEST_CASE("thp_defrag always: everybody compacts") { CHECK(done_by(ThpDefrag::always, false) == Done{true, false}); }
TEST_CASE("thp_defrag always: so do those who advise") { CHECK(done_by(ThpDefrag::always, true) == Done{true, false}); }
TEST_CASE("thp_defrag defer: nobody compacts but kcompactd") {
  CHECK(done_by(ThpDefrag::defer, true) == Done{false, true});
}
TEST_CASE("thp_defrag defer+madvise: kcompactd does for those who do not advise") {
  CHECK(done_by(ThpDefrag::defer_madvise, false) == Done{false, true});
}
TEST_CASE("thp_defrag defer+madvise: those who advise do so themselves") {
  CHECK(done_by(ThpDefrag::defer_madvise, true) == Done{true, false});
}
TEST_CASE("thp_defrag madvise: without advice nothing is done") {
  CHECK(done_by(ThpDefrag::madvise, false) == Done{false, false});
}
TEST_CASE("thp_defrag madvise: with advice the fault compacts") {
  CHECK(done_by(ThpDefrag::madvise, true) == Done{true, false});
}
TEST_CASE("thp_defrag never: nothing is done") { CHECK(done_by(ThpDefrag::never, true) == Done{false, false}); }

TEST_CASE("khugepaged compacts for its huge page, unless its own defrag is off") {
  OsBench b(advised(ThpDefrag::never), Fragmented::kMemory);
  Fragmented memory(b);
  const VirtualAddress va = memory.want;
  REQUIRE(memory.touch(va).value == Error::none);
  REQUIRE_FALSE(memory.huge(va));
  CHECK(b.run(b.vm.khugepaged().collapse(b.thread, *b.process, va, os::Khugepaged::Wish::scan)).value ==
        os::Khugepaged::Outcome::collapsed);
  CHECK(memory.huge(va));
  CHECK(b.counted("os.compact_success") == 1);
  b.vm.audit();
}

TEST_CASE("khugepaged without defrag finds no huge page") {
  OsConfig config = advised(ThpDefrag::never);
  config.khugepaged_defrag = false;
  OsBench b(config, Fragmented::kMemory);
  Fragmented memory(b);
  REQUIRE(memory.touch(memory.want).value == Error::none);
  CHECK(b.run(b.vm.khugepaged().collapse(b.thread, *b.process, memory.want, os::Khugepaged::Wish::scan)).value ==
        os::Khugepaged::Outcome::no_block);
  CHECK(b.counted("os.compact_stall") == 0);
}

TEST_CASE("a pinned page in every block: nothing is moved for nothing, and after failures it is not tried each time") {
  OsBench b(advised(), Fragmented::kMemory);
  Fragmented memory(b);
  std::size_t pins = 0;
  for (std::uint64_t at = 0; at < memory.bytes; at += 64 * kPage) {
    REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, memory.va + at, kPage, true)).value.ok());
    ++pins;
  }
  REQUIRE(pins * 64 > memory.bytes / kPage - 64);
  const auto touched = memory.touch(memory.want);
  CHECK(touched.value == Error::none);
  CHECK_FALSE(memory.huge(memory.want));
  CHECK(b.counted("os.compact_stall") == 2);  // asynchronous, then not
  CHECK(b.counted("os.compact_fail") == 2);
  CHECK(b.counted("os.thp_fault_fallback") == 1);
  CHECK(b.vm.compaction().defer_shift() == 1);
  const auto scanned = b.counted("os.compact_migrate_scanned");
  // The first of the next two attempts is left out.
  b.run(finish(b.vm.compaction().make_block(b.thread, os::Compaction::effort_of_advice())));
  CHECK(b.counted("os.compact_stall") == 4);
  CHECK(b.vm.compaction().defer_shift() == 2);
  CHECK(b.counted("os.compact_migrate_scanned") > scanned);
  CHECK(memory.intact());
  b.vm.audit();
}

TEST_CASE("pinned pages stay mapped where they are, and locked ones move") {
  OsBench b(advised(), Fragmented::kMemory);
  Fragmented memory(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, memory.va, kPage)).value == Error::none);
  const VirtualAddress pinned = memory.va + memory.every * kPage;
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pinned, kPage, true)).value.ok());
  const auto frame = [&](VirtualAddress va) { return b.process->space().entry(va)->frame; };
  const auto of_locked = frame(memory.va);
  const auto of_pinned = frame(pinned);
  b.run(finish(b.vm.compaction().compact_memory(b.thread)));
  CHECK(frame(memory.va) != of_locked);
  CHECK(frame(pinned) == of_pinned);
  CHECK(b.counted("os.migrate_restored") == 0);
  b.vm.audit();
}

TEST_CASE("locked pages stay, too, where compaction must not move them") {
  OsConfig config = advised();
  config.compact_unevictable_allowed = false;
  OsBench b(config, Fragmented::kMemory);
  Fragmented memory(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, memory.va, kPage)).value == Error::none);
  const auto before = b.process->space().entry(memory.va)->frame;
  b.run(finish(b.vm.compaction().compact_memory(b.thread)));
  CHECK(b.process->space().entry(memory.va)->frame == before);
  CHECK(b.counted("os.pgmigrate_success") > 0);
}

TEST_CASE("asynchronous compaction leaves a block alone that has a pinned page, and takes the next") {
  OsBench b(advised(ThpDefrag::always), Fragmented::kMemory);
  Fragmented memory(b);
  // In the middle of the first block.
  const VirtualAddress pinned = memory.va + kHugePage / 2;
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pinned, kPage, true)).value.ok());
  const auto block = b.process->space().entry(pinned)->frame / kHugePage;
  REQUIRE(memory.touch(memory.want).value == Error::none);
  CHECK(memory.huge(memory.want));
  CHECK(b.process->space().entry(memory.want)->frame / kHugePage > block);
  CHECK(b.counted("os.compact_success") == 1);
  CHECK(memory.intact());
}

TEST_CASE("kcompactd that has failed lets one request pass, then three, before it tries again") {
  OsBench b(advised(ThpDefrag::defer), Fragmented::kMemory);
  Fragmented memory(b);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, memory.va, kPage, true)).value.ok());
  for (std::uint64_t at = 0; at < memory.bytes; at += 64 * kPage) {
    REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, memory.va + at, kPage, true)).value.ok());
  }
  std::vector<bool> tried;
  for (unsigned i = 0; i < 7; ++i) {
    const auto scanned = b.counted("os.compact_migrate_scanned");
    b.vm.compaction().wake();
    b.run(b.vm.touch(b.thread, *b.process, memory.va, false));  // until kcompactd has nothing left to do
    tried.push_back(b.counted("os.compact_migrate_scanned") > scanned);
  }
  CHECK(tried == std::vector<bool>{true, false, true, false, false, false, true});
  CHECK(b.counted("os.compact_daemon_wake") == 7);
  CHECK(b.vm.compaction().defer_shift() == 3);
}

TEST_CASE("where too little is free compaction is not even begun, and an advised fault reclaims first") {
  OsConfig config = advised();
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = 256 * kPage;
  config.swap_bytes = 64 * kMiB;
  OsBench b(config);
  const std::uint64_t bytes = (b.vm.frames().free_pages() - b.vm.reclaim().high_watermark() - 100) * kPage;
  const VirtualAddress va = b.map(bytes);
  const VirtualAddress want = b.vm.map(*b.process, kHugePage, kHugePage).value;
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, want, kHugePage, os::Advice::hugepage)).value == Error::none);
  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, va, bytes, true)).value == Error::none);
  REQUIRE_FALSE(b.vm.frames().has_whole_block());
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, want, true)).value == Error::none);
  CHECK(b.counted("os.allocstall") == 1);
  CHECK(b.counted("os.pswpout") >= 512);
  CHECK(b.counted("os.compact_stall") <= 1);
  CHECK(b.process->space().is_huge(want));
  b.vm.audit();
}

TEST_CASE("without a swap device nothing is reclaimed for compaction") {
  OsConfig config = advised();
  config.user_memory = 16 * kMiB;
  OsBench b(config);
  const std::uint64_t bytes = (b.vm.frames().free_pages() - 100) * kPage;
  const VirtualAddress va = b.map(bytes);
  const VirtualAddress want = b.vm.map(*b.process, kHugePage, kHugePage).value;
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, want, kHugePage, os::Advice::hugepage)).value == Error::none);
  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, va, bytes, true)).value == Error::none);
  CHECK(b.run(b.vm.touch(b.thread, *b.process, want, true)).value == Error::none);
  CHECK_FALSE(b.process->space().is_huge(want));
  CHECK(b.counted("os.thp_fault_fallback") == 1);
  CHECK(b.counted("os.allocstall") == 0);
}

namespace {

// How often the entry of such a page is cleared, and after how many of these TLBs are waited for at once.
struct Cleared {
  std::ptrdiff_t times = 0;
  std::ptrdiff_t waits = 0;
  bool operator==(const Cleared&) const = default;
};
Cleared cleared(os::KernelVersion version, bool async) {
  OsBench b(of_kernel(version), Fragmented::kMemory);
  Fragmented memory(b);
  PinsLater pins(b, 20 * memory.every * kPage);
  b.run(finish(async ? b.vm.compaction().make_block(b.thread, {.direct = true})
                     : b.vm.compaction().compact_memory(b.thread)));
  CHECK(pins.pinned.value.ok());
  CHECK(b.counted("os.pgmigrate_fail") == 1);
  CHECK(memory.intact());
  b.vm.audit();
  const VirtualAddress pinned = pins.flushes.front().leaves.front() + pins.distance;
  const auto of_pinned = [&](const os::TlbFlush& flush) { return flush.leaves.front() == pinned; };
  const auto waits = [&](const os::TlbFlush& flush) { return of_pinned(flush) && flush.waits; };
  const Cleared result{std::count_if(pins.flushes.begin(), pins.flushes.end(), of_pinned),
                       std::count_if(pins.flushes.begin(), pins.flushes.end(), waits)};
  CHECK(b.counted("os.migrate_restored") == static_cast<std::uint64_t>(result.times));
  return result;
}

}  // namespace

TEST_CASE("6.1: the entry of a page that is pinned after compaction has looked is cleared ten times",
          "[exclusive-pages]") {
  CHECK(cleared(os::KernelVersion::linux_6_1, /*async=*/true) == Cleared{10, 10});
}
TEST_CASE(
    "6.6: the entry of a page that is pinned so is cleared by compaction three times with its batch, seven by itself",
    "[exclusive-pages]") {
  CHECK(cleared(os::KernelVersion::linux_6_6, /*async=*/false) == Cleared{10, 7});
}
TEST_CASE("6.6: asynchronous compaction clears the entry of a page that is pinned so ten times, with its batch",
          "[exclusive-pages]") {
  CHECK(cleared(os::KernelVersion::linux_6_6, /*async=*/true) == Cleared{10, 0});
}

TEST_CASE("6.6: pages that compaction moves are waited for by clusters, and the free scanner gives as many frames") {
  OsConfig config = advised();
  config.kernel.version = os::KernelVersion::linux_6_6;
  OsBench b(config, Fragmented::kMemory);
  Fragmented memory(b);
  const Listener listener(b, 0ns);
  const auto touched = memory.touch(memory.want);
  CHECK(memory.huge(memory.want));
  CHECK(memory.intact());
  const auto moved = static_cast<std::int64_t>(b.counted("os.pgmigrate_success"));
  const auto batches = static_cast<std::int64_t>(listener.finished_at.size());
  CHECK(batches == (moved + 31) / 32);
  const auto scans = static_cast<std::int64_t>(b.counted("os.compact_migrate_scanned"));
  const auto free_scans = static_cast<std::int64_t>(b.counted("os.compact_free_scanned"));
  CHECK(touched.took == moved * (b.config.cpu_tlbi + b.config.migrate_page + b.copying(1)) +
                            batches * b.config.cpu_dsb + scans * b.config.compact_scan_per_page +
                            free_scans * b.config.compact_free_scan_per_page + b.config.thp_alloc +
                            b.zeroing(kPagesPerHuge));
  b.vm.audit();
}
