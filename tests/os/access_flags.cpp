// SPDX-License-Identifier: Apache-2.0
// Entries that software would let an access use and hardware does not: without access flag, or clean and so not
// writable. Who makes them, who cures them, and who does not.
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::KernelVersion;
using os::PageEvents;

namespace {

constexpr std::int64_t kFour = PresentPages::kPages;
constexpr std::uint64_t kAll = PresentPages::kBytes;

struct Pages : PresentPages {
  using PresentPages::PresentPages;
  bool young(std::uint64_t page = 0) const { return (b.walk(va + page * kPage)->descriptor & 0x400) != 0; }
  PageEvents& events() const { return b.vm.page_events(); }
  void forget_uses() const { CHECK(events().mark_idle(b.thread, *b.process, range()) == kFour); }
  Timed<os::Result<std::uint64_t>> gup(bool write = true) const {
    return b.run(b.vm.fault_in_pages(b.thread, *b.process, va, kAll, write));
  }
  Timed<os::Result<std::uint64_t>> fixup(bool write = true) const {
    return b.run(b.vm.fixup_user_faults(b.thread, *b.process, va, kAll, write));
  }
  Timed<Error> touch(bool write) const { return b.run(b.vm.touch(b.thread, *b.process, va, write)); }
};

}  // namespace

TEST_CASE("get_user_pages takes old pages as they are, and the device would fault again") {
  OsBench b;
  const Pages buffer(b);
  buffer.forget_uses();
  CHECK_FALSE(buffer.young());
  const auto faults = b.counted("os.pgfault");
  const auto taken = buffer.gup();
  CHECK(taken.value.value == kFour);
  CHECK(taken.took == b.config.syscall + kFour * b.config.gup_per_page);
  CHECK_FALSE(buffer.young());
  CHECK(b.counted("os.pgfault") == faults);
}

TEST_CASE("pins, locks and population leave old pages old") {
  OsBench b;
  Pages buffer(b);
  buffer.forget_uses();
  buffer.pin();
  CHECK_FALSE(buffer.young());
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, buffer.va, kAll)).value == Error::none);
  CHECK_FALSE(buffer.young());
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, buffer.va, kAll, Advice::populate_write)).value == Error::none);
  CHECK_FALSE(buffer.young());
  b.vm.audit();
}

TEST_CASE("fixup_user_fault sets the access flag of every page, for a fault each") {
  OsBench b;
  const Pages buffer(b);
  buffer.forget_uses();
  const auto fixed = buffer.fixup();
  CHECK(fixed.value.value == kFour);
  CHECK(fixed.took == b.config.syscall + kFour * (b.config.fault_no_alloc + b.flush()));
  for (std::uint64_t page = 0; page < kFour; ++page) CHECK(buffer.young(page));
  b.vm.audit();
}

TEST_CASE("5.4: a store's fault at a page that allows the store has the TLBs forget it, a load's has not") {
  OsBench b(of_kernel(KernelVersion::linux_5_4));
  const Pages buffer(b);
  CHECK(buffer.fixup(true).took == b.config.syscall + kFour * (b.config.fault_no_alloc + b.flush()));
  CHECK(buffer.fixup(false).took == b.config.syscall + kFour * b.config.fault_no_alloc);
}

TEST_CASE("5.10: no fault at a page that allows the access tells a TLB") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  CHECK(Pages(b).fixup(true).took == b.config.syscall + kFour * b.config.fault_no_alloc);
}

TEST_CASE("fixup_user_fault brings absent pages, ends where the VMAs do, and is refused where none allows the access") {
  OsBench b;
  const VirtualAddress va = b.map(2 * kPage);
  const auto fixed = b.run(b.vm.fixup_user_faults(b.thread, *b.process, va, 16 * kPage, true));
  CHECK(fixed.value.value == 2);
  CHECK(fixed.took == b.config.syscall + 2 * b.cold_page());
  const auto refused = b.run(b.vm.fixup_user_faults(b.thread, *b.process, va + 2 * kPage, kPage, true));
  CHECK(refused.value.error == Error::bad_address);
  CHECK(refused.value.value == 0);
  CHECK(refused.took == b.config.syscall);
  CHECK(b.counted("os.pgfault") == 2);
}

namespace {

// What one touch of an old page takes beyond its short fault.
Time of_flag(KernelVersion version, bool store) {
  OsBench b(of_kernel(version));
  const Pages buffer(b);
  buffer.forget_uses();
  const Listener listener(b, 0ns);
  const Time took = buffer.touch(store).took;
  CHECK(buffer.young());
  CHECK_FALSE(buffer.young(1));
  CHECK(listener.flushes.size() == (took > b.config.fault_no_alloc ? 1 : 0));
  return took - b.config.fault_no_alloc;
}

Time one_flush() { return OsConfig{}.cpu_tlbi + OsConfig{}.cpu_dsb; }

}  // namespace

TEST_CASE("5.10: a load sets the access flag, by one short fault, and no TLB hears of it", "[flags-unflushed]") {
  CHECK(of_flag(KernelVersion::linux_5_10, false) == 0ns);
}
TEST_CASE("5.10: TLBs hear of the access flag that a store sets") {
  CHECK(of_flag(KernelVersion::linux_5_10, true) == one_flush());
}
TEST_CASE("5.4: TLBs hear of the access flag that a load sets, too", "[flags-unflushed]") {
  CHECK(of_flag(KernelVersion::linux_5_4, false) == one_flush());
}

namespace {

bool young_after(OsBench& b, bool pins) {
  const VirtualAddress va = b.map(kHugePage, {.advice = os::HugeAdvice::huge, .alignment = kHugePage});
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  REQUIRE(b.process->space().is_huge(va));
  REQUIRE(b.vm.page_events().mark_idle(b.thread, *b.process, {va, va + kHugePage}) == 1);
  if (pins) {
    CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kPage, true)).value.ok());
  } else {
    CHECK(b.run(b.vm.fault_in_pages(b.thread, *b.process, va, kPage, true)).value.value == 1);
  }
  b.vm.audit();
  return (b.walk(va)->descriptor & 0x400) != 0;
}

}  // namespace

TEST_CASE("of a 2 MiB page get_user_pages sets the access flag") {
  OsBench b;
  CHECK(young_after(b, /*pins=*/false));
}

TEST_CASE("a pin's fast way does not") {
  OsBench b;
  CHECK_FALSE(young_after(b, /*pins=*/true));
}

TEST_CASE("a mirror is filled with old pages as they are") {
  OsBench b;
  const Pages buffer(b);
  buffer.forget_uses();
  const auto mirror = b.vm.create_mirrored_table(*b.process);
  REQUIRE(mirror.ok());
  const auto faults = b.counted("os.pgfault");
  CHECK(b.run(b.vm.mirror_pages(b.thread, *mirror.value, buffer.va, kAll, true)).value.value == kFour);
  CHECK(b.counted("os.pgfault") == faults);
  CHECK_FALSE(buffer.young());
  CHECK(mirror.value->table().walk(buffer.va)->young);
}

TEST_CASE("a page after MADV_FREE is old and clean: get_user_pages cures neither, one store both") {
  OsBench b;
  const Pages buffer(b);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, buffer.va, kAll, Advice::free)).value == Error::none);
  CHECK_FALSE(buffer.young());
  CHECK_FALSE(buffer.writable());
  CHECK(buffer.gup(true).value.value == kFour);
  CHECK_FALSE(buffer.young());
  CHECK_FALSE(buffer.writable());
  const auto copies = b.counted("os.cow_faults");
  CHECK(buffer.touch(true).took == b.config.fault_no_alloc + b.flush());
  CHECK(buffer.young());
  CHECK(buffer.writable());
  CHECK(b.counted("os.cow_faults") == copies);  // nobody had to find out whose the page is
  b.vm.audit();
}

TEST_CASE("a load and then a store of a page after MADV_FREE take two faults") {
  OsBench b;
  const Pages buffer(b);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, buffer.va, kAll, Advice::free)).value == Error::none);
  CHECK(buffer.touch(false).took == b.config.fault_no_alloc);
  CHECK_FALSE(buffer.writable());
  CHECK(buffer.touch(true).took == b.config.fault_no_alloc + b.flush());
}

TEST_CASE("a fork takes the right to write of clean pages, too") {
  OsBench b;
  const Pages buffer(b);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, buffer.va, kAll, Advice::free)).value == Error::none);
  const auto child = b.run(b.vm.fork(b.thread, *b.process)).value;
  REQUIRE(child.ok());
  const auto frame = buffer.frame();
  CHECK(buffer.touch(true).value == Error::none);
  CHECK(buffer.frame() != frame);
  CHECK(child.value->space().entry(buffer.va)->frame == frame);
  b.vm.audit();
}

TEST_CASE("a child's entries are old") {
  OsBench b;
  const Pages buffer(b);
  const auto child = b.run(b.vm.fork(b.thread, *b.process)).value;
  REQUIRE(child.ok());
  CHECK_FALSE(child.value->page_table().walk(buffer.va)->young);
  CHECK(buffer.young());
  CHECK(b.run(b.vm.touch(b.thread, *child.value, buffer.va, false)).took == b.config.fault_no_alloc);
}

TEST_CASE("MADV_FREE of locked memory is refused") {
  OsBench b;
  const Pages buffer(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, buffer.va, kPage)).value == Error::none);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, buffer.va, kAll, Advice::free)).value == Error::invalid);
  CHECK(buffer.writable());
}

namespace {

// What a load and then a store cost after a migration: the flags that it took.
struct AfterMove {
  Time load;
  Time store;
};
AfterMove after_move(OsBench& b) {
  const Pages buffer(b);
  CHECK(b.run(buffer.events().migrate(b.thread, *b.process, buffer.range(), PageEvents::Mover::move_pages)).value ==
        kFour);
  b.vm.audit();
  CHECK(buffer.gup(true).took == b.config.syscall + kFour * b.config.gup_per_page);  // cures nothing
  const Time load = buffer.touch(false).took;
  return {load, buffer.touch(true).took};
}

}  // namespace

TEST_CASE("4.9: a migrated page is old and clean, and a load and a store take two faults", "[migration-writable]") {
  OsBench b(of_kernel(KernelVersion::linux_4_9));
  const AfterMove after = after_move(b);
  CHECK(after.load == b.config.fault_no_alloc + b.flush());
  CHECK(after.store == b.config.fault_no_alloc + b.flush());
}

namespace {

// How many pages are dropped unwritten that were migrated after MADV_FREE.
std::uint64_t dropped_after_move(KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.swap_bytes = kMiB;
  OsBench b(config);
  const Pages buffer(b);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, buffer.va, kAll, Advice::free)).value == Error::none);
  CHECK(b.run(buffer.events().migrate(b.thread, *b.process, buffer.range(), PageEvents::Mover::move_pages)).value ==
        kFour);
  b.vm.audit();
  CHECK(buffer.writable() == (version != KernelVersion::linux_4_9));
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, buffer.range())).value == kFour);
  CHECK(buffer.intact() == (version != KernelVersion::linux_4_9));
  return kFour - b.counted("os.pswpout");
}

}  // namespace

TEST_CASE("4.9: a page after MADV_FREE that moves is still to be dropped") {
  CHECK(dropped_after_move(KernelVersion::linux_4_9) == kFour);
}

TEST_CASE("4.14: a page after MADV_FREE that moves counts as written") {
  CHECK(dropped_after_move(KernelVersion::linux_4_14) == 0);
}
TEST_CASE("6.12: a page after MADV_FREE that moves counts as written") {
  CHECK(dropped_after_move(KernelVersion::linux_6_12) == 0);
}

TEST_CASE("5.10: a migrated page is old, and one fault cures it", "[migration-writable][migration-keeps-young]") {
  OsBench b(of_kernel(KernelVersion::linux_5_10));
  const AfterMove after = after_move(b);
  CHECK(after.load == b.config.fault_no_alloc);
  CHECK(after.store == b.config.resident_touch);
}

TEST_CASE("6.1: a migrated page keeps its flags", "[migration-keeps-young]") {
  OsBench b(of_kernel(KernelVersion::linux_6_1));
  const AfterMove after = after_move(b);
  CHECK(after.load == b.config.resident_touch);
  CHECK(after.store == b.config.resident_touch);
}

TEST_CASE("4.9: a page that could not be migrated comes back old and clean as well") {
  OsBench b(of_kernel(KernelVersion::linux_4_9));
  Pages buffer(b);
  buffer.pin();
  CHECK(b.run(buffer.events().migrate(b.thread, *b.process, buffer.first(), PageEvents::Mover::move_pages)).value == 0);
  CHECK_FALSE(buffer.young());
  CHECK_FALSE(buffer.writable());
  CHECK(buffer.young(1));
}

TEST_CASE("reclaim does not age locked pages, idle tracking does, and no TLB hears of it") {
  OsBench b;
  const Pages buffer(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, buffer.va, kAll)).value == Error::none);
  const Listener listener(b, 0ns);
  CHECK(b.run(buffer.events().age(b.thread, *b.process, buffer.range())).value == 0);
  CHECK(buffer.young());
  CHECK(buffer.events().mark_idle(b.thread, *b.process, buffer.range()) == kFour);
  CHECK_FALSE(buffer.young());
  CHECK(listener.flushes.empty());
  CHECK(listener.dropped.empty());
  CHECK(buffer.events().mark_idle(b.thread, *b.process, buffer.range()) == 0);  // which are old already
}

namespace {

// Two buffers of one process, one locked and one pinned. How long it takes.
Time clear_refs(OsBench& b) {
  const Pages locked(b);
  Pages pinned(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, locked.va, kAll)).value == Error::none);
  pinned.pin();
  const auto cleared = b.run(b.vm.page_events().clear_refs(b.thread, *b.process));
  CHECK(cleared.value == 2 * kFour);
  CHECK_FALSE(locked.young());
  CHECK_FALSE(pinned.young());
  return cleared.took;
}

}  // namespace

TEST_CASE("4.9: clear_refs ages all of a process, locked or pinned, and TLBs forget the address space",
          "[clear-refs-unflushed]") {
  OsBench b(of_kernel(KernelVersion::linux_4_9));
  const Listener listener(b, 0ns);
  CHECK(clear_refs(b) == b.flush());
  REQUIRE(listener.flushes.size() == 1);
  CHECK(listener.flushes[0].whole);
}

TEST_CASE("since 4.14 clear_refs ages all of a process, and no TLB hears of it", "[clear-refs-unflushed]") {
  OsBench b(of_kernel(KernelVersion::linux_4_14));
  const Listener listener(b, 0ns);
  CHECK(clear_refs(b) == 0ns);
  CHECK(listener.flushes.empty());
  CHECK(listener.dropped.empty());
}

namespace {

// Whether clear_refs waits for a fault that began 1 us before it.
bool clear_refs_waits(KernelVersion version) {
  OsBench b(of_kernel(version));
  const VirtualAddress va = b.map(kPage);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const Time start = b.node.now() + 1ms;
  Outcome<Error> touched;
  Outcome<unsigned> cleared;
  b.tasks.start(at_core(b, b.thread, start, b.vm.touch(b.thread, *b.process, va, true), touched));
  b.tasks.start(at_core(b, other, start + 1us, b.vm.page_events().clear_refs(other, *b.process), cleared));
  sc_core::sc_start();
  CHECK(touched.at == start + b.cold_page());
  CHECK(cleared.value == (cleared.at > touched.at ? 1 : 0));
  return cleared.at > start + 1us;
}

}  // namespace

TEST_CASE("5.4: clear_refs goes on beside a fault", "[clear-refs-exclusive]") {
  CHECK_FALSE(clear_refs_waits(KernelVersion::linux_5_4));
}
TEST_CASE("5.10: clear_refs waits for a fault", "[clear-refs-exclusive]") {
  CHECK(clear_refs_waits(KernelVersion::linux_5_10));
}
