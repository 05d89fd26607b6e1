// SPDX-License-Identifier: Apache-2.0
// Advice, protection, moving and forking: what each costs, what it leaves, and who hears of it.
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::Protection;

namespace {

constexpr std::uint64_t kPages = PresentPages::kPages;

struct Buffer : PresentPages {
  using PresentPages::PresentPages;
  Timed<Error> protect(Protection protection) {
    return b.run(b.vm.mprotect(b.thread, *b.process, va, kBytes, protection));
  }
  Timed<Error> advise(Advice advice) { return b.run(b.vm.madvise(b.thread, *b.process, va, kBytes, advice)); }
  Error touch(bool write) { return b.run(b.vm.touch(b.thread, *b.process, va, write)).value; }
};

}  // namespace

TEST_CASE("mprotect takes rights from the descriptors, and gives them back") {
  OsBench b;
  Buffer buffer(b);
  const Time flush = b.flush(kPages);
  const Time walk = b.config.mprotect_fixed + kPages * b.config.mprotect_per_page;
  const auto read = buffer.protect(Protection::read);
  CHECK(read.value == Error::none);
  CHECK(read.took == walk + flush);
  CHECK_FALSE(buffer.writable());
  CHECK(buffer.touch(true) == Error::bad_address);
  CHECK(buffer.touch(false) == Error::none);
  CHECK(buffer.protect(Protection::none).took == walk + flush);
  CHECK_FALSE(b.present(buffer.va));
  CHECK(buffer.touch(false) == Error::bad_address);
  CHECK(buffer.intact());
  // Pages that were written and are the process's alone may be written at once.
  CHECK(buffer.protect(Protection::read_write).value == Error::none);
  CHECK(buffer.writable());
  CHECK(buffer.touch(true) == Error::none);
  b.vm.audit();
}

TEST_CASE("MADV_DONTNEED drops pages, but not locked ones, unless it is told to") {
  OsBench b;
  Buffer buffer(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, buffer.va, kPage)).value == Error::none);
  CHECK(buffer.advise(Advice::dont_need).value == Error::invalid);
  CHECK(b.present(buffer.va));
  const auto dropped = buffer.advise(Advice::dont_need_locked);
  CHECK(dropped.value == Error::none);
  CHECK(dropped.took == b.config.syscall + b.flush(kPages));
  CHECK_FALSE(b.present(buffer.va));
  CHECK(b.vm.read(*b.process, buffer.va, kPage) == sim::Content::zeros(kPage));
  b.vm.audit();
}

TEST_CASE("MADV_FREE leaves pages clean: nothing may be written without a fault") {
  OsBench b;
  Buffer buffer(b);
  CHECK(buffer.advise(Advice::free).value == Error::none);
  CHECK(buffer.intact());
  CHECK_FALSE(buffer.writable());
  CHECK(b.process->space().page(buffer.va)->lazyfree);
  CHECK(buffer.touch(true) == Error::none);
  CHECK(buffer.writable());
  CHECK_FALSE(b.process->space().page(buffer.va)->lazyfree);
}

TEST_CASE("pages that were only read are the zero page, and cost no memory until they are written") {
  OsBench b;
  const VirtualAddress va = b.map(kPages * kPage);
  const auto used = b.used();
  const auto read = b.run(b.vm.madvise(b.thread, *b.process, va, kPages * kPage, Advice::populate_read));
  CHECK(read.value == Error::none);
  CHECK(read.took == b.config.syscall + kPages * (b.config.fault_no_alloc + b.config.gup_per_page));
  CHECK(b.used() == used + 2);  // tables
  CHECK(b.process->space().resident_bytes() == 0);
  CHECK(b.walk(va)->physical == b.walk(va + kPage)->physical);
  const auto written = b.run(b.vm.touch(b.thread, *b.process, va, true));
  CHECK(written.took == b.cold_page() + b.flush());
  CHECK(b.used() == used + 3);
  CHECK(b.walk(va)->physical != b.walk(va + kPage)->physical);
  b.vm.audit();
}

TEST_CASE("mremap moves pages with their frames, and nothing is left where they were") {
  OsBench b;
  Buffer buffer(b);
  const auto frame = b.walk(buffer.va)->physical;
  const auto epoch = b.store.epoch();
  const auto moved = b.run(b.vm.mremap(b.thread, *b.process, buffer.va, kPages * kPage));
  REQUIRE(moved.value.ok());
  CHECK(moved.took == b.config.mremap_fixed + kPages * b.config.mremap_per_page + b.flush(kPages));
  CHECK_FALSE(b.present(buffer.va));
  CHECK(b.walk(moved.value.value)->physical == frame);
  CHECK(b.store.is_stale(frame, epoch));
  CHECK(buffer.touch(true) == Error::bad_address);
  b.vm.audit();
}

TEST_CASE("mremap cuts nobody off from a frame that is pinned, or that another process maps, too") {
  OsBench b;
  Buffer pinned(b);
  Buffer shared(b);
  pinned.pin();
  const auto pinned_frame = pinned.frame();
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, pinned.va, Buffer::kBytes, Advice::dont_fork)).value == Error::none);
  Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;
  const auto shared_frame = shared.frame();
  REQUIRE(child.space().entry(shared.va)->frame == shared_frame);
  const auto epoch = b.store.epoch();
  REQUIRE(b.run(b.vm.mremap(b.thread, *b.process, pinned.va, Buffer::kBytes)).value.ok());
  REQUIRE(b.run(b.vm.mremap(b.thread, *b.process, shared.va, Buffer::kBytes)).value.ok());
  CHECK_FALSE(b.store.is_stale(pinned_frame, epoch));
  CHECK_FALSE(b.store.is_stale(shared_frame, epoch));
  b.vm.audit();
}

TEST_CASE("a page that was dropped out of a locked mapping goes to reclaim's lists if a child maps it, too") {
  OsBench b;
  Buffer buffer(b);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, buffer.va, Buffer::kBytes)).value == Error::none);
  Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;  // which does not inherit locks
  const auto frame = buffer.frame();
  CHECK(b.vm.frame_record(frame).list == os::LruList::unevictable);
  REQUIRE(buffer.advise(Advice::dont_need_locked).value == Error::none);
  CHECK(child.space().entry(buffer.va)->frame == frame);
  CHECK(b.vm.frame_record(frame).list == os::LruList::inactive_anon);
  b.vm.audit();
}

TEST_CASE("after a fork both share the pages until one of them writes") {
  OsBench b;
  Buffer buffer(b);
  const auto used = b.used();
  const auto forked = b.run(b.vm.fork(b.thread, *b.process));
  REQUIRE(forked.value.ok());
  CHECK(forked.took == b.config.fork_fixed + kPages * b.config.fork_per_page + b.flush());
  Process& child = *forked.value.value;
  CHECK(b.used() == used + 3);  // the child's tables
  CHECK_FALSE(buffer.writable());
  CHECK(buffer.intact(child));
  const auto frame = b.walk(buffer.va)->physical;
  CHECK(b.vm.frame_record(frame).mappings == 2);
  const auto written = b.run(b.vm.touch(b.thread, *b.process, buffer.va, true));
  CHECK(written.took == b.config.cow_fault + b.copying(1) + b.flush());
  CHECK(b.walk(buffer.va)->physical != frame);
  CHECK(b.vm.frame_record(frame).mappings == 1);
  CHECK(buffer.intact());
  // The child has its page alone now: it writes without a copy.
  REQUIRE(b.run(b.vm.touch(b.thread, child, buffer.va, true)).took == b.config.fault_no_alloc + b.flush());
  CHECK(child.space().page(buffer.va)->frame == frame);
  b.vm.audit();
}

TEST_CASE("what must not be inherited is not, and pinned pages stay the parent's", "[fork-copies-pinned]") {
  OsBench b;
  Buffer kept(b);
  Buffer pinned(b);
  CHECK(kept.advise(Advice::dont_fork).value == Error::none);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pinned.va, kPages * kPage, true)).value.ok());
  const auto frame = b.walk(pinned.va)->physical;
  Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;
  CHECK(child.space().find(kept.va) == nullptr);
  CHECK(kept.writable());
  CHECK(pinned.writable());
  CHECK(b.walk(pinned.va)->physical == frame);
  CHECK(child.space().page(pinned.va)->frame != frame);
  CHECK(pinned.intact(child));
  b.vm.audit();
}

TEST_CASE("a child is not born when there is no memory for its tables") {
  OsConfig config;
  config.user_memory = 10 * kPage;
  OsBench b(config);
  Buffer buffer(b);
  const auto used = b.used();
  b.map_present((b.vm.frames().free_pages() - 2) * kPage);
  const auto full = b.used();
  CHECK(full > used);
  CHECK(b.run(b.vm.fork(b.thread, *b.process)).value.error == Error::no_memory);
  CHECK(b.used() == full);
  CHECK(buffer.intact());
  b.vm.audit();
}
