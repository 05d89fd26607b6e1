// SPDX-License-Identifier: Apache-2.0
// How reclaim divides its looks between anonymous pages and those of files.
#include "models/os/vm/scan_balance.hpp"

#include "tests/os/mapped_file.hpp"

using namespace faultline;
using namespace faultline::test;
using os::KernelVersion;
using os::ScanBalance;

namespace {

constexpr ScanBalance::Listed kMany{4000, 4000};

ScanBalance balance_of(KernelVersion version) { return ScanBalance(cpu::Kernel{version}); }

void check(const ScanBalance::Shares& shares, std::uint64_t anon, std::uint64_t file, std::uint64_t whole) {
  CHECK(shares.anon == anon);
  CHECK(shares.file == file);
  CHECK(shares.whole == whole);
}

}  // namespace

TEST_CASE("reclaim that has looked at nothing yet goes by swappiness") {
  check(balance_of(KernelVersion::linux_5_4).shares(60, kMany), 60, 140, 201);
  check(balance_of(KernelVersion::linux_5_10).shares(60, kMany), 60, 140, 200);
  check(balance_of(KernelVersion::linux_6_6).shares(0, kMany), 0, 200, 200);
}

TEST_CASE("5.4: a kind is looked at the less, the more of its pages were in use", "[reclaim-by-cost]") {
  ScanBalance balance = balance_of(KernelVersion::linux_5_4);
  for (unsigned i = 0; i < 99; ++i) balance.came(ScanBalance::anon, /*active=*/true);
  for (unsigned i = 0; i < 99; ++i) balance.came(ScanBalance::file, /*active=*/false);
  check(balance.shares(100, kMany), 100, 100 * 100, 100 + 100 * 100 + 1);
  balance.looked_at_inactive(ScanBalance::anon, {.taken = 500, .activated = 20, .written = 480}, kMany);
  balance.looked_at_active(ScanBalance::file, 300, 39);
  check(balance.shares(100, kMany), 100 * 600 / 120, 100 * 400 / 40, 500 + 1000 + 1);
}

TEST_CASE("5.4: what was looked at counts half once it is more than a quarter of the kind's pages") {
  ScanBalance balance = balance_of(KernelVersion::linux_5_4);
  balance.looked_at_active(ScanBalance::anon, 1000, 98);
  check(balance.shares(100, kMany), 100 * 1001 / 99, 100, 100 * 1001 / 99 + 101);
  balance.looked_at_active(ScanBalance::anon, 1, 0);
  check(balance.shares(100, kMany), 100 * 501 / 50, 100, 100 * 501 / 50 + 101);
}

TEST_CASE("5.10: a kind is looked at the less, the more of its pages were written, whatever else was found",
          "[reclaim-by-cost]") {
  ScanBalance balance = balance_of(KernelVersion::linux_5_10);
  balance.came(ScanBalance::anon, /*active=*/true);
  balance.looked_at_active(ScanBalance::file, 100, 100);
  balance.looked_at_inactive(ScanBalance::file, {.taken = 100, .activated = 100}, kMany);
  balance.looked_at_inactive(ScanBalance::anon, {.taken = 32, .written = 10}, kMany);
  check(balance.shares(100, kMany), 100 * 31 / 21, 100 * 31 / 11, 100 * 31 / 21 + 100 * 31 / 11);
}

TEST_CASE("6.6: pages that were looked at in vain count as well, 32 as one that was written", "[looks-cost]") {
  ScanBalance balance = balance_of(KernelVersion::linux_6_6);
  balance.looked_at_inactive(ScanBalance::file, {.taken = 30, .freed = 25}, kMany);
  balance.looked_at_inactive(ScanBalance::anon, {.taken = 3, .written = 2, .freed = 1}, kMany);
  constexpr std::uint64_t file = 5;
  constexpr std::uint64_t anon = 2 * 32 + 2;
  constexpr std::uint64_t total = anon + file;
  const std::uint64_t of_anon = 100 * (3 * total + 1) / (total + anon + 1);
  const std::uint64_t of_file = 100 * (3 * total + 1) / (total + file + 1);
  check(balance.shares(100, kMany), of_anon, of_file, of_anon + of_file);
}

TEST_CASE("5.10: costs count half once they are more than a quarter of all pages") {
  ScanBalance balance = balance_of(KernelVersion::linux_5_10);
  balance.looked_at_inactive(ScanBalance::anon, {.taken = 2000, .written = 2000}, kMany);
  check(balance.shares(100, kMany), 100 * 6001 / 4001, 100 * 6001 / 2001, 100 * 6001 / 4001 + 100 * 6001 / 2001);
  balance.looked_at_inactive(ScanBalance::anon, {.taken = 2, .written = 2}, kMany);
  check(balance.shares(100, kMany), 100 * 3004 / 2003, 100 * 3004 / 1002, 100 * 3004 / 2003 + 100 * 3004 / 1002);
}

namespace {

// What has gone to the swap device when a program's 6 MiB and a file's 6 MiB are in memory, used once and by turns, and
// 7 MiB are wanted: neither kind is preferred.
std::uint64_t swapped_by_pressure(KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = kMiB;
  config.swap_bytes = 64 * kMiB;
  config.swappiness = 100;
  OsBench b(config);
  b.map_present(6 * kMiB);
  File& file = *b.vm.page_cache().create(6 * kMiB, kFileSeed);
  FileReader reader{.file = &file};
  for (int i = 0; i < 2; ++i) {
    REQUIRE(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, 6 * kMiB)).value.value == 6 * kMiB);
  }
  const VirtualAddress more = b.map(7 * kMiB);
  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, more, 7 * kMiB, true)).value == Error::none);
  b.vm.audit();
  return b.process->space().swapped_bytes();
}

}  // namespace

TEST_CASE("5.4: of a program's memory, which came as in use, little goes for a file's pages", "[reclaim-by-cost]") {
  CHECK(swapped_by_pressure(KernelVersion::linux_5_4) < 768 << 10);
}
TEST_CASE("5.10: a program's memory goes to the swap device until that has cost too much", "[reclaim-by-cost]") {
  CHECK(swapped_by_pressure(KernelVersion::linux_5_10) > 1 << 20);
}
TEST_CASE("6.6: a program's memory is found in use, which costs as well, and is left alone", "[looks-cost]") {
  CHECK(swapped_by_pressure(KernelVersion::linux_6_6) < 64 << 10);
}

TEST_CASE("a pass looks at all of its share of an active list, not at the first batch alone") {
  OsConfig config = of_kernel(KernelVersion::linux_6_1);
  config.user_memory = 32 * kMiB;
  config.min_free_bytes = kMiB;
  config.swap_bytes = 0;
  OsBench b(config);
  File& file = *b.vm.page_cache().create(24 * kMiB, kFileSeed);
  FileReader reader{.file = &file};
  for (int i = 0; i < 2; ++i) {
    REQUIRE(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, 24 * kMiB)).value.value == 24 * kMiB);
  }
  const VirtualAddress more = b.map(8 * kMiB);
  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, more, 8 * kMiB, true)).value == Error::none);
  // A pass's share is size >> priority, several batches of 32. With one batch a pass it is 1577.
  CHECK(b.counted("os.pgdeactivate") > 2000);
  b.vm.audit();
}
