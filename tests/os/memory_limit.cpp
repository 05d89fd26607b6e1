// SPDX-License-Identifier: Apache-2.0
// Limits of processes' memory, and who has to go when nothing is left.
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::FileReader;
using os::OomKill;

namespace {

constexpr std::uint64_t kLimit = 2 * kMiB;

OsConfig with_swap(std::uint64_t bytes = 64 * kMiB) {
  OsConfig config;
  config.swap_bytes = bytes;
  return config;
}

// 16 MiB, of which 1 MiB is not to be used.
OsConfig small_node(std::uint64_t swap_bytes) {
  OsConfig config = with_swap(swap_bytes);
  config.user_memory = 16 * kMiB;
  config.min_free_bytes = kMiB;
  return config;
}

Error touch(OsBench& b, Process& process, VirtualAddress va, std::uint64_t bytes) {
  return b.run(b.vm.touch_range(b.thread, process, va, bytes, true)).value;
}

VirtualAddress map(OsBench& b, Process& process, std::uint64_t bytes) { return b.vm.map(process, bytes).value; }

}  // namespace

TEST_CASE("a process at its limit swaps its own pages, whatever is free") {
  OsBench b(with_swap());
  Process& other = *b.vm.create_process("other");
  const VirtualAddress theirs = map(b, other, 4 * kMiB);
  REQUIRE(touch(b, other, theirs, 4 * kMiB) == Error::none);
  b.vm.limit_memory(*b.process, kLimit);
  const VirtualAddress va = map(b, *b.process, 6 * kMiB);
  CHECK(touch(b, *b.process, va, 6 * kMiB) == Error::none);
  CHECK(b.process->space().resident_bytes() <= kLimit);
  CHECK(b.process->space().resident_bytes() + b.process->space().swapped_bytes() == 6 * kMiB);
  CHECK(other.space().resident_bytes() == 4 * kMiB);
  CHECK(b.counted("os.memcg_max") > 0);
  CHECK(b.counted("os.allocstall") == 0);
  CHECK(b.counted("os.pgscan_kswapd") == 0);
  b.vm.audit();
}

TEST_CASE("a limit counts the pages of files that a process has read, and reclaims them first") {
  OsBench b(with_swap());
  b.vm.limit_memory(*b.process, kLimit);
  const VirtualAddress va = map(b, *b.process, kMiB);
  REQUIRE(touch(b, *b.process, va, kMiB) == Error::none);
  os::File& file = *b.vm.page_cache().create(8 * kMiB, 3);
  FileReader reader{.file = &file};
  CHECK(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, 8 * kMiB)).value.value == 8 * kMiB);
  CHECK(file.cached().size() * kPage <= kLimit);
  CHECK(b.vm.group_of(*b.process).charged * kPage <= kLimit);
  CHECK(b.vm.group_of(*b.process).charged == file.cached().size() + b.process->space().resident_bytes() / kPage);
  // Others' files are others' business.
  Process& other = *b.vm.create_process("other");
  FileReader theirs{.file = b.vm.page_cache().create(4 * kMiB, 4)};
  CHECK(b.run(b.vm.page_cache().read(b.thread, other, theirs, 0, 4 * kMiB)).value.value == 4 * kMiB);
  CHECK(theirs.file->cached().size() == 1024);
  b.vm.audit();
}

TEST_CASE("a child counts with its parent, and what ends is charged no more") {
  OsBench b(with_swap());
  b.vm.limit_memory(*b.process, kLimit);
  const VirtualAddress va = map(b, *b.process, kMiB);
  REQUIRE(touch(b, *b.process, va, kMiB) == Error::none);
  const auto child = b.run(b.vm.fork(b.thread, *b.process)).value;
  REQUIRE(child.ok());
  CHECK(b.vm.group_of(*b.process).charged == 256);  // shared
  REQUIRE(touch(b, *child.value, va, kMiB) == Error::none);
  CHECK(b.vm.group_of(*b.process).charged == 512);
  b.end(*child.value);
  CHECK(b.vm.group_of(*b.process).charged == 256);
  b.vm.audit();
}

TEST_CASE("a process that nothing can be reclaimed from is killed at its limit, and only that") {
  OsBench b;  // no swap device
  Process& other = *b.vm.create_process("other");
  const VirtualAddress theirs = map(b, other, 8 * kMiB);
  REQUIRE(touch(b, other, theirs, 8 * kMiB) == Error::none);
  b.vm.limit_memory(*b.process, kLimit);
  std::vector<OomKill> kills;
  b.vm.observe_kills([&](const Process&, const OomKill& kill) { kills.push_back(kill); });
  const VirtualAddress va = map(b, *b.process, 4 * kMiB);
  CHECK(touch(b, *b.process, va, 4 * kMiB) == Error::killed);
  REQUIRE(kills.size() == 1);
  CHECK(kills[0].process == "test");
  CHECK(kills[0].by_limit);
  CHECK(kills[0].resident_bytes == kLimit);
  CHECK(b.process->was_killed());
  CHECK(b.process->space().resident_bytes() == 0);
  CHECK(b.vm.group_of(*b.process).charged == 0);
  CHECK(other.space().resident_bytes() == 8 * kMiB);
  CHECK(touch(b, *b.process, va, kPage) == Error::killed);
  CHECK(b.counted("os.oom_kill") == 1);
  b.vm.audit();
}

TEST_CASE("when the node is out of memory the largest process goes, and who asked gets on") {
  OsBench b(small_node(4 * kMiB));
  Process& large = *b.vm.create_process("large");
  Process& saved = *b.vm.create_process("saved");
  b.vm.set_oom_score_adj(saved, Process::kNeverKilled);
  const VirtualAddress theirs = map(b, large, 7 * kMiB);
  const VirtualAddress kept = map(b, saved, 7 * kMiB);
  REQUIRE(touch(b, large, theirs, 7 * kMiB) == Error::none);
  REQUIRE(touch(b, saved, kept, 7 * kMiB) == Error::none);
  const VirtualAddress va = map(b, *b.process, 6 * kMiB);
  CHECK(touch(b, *b.process, va, 6 * kMiB) == Error::none);
  CHECK(large.was_killed());
  CHECK_FALSE(saved.was_killed());
  CHECK_FALSE(b.process->was_killed());
  CHECK(large.space().resident_bytes() + large.space().swapped_bytes() == 0);
  CHECK(b.counted("os.oom_kill") == 1);
  CHECK(b.vm.frames().free_pages() >= b.vm.reclaim().min_watermark());
  b.vm.audit();
}

TEST_CASE("oom_score_adj says who goes first") {
  OsBench b(small_node(2 * kMiB));
  Process& small = *b.vm.create_process("small");
  b.vm.set_oom_score_adj(small, 900);
  const VirtualAddress theirs = map(b, small, 2 * kMiB);
  REQUIRE(touch(b, small, theirs, 2 * kMiB) == Error::none);
  const VirtualAddress va = map(b, *b.process, 16 * kMiB);
  CHECK(touch(b, *b.process, va, 16 * kMiB) == Error::none);
  CHECK(small.was_killed());
  CHECK_FALSE(b.process->was_killed());
}

TEST_CASE("who is killed counts page tables, too") {
  OsBench b(small_node(kMiB));
  Process& dense = *b.vm.create_process("dense");
  Process& sparse = *b.vm.create_process("sparse");
  const VirtualAddress together = map(b, dense, 5 * kMiB);
  REQUIRE(touch(b, dense, together, 5 * kMiB) == Error::none);
  const VirtualAddress apart = map(b, sparse, 700 * kHugePage);
  for (unsigned i = 0; i < 700; ++i) REQUIRE(touch(b, sparse, apart + i * kHugePage, kPage) == Error::none);
  b.vm.set_oom_score_adj(*b.process, Process::kNeverKilled);
  const VirtualAddress va = map(b, *b.process, 6 * kMiB);
  CHECK(touch(b, *b.process, va, 6 * kMiB) == Error::none);
  CHECK(sparse.was_killed());  // 700 pages and as many tables against 1280 pages
  CHECK_FALSE(dense.was_killed());
}

TEST_CASE("who is killed counts pages on the swap device, too") {
  OsBench b(small_node(6 * kMiB));
  Process& away = *b.vm.create_process("away");
  Process& here = *b.vm.create_process("here");
  const VirtualAddress va = map(b, away, 6 * kMiB);
  REQUIRE(touch(b, away, va, 6 * kMiB) == Error::none);
  b.run(b.vm.reclaim().page_out(b.thread, away, {va, va + 6 * kMiB}));
  REQUIRE(away.space().resident_bytes() < kMiB);
  REQUIRE(touch(b, here, map(b, here, 5 * kMiB), 5 * kMiB) == Error::none);
  b.vm.set_oom_score_adj(*b.process, Process::kNeverKilled);
  const VirtualAddress wanted = map(b, *b.process, 13 * kMiB);
  CHECK(touch(b, *b.process, wanted, 13 * kMiB) == Error::none);
  CHECK(away.was_killed());
  CHECK_FALSE(here.was_killed());
}

TEST_CASE("oom_score_adj is in thousandths of the memory and the swap device") {
  // 4096 pages of each: 100 thousandths are 800 pages, of the memory alone 400.
  OsBench b(small_node(16 * kMiB));
  Process& large = *b.vm.create_process("large");
  Process& adjusted = *b.vm.create_process("adjusted");
  REQUIRE(touch(b, large, map(b, large, 1000 * kPage), 1000 * kPage) == Error::none);
  REQUIRE(touch(b, adjusted, map(b, adjusted, 400 * kPage), 400 * kPage) == Error::none);
  b.vm.set_oom_score_adj(adjusted, 100);
  b.vm.set_oom_score_adj(*b.process, Process::kNeverKilled);
  const VirtualAddress va = map(b, *b.process, 27 * kMiB);
  CHECK(touch(b, *b.process, va, 27 * kMiB) == Error::none);
  CHECK(adjusted.was_killed());
  CHECK_FALSE(large.was_killed());
}

TEST_CASE("two processes that reach their limits at the same time are killed one after the other") {
  OsBench b;
  Process& other = *b.vm.create_process("other");
  b.vm.limit_memory(*b.process, kLimit);
  b.vm.limit_memory(other, kLimit);
  const VirtualAddress va = map(b, *b.process, 4 * kMiB);
  const VirtualAddress theirs = map(b, other, 4 * kMiB);
  REQUIRE(b.vm.make_present(*b.process, va, kLimit) == Error::none);
  REQUIRE(b.vm.make_present(other, theirs, kLimit) == Error::none);
  Outcome<Error> first;
  Outcome<Error> second;
  cpu::Execution& thread = b.cpu.new_thread("second", 2);
  b.tasks.start(at(b, 0ns, b.vm.touch_range(b.thread, *b.process, va, 4 * kMiB, true), first));
  b.tasks.start(at(b, 0ns, b.vm.touch_range(thread, other, theirs, 4 * kMiB, true), second));
  sc_core::sc_start();
  CHECK(first.value == Error::killed);
  CHECK(second.value == Error::killed);
  CHECK(b.counted("os.oom_kill") == 2);
  CHECK(b.process->space().resident_bytes() + other.space().resident_bytes() == 0);
  b.vm.audit();
}

TEST_CASE("a process that was killed gets nothing more from files either") {
  OsBench b;
  b.vm.limit_memory(*b.process, kLimit);
  os::File& file = *b.vm.page_cache().create(kMiB, 3);
  FileReader reader{.file = &file};
  REQUIRE(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, kMiB)).value.ok());
  const VirtualAddress va = map(b, *b.process, 4 * kMiB);
  REQUIRE(touch(b, *b.process, va, 4 * kMiB) == Error::killed);
  CHECK(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, kPage)).value.error == Error::killed);
}

namespace {

// A process at its limit of 512 pages: those of a file, read once, and what else is there.
struct AtLimit {
  AtLimit(OsBench& bench, std::uint64_t file_pages) : b(bench), file(*b.vm.page_cache().create(file_pages * kPage, 3)) {
    b.vm.limit_memory(*b.process, kLimit);
    FileReader reader{.file = &file};
    REQUIRE(b.run(b.vm.page_cache().read(b.thread, *b.process, reader, 0, file_pages * kPage)).value.ok());
    const std::uint64_t others = kLimit - file_pages * kPage;
    if (others > 0) REQUIRE(touch(b, *b.process, map(b, *b.process, others), others) == Error::none);
  }
  // Of pages that have been used, reclaim takes none at its first look.
  void use(std::uint64_t pages) {
    const VirtualAddress va = b.map(pages * kPage, {.file = &file, .shared = true});
    REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, va, pages * kPage, false)).value == Error::none);
  }
  // How many pages are looked at for one page more.
  std::uint64_t looked_at_for_one() {
    REQUIRE(b.vm.group_of(*b.process).charged == kLimit / kPage);
    REQUIRE(b.counted("os.pgscan_direct") == 0);
    const VirtualAddress va = map(b, *b.process, kPage);
    CHECK(touch(b, *b.process, va, kPage) == Error::none);
    CHECK(b.counted("os.memcg_max") == 1);
    return b.counted("os.pgscan_direct");
  }

  OsBench& b;
  os::File& file;
};

}  // namespace

// At one priority after the other a pass looks at that share of the list, until 32 pages have gone.
TEST_CASE("with swappiness 0 a process at its limit gives its files' pages, whose whole list a pass goes by") {
  OsConfig config = with_swap();
  config.swappiness = 0;
  OsBench b(config);
  AtLimit limited(b, 256);
  std::uint64_t left = 256;
  for (unsigned priority = 12; 256 - left < 32; --priority) left -= left >> priority;
  CHECK(limited.looked_at_for_one() == 256 - left);
  CHECK(b.counted("os.pswpout") == 0);
}

TEST_CASE("a pass for a process at its limit goes on until a batch of 32 pages has room beside what is wanted") {
  OsConfig config;
  config.fault_around_bytes = kPage;
  OsBench b(config);
  AtLimit limited(b, 512);
  // All pages that the passes look at before one that takes more than a batch have been used, and stay.
  std::uint64_t left = 512;
  unsigned priority = 12;
  for (; left >> priority <= 32; --priority) left -= left >> priority;
  limited.use(512 - left);
  // A batch alone would make room for 32.
  CHECK(limited.looked_at_for_one() == 512 - left + std::min<std::uint64_t>(left >> priority, 64));
}

TEST_CASE("who takes a killed process's memory waits for who changes its address space, and lets others go on") {
  OsConfig config;  // no swap device
  config.fork_per_page = 1us;
  OsBench b(config);
  b.vm.limit_memory(*b.process, kLimit);
  const VirtualAddress va = b.map_present(kLimit);
  REQUIRE(b.vm.fill(*b.process, va, kLimit, 7) == kLimit);
  os::File& file = *b.vm.page_cache().create(kPage, 3);
  FileReader reader{.file = &file};
  Time killed{0};
  b.vm.observe_kills([&](const Process&, const OomKill& kill) { killed = kill.at; });
  Outcome<os::Result<Process*>> forked;
  Outcome<os::Result<std::uint64_t>> read;
  cpu::Execution& forks = b.cpu.new_thread("forks", 2);
  const Time start = b.node.now() + 1ms;
  b.tasks.start(at_core(b, forks, start, b.vm.fork(forks, *b.process), forked));
  // The killer comes when fork, which has the lock then, has begun to share 512 pages.
  b.tasks.start(at_core(b, b.thread, start + config.fork_fixed - config.exit_fixed + 100us,
                        b.vm.page_cache().read(b.thread, *b.process, reader, 0, kPage), read));
  sc_core::sc_start();
  CHECK_FALSE(read.value.ok());
  CHECK(killed < start + config.fork_fixed);
  CHECK(killed + config.exit_fixed > start + config.fork_fixed);
  CHECK(forked.at > start + config.fork_fixed + 512us);
  REQUIRE(forked.value.ok());
  Process& child = *forked.value.value;
  CHECK(child.space().resident_bytes() == kLimit);
  CHECK(b.vm.read(child, va, kLimit) == sim::Content::pattern(7, 0, kLimit));
  CHECK(b.process->space().resident_bytes() == 0);
  CHECK(b.run(b.vm.munmap(b.thread, *b.process, va, kLimit)).value == Error::none);
  b.vm.audit();
}
