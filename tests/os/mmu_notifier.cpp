// SPDX-License-Identifier: Apache-2.0
// Who follows a process's table: told before and after, and asked where a page may stay.
#include "models/os/events/page_events.hpp"
#include "models/os/reclaim/reclaim.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Range;

namespace {

// Notes what it is told, takes its time, and refuses where it may and is to.
struct Noting : os::MmuNotifier {
  explicit Noting(OsBench& bench, Time takes = 0ns) : b(bench), duration(takes) {
    b.vm.add_notifier(*b.process, *this);
  }
  Task<bool> begin(cpu::Execution& exec, os::TableChange change) override {
    changes.push_back(change);
    present_at_begin = b.present(change.range.begin);
    co_await b.cpu.run_unscaled(exec, cpu::Work::system, duration);
    co_return !(refuses && change.may_refuse());
  }
  void end(Range range) override {
    ended.push_back(range);
    present_at_end = b.present(range.begin);
  }
  void drop(Range range, os::Taking /*by*/) override { dropped.push_back(range); }

  OsBench& b;
  Time duration;
  bool refuses = false;
  std::vector<os::TableChange> changes;
  std::vector<Range> ended;
  std::vector<Range> dropped;
  bool present_at_begin = false;
  bool present_at_end = false;
};

OsConfig small_swap() {
  OsConfig config;
  config.swap_bytes = kMiB;
  config.khugepaged = false;
  return config;
}

}  // namespace

TEST_CASE("a notifier is told of a change before entries change, and when it is over, and may take its time") {
  OsBench b;
  const PresentPages pages(b);
  const PresentPages more(b);
  const Time alone = b.run(b.vm.munmap(b.thread, *b.process, more.va, PresentPages::kBytes)).took;
  const Noting notifier(b, 5us);
  const auto took = b.run(b.vm.munmap(b.thread, *b.process, pages.va, PresentPages::kBytes)).took;
  CHECK(took == alone + 5us);
  REQUIRE(notifier.changes.size() == 1);
  CHECK(notifier.changes[0].range == pages.range());
  CHECK(notifier.changes[0].by.by == os::Taker::unmapping);
  CHECK_FALSE(notifier.changes[0].may_refuse());
  CHECK(notifier.ended == std::vector{pages.range()});
  CHECK(notifier.present_at_begin);
  CHECK_FALSE(notifier.present_at_end);
}

// Since 4.20 munmap is only a reader of mmap_lock then: its VMAs have gone, and the entries have not.
TEST_CASE("a page that comes from the device while a notifier is told of its unmapping is not mapped") {
  OsConfig config = small_swap();
  config.kernel.version = cpu::KernelVersion::linux_6_12;
  OsBench b(config);
  const PresentPages pages(b);
  b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range()));
  const Noting notifier(b, 50us);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> touched;
  Outcome<Error> unmapped;
  const Time begin = b.node.now();
  const Time read = b.config.disk_fault + b.config.disk_read_latency + b.config.disk_bandwidth.time_for(kPage);
  b.tasks.start(at(b, begin, b.vm.touch(other, *b.process, pages.va, true), touched));
  b.tasks.start(
      at(b, begin + read - 10us, b.vm.munmap(b.thread, *b.process, pages.va, PresentPages::kBytes), unmapped));
  sc_core::sc_start();
  CHECK(unmapped.value == Error::none);
  CHECK(touched.value == Error::bad_address);
  CHECK(touched.at > begin + read);
  CHECK(touched.at < unmapped.at);
  CHECK(b.process->space().swapped_bytes() == 0);
  CHECK_FALSE(b.present(pages.va));
  b.vm.audit();
}

TEST_CASE("a notifier is told of a fork, and the child has none") {
  OsBench b;
  const PresentPages pages(b);
  const Noting notifier(b);
  Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;
  REQUIRE(notifier.changes.size() == 1);
  CHECK(notifier.changes[0].by.by == os::Taker::fork);
  REQUIRE(b.run(b.vm.munmap(b.thread, child, pages.va, PresentPages::kBytes)).value == Error::none);
  CHECK(notifier.changes.size() == 1);
}

TEST_CASE("what is taken in no time is dropped in no time") {
  OsBench b;
  const PresentPages pages(b);
  const Noting notifier(b);
  REQUIRE(b.vm.discard(*b.process, pages.va, kPage) == Error::none);
  CHECK(notifier.dropped == std::vector{pages.first()});
  CHECK(notifier.changes.empty());
}

TEST_CASE("a page whose notifier refuses is not reclaimed, and counts as one that could not be taken") {
  OsBench b(small_swap());
  const PresentPages pages(b);
  Noting notifier(b);
  notifier.refuses = true;
  const auto frame = pages.frame();
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == 0);
  CHECK(b.present(pages.va));
  CHECK(pages.frame() == frame);
  CHECK(b.counted("os.pgactivate") == PresentPages::kPages);
  CHECK(b.counted("os.pswpout") == 0);
  REQUIRE(notifier.changes.size() == PresentPages::kPages);
  CHECK(notifier.changes[0].may_refuse());
  CHECK(notifier.ended.empty());
  b.vm.audit();
  notifier.refuses = false;
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.range())).value == PresentPages::kPages);
  CHECK(pages.intact());
}

TEST_CASE("a page that two processes map stays in the one whose notifier refuses") {
  OsBench b(small_swap());
  const PresentPages pages(b);
  Process& child = *b.run(b.vm.fork(b.thread, *b.process)).value.value;
  REQUIRE(b.vm.frame_record(pages.frame()).mappings == 2);
  Noting notifier(b);
  notifier.refuses = true;
  b.run(b.vm.page_events().migrate(b.thread, child, pages.first(), os::PageEvents::Mover::move_pages));
  CHECK(b.present(pages.va));
  CHECK(child.space().page(pages.va) != nullptr);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
  CHECK(pages.intact(child));
  b.vm.audit();
}

namespace {

void check_refused_migration(os::KernelVersion version, os::PageEvents::Mover mover) {
  OsBench b(of_kernel(version));
  const PresentPages pages(b);
  Noting notifier(b);
  notifier.refuses = true;
  const auto frame = pages.frame();
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, pages.range(), mover)).value == 0);
  CHECK(b.present(pages.va));
  CHECK(pages.frame() == frame);
  CHECK(b.counted("os.pgmigrate_fail") == PresentPages::kPages);
  CHECK(b.counted("os.pgmigrate_success") == 0);
  CHECK(notifier.changes.size() == PresentPages::kPages * b.config.migrate_passes);  // as often as any page is tried
  CHECK(notifier.ended.empty());
  b.vm.audit();
  notifier.refuses = false;
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, pages.range(), mover)).value == PresentPages::kPages);
  CHECK(pages.intact());
}

}  // namespace

TEST_CASE("5.15: a page whose notifier refuses is not migrated, and counts as one that could not be moved") {
  check_refused_migration(os::KernelVersion::linux_5_15, os::PageEvents::Mover::move_pages);
}
TEST_CASE("6.6: a page whose notifier refuses is not migrated, and counts as one that could not be moved") {
  check_refused_migration(os::KernelVersion::linux_6_6, os::PageEvents::Mover::move_pages);
}
TEST_CASE("6.6: a page whose notifier refuses is not moved by compaction") {
  check_refused_migration(os::KernelVersion::linux_6_6, os::PageEvents::Mover::compaction);
}

TEST_CASE("a huge page whose notifier refuses is split neither for reclaim nor for migration") {
  OsConfig config = small_swap();
  config.thp = os::ThpMode::always;
  OsBench b(config);
  const VirtualAddress va = b.map_present(kHugePage, {.alignment = kHugePage});
  REQUIRE(b.process->space().is_huge(va));
  Noting notifier(b);
  notifier.refuses = true;
  const Range range{va, va + kHugePage};
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, range, os::PageEvents::Mover::move_pages)).value == 0);
  CHECK(b.counted("os.pgmigrate_fail") == 1);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, range)).value == 0);
  CHECK(b.process->space().is_huge(va));
  CHECK(notifier.changes.size() == 2);
  b.vm.audit();
}

TEST_CASE("a page of the pool whose notifier refuses is not migrated") {
  OsConfig config;
  config.nr_hugepages = 2;
  OsBench b(config);
  const VirtualAddress va = b.map_present(kHugePage, {.hugetlb = true});
  Noting notifier(b);
  notifier.refuses = true;
  const Range range{va, va + kHugePage};
  CHECK(b.run(b.vm.page_events().migrate(b.thread, *b.process, range, os::PageEvents::Mover::move_pages)).value == 0);
  CHECK(b.present(va));
  CHECK(notifier.ended.empty());
  b.vm.audit();
}

TEST_CASE("when one refuses, those that were asked before it are told that it is over, and those behind it nothing") {
  OsBench b(small_swap());
  const PresentPages pages(b);
  const Noting first(b);
  Noting refusing(b);
  refusing.refuses = true;
  const Noting last(b);
  CHECK(b.run(b.vm.reclaim().page_out(b.thread, *b.process, pages.first())).value == 0);
  CHECK(first.changes.size() == 1);
  CHECK(first.ended == std::vector{pages.first()});
  CHECK(refusing.ended.empty());
  CHECK(last.changes.empty());
  CHECK(last.ended.empty());
}

TEST_CASE("a mirror whose process's other notifier refuses is filled again at once") {
  OsBench b(small_swap());
  const PresentPages pages(b);
  os::MirroredTable& mirror = *b.vm.create_mirrored_table(*b.process).value;
  REQUIRE(b.run(b.vm.mirror_pages(b.thread, mirror, pages.va, PresentPages::kBytes, true)).value.ok());
  Noting notifier(b, 100us);
  notifier.refuses = true;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<unsigned> taken;
  Outcome<os::Result<std::uint64_t>> filled;
  b.tasks.start(at(b, b.node.now() + 10us, b.vm.reclaim().page_out(other, *b.process, pages.first()), taken));
  b.tasks.start(at(b, b.node.now() + 60us, b.vm.mirror_pages(b.thread, mirror, pages.va, kPage, true), filled));
  sc_core::sc_start();
  CHECK(taken.value == 0);
  CHECK(filled.value.ok());
  CHECK(filled.at > taken.at - 20us);  // it has waited for the answer
  CHECK(mirror.table().walk(pages.va));
}

TEST_CASE("a notifier that is removed is told what has begun, and nothing after that") {
  OsBench b;
  const PresentPages pages(b);
  Noting notifier(b, 50us);
  Outcome<Error> unmapped;
  Time removed_at{0};
  b.tasks.start(at(b, b.node.now(), b.vm.munmap(b.thread, *b.process, pages.va, kPage), unmapped));
  b.tasks.start([](OsBench& bench, Noting& gone, Time& when) -> Task<void> {
    co_await bench.node.loop.delay(40us);
    co_await bench.vm.remove_notifier(*bench.process, gone);
    when = bench.node.now();
  }(b, notifier, removed_at));
  sc_core::sc_start();
  CHECK(notifier.changes.size() == 1);
  CHECK(removed_at > 50us);
  CHECK(notifier.ended.empty());
  REQUIRE(b.run(b.vm.munmap(b.thread, *b.process, pages.va, PresentPages::kBytes)).value == Error::none);
  CHECK(notifier.changes.size() == 1);
}
