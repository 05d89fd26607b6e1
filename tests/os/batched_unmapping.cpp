// SPDX-License-Identifier: Apache-2.0
// Pages that are unmapped together: since 6.3 those of a migration, and since 6.6 TLBs are waited for once, here as in
// reclaim. When each page goes, and when it is back.
#include "models/os/page_events.hpp"
#include "tests/os/mapped_file.hpp"

using namespace faultline;
using namespace faultline::test;
using os::KernelVersion;
using os::PageEvents;

namespace {

constexpr std::int64_t kTogether = PresentPages::kPages;
constexpr KernelVersion kBefore = KernelVersion::linux_6_1;
constexpr KernelVersion kSince = KernelVersion::linux_6_6;

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

// Pages are moved from `start` on, and looked at.
struct Moving {
  explicit Moving(OsBench& bench) : b(bench), pages(bench), start(b.node.now() + 1ms), seen(2 * kTogether) {}
  void run(const std::vector<Time>& goes, const std::vector<Time>& comes) {
    Outcome<unsigned> outcome;
    b.tasks.start(at_core(
        b, b.thread, start,
        b.vm.page_events().migrate(b.thread, *b.process, pages.range(), PageEvents::Mover::move_pages), outcome));
    for (std::size_t i = 0; i < kTogether; ++i) {
      b.tasks.start(look(b, pages.va + i * kPage, start + goes[i], seen[2 * i]));
      b.tasks.start(look(b, pages.va + i * kPage, start + comes[i], seen[2 * i + 1]));
    }
    sc_core::sc_start();
    for (std::size_t i = 0; i < kTogether; ++i) {
      INFO("page " << i);
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
  std::vector<Seen> seen;
  unsigned moved = 0;
  Time took{0};
};

}  // namespace

TEST_CASE("6.1: a page that is migrated is back before the next one goes", "[batched-migration]") {
  OsBench b(of_kernel(kBefore));
  const Steps s(b);
  Moving moving(b);
  const Time each = s.unmap() + s.wait + s.move();
  std::vector<Time> goes, comes;
  for (std::int64_t i = 0; i < kTogether; ++i) {
    goes.push_back(i * each + s.lead);
    comes.push_back((i + 1) * each);
  }
  moving.run(goes, comes);
  CHECK(moving.moved == kTogether);
  CHECK(moving.took == kTogether * each);
}

TEST_CASE("6.6: all pages of a migration go before TLBs are waited for, once, and the first one is back",
          "[batched-migration]") {
  OsBench b(of_kernel(kSince));
  const Steps s(b);
  Listener listener(b, 0ns);
  Moving moving(b);
  const Time unmapped = kTogether * s.unmap() + s.wait;
  std::vector<Time> goes, comes;
  for (std::int64_t i = 0; i < kTogether; ++i) {
    goes.push_back(i * s.unmap() + s.lead);
    comes.push_back(unmapped + (i + 1) * s.move());
  }
  moving.run(goes, comes);
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

TEST_CASE("6.6: a page that is held is away until its batch is done, and once more by itself") {
  OsBench b(of_kernel(kSince));
  const Steps s(b);
  Listener listener(b, 0ns);
  Moving moving(b);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, moving.pages.va, kPage, true)).value.ok());
  moving.start = b.node.now() + 1ms;
  const Time unmapped = kTogether * s.unmap() + s.wait;
  const Time batch = unmapped + (kTogether - 1) * s.move() + s.walk;  // the held page comes last
  std::vector<Time> goes, comes;
  for (std::int64_t i = 0; i < kTogether; ++i) {
    goes.push_back(i * s.unmap() + s.lead);
    comes.push_back(i == 0 ? batch : unmapped + i * s.move());
  }
  moving.run(goes, comes);
  CHECK(moving.moved == kTogether - 1);
  CHECK(moving.took == batch + s.unmap() + s.wait + s.walk);
  REQUIRE(listener.flushes.size() == kTogether + 1);
  CHECK(listener.flushes.back().waits);
  CHECK(listener.finished_at.size() == 1);
  CHECK(b.counted("os.migrate_restored") == 2);
  CHECK(b.counted("os.pgmigrate_success") == kTogether - 1);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
}

namespace {

// How many pages have moved, and how often one had to be mapped again, when a pin of the first of them ends while the
// second is being copied.
struct LetGo {
  unsigned moved;
  std::uint64_t restored;
};
LetGo let_go_during_copy(unsigned passes) {
  OsConfig config = of_kernel(kSince);
  config.migrate_passes = passes;
  OsBench b(config);
  const Steps s(b);
  PresentPages pages(b);
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

TEST_CASE("6.6: with a single pass it is mapped again") {
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

namespace {

// What a thread pays that pages out four pages, written since they came to memory or not, of a file or its own, and how
// often it waits for TLBs in each.
struct PagedOut {
  explicit PagedOut(KernelVersion version) : b(config(version)) {}
  static OsConfig config(KernelVersion version) {
    OsConfig config = of_kernel(version);
    config.swap_bytes = 64 * kMiB;
    return config;
  }
  Time page_out(os::Range range) {
    used = b.used();
    const auto out = b.run(b.vm.reclaim().page_out(b.thread, *b.process, range));
    CHECK(out.value == kTogether);
    b.vm.audit();
    return out.took;
  }
  // Four pages of five: the table stays.
  Time of_file() {
    MappedFile f(b, 5, /*shared=*/true);
    for (unsigned i = 0; i < 5; ++i) f.touch(i, false);
    return page_out(f.range(0, kTogether));
  }
  Time written() {
    const PresentPages pages(b);
    return page_out(pages.range());
  }
  Time unwritten() {
    const PresentPages pages(b);
    page_out(pages.range());
    for (std::uint64_t i = 0; i < kTogether; ++i) {
      REQUIRE(b.run(b.vm.touch(b.thread, *b.process, pages.va + i * kPage, false)).value == Error::none);
    }
    waits.finished_at.clear();
    return page_out(pages.range());
  }
  Time each() const { return b.config.reclaim_page + b.config.cpu_tlbi; }

  OsBench b;
  Listener waits{b, 0ns};
  std::uint64_t used = 0;
};

}  // namespace

TEST_CASE("6.1: reclaim waits for TLBs page by page", "[batched-unmapping]") {
  PagedOut of(kBefore);
  CHECK(of.of_file() == kTogether * (of.each() + of.b.config.cpu_dsb));
  CHECK(of.written() == kTogether * (of.each() + of.b.config.cpu_dsb));
  CHECK(of.waits.finished_at.empty());
}

TEST_CASE("6.6: reclaim waits for TLBs once for pages of a file, and frees them after that", "[batched-unmapping]") {
  PagedOut of(kSince);
  CHECK(of.of_file() == kTogether * of.each() + of.b.config.cpu_dsb);
  CHECK(of.waits.finished_at.size() == 1);
  CHECK(of.waits.used_at_end == of.used);
  CHECK(of.b.used() == of.used - kTogether);
}

TEST_CASE("6.6: reclaim waits for TLBs once for pages that the swap device has already") {
  PagedOut of(kSince);
  CHECK(of.unwritten() == kTogether * of.each() + of.b.config.cpu_dsb);
  CHECK(of.waits.finished_at.size() == 1);
  CHECK(of.waits.used_at_end == of.used);
}

TEST_CASE("6.6: before a page is written TLBs have forgotten it") {
  PagedOut of(kSince);
  CHECK(of.written() == kTogether * (of.each() + of.b.config.cpu_dsb));
  CHECK(of.waits.finished_at.size() == kTogether);
}
