// SPDX-License-Identifier: Apache-2.0
// What happens to pages of files: write-back, holes, reclaim, pins, locks, migration.
#include "tests/os/mapped_file.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("write-back takes the right to write before it writes, and the next write says so again") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  REQUIRE(f.touch(2, true).value == Error::none);
  b.vm.fill(*b.process, f.va + 2 * kPage, kPage, 7);
  Outcome<unsigned> out;
  b.tasks.start(at(b, 0ns, b.vm.page_events().write_protect(b.thread, *b.process, f.range(0, 16)), out));
  sc_core::sc_start();
  CHECK(out.value == 1);
  CHECK_FALSE(f.writable(2));
  CHECK_FALSE(f.file.find(2)->dirty);
  CHECK(b.counted("os.nr_written") == 1);
  CHECK(f.touch(2, true).value == Error::none);
  CHECK(f.file.find(2)->dirty);
  CHECK(b.counted("os.nr_dirtied") == 2);
  b.vm.audit();
}

TEST_CASE("dirty pages begin to be written at a tenth of the memory that files may use, and writers wait at a fifth") {
  OsConfig config;
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = kMiB;
  config.disk_bandwidth = {20'000'000};
  OsBench b(config);
  File& file = *b.vm.page_cache().create(64 * kMiB, 0);
  os::Writeback& writeback = b.vm.page_cache().writeback();
  const std::uint64_t memory = b.vm.frames().free_pages();
  CHECK(b.run(b.vm.page_cache().write(b.thread, *b.process, file, 0, memory / 12 * kPage, 5)).value.ok());
  CHECK(writeback.writing_pages() == 0);
  CHECK(b.counted("os.nr_written") == 0);
  Outcome<os::Result<std::uint64_t>> out;
  b.tasks.start(at(b, 0ns, b.vm.page_cache().write(b.thread, *b.process, file, 0, memory / 2 * kPage, 6), out));
  std::uint64_t most = 0;
  while (out.at < 0ns) {
    sc_core::sc_start(sc_core::sc_time(100, sc_core::SC_US));
    most = std::max(most, writeback.dirty_pages() + writeback.writing_pages());
  }
  CHECK(out.value.value == memory / 2 * kPage);
  CHECK(most <= memory / 5 + 2);
  CHECK(most >= memory / 6);
  CHECK(b.counted("os.nr_written") > memory / 4);
  b.vm.audit();
}

TEST_CASE("neighbours are written by commands of up to 1 MiB") {
  OsBench b;
  File& file = *b.vm.page_cache().create(2 * kMiB, 0);
  REQUIRE(b.run(b.vm.page_cache().write(b.thread, *b.process, file, 0, kMiB + kPage, 5)).value.ok());
  const auto sync = b.run(done(b.vm.page_cache().writeback().sync(b.thread, file)));
  // The second command, of the page beyond, is at work beside the first and has ended before.
  CHECK(sync.took == b.config.syscall + 256 * b.config.writeback_page + writing(b, 256) + kSwitch);
  CHECK(b.counted("os.nr_written") == 257);
}

TEST_CASE("what has been dirty for long is written without anybody's asking") {
  OsConfig config;
  config.dirty_writeback_interval = 100us;
  config.dirty_expire = 250us;
  OsBench b(config);
  MappedFile f(b, 16, /*shared=*/true);
  REQUIRE(f.touch(2, true).value == Error::none);
  const auto wait = [&](Time time) -> Task<bool> {
    co_await b.node.loop.delay(time);
    co_return true;
  };
  b.run(wait(250us));
  CHECK(b.counted("os.nr_written") == 0);
  b.run(wait(150us));
  CHECK(b.counted("os.nr_written") == 1);
  CHECK_FALSE(f.writable(2));
}

TEST_CASE("a hole that is punched takes the page from mapping, lock and pin, and reads as zeros") {
  OsConfig config;
  OsBench b(config);
  MappedFile f(b, 16, /*shared=*/true);
  REQUIRE(f.touch(2, true).value == Error::none);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, f.va, 4 * kPage)).value == Error::none);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, f.va + 2 * kPage, kPage, true)).value;
  REQUIRE(pin.ok());
  const auto frame = f.frame(2);
  CHECK(b.run(b.vm.page_events().truncate(b.thread, *b.process, f.range(1, 4))).value == 3);
  CHECK_FALSE(f.mapped(2));
  CHECK(f.file.find(2) == nullptr);
  CHECK(b.vm.frame_record(frame).pins == 1);
  CHECK(b.vm.frames().is_allocated(frame));
  CHECK(f.touch(2, false).value == Error::none);
  CHECK(f.page_content(2) == Content::zeros(kPage));
  CHECK(f.page_content(0) == on_disk(0));
  CHECK(b.run(b.vm.unpin(b.thread, pin.value)).value == Error::none);
  CHECK_FALSE(b.vm.frames().is_allocated(frame));
  b.vm.audit();
}

TEST_CASE("a file that is cut loses what is behind its end") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  REQUIRE(f.touch(2, true).value == Error::none);
  b.run(done(b.vm.page_cache().resize(b.thread, f.file, 2)));
  CHECK(f.touch(2, false).value == Error::beyond_end);
  CHECK(f.touch(1, false).value == Error::none);
  b.run(done(b.vm.page_cache().resize(b.thread, f.file, 16)));
  CHECK(f.touch(2, false).value == Error::none);
  CHECK(f.page_content(2) == Content::zeros(kPage));
  b.vm.audit();
}

TEST_CASE("reclaim takes clean pages of files at once, whoever maps them, and leaves dirty ones to the flusher") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  for (std::uint64_t page = 0; page < 16; ++page) f.touch(page, false);
  f.touch(2, true);
  const auto used = b.used();
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, f.range(0, 4))).value == 3);
  CHECK(b.used() == used - 3);
  CHECK(f.file.find(1) == nullptr);
  CHECK_FALSE(f.mapped(2));
  CHECK(f.file.find(2) != nullptr);
  CHECK_FALSE(f.file.find(2)->dirty);  // the flusher was woken
  CHECK(b.counted("os.nr_written") == 1);
  b.vm.audit();
}

TEST_CASE("reclaim unmaps a pinned page of a file before it finds the pin, and leaves a locked one alone") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  f.touch(0, true);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, f.va, kPage, true)).value;
  const auto frame = f.frame(0);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, f.range(0, 1))).value == 0);
  CHECK_FALSE(f.mapped(0));
  CHECK(f.frame(0) == frame);
  CHECK(b.vm.frame_record(frame).list == LruList::active_file);
  const auto again = f.touch(0, true);
  CHECK(again.took == b.config.fault_no_alloc);  // minor
  b.run(b.vm.unpin(b.thread, pin.value));
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, f.va, kPage)).value == Error::none);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, f.range(0, 1))).value == 0);
  CHECK(f.mapped(0));
  b.vm.audit();
}

TEST_CASE(
    "a device's writes under a pin reach the disk after the pin has ended, though the page was cleaned meanwhile") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, f.va, kPage, true)).value;
  REQUIRE(pin.ok());
  b.run(done(b.vm.page_cache().writeback().sync(b.thread, f.file)));
  CHECK_FALSE(f.file.find(0)->dirty);
  b.store.write(f.frame(0), Content::pattern(9, 0, kPage));  // as a DMA does
  b.run(b.vm.unpin(b.thread, pin.value));
  CHECK(f.file.find(0)->dirty);
  b.run(done(b.vm.page_cache().writeback().sync(b.thread, f.file)));
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, f.range(0, 1))).value == 1);
  CHECK(f.touch(0, false).value == Error::none);
  CHECK(f.page_content(0) == Content::pattern(9, 0, kPage));
}

TEST_CASE("since 6.5 kernels refuse long-term pins that write to files", "[refuses-file-pins]") {
  OsConfig config;
  config.kernel.version = os::KernelVersion::linux_6_6;
  OsBench b(config);
  MappedFile f(b, 16, /*shared=*/true);
  MappedFile own(b, 16, /*shared=*/false);
  CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, f.va, kPage, true)).value.error == Error::unsupported);
  CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, f.va, kPage, false)).value.ok());
  CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, own.va, kPage, true)).value.ok());
  CHECK(b.process->space().pinned_bytes() == 2 * kPage);
}

TEST_CASE("mlock of a shared mapping brings its pages, but not the right to write") {
  OsBench b;
  MappedFile f(b, 4, /*shared=*/true);
  CHECK(b.run(b.vm.mlock(b.thread, *b.process, f.va, 4 * kPage)).value == Error::none);
  CHECK(f.mapped(3));
  CHECK_FALSE(f.writable(3));
  CHECK(f.record(3).list == LruList::unevictable);
  CHECK(b.vm.page_cache().writeback().dirty_pages() == 0);
  CHECK(b.run(b.vm.munlock(b.thread, *b.process, f.va, 4 * kPage)).value == Error::none);
  CHECK(f.record(3).list == LruList::inactive_file);
  b.vm.audit();
}

TEST_CASE("a page of a file moves with its place in the cache") {
  OsBench b;
  MappedFile f(b, 4, /*shared=*/true);
  f.touch(1, true);
  b.vm.fill(*b.process, f.va + kPage, kPage, 7);
  const auto frame = f.frame(1);
  CHECK(
      b.run(b.vm.page_events().migrate(b.thread, *b.process, f.range(1, 2), os::PageEvents::Mover::move_pages)).value ==
      1);
  CHECK(f.frame(1) != frame);
  CHECK_FALSE(b.vm.frames().is_allocated(frame));
  CHECK(f.page_content(1) == Content::pattern(7, 0, kPage));
  CHECK(f.record(1).list == LruList::inactive_file);
  b.vm.audit();
}

TEST_CASE("reading a file that is larger than memory takes from files, not from programs") {
  OsConfig config;
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = kMiB;
  config.swap_bytes = 64 * kMiB;
  OsBench b(config);
  const VirtualAddress va = b.map_present(4 * kMiB);
  File& file = *b.vm.page_cache().create(32 * kMiB, kFileSeed);
  FileReader reader{.file = &file};
  CHECK(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, 32 * kMiB)).value.value == 32 * kMiB);
  CHECK(b.process->space().resident_bytes() == 4 * kMiB);
  CHECK(b.counted("os.pswpout") == 0);
  CHECK(b.counted("os.pgsteal") >= 5000);
  CHECK(b.vm.frames().free_pages() >= b.vm.reclaim().min_watermark());
  CHECK(b.present(va));
  b.vm.audit();
}

TEST_CASE("without a swap device reclaim lives on files, and memory ends when only programs are left") {
  OsConfig config;
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = kMiB;
  OsBench b(config);
  File& file = *b.vm.page_cache().create(12 * kMiB, kFileSeed);
  FileReader reader{.file = &file};
  CHECK(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, 12 * kMiB)).value.value == 12 * kMiB);
  const VirtualAddress va = b.map(32 * kMiB);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 12 * kMiB, true)).value == Error::none);
  b.vm.set_oom_score_adj(*b.process, Process::kNeverKilled);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 32 * kMiB, true)).value == Error::no_memory);
  CHECK(file.cached().size() < 64);
  b.vm.audit();
}

TEST_CASE("a page that is written to while it is on its way to the disk is written once more, and the flusher rests") {
  OsConfig config;
  config.dirty_background_ratio = 0;
  OsBench b(config);
  MappedFile f(b, 16, /*shared=*/true);
  f.touch(2, false);
  Outcome<Error> first;
  Outcome<Error> second;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  b.tasks.start(at(b, 0ns, b.vm.touch(b.thread, *b.process, f.va + 2 * kPage, true), first));
  b.tasks.start(at(b, b.node.now() + 15us, b.vm.touch(other, *b.process, f.va + 2 * kPage, true), second));
  sc_core::sc_start();
  CHECK(first.value == Error::none);
  CHECK(second.value == Error::none);
  CHECK(b.counted("os.nr_dirtied") == 2);
  CHECK(b.counted("os.nr_written") == 2);
  CHECK_FALSE(f.file.find(2)->dirty);
}

TEST_CASE("what is read again while a hole is punched is a hole already") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/true);
  for (const std::uint64_t page : {0, 8, 15}) f.touch(page, true);
  const auto read = b.counted("os.pgpgin");
  Outcome<unsigned> punched;
  Outcome<Error> fault;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const Time begin = b.node.now();
  b.tasks.start(at(b, begin, b.vm.page_cache().punch(b.thread, f.file, 0, 16), punched));
  // Between the flushes of the first page and of the next one.
  b.tasks.start(at(b, begin + b.flush() + 100ns, b.vm.touch(other, *b.process, f.va, false), fault));
  sc_core::sc_start();
  CHECK(fault.value == Error::none);
  CHECK(f.page_content(0) == Content::zeros(kPage));
  CHECK(b.counted("os.pgpgin") == read);
  b.vm.audit();
}

TEST_CASE("a page that somebody maps while it is being migrated stays where it is for that pass") {
  OsBench b;
  MappedFile f(b, 4, /*shared=*/true);
  f.touch(0, true);
  Process& other = *b.vm.create_process("other");
  const VirtualAddress theirs = b.vm.map_file(other, f.file, true).value;
  Outcome<unsigned> moved;
  Outcome<Error> fault;
  cpu::Execution& thread = b.cpu.new_thread("other", 2);
  const Time begin = b.node.now();
  const Range first = f.range(0, 1);
  b.tasks.start(
      at(b, begin, b.vm.page_events().migrate(b.thread, *b.process, first, os::PageEvents::Mover::move_pages), moved));
  const Time away = begin + b.config.migrate_page / 2;
  b.tasks.start(at(b, away, b.vm.touch(thread, other, theirs, true), fault));
  sc_core::sc_start();
  CHECK(fault.value == Error::none);
  CHECK(b.counted("os.migrate_restored") == 1);
  CHECK(moved.value == 1);  // by the next
  REQUIRE(b.vm.fill(other, theirs, kPage, 7) == kPage);
  CHECK(f.page_content(0) == Content::pattern(7, 0, kPage));
  CHECK(f.record(0).mappings == 2);
  b.vm.audit();
}

namespace {

struct Left {
  std::uint64_t swapped;
  std::uint64_t cached;
};

// After 5 MiB were wanted where a program's 6 MiB and a file's 6 MiB are in memory, neither of which are old.
Left left_by_pressure(unsigned swappiness) {
  OsConfig config;
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = kMiB;
  config.swap_bytes = 64 * kMiB;
  config.swappiness = swappiness;
  OsBench b(config);
  b.map_present(6 * kMiB);
  File& file = *b.vm.page_cache().create(6 * kMiB, kFileSeed);
  FileReader reader{.file = &file};
  for (int i = 0; i < 2; ++i) {
    REQUIRE(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, 6 * kMiB)).value.value == 6 * kMiB);
  }
  const VirtualAddress more = b.map(5 * kMiB);
  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, more, 5 * kMiB, true)).value == Error::none);
  b.vm.audit();
  return {b.process->space().swapped_bytes(), file.cached().size() * kPage};
}

}  // namespace

TEST_CASE("with vm.swappiness = 0 a file's pages make room") {
  const Left left = left_by_pressure(0);
  CHECK(left.swapped == 0);
  CHECK(left.cached < 4 * kMiB);
}

TEST_CASE("with vm.swappiness = 200 a program's memory makes room") {
  const Left left = left_by_pressure(200);
  CHECK(left.swapped > kMiB);
  CHECK(left.cached > 4 * kMiB);
}
