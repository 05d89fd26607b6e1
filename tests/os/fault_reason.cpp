// SPDX-License-Identifier: Apache-2.0
// Why a device's access would fault, one cause after the other: each page is brought into its state by the mechanism.
#include "models/os/vm/fault_reason.hpp"

#include "tests/os/mapped_file.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::FaultCause;
using os::FaultReason;
using os::PageEvents;
using os::Protection;
using os::Taker;

namespace {

// What an access meets that walks the process's own table.
FaultReason reason_at(const OsBench& b, const Process& process, VirtualAddress va, bool write) {
  return b.vm.fault_reason(process.id(), process.page_table().root(), va, write);
}
FaultReason reason_at(const OsBench& b, VirtualAddress va, bool write) { return reason_at(b, *b.process, va, write); }

void check_cause(const FaultReason& reason, FaultCause cause, Taker by = Taker::nobody) {
  CHECK(std::string(os::to_string(reason.cause)) == os::to_string(cause));
  CHECK(os::to_string(reason.by.by) == os::to_string(by));
  CHECK_FALSE(reason.by.injected);
}

constexpr bool kForRead = false;
constexpr bool kForWrite = true;

// Asks whenever TLBs are told: entries have changed, and the mechanism is at work.
struct FlushAsker : os::TlbInvalidator {
  FlushAsker(OsBench& bench, VirtualAddress address) : b(bench), va(address) { b.vm.add_invalidator(*this); }
  bool hears_broadcasts() const override { return false; }
  Task<void> invalidate(cpu::Execution&, const Process&, const os::TlbFlush&) override {
    reads.push_back(reason_at(b, va, kForRead));
    co_return;
  }
  Task<void> finish(cpu::Execution&) override { co_return; }
  void drop(const Process&, const sim::Vector<VirtualAddress>&) override {}

  OsBench& b;
  VirtualAddress va;
  std::vector<FaultReason> reads;
};

struct TakenPages : PresentPages {
  using PresentPages::PresentPages;
  FaultReason read() const { return reason_at(b, va, kForRead); }
  FaultReason write() const { return reason_at(b, va, kForWrite); }
  PageEvents& events() const { return b.vm.page_events(); }
  Error protect(Protection protection) {
    return b.run(b.vm.mprotect(b.thread, *b.process, va, kBytes, protection)).value;
  }
  Error advise(Advice advice) { return b.run(b.vm.madvise(b.thread, *b.process, va, kBytes, advice)).value; }
  Error touch(bool write) { return b.run(b.vm.touch_range(b.thread, *b.process, va, kBytes, write)).value; }
};

OsConfig with_a_swap_device() {
  OsConfig config;
  config.swap_bytes = 64 * kMiB;
  return config;
}

}  // namespace

TEST_CASE("each cause has its name, and no two have the same") {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < os::kFaultCauses; ++i) {
    const os::FaultCauseDoc& doc = os::kFaultCauseDocs.at(i);
    CHECK(static_cast<std::size_t>(doc.cause) == i);
    names.emplace_back(doc.name);
  }
  std::sort(names.begin(), names.end());
  CHECK(std::adjacent_find(names.begin(), names.end()) == names.end());
}

TEST_CASE("absent: memory that nobody has touched; without a mapping, or a process, there is none") {
  OsBench b;
  const VirtualAddress va = b.map(kPage);
  check_cause(reason_at(b, va, kForRead), FaultCause::absent);
  check_cause(reason_at(b, va, kForWrite), FaultCause::absent);
  check_cause(reason_at(b, va + kPage, kForRead), FaultCause::no_mapping);
  check_cause(b.vm.fault_reason(99, 0, va, kForRead), FaultCause::no_mapping);
  CHECK(os::state_text(reason_at(b, va, kForRead)) == "no entry");
}

TEST_CASE("zero page: a page that was only read, until it is written") {
  OsBench b;
  const VirtualAddress va = b.map(kPage);
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, kForRead)).value == Error::none);
  CHECK(reason_at(b, va, kForRead).usable());
  check_cause(reason_at(b, va, kForWrite), FaultCause::zero_page);
  CHECK(os::state_text(reason_at(b, va, kForWrite)) == "zero page");
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, kForWrite)).value == Error::none);
  CHECK(reason_at(b, va, kForWrite).usable());
}

TEST_CASE("access flag: who has cleared it last is known, until it is set") {
  OsBench b;
  TakenPages pages(b);
  REQUIRE(b.run(pages.events().age(b.thread, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.read(), FaultCause::access_flag, Taker::reclaim);
  CHECK(os::state_text(pages.read()) == "present, old");
  REQUIRE(pages.touch(kForRead) == Error::none);
  CHECK(pages.write().usable());
  REQUIRE(b.run(pages.events().clear_refs(b.thread, *b.process)).value > 0);
  check_cause(pages.read(), FaultCause::access_flag, Taker::clear_refs);
  REQUIRE(pages.touch(kForRead) == Error::none);
  REQUIRE(pages.events().mark_idle(b.thread, *b.process, pages.range()) == TakenPages::kPages);
  check_cause(pages.write(), FaultCause::access_flag, Taker::idle_tracking);
}

TEST_CASE("clean: MADV_FREE takes access flag and right to write, and each fault has its own cause") {
  OsBench b;
  TakenPages pages(b);
  REQUIRE(pages.advise(Advice::free) == Error::none);
  check_cause(pages.write(), FaultCause::access_flag, Taker::madv_free);
  REQUIRE(pages.touch(kForRead) == Error::none);
  CHECK(pages.read().usable());
  check_cause(pages.write(), FaultCause::clean, Taker::madv_free);
  CHECK(os::state_text(pages.write()) == "present, clean");
  REQUIRE(pages.touch(kForWrite) == Error::none);
  CHECK(pages.write().usable());
}

TEST_CASE("permission: by mprotect, and by the rights of the mapping") {
  OsBench b(of_kernel(os::KernelVersion::linux_5_15));
  TakenPages pages(b);
  REQUIRE(pages.protect(Protection::read) == Error::none);
  CHECK(pages.read().usable());
  check_cause(pages.write(), FaultCause::permission, Taker::mprotect);
  REQUIRE(pages.protect(Protection::none) == Error::none);
  check_cause(pages.read(), FaultCause::permission, Taker::mprotect);
  // What is given back is found by a write fault, which mprotect is to blame for.
  REQUIRE(pages.protect(Protection::read_write) == Error::none);
  check_cause(pages.write(), FaultCause::permission, Taker::mprotect);
  REQUIRE(pages.touch(kForWrite) == Error::none);
  CHECK(pages.write().usable());
}

TEST_CASE("dropped: by advice or by a hole; memory that is mapped anew at its place has never been touched") {
  OsBench b;
  TakenPages pages(b);
  REQUIRE(pages.advise(Advice::dont_need) == Error::none);
  check_cause(pages.write(), FaultCause::dropped, Taker::advice);
  REQUIRE(pages.touch(kForWrite) == Error::none);
  REQUIRE(b.run(pages.events().truncate(b.thread, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.write(), FaultCause::dropped, Taker::truncation);
  REQUIRE(b.vm.discard(*b.process, pages.va, TakenPages::kBytes) == Error::none);
  check_cause(pages.write(), FaultCause::absent);
  REQUIRE(pages.touch(kForWrite) == Error::none);
  REQUIRE(pages.advise(Advice::dont_need) == Error::none);
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, pages.va, TakenPages::kBytes)).value == Error::none);
  check_cause(pages.write(), FaultCause::no_mapping);
  REQUIRE(b.map(TakenPages::kBytes) == pages.va);
  check_cause(pages.write(), FaultCause::absent);
}

TEST_CASE("write-protected: shared with a child, whose own entries are old") {
  OsBench b;
  TakenPages pages(b);
  const auto child = b.run(b.vm.fork(b.thread, *b.process));
  REQUIRE(child.value.ok());
  CHECK(pages.read().usable());
  check_cause(pages.write(), FaultCause::write_protected, Taker::fork);
  check_cause(reason_at(b, *child.value.value, pages.va, kForRead), FaultCause::access_flag, Taker::fork);
  CHECK(os::state_text(pages.write()) == "present, read-only");
  FlushAsker copying(b, pages.va);
  REQUIRE(pages.touch(kForWrite) == Error::none);
  REQUIRE_FALSE(copying.reads.empty());
  check_cause(copying.reads.front(), FaultCause::write_protected, Taker::copy);
  CHECK(pages.write().usable());
}

TEST_CASE("write-protected: by same-page merging and by a monitor in user space") {
  OsBench b(of_kernel(os::KernelVersion::linux_6_12));
  TakenPages pages(b);
  FlushAsker merging(b, pages.va);
  REQUIRE(b.run(pages.events().merge_equal(b.thread, *b.process, pages.first())).value == 1);
  REQUIRE(merging.reads.size() == 2);
  check_cause(merging.reads[0], FaultCause::write_protected, Taker::ksm);
  check_cause(merging.reads[1], FaultCause::write_protected, Taker::ksm);
  check_cause(pages.write(), FaultCause::write_protected, Taker::ksm);
  const VirtualAddress next = pages.va + kPage;
  REQUIRE(b.run(pages.events().userfault_protect(b.thread, *b.process, {next, next + kPage})).value == 1);
  check_cause(reason_at(b, next, kForWrite), FaultCause::write_protected, Taker::userfaultfd);
  CHECK(os::state_text(reason_at(b, next, kForWrite)) == "present, read-only, watched");
}

TEST_CASE("a NUMA hint hides a page whose protection is still another one's") {
  OsConfig config;
  config.kernel.version = os::KernelVersion::linux_4_9;  // hints on shared pages, too
  OsBench b(config);
  TakenPages pages(b);
  REQUIRE(b.run(b.vm.fork(b.thread, *b.process)).value.ok());
  REQUIRE(b.run(pages.events().numa_hint(b.thread, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.read(), FaultCause::numa_hint, Taker::numa);
  check_cause(pages.write(), FaultCause::numa_hint, Taker::numa);
  CHECK(os::state_text(pages.read()) == "hidden");
  REQUIRE(pages.touch(kForRead) == Error::none);
  CHECK(pages.read().usable());
  check_cause(pages.write(), FaultCause::write_protected, Taker::fork);
}

TEST_CASE("memory failure") {
  OsBench b;
  TakenPages pages(b);
  REQUIRE(b.run(pages.events().poison(b.thread, *b.process, pages.first())).value == 1);
  check_cause(pages.read(), FaultCause::memory_failure, Taker::memory_failure);
  CHECK(os::state_text(pages.read()) == "poisoned");
}

TEST_CASE("migration: while the page is on its way") {
  OsBench b;
  TakenPages pages(b);
  FlushAsker moving(b, pages.va);
  REQUIRE(b.run(pages.events().migrate(b.thread, *b.process, pages.first(), PageEvents::Mover::move_pages)).value == 1);
  REQUIRE(moving.reads.size() == 1);
  check_cause(moving.reads.front(), FaultCause::migration, Taker::migration);
  CHECK(os::state_text(moving.reads.front()) == "migrating");
  CHECK(pages.read().usable());
}

TEST_CASE("collapse and split: while the range is not mapped") {
  OsConfig config;
  config.thp = os::ThpMode::madvise;
  config.khugepaged = false;
  OsBench b(config);
  const VirtualAddress va = b.vm.map(*b.process, kHugePage, kHugePage).value;
  REQUIRE(b.vm.make_present(*b.process, va, kHugePage) == Error::none);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, kHugePage, Advice::hugepage)).value == Error::none);
  FlushAsker asker(b, va + 5 * kPage);
  REQUIRE(b.run(b.vm.khugepaged().collapse(b.thread, *b.process, va, os::Khugepaged::Wish::advice)).value ==
          os::Khugepaged::Outcome::collapsed);
  REQUIRE(asker.reads.size() == 1);
  check_cause(asker.reads.front(), FaultCause::collapse, Taker::collapse);
  CHECK(reason_at(b, asker.va, kForWrite).usable());
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, va, kPage)).value == Error::none);
  REQUIRE(asker.reads.size() == 3);
  check_cause(asker.reads[1], FaultCause::split, Taker::split);
  CHECK(os::state_text(asker.reads[1]) == "moving, 2 MiB");
  CHECK(asker.reads[2].usable());
}

TEST_CASE("reclaim and swap: unmapped, then in the swap cache, then on the device alone") {
  OsBench b(with_a_swap_device());
  TakenPages pages(b);
  FlushAsker unmapping(b, pages.va);
  Outcome<unsigned> out;
  b.tasks.start(at(b, 0ns, b.vm.reclaim().page_out(b.thread, *b.process, pages.first()), out));
  while (out.at < 0ns) sc_core::sc_start(sim::to_sc_time(1us));
  REQUIRE(unmapping.reads.size() == 1);
  check_cause(unmapping.reads.front(), FaultCause::reclaim, Taker::reclaim);
  CHECK(os::state_text(unmapping.reads.front()) == "moving");
  check_cause(pages.read(), FaultCause::reclaim, Taker::reclaim);
  CHECK(os::state_text(pages.read()) == "swapped, in the swap cache");
  sc_core::sc_start();
  check_cause(pages.read(), FaultCause::swap, Taker::reclaim);
  CHECK(os::state_text(pages.read()) == "swapped, on the device");
  // It comes back for reading, as the process's own.
  REQUIRE(pages.touch(kForRead) == Error::none);
  CHECK(pages.read().usable());
  check_cause(pages.write(), FaultCause::write_protected);
}

TEST_CASE("reclaim: what MADV_FREE lets go is dropped without the swap device") {
  OsBench b(with_a_swap_device());
  TakenPages pages(b);
  REQUIRE(pages.advise(Advice::free) == Error::none);
  REQUIRE(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.read(), FaultCause::reclaim, Taker::reclaim);
  CHECK(os::state_text(pages.read()) == "no entry");
}

TEST_CASE("of two mechanisms that take different things each fault has its own") {
  OsBench b(with_a_swap_device());
  TakenPages pages(b);
  REQUIRE(pages.protect(Protection::read) == Error::none);
  REQUIRE(b.run(pages.events().age(b.thread, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.read(), FaultCause::access_flag, Taker::reclaim);
  REQUIRE(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.read(), FaultCause::swap, Taker::reclaim);
  check_cause(pages.write(), FaultCause::permission, Taker::reclaim);  // which no reading from the device would give
}

TEST_CASE("file: not mapped yet, in the page cache or not; write-back, reclaim and holes") {
  OsBench b;
  MappedFile f(b, 64, true);
  check_cause(reason_at(b, f.va, kForRead), FaultCause::file);
  CHECK(os::state_text(reason_at(b, f.va, kForRead)) == "no entry, not in memory");
  REQUIRE(f.touch(0, kForRead).value == Error::none);
  CHECK(reason_at(b, f.va, kForRead).usable());
  check_cause(reason_at(b, f.va, kForWrite), FaultCause::clean);
  REQUIRE(f.touch(0, kForWrite).value == Error::none);
  CHECK(reason_at(b, f.va, kForWrite).usable());
  FlushAsker cleaning(b, f.va);
  REQUIRE(b.run(b.vm.page_cache().writeback().clean(b.thread, f.file, 0, 1)).value == 1);
  REQUIRE(cleaning.reads.size() == 1);
  check_cause(cleaning.reads.front(), FaultCause::clean, Taker::writeback);
  check_cause(reason_at(b, f.va, kForWrite), FaultCause::clean, Taker::writeback);
  CHECK(reason_at(b, f.va, kForRead).usable());
  REQUIRE(b.run(b.vm.reclaim().page_out(b.thread, *b.process, f.range(0, 1))).value == 1);
  check_cause(reason_at(b, f.va, kForRead), FaultCause::reclaim, Taker::reclaim);
  CHECK(os::state_text(reason_at(b, f.va, kForRead)) == "no entry, not in memory");
  REQUIRE(f.touch(0, kForRead).value == Error::none);
  REQUIRE(b.run(b.vm.page_cache().punch(b.thread, f.file, 0, 1)).value == 1);
  check_cause(reason_at(b, f.va, kForRead), FaultCause::dropped, Taker::truncation);
}

TEST_CASE("file: shared memory that has gone to the swap device, and a private mapping's page") {
  OsBench b(with_a_swap_device());
  os::File& memory = *b.vm.page_cache().create_shmem(4 * kPage);
  const VirtualAddress va = b.map(4 * kPage, {.file = &memory, .shared = true});
  check_cause(reason_at(b, va, kForWrite), FaultCause::file);
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, kForWrite)).value == Error::none);
  REQUIRE(b.run(b.vm.reclaim().page_out(b.thread, *b.process, {va, va + kPage})).value == 1);
  check_cause(reason_at(b, va, kForWrite), FaultCause::swap, Taker::reclaim);
  MappedFile mine(b, 1, false);
  REQUIRE(mine.touch(0, kForRead).value == Error::none);
  check_cause(reason_at(b, mine.va, kForWrite), FaultCause::write_protected);
}

TEST_CASE("hugetlb: a page that was read must not be written yet, and can be dropped") {
  OsConfig config = of_kernel(os::KernelVersion::linux_6_1);
  config.nr_hugepages = 2;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, {.hugetlb = true});
  check_cause(reason_at(b, va + kPage, kForWrite), FaultCause::absent);
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, kForRead)).value == Error::none);
  CHECK(reason_at(b, va + kPage, kForRead).usable());
  check_cause(reason_at(b, va + kPage, kForWrite), FaultCause::write_protected);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, kHugePage, Advice::dont_need)).value == Error::none);
  check_cause(reason_at(b, va + kPage, kForWrite), FaultCause::dropped, Taker::advice);
}

TEST_CASE("a mirror lacks what it has never had, and what it has lost to a change of the process's table") {
  OsBench b;
  TakenPages pages(b);
  os::MirroredTable& mirror = *b.vm.create_mirrored_table(*b.process).value;
  const auto look = [&](bool write, VirtualAddress va) {
    return b.vm.fault_reason(b.process->id(), mirror.root(), va, write);
  };
  const auto fill = [&](bool write) {
    REQUIRE(b.run(b.vm.mirror_pages(b.thread, mirror, pages.va, TakenPages::kBytes, write)).value.ok());
  };
  check_cause(look(kForRead, pages.va), FaultCause::mirror);
  check_cause(look(kForRead, pages.va + TakenPages::kBytes), FaultCause::no_mapping);
  fill(kForWrite);
  CHECK(look(kForWrite, pages.va).usable());
  REQUIRE(b.run(pages.events().migrate(b.thread, *b.process, pages.first(), PageEvents::Mover::move_pages)).value == 1);
  check_cause(look(kForWrite, pages.va), FaultCause::migration, Taker::migration);
  CHECK(look(kForWrite, pages.va + kPage).usable());
  fill(kForWrite);
  CHECK(look(kForWrite, pages.va).usable());
  // Access flags are not a mirror's concern.
  REQUIRE(pages.events().mark_idle(b.thread, *b.process, pages.range()) == TakenPages::kPages);
  CHECK(look(kForWrite, pages.va).usable());
  REQUIRE(b.run(b.vm.fork(b.thread, *b.process)).value.ok());
  check_cause(look(kForWrite, pages.va), FaultCause::write_protected, Taker::fork);
  check_cause(look(kForRead, pages.va), FaultCause::write_protected, Taker::fork);  // it has forgotten all of the range
  fill(kForRead);
  CHECK(look(kForRead, pages.va).usable());
  check_cause(look(kForWrite, pages.va), FaultCause::write_protected, Taker::fork);
}

TEST_CASE("a private table has what was mapped there, for what it was pinned") {
  OsBench b;
  TakenPages pages(b);
  os::PrivateTable& table = *b.vm.create_private_table(*b.process).value;
  const auto look = [&](bool write) { return b.vm.fault_reason(b.process->id(), table.root(), pages.va, write); };
  check_cause(look(kForRead), FaultCause::private_table);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, pages.va, TakenPages::kBytes, kForRead)).value.value;
  REQUIRE(b.run(b.vm.map_pinned(b.thread, table, pin)).value == Error::none);
  CHECK(look(kForRead).usable());
  check_cause(look(kForWrite), FaultCause::permission);
  REQUIRE(b.run(b.vm.unmap_pinned(b.thread, table, pin)).value == Error::none);
  check_cause(look(kForRead), FaultCause::private_table);
}

TEST_CASE("injected: by the thread of an experiment, until the kernel does the same by itself") {
  OsBench b;
  TakenPages pages(b);
  cpu::Execution& injector = b.cpu.new_thread("injection");
  b.vm.injects(injector);
  REQUIRE(b.run(pages.events().age(injector, *b.process, pages.range())).value == TakenPages::kPages);
  CHECK(pages.read().cause == FaultCause::access_flag);
  CHECK(pages.read().by == os::Taking{Taker::reclaim, true});
  REQUIRE(pages.touch(kForRead) == Error::none);
  REQUIRE(b.run(pages.events().age(b.thread, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.read(), FaultCause::access_flag, Taker::reclaim);
  // Protection by the one, the access flag by the other.
  REQUIRE(b.run(pages.events().write_protect(injector, *b.process, pages.range())).value == TakenPages::kPages);
  check_cause(pages.write(), FaultCause::access_flag, Taker::reclaim);
  REQUIRE(pages.touch(kForRead) == Error::none);
  CHECK(pages.write().cause == FaultCause::permission);
  CHECK(pages.write().by == os::Taking{Taker::mprotect, true});
}
