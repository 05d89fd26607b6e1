// SPDX-License-Identifier: Apache-2.0
// When memory is short: watermarks, kswapd, direct reclaim, and which pages are chosen.
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::File;
using os::FileReader;
using os::Range;

namespace {

// 16 MiB for programs and tables, of which 2 MiB are not to be used, and 64 MiB of swap.
OsConfig short_of_memory() {
  OsConfig config;
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = 2 * kMiB;
  config.swap_bytes = 64 * kMiB;
  return config;
}

Task<Error> touch_slowly(OsBench& b, VirtualAddress va, std::uint64_t pages, Time pause) {
  for (std::uint64_t i = 0; i < pages; ++i) {
    co_await b.node.loop.delay(pause);
    const Error error = co_await b.vm.touch(b.thread, *b.process, va + i * kPage, true);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

std::uint64_t free_pages(const OsBench& b) { return b.vm.frames().free_pages(); }

}  // namespace

TEST_CASE("watermarks are Linux's") {
  OsConfig config;
  config.thp = os::ThpMode::never;
  config.swap_bytes = kMiB;
  config.user_memory = 1024 * kMiB;
  OsBench b(config, 2048 * kMiB);
  // 4 KiB * sqrt(2^20 KiB) / 4 KiB, then a thousandth of the memory or a quarter of the minimum.
  CHECK(b.vm.reclaim().min_watermark() == 1024);
  CHECK(b.vm.reclaim().low_watermark() == 1024 + 262);
  CHECK(b.vm.reclaim().high_watermark() == 1024 + 2 * 262);
}

namespace {

void keeps_free(std::uint64_t user_memory, std::uint64_t installed, os::ThpMode thp, std::uint64_t minimum) {
  OsConfig config;
  config.thp = thp;
  config.swap_bytes = kMiB;
  config.user_memory = user_memory;
  OsBench b(config, installed);
  CHECK(b.vm.reclaim().min_watermark() == minimum);
  CHECK(b.vm.reclaim().high_watermark() == minimum + 2 * (minimum / 4));
}

}  // namespace

TEST_CASE("with huge pages by advice eleven blocks of 2 MiB are kept free") {
  keeps_free(1024 * kMiB, 2048 * kMiB, os::ThpMode::madvise, 5632);
}

TEST_CASE("with huge pages and two zones it is twice as much") {
  keeps_free(1024 * kMiB, 4096 * kMiB, os::ThpMode::always, 11264);
}

TEST_CASE("with huge pages no more than a twentieth is kept free") {
  // 32768 pages, of which the high watermark is at 362 + 2 * 90.
  keeps_free(128 * kMiB, 2048 * kMiB, os::ThpMode::always, 1611);
}

TEST_CASE("what is said to be kept free is, whatever huge pages would like") {
  OsConfig config;
  config.thp = os::ThpMode::always;
  config.swap_bytes = kMiB;
  config.min_free_bytes = kMiB;
  OsBench b(config, 2048 * kMiB);
  CHECK(b.vm.reclaim().min_watermark() == kMiB / kPage);
}

TEST_CASE("without a swap device programs may use the last frame") {
  OsConfig config = short_of_memory();
  config.swap_bytes = 0;
  OsBench b(config);
  const VirtualAddress va = b.map(16 * kMiB);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 16 * kMiB, true)).value == Error::no_memory);
  CHECK(free_pages(b) == 0);
}

TEST_CASE("kswapd keeps up with a program that takes memory slowly, which never waits") {
  OsBench b(short_of_memory());
  const VirtualAddress va = b.map(24 * kMiB);
  CHECK(b.run(touch_slowly(b, va, 24 * kMiB / kPage, 50us)).value == Error::none);
  CHECK(b.counted("os.allocstall") == 0);
  CHECK(b.counted("os.pgscan_direct") == 0);
  CHECK(b.counted("os.pgscan_kswapd") > 0);
  CHECK(free_pages(b) >= b.vm.reclaim().low_watermark());
  CHECK(b.process->space().resident_bytes() + b.process->space().swapped_bytes() == 24 * kMiB);
  b.vm.audit();
}

// 8 MiB of a program, which came as in use, and a file that has been read once: each pass ages 64 of the program's
// pages. A first pass at 12,000 pages of a file looks at three.
TEST_CASE("each of kswapd's passes looks at twice the share of the one before") {
  OsConfig config = short_of_memory();
  config.user_memory = 64 * kMiB;
  config.kernel.version = os::KernelVersion::linux_5_4;
  OsBench b(config);
  b.map_present(8 * kMiB);
  File& file = *b.vm.page_cache().create(64 * kMiB, 1);
  FileReader reader{.file = &file};
  for (std::uint64_t at = 0; b.counted("os.pgscan_kswapd") == 0; at += kPage) {
    REQUIRE(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, at, kPage)).value.value == kPage);
  }
  const VirtualAddress va = b.map(kPage);
  CHECK(b.run(touch_slowly(b, va, 1, 10ms)).value == Error::none);
  CHECK(free_pages(b) >= b.vm.reclaim().low_watermark());
  CHECK(b.counted("os.pgdeactivate") == 6 * 64);  // 1,024 if all passes were as long as the first
  b.vm.audit();
}

TEST_CASE("a program that takes memory faster than the device writes reclaims by itself, and leaves the minimum free") {
  OsConfig config = short_of_memory();
  config.disk_write_latency = 2ms;
  config.disk_queue_depth = 1;
  OsBench b(config);
  const VirtualAddress va = b.map(20 * kMiB);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 20 * kMiB, true)).value == Error::none);
  CHECK(b.counted("os.allocstall") > 0);
  CHECK(b.counted("os.pgscan_direct") > 0);
  CHECK(b.vm.fill(*b.process, va, 0, 1) == 0);
  CHECK(free_pages(b) >= b.vm.reclaim().min_watermark() - 16);  // tables may go below
  b.vm.audit();
}

TEST_CASE("what was written is there after it has been through the swap device") {
  OsBench b(short_of_memory());
  constexpr std::uint64_t kBytes = 24 * kMiB;
  const VirtualAddress va = b.map(kBytes);
  for (std::uint64_t done = 0; done < kBytes; done += kMiB) {
    REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, va + done, kMiB, true)).value == Error::none);
    b.vm.fill(*b.process, va + done, kMiB, 100 + done / kMiB);
  }
  REQUIRE(b.process->space().swapped_bytes() > 8 * kMiB);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, kBytes, false)).value == Error::none);
  for (std::uint64_t done = 0; done < kBytes; done += kMiB) {
    CHECK(b.vm.read(*b.process, va + done, kMiB) == sim::Content::pattern(100 + done / kMiB, 0, kMiB));
  }
  b.vm.audit();
}

TEST_CASE("pages that are used again and again stay, those that are used once go") {
  OsBench b(short_of_memory());
  constexpr std::uint64_t kHot = 64;
  const VirtualAddress hot = b.map(kHot * kPage);
  const VirtualAddress cold = b.map(32 * kMiB);
  const auto program = [&]() -> Task<Error> {
    for (std::uint64_t i = 0; i < 32 * kMiB / kPage; ++i) {
      co_await b.vm.touch(b.thread, *b.process, cold + i * kPage, true);
      if (i % 64 == 0) co_await b.vm.touch_range(b.thread, *b.process, hot, kHot * kPage, true);
    }
    co_return Error::none;
  };
  b.run(program());
  for (std::uint64_t i = 0; i < kHot; ++i) {
    CHECK(b.vm.frame_record(b.process->space().entry(hot + i * kPage)->frame).list != os::LruList::none);
    CHECK(b.process->space().page(hot + i * kPage) != nullptr);
  }
  CHECK(b.counted("os.pgactivate") >= kHot);
  CHECK(b.counted("os.pgmajfault") == 0);
  CHECK(b.process->space().swapped_bytes() >= 18 * kMiB);
  b.vm.audit();
}

TEST_CASE("when swap is full, too, memory has run out, and what goes makes room again") {
  OsConfig config = short_of_memory();
  config.swap_bytes = 4 * kMiB;
  OsBench b(config);
  b.vm.set_oom_score_adj(*b.process, Process::kNeverKilled);
  const VirtualAddress va = b.map(24 * kMiB);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 24 * kMiB, true)).value == Error::no_memory);
  CHECK(b.process->space().swapped_bytes() == 4 * kMiB);
  CHECK(b.counted("os.out_of_memory") == 1);
  b.vm.audit();
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, 12 * kMiB)).value == Error::none);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va + 20 * kMiB, 4 * kMiB, true)).value == Error::none);
  b.vm.audit();
}

TEST_CASE("locked and pinned memory is left alone whatever the pressure, at the others' cost") {
  OsConfig config = short_of_memory();
  config.rlimit_memlock = os::kUnlimited;
  OsBench b(config);
  const VirtualAddress locked = b.map(4 * kMiB);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, locked, 4 * kMiB)).value == Error::none);
  const VirtualAddress pinned = b.map(4 * kMiB);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, pinned, 4 * kMiB, true)).value.ok());
  const VirtualAddress va = b.map(16 * kMiB);
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 16 * kMiB, true)).value == Error::none);
  for (std::uint64_t offset = 0; offset < 4 * kMiB; offset += kPage) {
    REQUIRE(b.process->space().page(locked + offset) != nullptr);
    REQUIRE(b.process->space().page(pinned + offset) != nullptr);
  }
  CHECK(b.process->space().swapped_bytes() >= 10 * kMiB);
  b.vm.audit();
}

TEST_CASE("a huge page is not worth reclaiming for: a fault that finds memory short takes a small one") {
  OsConfig config = short_of_memory();
  config.thp = os::ThpMode::always;
  OsBench b(config);
  const VirtualAddress va = b.map(14 * kMiB, {.alignment = kHugePage});
  CHECK(b.run(b.vm.touch_range(b.thread, *b.process, va, 14 * kMiB, true)).value == Error::none);
  CHECK(b.counted("os.thp_fault_alloc") == 6);  // 12 of 16 MiB; beyond lies the low watermark
  CHECK(b.counted("os.thp_fault_fallback") > 0);
  b.vm.audit();
}

TEST_CASE("ageing under pressure clears access flags, which a device's walk will find") {
  OsBench b(short_of_memory());
  const VirtualAddress va = b.map_present(4 * kPage);
  const VirtualAddress more = b.map(15 * kMiB);
  REQUIRE(b.walk(va)->descriptor & 0x400);
  b.run(touch_slowly(b, more, 14 * kMiB / kPage, 20us));
  const auto walked = b.walk(va);
  const bool young = walked && (walked->descriptor & 0x400) != 0;
  CHECK_FALSE(young);
}

TEST_CASE("a device's table makes room for itself before it grows") {
  OsConfig config;
  config.user_memory = 136 * kMiB;
  config.min_free_bytes = 4 * kPage;
  config.watermark_scale_factor = 1;
  config.swap_bytes = 64 * kMiB;
  config.rlimit_memlock = os::kUnlimited;
  OsBench b(config, 256 * kMiB);
  constexpr std::uint64_t kPinned = 120 * kMiB;
  const VirtualAddress va = b.map(kPinned);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kPinned, true)).value;
  REQUIRE(pin.ok());
  os::PrivateTable& table = *b.vm.create_private_table(*b.process).value;
  // Somebody who takes all that is left.
  const VirtualAddress other = b.map(16 * kMiB);
  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, other, 16 * kMiB, true)).value == Error::none);
  const std::uint64_t tables = kPinned / kHugePage;
  REQUIRE(free_pages(b) <= tables);  // and two levels above them
  const std::uint64_t out = b.counted("os.pswpout");
  CHECK(b.run(b.vm.map_pinned(b.thread, table, pin.value)).value == Error::none);
  CHECK(b.counted("os.pswpout") > out);
  b.vm.audit();
}
