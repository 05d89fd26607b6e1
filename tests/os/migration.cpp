// SPDX-License-Identifier: Apache-2.0
// Pages that migrate: when each goes, and when it is back; one by one, in batches since 6.3, and when somebody holds
// it.
#include "models/os/events/page_events.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::KernelVersion;
using os::PageEvents;

namespace {

constexpr std::int64_t kTogether = PresentPages::kPages;
constexpr KernelVersion kBefore = KernelVersion::linux_6_1;
constexpr KernelVersion kSince = KernelVersion::linux_6_6;
constexpr KernelVersion kSeesPinsLate = KernelVersion::linux_5_15;

// What each of the steps takes.
struct Steps {
  explicit Steps(const OsBench& b)
      : lead(b.config.migrate_page / 2),
        flush(b.config.cpu_tlbi),
        wait(b.config.cpu_dsb),
        copy(b.copying(1)),
        walk(b.config.migrate_page / 2) {}
  Time unmap() const { return lead + flush; }
  Time move() const { return copy + walk; }
  // A page whose entry comes back at once.
  Time refused() const { return lead + flush + walk; }
  Time lead, flush, wait, copy, walk;
};

// Whether a page has a descriptor a picosecond before an instant, and one after.
struct Seen {
  bool before = false;
  bool after = false;
};
Task<void> look(OsBench& b, VirtualAddress va, Time when, Seen& seen) {
  co_await b.node.loop.until(when - Time{1});
  seen.before = b.present(va);
  co_await b.node.loop.until(when + Time{1});
  seen.after = b.present(va);
}

// When a page has no descriptor, from the start of the migration.
struct Away {
  std::uint64_t page;
  Time goes;
  Time comes;
};

os::MmapOptions shared_memory(OsBench& b) {
  return {.file = b.vm.page_cache().create_shmem(PresentPages::kBytes), .shared = true};
}

// Pages are moved from `start` on, and looked at.
struct Moving {
  explicit Moving(OsBench& bench, os::MmapOptions options = {})
      : b(bench), pages(bench, options), start(b.node.now() + 1ms) {}
  void pin_first() {
    REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pages.va, kPage, true)).value.ok());
    start = b.node.now() + 1ms;
  }
  void run(const std::vector<Away>& expected) {
    Outcome<unsigned> outcome;
    std::vector<Seen> seen(2 * expected.size());
    b.tasks.start(at_core(
        b, b.thread, start,
        b.vm.page_events().migrate(b.thread, *b.process, pages.range(), PageEvents::Mover::move_pages), outcome));
    for (std::size_t i = 0; i < expected.size(); ++i) {
      const VirtualAddress va = pages.va + expected[i].page * kPage;
      b.tasks.start(look(b, va, start + expected[i].goes, seen[2 * i]));
      b.tasks.start(look(b, va, start + expected[i].comes, seen[2 * i + 1]));
    }
    sc_core::sc_start();
    for (std::size_t i = 0; i < expected.size(); ++i) {
      INFO("page " << expected[i].page << ", number " << i);
      CHECK(seen[2 * i].before);
      CHECK_FALSE(seen[2 * i].after);
      CHECK_FALSE(seen[2 * i + 1].before);
      CHECK(seen[2 * i + 1].after);
    }
    moved = outcome.value;
    took = outcome.at - start;
    CHECK(pages.intact());
    b.vm.audit();
  }
  OsBench& b;
  PresentPages pages;
  Time start;
  unsigned moved = 0;
  Time took{0};
};

}  // namespace

TEST_CASE("6.1: a page that is migrated is back before the next one goes", "[batched-migration]") {
  OsBench b(of_kernel(kBefore));
  const Steps s(b);
  Moving moving(b);
  const Time each = s.unmap() + s.wait + s.move();
  std::vector<Away> away;
  for (std::int64_t i = 0; i < kTogether; ++i) {
    away.push_back({static_cast<std::uint64_t>(i), i * each + s.lead, (i + 1) * each});
  }
  moving.run(away);
  CHECK(moving.moved == kTogether);
  CHECK(moving.took == kTogether * each);
}

TEST_CASE("6.6: all pages of a migration go before TLBs are waited for, once, and the first one is back",
          "[batched-migration][batched-unmapping]") {
  OsBench b(of_kernel(kSince));
  const Steps s(b);
  Listener listener(b, 0ns);
  Moving moving(b);
  const Time unmapped = kTogether * s.unmap() + s.wait;
  std::vector<Away> away;
  for (std::int64_t i = 0; i < kTogether; ++i) {
    away.push_back({static_cast<std::uint64_t>(i), i * s.unmap() + s.lead, unmapped + (i + 1) * s.move()});
  }
  moving.run(away);
  CHECK(moving.moved == kTogether);
  CHECK(moving.took == unmapped + kTogether * s.move());
  REQUIRE(listener.flushes.size() == kTogether);
  for (const os::TlbFlush& flush : listener.flushes) {
    CHECK(flush.operations() == 1);
    CHECK_FALSE(flush.waits);
  }
  CHECK(listener.finished_at == std::vector<Time>{moving.start + kTogether * s.unmap()});
}

TEST_CASE("6.6: a migration of one page is a batch of one") {
  OsBench b(of_kernel(kSince));
  const Steps s(b);
  PresentPages pages(b);
  const auto moved =
      b.run(b.vm.page_events().migrate(b.thread, *b.process, pages.first(), PageEvents::Mover::move_pages));
  CHECK(moved.value == 1);
  CHECK(moved.took == s.unmap() + s.wait + s.move());
}

TEST_CASE("5.15: a pinned page is away until it is found held and mapped again, ten times", "[exclusive-pages]") {
  OsBench b(of_kernel(kSeesPinsLate));
  const Steps s(b);
  Moving moving(b);
  moving.pin_first();
  const Time each = s.unmap() + s.wait + s.move();
  const Time held = s.unmap() + s.wait + s.walk;
  const Time others = (kTogether - 1) * each;
  std::vector<Away> away{{0, s.lead, held}};
  for (std::int64_t i = 1; i < 10; ++i) away.push_back({0, others + i * held + s.lead, others + (i + 1) * held});
  moving.run(away);
  CHECK(moving.moved == kTogether - 1);
  CHECK(moving.took == others + 10 * held);
  CHECK(b.counted("os.migrate_restored") == 10);
}

TEST_CASE("6.1: a pinned page is away until TLBs have forgotten it, ten times", "[exclusive-pages]") {
  OsBench b(of_kernel(kBefore));
  const Steps s(b);
  Moving moving(b);
  moving.pin_first();
  const Time each = s.unmap() + s.wait + s.move();
  const Time held = s.refused() + s.wait;
  const Time others = (kTogether - 1) * each;
  std::vector<Away> away{{0, s.lead, held - s.walk}};
  for (std::int64_t i = 1; i < 10; ++i) {
    away.push_back({0, others + i * held + s.lead, others + (i + 1) * held - s.walk});
  }
  moving.run(away);
  CHECK(moving.moved == kTogether - 1);
  CHECK(moving.took == others + 10 * held);
  CHECK(b.counted("os.migrate_restored") == 10);
  CHECK(b.counted("os.pgmigrate_success") == kTogether - 1);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
}

TEST_CASE("6.6: a pinned page is away for its invalidation, three times with its batch, and seven times by itself",
          "[exclusive-pages]") {
  OsBench b(of_kernel(kSince));
  const Steps s(b);
  const Listener listener(b, 0ns);
  Moving moving(b);
  moving.pin_first();
  const auto frame = moving.pages.frame();
  const Time others = (kTogether - 1) * s.unmap();
  const Time all_tried = 3 * s.refused() + others;
  const Time batch = all_tried + s.wait + (kTogether - 1) * s.move();
  const Time alone = s.refused() + s.wait;
  std::vector<Away> away;
  for (const Time begin : {Time{0}, s.refused() + others, 2 * s.refused() + others}) {
    away.push_back({0, begin + s.lead, begin + s.unmap()});
  }
  for (std::int64_t i = 1; i < kTogether; ++i) {
    const Time begin = s.refused() + (i - 1) * s.unmap();
    away.push_back({static_cast<std::uint64_t>(i), begin + s.lead, all_tried + s.wait + i * s.move()});
  }
  for (std::int64_t i = 0; i < 7; ++i) {
    away.push_back({0, batch + i * alone + s.lead, batch + (i + 1) * alone - s.walk});
  }
  moving.run(away);
  CHECK(moving.moved == kTogether - 1);
  CHECK(moving.took == batch + 7 * alone);
  CHECK(moving.pages.frame() == frame);
  REQUIRE(listener.flushes.size() == kTogether - 1 + 10);
  for (std::size_t i = 0; i < listener.flushes.size(); ++i) {
    CHECK(listener.flushes[i].operations() == 1);
    CHECK(listener.flushes[i].waits == (i >= kTogether + 2));
  }
  CHECK(listener.finished_at == std::vector<Time>{moving.start + all_tried});
  CHECK(b.counted("os.migrate_restored") == 10);
  CHECK(b.counted("os.pgmigrate_success") == kTogether - 1);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
}

TEST_CASE("6.6: held shared memory is away until its batch is done, and once more by itself") {
  OsBench b(of_kernel(kSince));
  const Steps s(b);
  const Listener listener(b, 0ns);
  Moving moving(b, shared_memory(b));
  moving.pin_first();
  const std::size_t before = listener.flushes.size();
  const Time unmapped = kTogether * s.unmap() + s.wait;
  const Time batch = unmapped + (kTogether - 1) * s.move() + s.walk;  // the held page comes last
  std::vector<Away> away{{0, s.lead, batch}};
  for (std::int64_t i = 1; i < kTogether; ++i) {
    away.push_back({static_cast<std::uint64_t>(i), i * s.unmap() + s.lead, unmapped + i * s.move()});
  }
  moving.run(away);
  CHECK(moving.moved == kTogether - 1);
  CHECK(moving.took == batch + s.unmap() + s.wait + s.walk);
  REQUIRE(listener.flushes.size() == before + kTogether + 1);
  CHECK(listener.flushes.back().waits);
  CHECK(listener.finished_at.size() == 1);
  CHECK(b.counted("os.migrate_restored") == 2);
  CHECK(b.counted("os.pgmigrate_success") == kTogether - 1);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
}

TEST_CASE("6.6: a page cannot be pinned while it is away: it moves, and the pin waits for that") {
  OsBench b(of_kernel(kSince));
  const Steps s(b);
  Moving moving(b);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<os::Result<os::PinId>> pinned;
  const Time asks = moving.start + s.unmap();
  b.tasks.start(at_core(b, other, asks - b.config.pin_fixed,
                        b.vm.pin_user_pages(other, *b.process, moving.pages.va, kPage, true), pinned));
  const Time unmapped = kTogether * s.unmap() + s.wait;
  moving.run({{0, s.lead, unmapped + s.move()}});
  CHECK(moving.moved == kTogether);
  CHECK(pinned.value.ok());
  CHECK(pinned.at > moving.start + unmapped + s.move());
  CHECK(b.counted("os.migrate_restored") == 0);
}

namespace {

// What a migration leaves of the entry of a pinned page that is old and clean: its bits before and after.
std::pair<std::uint64_t, std::uint64_t> entry_after_refusal(KernelVersion version) {
  OsBench b(of_kernel(version));
  PresentPages pages(b);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, pages.va, kPage, os::Advice::free)).value == Error::none);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pages.va, kPage, true)).value.ok());
  const auto before = b.walk(pages.va)->descriptor;
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, pages.first(), PageEvents::Mover::move_pages)).value ==
        0);
  return {before, b.walk(pages.va)->descriptor};
}

}  // namespace

TEST_CASE("5.15: a pinned page that was clean comes back writable", "[exclusive-pages]") {
  const auto [before, after] = entry_after_refusal(kSeesPinsLate);
  CHECK((before & 0x80) != 0);
  CHECK(after == (before & ~std::uint64_t{0x80}));
}
TEST_CASE("6.1: the entry of a pinned page comes back as it was", "[exclusive-pages]") {
  const auto [before, after] = entry_after_refusal(kBefore);
  CHECK((before & 0x480) == 0x80);
  CHECK(after == before);
}

namespace {

// How many pages of shared memory have moved, and how often one had to be mapped again, when a pin of the first of them
// ends while the second is being copied.
struct LetGo {
  unsigned moved;
  std::uint64_t restored;
};
LetGo let_go_during_copy(unsigned passes) {
  OsConfig config = of_kernel(kSince);
  config.migrate_passes = passes;
  OsBench b(config);
  const Steps s(b);
  const PresentPages pages(b, shared_memory(b));
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, pages.va, kPage, true)).value;
  const Time start = b.node.now() + 1ms;
  Outcome<unsigned> moved;
  Outcome<Error> unpinned;
  b.tasks.start(at_core(b, b.thread, start,
                        b.vm.page_events().migrate(b.thread, *b.process, pages.range(), PageEvents::Mover::move_pages),
                        moved));
  const Time copying = start + kTogether * s.unmap() + s.wait;
  b.tasks.start(at_core(b, other, copying - b.config.syscall, b.vm.unpin(other, pin.value), unpinned));
  sc_core::sc_start();
  CHECK(unpinned.at > copying);
  CHECK(unpinned.at < copying + s.copy);
  return {moved.value, b.counted("os.migrate_restored")};
}

}  // namespace

TEST_CASE("6.6: a page that is let go of while others are copied moves with its batch, in the next pass") {
  const LetGo done = let_go_during_copy(2);
  CHECK(done.moved == kTogether);
  CHECK(done.restored == 0);
}

TEST_CASE("6.6: with a single pass a held page is mapped again, though its pin ends while others are copied") {
  const LetGo done = let_go_during_copy(1);
  CHECK(done.moved == kTogether - 1);
  CHECK(done.restored == 1);
}

namespace {

// How many pages are away when TLBs are waited for, each time.
std::vector<std::size_t> batches(PageEvents::Mover mover, std::uint64_t count) {
  struct Counter : Listener {
    using Listener::Listener;
    Task<void> finish(cpu::Execution& exec) override {
      sizes.push_back(flushes.size());
      flushes.clear();
      return answer(exec);
    }
    std::vector<std::size_t> sizes;
  };
  OsBench b(of_kernel(kSince));
  Counter counter(b, 0ns);
  const VirtualAddress va = b.map_present(count * kPage);
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, {va, va + count * kPage}, mover)).value == count);
  b.vm.audit();
  return counter.sizes;
}

}  // namespace

TEST_CASE("6.6: compaction has 32 pages moved at a time") {
  CHECK(batches(PageEvents::Mover::compaction, 40) == std::vector<std::size_t>{32, 8});
}
TEST_CASE("6.6: a migration has 512 pages away at a time at most") {
  CHECK(batches(PageEvents::Mover::move_pages, 600) == std::vector<std::size_t>{512, 88});
}
