// SPDX-License-Identifier: Apache-2.0
// Files in memory: how their pages come by faults and calls, and what that costs.
#include "tests/os/mapped_file.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("a fault on a mapped file reads the pages around it by one command, and maps the 64 KiB of them around it") {
  OsBench b;
  MappedFile f(b, 256, /*shared=*/true);
  const auto fault = f.touch(100, false);
  CHECK(fault.value == Error::none);
  // 32 pages, 16 of them before the one that was wanted; of its 16 the one that asks for more is not mapped.
  CHECK(f.file.cached().begin()->first == 84);
  CHECK(f.file.cached().size() == 32);
  CHECK(f.mapped(96));
  CHECK(f.mapped(107));
  CHECK_FALSE(f.mapped(108));  // the marker
  CHECK(f.mapped(111));
  CHECK_FALSE(f.mapped(95));
  CHECK_FALSE(f.mapped(112));
  CHECK(fault.took ==
        b.config.disk_fault + reading(b, 32) + kSwitch + b.config.fault_no_alloc + 14 * b.config.fault_around_page);
  CHECK(b.counted("os.pgmajfault") == 1);
  CHECK(b.counted("os.pgpgin") == 128);
  CHECK(f.page_content(100) == on_disk(100));
  CHECK_FALSE(f.writable(100));
  b.vm.audit();

  // What is in memory is mapped by a minor fault.
  const auto minor = f.touch(90, false);
  CHECK(minor.took == b.config.fault_no_alloc + 11 * b.config.fault_around_page);  // 84 to 95
  CHECK(b.counted("os.pgmajfault") == 1);
  b.vm.audit();
}

namespace {

// A file of 64 pages in memory, mapped with that setting: each of its windows of `pages` comes by one fault.
void check_windows(std::uint64_t fault_around_bytes, unsigned pages) {
  OsConfig config;
  config.fault_around_bytes = fault_around_bytes;
  OsBench b(config);
  MappedFile f(b, 64, /*shared=*/true);
  FileReader reader{.file = &f.file};
  b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, f.file.bytes()));
  for (std::uint64_t page = 0; page < 64; page += pages) {
    CHECK(f.touch(page + pages / 2, false).took ==
          b.config.fault_no_alloc + (pages - 1) * std::int64_t{1} * b.config.fault_around_page);
  }
  CHECK(b.counted("os.pgfault") == 64 / pages);
  for (std::uint64_t page = 0; page < 64; ++page) {
    CHECK(f.mapped(page));
    CHECK((b.walk(f.va + page * kPage)->descriptor & (1U << 10U)) != 0);  // the access flag
  }
  b.vm.audit();
}

}  // namespace

TEST_CASE("a fault maps what is in memory of the 64 KiB around it, and pays for each page") {
  check_windows(65536, 16);
}
TEST_CASE("with fault_around_bytes of one page it maps its own alone: 16 times as many faults") {
  check_windows(4096, 1);
}
TEST_CASE("fault_around_bytes is rounded down to a power of two") { check_windows(12288, 2); }

TEST_CASE("where a mapping begins within such a window, the window begins there and is as long") {
  OsBench b;
  MappedFile f(b, 64, /*shared=*/true);
  FileReader reader{.file = &f.file};
  b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, f.file.bytes()));
  CHECK(b.vm.is_in_core(*b.process, f.va));  // not mapped, but in memory
  b.run(b.vm.munmap(b.thread, *b.process, f.va, 5 * kPage));
  CHECK_FALSE(b.vm.is_in_core(*b.process, f.va));
  CHECK(f.touch(8, false).took == b.config.fault_no_alloc + 15 * b.config.fault_around_page);
  CHECK(f.mapped(5));
  CHECK(f.mapped(20));
  CHECK_FALSE(f.mapped(21));
  // And it ends with the mapping.
  b.run(b.vm.munmap(b.thread, *b.process, f.va + 60 * kPage, 4 * kPage));
  CHECK(f.touch(50, false).took == b.config.fault_no_alloc + 11 * b.config.fault_around_page);
  CHECK(f.mapped(48));
  CHECK(f.mapped(59));
  b.vm.audit();
}

TEST_CASE("who comes to the marker makes the kernel read the next window, and does not wait for it") {
  OsBench b;
  MappedFile f(b, 256, /*shared=*/true);
  f.touch(100, false);
  const auto fault = f.touch(108, false);
  CHECK(fault.took == b.config.fault_no_alloc);
  CHECK(f.file.cached().size() == 64);
  CHECK(f.file.cached().rbegin()->first == 147);
  CHECK(f.file.find(116)->marker);
  b.vm.audit();
}

TEST_CASE("faults all over a large file end reading around them") {
  OsBench b;
  MappedFile f(b, 8192, /*shared=*/true);
  for (std::uint64_t i = 0; i < 100; ++i) f.touch(16 + i * 64, false);
  CHECK(f.file.cached().size() == 3200);
  f.touch(7000, false);
  CHECK(f.file.cached().size() == 3201);
}

TEST_CASE("a write to a shared mapping makes the file's page dirty, and the file has it") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  CHECK(f.touch(3, true).value == Error::none);
  CHECK(f.writable(3));
  CHECK_FALSE(f.mapped(4));  // around a write fault nothing is mapped
  CHECK(f.file.find(3)->dirty);
  CHECK(b.counted("os.nr_dirtied") == 1);
  CHECK(b.vm.fill(*b.process, f.va + 3 * kPage, kPage, 7) == kPage);
  CHECK(b.vm.page_cache().content(f.file, 3) == Content::pattern(7, 0, kPage));
  // A clean page that was mapped for reading becomes writable by a short fault and a flush.
  f.touch(4, false);
  const auto fault = f.touch(4, true);
  CHECK(fault.took == b.config.fault_no_alloc + b.flush());
  CHECK(f.file.find(4)->dirty);
  CHECK(b.counted("os.pgfault") == 3);
  b.vm.audit();
}

TEST_CASE("a write to a private mapping copies the page, and the file never sees it") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/false);
  FileReader reader{.file = &f.file};
  b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, f.file.bytes()));
  const auto own = f.touch(0, true);  // in memory, and not mapped
  CHECK(own.value == Error::none);
  CHECK(own.took == b.config.cow_fault + b.copying(1));
  CHECK(f.touch(1, false).value == Error::none);
  const auto copied = f.touch(1, true);
  CHECK(copied.value == Error::none);
  CHECK(b.counted("os.cow_faults") == 2);
  CHECK(b.vm.fill(*b.process, f.va, 2 * kPage, 7) == 2 * kPage);
  CHECK(b.vm.read(*b.process, f.va, 2 * kPage) == Content::pattern(7, 0, 2 * kPage));
  CHECK(b.vm.page_cache().content(f.file, 0) == on_disk(0));
  CHECK(b.vm.page_cache().writeback().dirty_pages() == 0);
  CHECK(b.process->space().entry(f.va)->frame != f.frame(0));
  b.vm.audit();
}

TEST_CASE("a mapping of a part of a file shows that part, and beyond its end there is nothing") {
  OsBench b;
  File& file = *b.vm.page_cache().create(10 * kPage, kFileSeed);
  const VirtualAddress va = b.map(4 * kPage, {.file = &file, .offset = 8 * kPage, .shared = true});
  CHECK(b.run(b.vm.touch(b.thread, *b.process, va + kPage, false)).value == Error::none);
  CHECK(b.vm.read(*b.process, va, kPage) == on_disk(8));
  CHECK(b.vm.read(*b.process, va + kPage, kPage) == on_disk(9));
  CHECK(b.run(b.vm.touch(b.thread, *b.process, va + 2 * kPage, false)).value == Error::beyond_end);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, kPage)).value == Error::none);
  CHECK(b.vm.read(*b.process, va + kPage, kPage) == on_disk(9));
  b.vm.audit();
}

TEST_CASE("holes are read without the disk") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true, /*seed=*/0);
  const auto fault = f.touch(5, false);
  CHECK(fault.value == Error::none);
  CHECK(b.counted("os.pgmajfault") == 0);
  CHECK(b.counted("os.pgpgin") == 0);
  CHECK(f.page_content(5) == Content::zeros(kPage));
  CHECK(fault.took == b.zeroing(16) + b.config.fault_no_alloc + 15 * b.config.fault_around_page);
}

TEST_CASE("read(2) in order reads ahead in windows that double, and waits for the disk but once a window") {
  OsBench b;
  File& file = *b.vm.page_cache().create(512 * kPage, kFileSeed);
  FileReader reader{.file = &file};
  const auto read = [&](std::uint64_t page) {
    return b.run(b.vm.page_cache().read(b.thread, *b.process, reader, page * kPage, kPage)).value;
  };
  CHECK(read(0).value == kPage);
  CHECK(reader.window.size == 4);  // get_init_ra_size of one page
  CHECK(file.cached().size() == 4);
  CHECK(read(1).value == kPage);  // the marker
  CHECK(file.cached().size() == 12);
  for (std::uint64_t page = 2; page <= 4; ++page) read(page);
  CHECK(reader.window.size == 16);
  for (std::uint64_t page = 5; page <= 64; ++page) read(page);
  CHECK(reader.window.size == 32);
  CHECK(b.counted("os.pgmajfault") == 0);  // read(2) does not fault
  CHECK(b.counted("os.pgpgin") == 4 * file.cached().size());
  b.vm.audit();
}

TEST_CASE("read(2) here and there reads what is asked for") {
  OsBench b;
  File& file = *b.vm.page_cache().create(512 * kPage, kFileSeed);
  FileReader reader{.file = &file};
  const auto took = b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 100 * kPage, kPage)).took;
  CHECK(file.cached().size() == 1);
  CHECK(took ==
        b.config.syscall + b.config.disk_fault + reading(b, 1) + kSwitch + b.config.copy_bandwidth.time_for(kPage));
  // What is used twice becomes active.
  CHECK(b.vm.frame_record(file.find(100)->frame).list == LruList::inactive_file);
  CHECK(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 100 * kPage, kPage)).took ==
        b.config.syscall + b.config.copy_bandwidth.time_for(kPage));
  CHECK(b.vm.frame_record(file.find(100)->frame).list == LruList::active_file);
  // Beyond the end there is nothing to read.
  CHECK(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 511 * kPage + 96, 2 * kPage)).value.value ==
        kPage - 96);
  CHECK(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 512 * kPage, kPage)).value.value == 0);
}

TEST_CASE("what write(2) has written is read, mapped, and on the disk after fsync") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  os::PageCache& cache = b.vm.page_cache();
  CHECK(b.run(cache.write(b.thread, *b.process, f.file, 100, 2 * kPage, 5)).value.value == 2 * kPage);
  // The parts of pages around it had to be read; the page between had not.
  CHECK(b.counted("os.pgpgin") == 8);
  CHECK(b.vm.read(*b.process, f.va + 100, 2 * kPage) == Content::pattern(5, 100, 2 * kPage));
  CHECK(b.vm.read(*b.process, f.va, 100) == Content::pattern(kFileSeed, 0, 100));
  CHECK(cache.writeback().dirty_pages() == 3);
  const auto sync = b.run(done(cache.writeback().sync(b.thread, f.file)));
  CHECK(sync.took == b.config.syscall + 3 * b.config.writeback_page + writing(b, 3) + kSwitch);
  CHECK(cache.writeback().dirty_pages() == 0);
  CHECK(b.counted("os.pgpgout") == 12);
  CHECK(b.counted("os.nr_written") == 3);
  b.vm.audit();
}

TEST_CASE("write(2) costs the call and the copying, and reads no more than the page that it writes a part of") {
  OsBench b;
  File& file = *b.vm.page_cache().create(64 * kPage, kFileSeed);
  const auto write = [&](std::uint64_t offset, std::uint64_t bytes) {
    return b.run(b.vm.page_cache().write(b.thread, *b.process, file, offset, bytes, 5));
  };
  CHECK(write(0, kPage).took == b.config.syscall + b.config.copy_bandwidth.time_for(kPage));
  CHECK(b.counted("os.pgpgin") == 0);
  CHECK(write(8 * kPage + 100, 200).value.value == 200);
  CHECK(b.counted("os.pgpgin") == 4);
  CHECK(file.cached().size() == 2);
}

TEST_CASE("a read-ahead window is quadrupled below a sixteenth of the largest, and doubled from there on") {
  OsConfig config;
  config.read_ahead_bytes = 64 * kPage;
  OsBench b(config);
  File& file = *b.vm.page_cache().create(512 * kPage, kFileSeed);
  FileReader reader{.file = &file};
  for (std::uint64_t page = 0; page < 2; ++page)
    b.run(b.vm.page_cache().read(b.thread, *b.process, reader, page * kPage, kPage));
  CHECK(file.cached().size() == 4 + 8);
}

TEST_CASE("two processes that map a file share its pages; a child finds them by its own faults") {
  OsBench b;
  MappedFile f(b, 4, /*shared=*/true);
  f.touch(1, true);
  const auto child = b.run(b.vm.fork(b.thread, *b.process)).value;
  REQUIRE(child.ok());
  CHECK(child.value->space().entry(f.va + kPage) == nullptr);
  CHECK(b.run(b.vm.touch(b.thread, *child.value, f.va + kPage, true)).value == Error::none);
  CHECK(f.record(1).mappings == 2);
  b.vm.fill(*child.value, f.va + kPage, kPage, 7);
  CHECK(f.page_content(1) == Content::pattern(7, 0, kPage));
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, f.range(1, 2))).value == 0);  // others map it
  b.run(done(b.vm.exit(b.thread, *child.value)));
  CHECK(f.record(1).mappings == 1);
  b.vm.audit();
}

TEST_CASE("a fault that has waited for the disk looks at the rights again") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  Outcome<Error> fault;
  Outcome<Error> change;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  b.tasks.start(at(b, 0ns, b.vm.touch(b.thread, *b.process, f.va, true), fault));
  const Time later = b.node.now() + 40us;
  b.tasks.start(at(b, later, b.vm.mprotect(other, *b.process, f.va, 16 * kPage, os::Protection::read), change));
  sc_core::sc_start();
  CHECK(change.value == Error::none);
  CHECK(change.at < fault.at);
  CHECK(fault.value == Error::bad_address);
  CHECK_FALSE(f.mapped(0));
  CHECK_FALSE(f.file.find(0)->dirty);
}
