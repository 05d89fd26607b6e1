// SPDX-License-Identifier: Apache-2.0
// Mlocked and Unevictable of /proc/meminfo, compared with a walk over what every process maps; and that the manager's
// books are looked at so that what is wrong in them is found.
#include <map>
#include <set>
#include <string>

#include "models/os/events/page_events.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

OsConfig unlimited() {
  OsConfig config;
  config.rlimit_memlock = os::kUnlimited;
  return config;
}

// By the pages, where the manager goes by the frames.
std::uint64_t locked_by_walk(const std::vector<Process*>& processes) {
  std::set<memory::Address> frames;
  for (const Process* process : processes) {
    const os::AddressSpace& space = process->space();
    for (const auto& [begin, vma] : space.vmas()) {
      if (!vma.locked || vma.driver) continue;
      for (VirtualAddress va = begin; va < vma.end; va += kPage) {
        const os::PageState* page = space.entry(va);
        if (page != nullptr && page->has_frame()) frames.insert(page->frame);
      }
    }
  }
  return frames.size() * kPage;
}

void check_meminfo(OsBench& b, const std::vector<Process*>& processes, std::uint64_t mlocked) {
  const os::MemInfo info = b.vm.meminfo();
  CHECK(info.mlocked == mlocked);
  CHECK(locked_by_walk(processes) == mlocked);
  CHECK(info.unevictable == mlocked);
  b.vm.audit();
}

Error locked(OsBench& b, VirtualAddress va, std::uint64_t pages, bool on_fault = false) {
  return b.run(b.vm.mlock(b.thread, *b.process, va, pages * kPage, on_fault)).value;
}
Error unlocked(OsBench& b, VirtualAddress va, std::uint64_t pages) {
  return b.run(b.vm.munlock(b.thread, *b.process, va, pages * kPage)).value;
}

// What audit() says; empty: nothing is wrong.
std::string verdict(const OsBench& b, bool changing = false) {
  try {
    b.vm.audit(changing);
  } catch (const std::logic_error& error) {
    return error.what();
  }
  return "";
}
bool says(const OsBench& b, const std::string& what, bool changing = false) {
  INFO(verdict(b, changing));
  return verdict(b, changing).find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("meminfo: Mlocked counts what is locked and there, not what may be locked") {
  OsBench b(unlimited());
  const VirtualAddress va = b.map(16 * kPage);
  check_meminfo(b, {b.process}, 0);
  REQUIRE(locked(b, va, 8, /*on_fault=*/true) == Error::none);
  CHECK(b.vm.locked_bytes() == 8 * kPage);
  check_meminfo(b, {b.process}, 0);  // nothing has been touched
  b.run(b.vm.touch_range(b.thread, *b.process, va, 3 * kPage, true));
  check_meminfo(b, {b.process}, 3 * kPage);
  REQUIRE(locked(b, va, 12) == Error::none);
  check_meminfo(b, {b.process}, 12 * kPage);
  REQUIRE(b.run(b.vm.mprotect(b.thread, *b.process, va, 2 * kPage, os::Protection::none)).value == Error::none);
  check_meminfo(b, {b.process}, 12 * kPage);  // hidden, and still in memory
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va + 4 * kPage, 2 * kPage, os::Advice::dont_need_locked)).value ==
          Error::none);
  check_meminfo(b, {b.process}, 10 * kPage);
  REQUIRE(unlocked(b, va + 6 * kPage, 4) == Error::none);
  check_meminfo(b, {b.process}, 6 * kPage);
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, va, 16 * kPage)).value == Error::none);
  check_meminfo(b, {b.process}, 0);
}

TEST_CASE("meminfo: a huge page counts as 2 MiB, and so do the pages that it is split into") {
  OsConfig config = unlimited();
  config.thp = os::ThpMode::always;
  OsBench b(config);
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  REQUIRE(locked(b, va, 512) == Error::none);
  REQUIRE(b.process->space().is_huge(va));
  check_meminfo(b, {b.process}, kHugePage);
  REQUIRE(unlocked(b, va + kPage, 11) == Error::none);
  CHECK_FALSE(b.process->space().is_huge(va));
  check_meminfo(b, {b.process}, kHugePage - 11 * kPage);
}

TEST_CASE("meminfo: a pin locks nothing, and a driver's memory is on no list of Linux's") {
  OsBench b(unlimited());
  const VirtualAddress va = b.map_present(4 * kPage);
  const auto pin = b.run(b.vm.pin_user_pages(b.thread, *b.process, va, 4 * kPage, true)).value;
  REQUIRE(pin.ok());
  REQUIRE(b.vm.map_driver_memory(*b.process, 4 * kPage).ok());
  check_meminfo(b, {b.process}, 0);
  REQUIRE(locked(b, va, 4) == Error::none);
  check_meminfo(b, {b.process}, 4 * kPage);
  REQUIRE(b.run(b.vm.unpin(b.thread, pin.value)).value == Error::none);
  check_meminfo(b, {b.process}, 4 * kPage);
}

TEST_CASE("meminfo: what two processes lock stays locked until both have let go") {
  OsBench b(unlimited());
  const VirtualAddress va = b.map_present(4 * kPage);
  REQUIRE(b.run(b.vm.mprotect(b.thread, *b.process, va, 4 * kPage, os::Protection::read)).value == Error::none);
  REQUIRE(locked(b, va, 4) == Error::none);
  Process* child = b.run(b.vm.fork(b.thread, *b.process)).value.value;
  REQUIRE(child != nullptr);
  check_meminfo(b, {b.process, child}, 4 * kPage);  // the lock is the parent's alone
  REQUIRE(b.run(b.vm.mlock(b.thread, *child, va, 4 * kPage)).value == Error::none);
  check_meminfo(b, {b.process, child}, 4 * kPage);
  REQUIRE(unlocked(b, va, 4) == Error::none);
  check_meminfo(b, {b.process, child}, 4 * kPage);
  REQUIRE(b.run(b.vm.munlock(b.thread, *child, va, 4 * kPage)).value == Error::none);
  check_meminfo(b, {b.process, child}, 0);
}

TEST_CASE("meminfo: migration and collapse keep locked memory locked") {
  OsBench b(unlimited());
  const VirtualAddress va = b.map(kHugePage, {.alignment = kHugePage});
  REQUIRE(locked(b, va, 512) == Error::none);
  b.run(b.vm.page_events().migrate(b.thread, *b.process, {va, va + 8 * kPage}, os::PageEvents::Mover::move_pages));
  CHECK(b.counted("os.pgmigrate_success") == 8);
  check_meminfo(b, {b.process}, kHugePage);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, kHugePage, os::Advice::collapse)).value == Error::none);
  CHECK(b.counted("os.thp_collapse_alloc") == 1);
  check_meminfo(b, {b.process}, kHugePage);
}

TEST_CASE("audit finds a frame that was allocated and lost") {
  OsBench b;
  b.map_present(4 * kPage);
  CHECK(verdict(b) == "");
  auto& frames = const_cast<os::FrameAllocator&>(b.vm.frames());
  const auto lost = frames.allocate_page();
  CHECK(says(b, "frames that are allocated"));
  CHECK(verdict(b, /*changing=*/true) == "");  // somebody may be about to map it
  frames.free_page(*lost);
  CHECK(verdict(b) == "");
}

TEST_CASE("audit finds a frame that was freed and is in use") {
  OsBench b;
  const VirtualAddress va = b.map_present(4 * kPage);
  const_cast<os::FrameAllocator&>(b.vm.frames()).free_page(b.walk(va)->physical);
  CHECK(says(b, "leads to a free frame"));
  CHECK(says(b, "leads to a free frame", /*changing=*/true));
}

TEST_CASE("audit finds pinned bytes that nobody has pinned") {
  OsBench b;
  auto& space = const_cast<os::AddressSpace&>(b.process->space());
  space.add_pinned(kPage);
  CHECK(says(b, "pinned bytes of 'test'"));
  CHECK(verdict(b, /*changing=*/true) == "");  // a pin that is under way is charged first
  space.remove_pinned(kPage);
  CHECK(verdict(b) == "");
  const VirtualAddress va = b.map_present(kPage);
  REQUIRE(b.run(b.vm.pin_user_pages(b.thread, *b.process, va, kPage, true)).value.ok());
  space.remove_pinned(kPage);
  CHECK(says(b, "pinned bytes of 'test'", /*changing=*/true));
}

TEST_CASE("audit finds a lock that the node's count does not know") {
  OsBench b;
  const VirtualAddress va = b.map(4 * kPage);
  const_cast<os::AddressSpace&>(b.process->space()).set_locked(va, va + kPage, true);
  CHECK(says(b, "locked bytes of all processes"));
}

TEST_CASE("audit finds a descriptor that is not what the page's state says") {
  OsBench b;
  const VirtualAddress va = b.map_present(4 * kPage);
  const_cast<os::PageTable&>(b.process->page_table()).protect(va, false);
  CHECK(says(b, "is not what its state says"));
}
