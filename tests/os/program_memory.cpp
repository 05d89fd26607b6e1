// SPDX-License-Identifier: Apache-2.0
// What programs do to whole ranges of their memory, and a process that becomes another program.
#include "tests/os/mapped_file.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

TEST_CASE("a program's copy takes the time of its bytes, and the faults of pages that are absent") {
  OsBench b;
  constexpr std::uint64_t kBytes = 8 * kPage;
  const VirtualAddress from = b.map_present(kBytes);
  const VirtualAddress to = b.map(kBytes);
  REQUIRE(b.vm.fill(*b.process, from, kBytes, 7) == kBytes);
  const Time copying = b.copying(8);
  const auto cold = b.run(b.vm.copy_memory(b.thread, *b.process, to, from, kBytes));
  CHECK(cold.value == Error::none);
  CHECK(cold.took == copying + 8 * b.cold_page());
  CHECK(b.vm.read(*b.process, to, kBytes) == Content::pattern(7, 0, kBytes));
  const std::uint64_t user = b.counted("cpu.time_user");
  CHECK(b.run(b.vm.copy_memory(b.thread, *b.process, to, from, kBytes)).took == copying);
  CHECK(b.counted("cpu.time_user") - user == static_cast<std::uint64_t>(copying.count()));

  CHECK(b.run(b.vm.zero_memory(b.thread, *b.process, to, kBytes)).took == b.zeroing(8));
  CHECK(b.vm.read(*b.process, to, kBytes) == Content::zeros(kBytes));
  CHECK(b.vm.read(*b.process, from, kBytes) == Content::pattern(7, 0, kBytes));

  CHECK(b.run(b.vm.zero_memory(b.thread, *b.process, to, 100)).value == Error::invalid);
  CHECK(b.run(b.vm.zero_memory(b.thread, *b.process, to + 2 * kBytes, kPage)).value == Error::bad_address);
  b.vm.audit();
}

TEST_CASE("a program's copy moves any bytes to any place") {
  OsBench b;
  const VirtualAddress from = b.map_present(3 * kPage);
  const VirtualAddress to = b.map_present(3 * kPage);
  REQUIRE(b.vm.fill(*b.process, from, 3 * kPage, 7) == 3 * kPage);
  const struct {
    std::uint64_t source, target, bytes;
  } copies[] = {{0, 0, 1}, {100, 7, 5000}, {kPage - 1, 3, 2}, {5, kPage - 5, 2 * kPage}, {0, 0, 0}};
  for (const auto& [source, target, bytes] : copies) {
    INFO(source << " to " << target << ", " << bytes << " B");
    REQUIRE(b.vm.fill(*b.process, to, 3 * kPage, 8) == 3 * kPage);
    const auto copied = b.run(b.vm.copy_memory(b.thread, *b.process, to + target, from + source, bytes));
    CHECK(copied.value == Error::none);
    Content expected = Content::pattern(8, 0, 3 * kPage);
    expected.overwrite(static_cast<std::uint32_t>(target),
                       Content::pattern(7, source, static_cast<std::uint32_t>(bytes)));
    CHECK(b.vm.read(*b.process, to, 3 * kPage) == expected);
    // Each way half of the time, to the picosecond of each piece.
    const Time least = 2 * os::OsConfig{}.copy_rate_each_way().time_for(bytes);
    CHECK(copied.took >= least);
    CHECK(copied.took < least + 1us);
  }
  b.vm.audit();
}

TEST_CASE("execve leaves a process its identity, its pins and no memory") {
  OsBench b;
  PresentPages pages(b);
  const os::PinId pin = pages.pin();
  const auto id = b.process->id();
  const auto done_at = b.run(done(b.vm.execve(b.thread, *b.process)));
  // Four pages and their tables, by one invalidation of the address space.
  CHECK(done_at.took == b.config.exec_fixed + b.config.cpu_tlbi + b.config.cpu_dsb);
  CHECK(b.process->id() == id);
  CHECK(b.process->space().vmas().empty());
  CHECK(b.process->space().resident_bytes() == 0);
  REQUIRE(b.vm.find_pin(pin) != nullptr);
  CHECK(b.vm.frame_record(b.vm.find_pin(pin)->frames.front()).pins == 1);
  const VirtualAddress anew = b.map_present(kPage);
  CHECK(b.present(anew));
  b.vm.audit();
  CHECK(b.run(b.vm.unpin(b.thread, pin)).value == Error::none);
  b.vm.audit();
}
