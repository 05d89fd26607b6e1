// SPDX-License-Identifier: Apache-2.0
// The audit notices what is wrong: each of the manager's books is falsified in turn, and mended again.
#include "models/os/reclaim/reclaim.hpp"
#include "models/os/vm/mm.hpp"
#include "tests/os/mapped_file.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using memory::Address;
using os::FrameRecord;
using os::PageSize;

namespace {

// The books, which nobody but the manager may write to: an explicit instantiation may name private members.
template <os::VmCore os::Vm::*Core, os::Swap os::Vm::*Swap, sim::Level os::Vm::*Pinned, std::uint64_t os::Vm::*Locked>
struct OpensManager {
  friend os::VmCore& core_of(os::Vm& vm) { return vm.*Core; }
  friend os::Swap& swap_of(os::Vm& vm) { return vm.*Swap; }
  friend sim::Level& pinned_of(os::Vm& vm) { return vm.*Pinned; }
  friend std::uint64_t& locked_of(os::Vm& vm) { return vm.*Locked; }
};
os::VmCore& core_of(os::Vm& vm);
os::Swap& swap_of(os::Vm& vm);
sim::Level& pinned_of(os::Vm& vm);
std::uint64_t& locked_of(os::Vm& vm);
template struct OpensManager<&os::Vm::core_, &os::Vm::swap_, &os::Vm::pinned_, &os::Vm::locked_bytes_>;
os::PageTable& table_of(Process& process) { return *os::Mm::of(process).table; }
os::AddressSpace& space_of(Process& process) { return os::Mm::of(process).space; }
unsigned& in_motion_of(Process& process) { return os::Mm::of(process).in_motion; }

OsConfig with_everything() {
  OsConfig config;
  config.swap_bytes = kMiB;
  config.nr_hugepages = 2;
  config.rlimit_memlock = os::kUnlimited;
  config.khugepaged = false;
  return config;
}

// Pages that are there, pinned ones, some on the swap device, a file's, and one of the pool of huge pages.
struct Books {
  Books() {
    pinned.pin();
    REQUIRE(b.run(b.vm.reclaim().page_out(b.thread, *b.process, away.range())).value == PresentPages::kPages);
    REQUIRE(b.run(b.vm.touch(b.thread, *b.process, away.va, false)).value == Error::none);  // into the swap cache
    REQUIRE(mapped.touch(0, false).value == Error::none);
    REQUIRE(b.vm.make_present(*b.process, pool, kPage) == Error::none);
    b.vm.audit();
  }
  os::VmCore& core() { return core_of(b.vm); }
  os::FrameTable& frames() { return core().frame_table; }
  FrameRecord& record(Address frame) { return frames().at(frame); }
  FrameRecord& record() { return record(pages.frame()); }
  os::PageState& state() { return *space_of(*b.process).entry(pages.va); }
  os::Mapper mapper() { return {b.process, pages.va}; }

  // Says what the audit is to say.
  void wrong(const std::string& said, bool even_while_changing = true) {
    INFO(said);
    CHECK_THROWS_WITH(b.vm.audit(), Catch::Contains(said));
    if (even_while_changing) {
      CHECK_THROWS_WITH(b.vm.audit(/*changing=*/true), Catch::Contains(said));
    } else {
      CHECK_NOTHROW(b.vm.audit(/*changing=*/true));
    }
  }
  void mended() { CHECK_NOTHROW(b.vm.audit()); }
  template <typename T>
  void falsified(T& book, T value, const std::string& said, bool even_while_changing = true) {
    const T before = std::exchange(book, value);
    wrong(said, even_while_changing);
    book = before;
    mended();
  }

  OsBench b{with_everything()};
  PresentPages pages{b};
  PresentPages pinned{b};
  PresentPages away{b};
  MappedFile mapped{b, 1, /*shared=*/true};
  VirtualAddress pool = b.map(kHugePage, {.hugetlb = true});
};

}  // namespace

TEST_CASE("the audit compares descriptors with the states of their pages") {
  Books books;
  os::PageTable& table = table_of(*books.b.process);
  const VirtualAddress va = books.pages.va;
  table.protect(va, false);
  books.wrong("is not what its state says");
  table.protect(va, true);
  books.mended();
  table.set_young(va, false);
  books.wrong("is not what its state says");
  table.set_young(va, true);
  books.mended();
  const Address next = space_of(*books.b.process).entry(va + kPage)->frame;
  books.falsified(books.state().frame, next, "is not what its state says");
  table.unmap(va);
  books.wrong("is present in one of table and state");
  REQUIRE(table.map(va, books.pages.frame(), PageSize::small, true) == Error::none);
  books.mended();
}

TEST_CASE("the audit counts the pages of a process") {
  Books books;
  os::AddressSpace& space = space_of(*books.b.process);
  space.swapped_in();
  books.wrong("a process has another number of pages than it counts");
  space.swapped_out();
  books.mended();
  books.falsified(in_motion_of(*books.b.process), 1U, "a page is in motion, and nobody moves it", false);
  const os::Vma vma = *space.find(books.pages.va);
  space.erase(vma.begin, vma.end);
  books.wrong("has a page and no VMA", false);
  space.insert(vma);
  books.mended();
}

TEST_CASE("the audit compares frames with the entries that lead to them") {
  Books books;
  const Address frame = books.pages.frame();
  books.core().frames.free_page(frame);
  books.wrong("leads to a free frame");
  REQUIRE(books.core().frames.take(frame));
  books.mended();
  books.frames().remove_mapper(frame, books.mapper());
  books.wrong("does not know it");
  books.frames().add_mapper(frame, books.mapper());
  books.mended();
  const os::Mapper stranger{books.b.process, books.pages.va + kHugePage};
  books.frames().add_mapper(frame, stranger);
  books.wrong("has lost an entry that led to it");
  books.frames().remove_mapper(frame, stranger);
  books.mended();
  // An entry that has gone counts until the TLBs have forgotten it.
  books.falsified(books.record().mappings, 2U, "has 2 mappings and 1 entries", false);
  books.falsified(books.record().mappings, 0U, "has 0 mappings and 1 entries");
}

TEST_CASE("the audit looks who holds frames") {
  Books books;
  const Address frame = books.pages.frame();
  const Address free = *books.core().frames.allocate_page();
  books.wrong("frames that are allocated, and pages and tables that hold one", false);
  books.core().frames.free_page(free);
  books.mended();
  books.record(free).slot = 1;
  books.wrong("is held and free");
  books.record(free).slot = 0;
  books.mended();
  const os::LruList list = books.record().list;
  books.core().lru(books.record()).remove(frame);
  books.wrong("is mapped and on no list");
  books.core().lru(books.record()).add(frame, list);
  books.mended();
  books.falsified(books.record().isolated, std::uint16_t{1}, "is isolated, and nobody works on it", false);
  std::uint64_t& charged = books.core().groups.front()->charged;
  books.falsified(charged, charged + 1, "group 0 counts its pages wrong");
}

TEST_CASE("the audit compares files with the frames of their pages") {
  Books books;
  os::File::Page& page = *books.mapped.file.find(0);
  FrameRecord& record = books.record(page.frame);
  books.falsified(record.file_page, 1U, "page 0 of file 1 and its frame disagree");
  books.falsified(record.file, os::FileId{2}, "page 0 of file 1 and its frame disagree");
  books.falsified(books.record().file, os::FileId{1}, "a frame takes itself for a page of a file");
  books.falsified(page.dirty, true, "another number of pages is dirty than is counted");
  REQUIRE(books.b.run(books.b.vm.munmap(books.b.thread, *books.b.process, books.mapped.va, kPage)).value ==
          Error::none);
  const os::LruList list = record.list;
  books.core().lru(record).remove(page.frame);
  books.wrong("page 0 of file 1 is on no list");
  books.core().lru(record).add(page.frame, list);
  books.mended();
}

TEST_CASE("the audit compares slots of the swap device with what refers to them") {
  Books books;
  const os::SwapSlot slot = space_of(*books.b.process).entry(books.away.va + kPage)->slot();
  swap_of(books.b.vm).retain(slot, /*written=*/false);
  books.wrong("counts 2 entries that refer to it");
  swap_of(books.b.vm).release(slot);
  books.mended();
  FrameRecord& cached = books.record(books.away.frame());
  REQUIRE(cached.slot != 0);
  books.falsified(cached.slot, cached.slot + 100, "and its frame disagree");
}

TEST_CASE("the audit counts pins and locks") {
  Books books;
  const Address frame = books.pinned.frame();
  Process& process = *books.b.process;
  books.falsified(books.record(frame).pins, 2U, "pins of frame", false);
  books.falsified(books.record(frame).pins, 0U, "pins of frame");
  books.falsified(books.record().pins, 1U, "pins of frame", false);
  books.frames().remove_pin(frame, process);
  books.wrong("does not know a pin");
  books.frames().add_pin(frame, process);
  books.mended();
  const auto falsify_pinned = [&](std::uint64_t bytes, bool even_while_changing) {
    sim::Level wrong;
    wrong.set(bytes, sim::Time{0});
    books.falsified(pinned_of(books.b.vm), wrong, "pinned bytes of all processes", even_while_changing);
  };
  const std::uint64_t pinned = books.b.vm.pinned_bytes();
  falsify_pinned(pinned + kPage, false);
  falsify_pinned(pinned - kPage, true);
  space_of(process).remove_pinned(kPage);
  books.wrong("pinned bytes of 'test'");
  space_of(process).add_pinned(kPage);
  books.mended();
  books.falsified(locked_of(books.b.vm), kPage, "locked bytes of all processes");
  const auto lock = [&](bool locked) {
    space_of(process).change(books.pages.va, books.pages.va + kPage, [=](os::Vma& vma) { vma.locked = locked; });
  };
  lock(true);
  books.wrong("locked bytes of 'test'");
  lock(false);
  books.mended();
}

TEST_CASE("the audit counts the pool of huge pages") {
  Books books;
  const Address block = *books.core().huge_pool.take_available();
  CHECK_THROWS_WITH(books.b.vm.audit(), Catch::Contains("the pool of huge pages does not hold what it counts"));
  CHECK_NOTHROW(books.b.vm.audit(/*changing=*/true));  // on its way to a mapping
  books.core().huge_pool.give_back(block);
  books.mended();
}
