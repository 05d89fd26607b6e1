// SPDX-License-Identifier: Apache-2.0
// Several threads, kernel threads and a device's driver at the same pages at once: nobody waits for ever, nothing
// is lost, and the books agree when all have finished.
#include <rapidcheck.h>

#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::PageEvents;
using os::Protection;
using os::Range;

namespace {

constexpr unsigned kMerge = 16;

struct Action {
  unsigned what;
  std::uint64_t first;
  std::uint64_t count;
  std::int64_t pause_ns;
};

// The pages that actors fight for; a mirror of the process's table comes with them.
struct Arena {
  OsBench& b;
  Process& process;
  os::MirroredTable& mirror;
  VirtualAddress base;
  os::File* file;  // that it maps, or none
};

enum class Backing { anonymous, shared_file, private_file };

Task<void> use_file(Arena& arena, cpu::Execution& thread, Action a) {
  os::PageCache& cache = arena.b.vm.page_cache();
  os::FileReader reader{.file = arena.file};
  switch (a.what % 4) {
    case 0: co_await cache.read(thread, arena.process, reader, a.first * kPage, a.count * kPage); break;
    case 1: co_await cache.write(thread, arena.process, *arena.file, a.first * kPage + 7, a.count * kPage, 5); break;
    case 2: co_await cache.writeback().sync(thread, *arena.file); break;
    default:
      co_await cache.resize(thread, *arena.file, static_cast<std::uint32_t>(a.first));
      co_await cache.resize(thread, *arena.file, 8);
  }
}

Task<void> fork_and_exit(Arena& arena, cpu::Execution& thread, VirtualAddress va, std::uint64_t bytes) {
  const auto child = co_await arena.b.vm.fork(thread, arena.process);
  if (!child.ok()) co_return;
  co_await arena.b.vm.touch_range(thread, *child.value, va, bytes, true);
  co_await arena.b.vm.exit(thread, *child.value);
}

Task<void> pin_for_a_while(Arena& arena, cpu::Execution& thread, VirtualAddress va, std::uint64_t bytes) {
  const auto pin = co_await arena.b.vm.pin_user_pages(thread, arena.process, va, bytes, true);
  if (!pin.ok()) co_return;
  co_await arena.b.node.loop.delay(7us);
  co_await arena.b.vm.unpin(thread, pin.value);
}

Task<void> hide_for_a_while(Arena& arena, cpu::Execution& thread, VirtualAddress va, std::uint64_t bytes) {
  co_await arena.b.vm.mprotect(thread, arena.process, va, bytes, Protection::none);
  co_await arena.b.vm.mprotect(thread, arena.process, va, bytes, Protection::read_write);
}

// A driver wants the part of the CMA area where the page lies.
Task<void> claim_cma(Arena& arena, cpu::Execution& thread, VirtualAddress va) {
  const os::PageState* page = arena.process.space().entry(va);
  os::Cma& cma = arena.b.vm.cma();
  if (page == nullptr || !page->has_frame() || !cma.holds(page->frame)) co_return;
  const memory::Address begin = page->frame;
  if (co_await cma.allocate_at(thread, begin, 1)) cma.release(begin);
}

Task<void> act(Arena& arena, cpu::Execution& thread, Action a) {
  os::Vm& vm = arena.b.vm;
  PageEvents& events = vm.page_events();
  Process& p = arena.process;
  const VirtualAddress va = arena.base + a.first * kPage;
  const std::uint64_t bytes = a.count * kPage;
  const Range range{va, va + bytes};
  switch (a.what) {
    case 0: co_await vm.touch_range(thread, p, va, bytes, false); break;
    case 1:
    case 2: co_await vm.touch_range(thread, p, va, bytes, true); break;
    case 3: co_await vm.fault_in_pages(thread, p, va, bytes, true); break;
    case 4: co_await vm.madvise(thread, p, va, bytes, Advice::dont_need_locked); break;
    case 5: co_await vm.madvise(thread, p, va, bytes, Advice::free); break;
    case 6: co_await vm.madvise(thread, p, arena.base, kHugePage, Advice::collapse); break;
    case 7: co_await vm.mlock(thread, p, va, bytes); break;
    case 8: co_await vm.munlock(thread, p, va, bytes); break;
    case 9: co_await hide_for_a_while(arena, thread, va, bytes); break;
    case 10: co_await pin_for_a_while(arena, thread, va, bytes); break;
    case 11: co_await fork_and_exit(arena, thread, va, bytes); break;
    case 12: co_await vm.mirror_pages(thread, arena.mirror, va, bytes, true); break;
    case 13: co_await vm.mirror_pages(thread, arena.mirror, va, bytes, false); break;
    case 14: co_await events.migrate(thread, p, range, PageEvents::Mover::compaction); break;
    case 15: co_await events.migrate(thread, p, range, PageEvents::Mover::move_pages); break;
    case kMerge: co_await events.merge_equal(thread, p, range); break;
    case 17: co_await events.age(thread, p, range); break;
    case 18: co_await events.write_protect(thread, p, range); break;
    case 19: co_await events.numa_hint(thread, p, range); break;
    case 20: co_await events.userfault_protect(thread, p, range); break;
    case 21:
    case 22: co_await vm.reclaim().page_out(thread, p, range); break;
    case 23: co_await vm.compaction().compact_memory(thread); break;
    case 24: co_await claim_cma(arena, thread, va); break;
    case 25: co_await events.truncate(thread, p, range); break;
    default: co_await use_file(arena, thread, a);
  }
}
constexpr unsigned kActions = 26;
constexpr unsigned kFileActions = 4;

Task<void> play(Arena& arena, cpu::Execution& thread, std::vector<Action> actions) {
  for (const Action& action : actions) {
    co_await arena.b.node.loop.delay(Time{action.pause_ns * 1000});
    co_await act(arena, thread, action);
  }
}

Task<void> leave(OsBench& b, Process& process, os::File* file) {
  co_await b.vm.exit(b.thread, process);
  if (file != nullptr) co_await b.vm.page_cache().resize(b.thread, *file, 0);
}

// Rounds of four threads, each with a process of its own that is gone behind it.
// `ksm`: whose other sharers never let go, so that each merged page costs a frame for good.
void fight(OsBench& b, bool ksm, Backing backing = Backing::anonymous) {
  const bool has_file = backing != Backing::anonymous;
  std::vector<cpu::Execution*> threads;
  for (unsigned i = 0; i < 4; ++i) threads.push_back(&b.cpu.new_thread("actor", i));
  const auto round = [&] {
    Process& process = *b.vm.create_process("actors");
    os::File* file = has_file ? b.vm.page_cache().create(8 * kPage, 9) : nullptr;
    const auto mapped = has_file ? b.vm.map_file(process, *file, backing == Backing::shared_file, kHugePage)
                                 : b.vm.map(process, kHugePage, kHugePage);
    Arena arena{b, process, *b.vm.create_mirrored_table(process).value, mapped.value, file};
    sim::TaskGroup tasks;
    for (cpu::Execution* thread : threads) {
      std::vector<Action> actions;
      for (unsigned i = 0; i < 12; ++i) {
        // Few pages, so that actors meet, at times near the cost of what they do.
        const std::uint64_t first = *rc::gen::inRange<std::uint64_t>(0, 6);
        const unsigned what = *rc::gen::inRange(0u, kActions + (has_file ? kFileActions : 0));
        actions.push_back({what == kMerge && !ksm ? kMerge + 1 : what, first,
                           *rc::gen::inRange<std::uint64_t>(1, 7 - first), *rc::gen::inRange<std::int64_t>(0, 4000)});
      }
      tasks.start(play(arena, *thread, actions));
    }
    sc_core::sc_start();
    RC_ASSERT(tasks.running() == 0u);
    b.vm.audit();
    sim::TaskGroup end;
    end.start(leave(b, process, file));
    sc_core::sc_start();
    RC_ASSERT(end.running() == 0u);
    b.vm.audit();
  };
  CHECK(rc::check(round));
}

OsConfig quick_fork() {
  OsConfig config;
  config.rlimit_memlock = os::kUnlimited;
  config.fork_fixed = 300us;
  config.swap_bytes = 64 * kPage;
  return config;
}

OsConfig with_vma_locks(OsConfig config) {
  config.kernel.version = os::KernelVersion::linux_6_6;
  return config;
}

}  // namespace

TEST_CASE("threads and kernel threads and drivers at the same pages neither deadlock nor lose anything", "[property]") {
  set_number_of_cases(300, 300);  // few numbers are near zero then
  OsBench b(quick_fork(), 256 * kMiB);
  fight(b, true);
}

TEST_CASE("nor do they with per-VMA locks", "[property]") {
  set_number_of_cases(200, 300);
  OsBench b(with_vma_locks(quick_fork()), 256 * kMiB);
  fight(b, true);
  CHECK(b.counted("os.vma_lock_success") > 0);
  CHECK(b.counted("os.vma_lock_abort") > 0);
}

TEST_CASE("nor at huge pages, of their own and of zeros", "[property]") {
  set_number_of_cases(200, 300);
  OsConfig config = with_vma_locks(quick_fork());
  config.thp = os::ThpMode::always;
  OsBench b(config, 512 * kMiB);
  fight(b, false);
  CHECK(b.counted("os.thp_zero_page_alloc") == 1);
  CHECK(b.counted("os.thp_fault_alloc") > 0);
  CHECK(b.counted("os.thp_split_pmd") > 0);
}

TEST_CASE("nor at the pages of a file that they share", "[property]") {
  set_number_of_cases(200, 300);
  OsBench b(with_vma_locks(quick_fork()), 256 * kMiB);
  fight(b, true, Backing::shared_file);
  CHECK(b.counted("os.nr_written") > 0);
  CHECK(b.counted("os.vma_lock_retry") > 0);
}

TEST_CASE("nor at those of a file of which each has copies", "[property]") {
  set_number_of_cases(200, 300);
  OsBench b(quick_fork(), 256 * kMiB);
  fight(b, true, Backing::private_file);
}

namespace {

// Memory in pieces, most of it in the CMA area.
OsConfig pieces() {
  OsConfig config = quick_fork();
  config.thp = os::ThpMode::always;
  config.thp_defrag = os::ThpDefrag::always;
  config.khugepaged = false;
  config.user_memory = 16 * kMiB;
  config.cma_bytes = 10 * kMiB;
  return config;
}

// Pages of somebody else, every other one of which is gone.
void break_up(OsBench& b) {
  const std::uint64_t pages = b.vm.frames().free_pages() - 16;
  const VirtualAddress va = b.map(pages * kPage);
  REQUIRE(b.run(b.vm.madvise(b.thread, *b.process, va, pages * kPage, Advice::no_hugepage)).value == Error::none);
  REQUIRE(b.vm.make_present(*b.process, va, pages * kPage) == Error::none);
  for (std::uint64_t i = 0; i < pages; i += 2) REQUIRE(b.vm.discard(*b.process, va + i * kPage, kPage) == Error::none);
}

}  // namespace

TEST_CASE("nor do they when memory is in pieces, so that faults compact it, and lent by the CMA area, which pins leave",
          "[property]") {
  set_number_of_cases(250, 300);
  OsBench b(pieces());
  break_up(b);
  fight(b, false);
  CHECK(b.counted("os.compact_stall") > 0);
  CHECK(b.counted("os.cma_pin_migrated") > 0);
  CHECK(b.counted("os.cma_alloc_success") > 0);
}

TEST_CASE("nor where pages are moved in batches", "[property]") {
  set_number_of_cases(150, 300);
  OsBench b(with_vma_locks(pieces()));
  break_up(b);
  fight(b, false);
  CHECK(b.counted("os.cma_pin_migrated") > 0);
  CHECK(b.counted("os.cma_alloc_success") > 0);
  CHECK(b.counted("os.migrate_restored") > 0);
}

TEST_CASE("nor at a file's pages that compaction and drivers of the CMA area move", "[property]") {
  set_number_of_cases(150, 300);
  OsBench b(with_vma_locks(pieces()));
  break_up(b);
  fight(b, false, Backing::shared_file);
  CHECK(b.counted("os.cma_alloc_success") > 0);
}

TEST_CASE("nor do they when memory is short, so that kswapd and their own faults take pages from them", "[property]") {
  set_number_of_cases(250, 300);
  OsConfig config = with_vma_locks(quick_fork());
  config.user_memory = 8 * kMiB;
  config.min_free_bytes = 64 * kPage;
  config.watermark_scale_factor = 50;
  OsBench b(config);
  // Locked memory of somebody else, all but a little less than the actors' pages and tables need. With much less nobody
  // could have the pages of one operation all at once, and a mirror would be filled for ever.
  const std::uint64_t hog = (b.vm.frames().free_pages() - b.vm.reclaim().low_watermark() - 20) * kPage;
  const VirtualAddress va = b.map(hog);
  REQUIRE(b.run(b.vm.mlock(b.thread, *b.process, va, hog)).value == Error::none);
  fight(b, false);
  CHECK(b.counted("os.pgscan_kswapd") > 0);
  CHECK(b.counted("os.pswpin") > 0);
}
