// SPDX-License-Identifier: Apache-2.0
// Files in memory: how their pages come by faults and calls, what they cost, and how they go.
#include "models/os/reclaim.hpp"
#include "tests/os/bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::File;
using os::FileReader;
using os::LruList;
using os::MmapOptions;
using os::Range;
using sim::Content;

namespace {

constexpr std::uint64_t kSeed = 11;

// A mapped file of which nothing is in memory.
struct MappedFile {
  MappedFile(OsBench& bench, std::uint64_t pages, bool shared, std::uint64_t seed = kSeed)
      : b(bench),
        file(*b.vm.page_cache().create(pages * kPage, seed)),
        va(b.map(pages * kPage, {.file = &file, .shared = shared})) {}

  Timed<Error> touch(std::uint64_t page, bool write) {
    return b.run(b.vm.touch(b.thread, *b.process, va + page * kPage, write));
  }
  bool mapped(std::uint64_t page) const { return b.present(va + page * kPage); }
  bool writable(std::uint64_t page) const { return (b.walk(va + page * kPage)->descriptor & 0x80) == 0; }
  memory::Address frame(std::uint64_t page) const { return file.find(static_cast<std::uint32_t>(page))->frame; }
  os::FrameRecord record(std::uint64_t page) const { return b.vm.frame_record(frame(page)); }
  Content page_content(std::uint64_t page) const { return b.vm.read(*b.process, va + page * kPage, kPage); }
  Range range(std::uint64_t begin, std::uint64_t end) const { return {va + begin * kPage, va + end * kPage}; }

  OsBench& b;
  File& file;
  VirtualAddress va;
};

Time reading(const OsBench& b, std::uint64_t pages) {
  return b.config.disk_read_latency + b.config.disk_bandwidth.time_for(pages * kPage);
}

Time writing(const OsBench& b, std::uint64_t pages) {
  return b.config.disk_write_latency + b.config.disk_bandwidth.time_for(pages * kPage);
}

// An operation that cannot fail.
Task<bool> done(Task<void> operation) {
  co_await std::move(operation);
  co_return true;
}

Content on_disk(std::uint64_t page, std::uint64_t pages = 1) {
  return Content::pattern(kSeed, page * kPage, static_cast<std::uint32_t>(pages * kPage));
}

}  // namespace

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
  CHECK(fault.took == b.config.fault_no_alloc + b.config.cpu_tlbi_page);
  CHECK(f.file.find(4)->dirty);
  CHECK(b.counted("os.pgfault") == 3);
  b.vm.audit();
}

TEST_CASE("a write to a private mapping copies the page, and the file never sees it") {
  OsBench b;
  MappedFile f(b, 16, /*shared=*/false);
  CHECK(f.touch(0, true).value == Error::none);
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
  File& file = *b.vm.page_cache().create(10 * kPage, kSeed);
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
  File& file = *b.vm.page_cache().create(512 * kPage, kSeed);
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
  File& file = *b.vm.page_cache().create(512 * kPage, kSeed);
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
  CHECK(b.vm.read(*b.process, f.va, 100) == Content::pattern(kSeed, 0, 100));
  CHECK(cache.writeback().dirty_pages() == 3);
  const auto sync = b.run(done(cache.writeback().sync(b.thread, f.file)));
  CHECK(sync.took == b.config.syscall + 3 * b.config.writeback_page + writing(b, 3) + kSwitch);
  CHECK(cache.writeback().dirty_pages() == 0);
  CHECK(b.counted("os.pgpgout") == 12);
  CHECK(b.counted("os.nr_written") == 3);
  b.vm.audit();
}

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

TEST_CASE("since 6.5 kernels refuse long-term pins that write to files") {
  OsConfig config;
  config.pins_files = false;
  OsBench b(config);
  MappedFile f(b, 16, /*shared=*/true);
  MappedFile own(b, 16, /*shared=*/false);
  CHECK(b.run(b.vm.pin_user_pages(b.thread, *b.process, f.va, kPage, true)).value.error == Error::bad_address);
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

TEST_CASE("reading a file that is larger than memory takes from files, not from programs") {
  OsConfig config;
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = kMiB;
  config.swap_bytes = 64 * kMiB;
  OsBench b(config);
  const VirtualAddress va = b.map_present(4 * kMiB);
  File& file = *b.vm.page_cache().create(32 * kMiB, kSeed);
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
  File& file = *b.vm.page_cache().create(12 * kMiB, kSeed);
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
  b.tasks.start(at(b, begin + b.config.cpu_tlbi_page + 100ns, b.vm.touch(other, *b.process, f.va, false), fault));
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
  b.tasks.start(at(b, begin, b.vm.touch(thread, other, theirs, true), fault));
  sc_core::sc_start();
  CHECK(fault.value == Error::none);
  CHECK(b.counted("os.migrate_restored") == 1);
  CHECK(moved.value == 1);  // by the next
  REQUIRE(b.vm.fill(other, theirs, kPage, 7) == kPage);
  CHECK(f.page_content(0) == Content::pattern(7, 0, kPage));
  CHECK(f.record(0).mappings == 2);
  b.vm.audit();
}
