// SPDX-License-Identifier: Apache-2.0
// Who is told what becomes usable and what changes has what the process's table has: never a page that has gone, and,
// when nothing is under way, all that are there. By random operations, two at a time.
#include <rapidcheck.h>

#include <array>
#include <map>
#include <random>

#include "models/os/events/page_events.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Range;

namespace {

OsConfig small_swap(os::KernelVersion version) {
  OsConfig config = of_kernel(version);
  config.swap_bytes = kMiB;
  return config;
}

constexpr std::uint64_t kArena = 12;  // pages that are used of 2 MiB

// What a driver keeps that pushes a process's entries into its device: filled when pages become usable, emptied before
// they change. As a mutant it is deaf to one of the two.
struct Pushing : os::MmuNotifier {
  enum class Deaf : std::uint8_t { no, to_begin, to_usable };
  struct Page {
    memory::Address frame;
    bool writable;
  };
  Pushing(const Process& followed, Deaf mutant) : process(followed), deaf(mutant) {}

  Task<bool> begin(cpu::Execution& /*exec*/, os::TableChange change) override {
    forget(change.range);
    co_return true;
  }
  void end(Range /*range*/) override { look(); }
  void drop(Range range, os::Taking /*by*/) override {
    // The entries have changed already, in this instant.
    forget(range);
    look();
  }
  bool wants_usable() const override { return true; }
  void usable(Range leaf) override {
    if (deaf == Deaf::to_usable) return;
    for (VirtualAddress va = leaf.begin; va < leaf.end; va += kPage) {
      const os::PageState& page = *process.space().page(va);
      pages[va] = {page.frame, page.writable};
    }
    if (leaf.end - leaf.begin == kPage) look();
  }
  void forget(Range range) {
    if (deaf != Deaf::to_begin) pages.erase(pages.lower_bound(range.begin), pages.lower_bound(range.end));
  }
  // Never a page that the process has not, or not so.
  void look() {
    for (const auto& [va, known] : pages) {
      const os::PageState* page = process.space().page(va);
      const bool there = page != nullptr && page->frame == known.frame && (page->writable || !known.writable);
      holds_what_has_gone = holds_what_has_gone || !there;
    }
  }
  // When nothing is under way it has all that is usable.
  bool lacks_any() const {
    const os::AddressSpace& space = process.space();
    for (VirtualAddress va = 0; const auto next = space.next_entry(va, space.all().end);) {
      va = *next + kPage;
      const os::PageState* page = space.page(*next);
      if (page == nullptr) continue;
      const auto known = pages.find(*next);
      if (known == pages.end() || (page->writable && !known->second.writable)) return true;
    }
    return false;
  }

  const Process& process;
  Deaf deaf;
  std::map<VirtualAddress, Page> pages;
  bool holds_what_has_gone = false;
};

// Makes changes slow, so that others come between its begin and its entries' change, and refuses every third time.
struct Slow : os::MmuNotifier {
  explicit Slow(OsBench& bench) : b(bench) {}
  Task<bool> begin(cpu::Execution& exec, os::TableChange change) override {
    co_await b.cpu.run_unscaled(exec, cpu::Work::system, 3us);
    co_return !change.may_refuse() || ++asked % 3 > 0;
  }
  void end(Range /*range*/) override {}
  void drop(Range /*range*/, os::Taking /*by*/) override {}
  OsBench& b;
  unsigned asked = 0;
};

enum Operation : unsigned {
  kRead,
  kWrite,
  kWriteAgain,
  kDontNeed,
  kFree,
  kPageOut,
  kProtectRead,
  kProtectWrite,
  kMigrate,
  kCompact,
  kMerge,
  kAge,
  kWriteProtect,
  kUserfault,
  kNumaHint,
  kCollapse,
  kFork,
  kMremap,
  kFill,
  kDiscard,
  kOperations
};

struct Command {
  unsigned what;
  std::uint64_t first;
  std::uint64_t count;
  std::int64_t delay;  // in units of 2 us, to come before or behind the other of its pair
};

struct Followed {
  Followed(OsBench& bench, Pushing::Deaf deaf)
      : b(bench),
        process(*b.vm.create_process("followed")),
        base(b.vm.map(process, kHugePage, kHugePage).value),
        pushing(process, deaf),
        slow(b) {
    b.vm.add_notifier(process, slow);
    b.vm.add_notifier(process, pushing);
    b.vm.add_notifier(process, slow);
  }

  Task<void> step(cpu::Execution& exec, Command c) {
    co_await b.node.loop.delay((1 + c.delay) * 2us);
    const VirtualAddress va = base + c.first * kPage;
    const std::uint64_t bytes = c.count * kPage;
    if (c.what < kMigrate) {
      co_await by_program(exec, c.what, va, bytes);
    } else {
      co_await behind_its_back(exec, c.what, {va, va + bytes});
    }
  }
  Task<void> by_program(cpu::Execution& exec, unsigned what, VirtualAddress va, std::uint64_t bytes) {
    os::Vm& vm = b.vm;
    switch (what) {
      case kRead: co_await vm.touch_range(exec, process, va, bytes, false); break;
      case kDontNeed: co_await vm.madvise(exec, process, va, bytes, os::Advice::dont_need); break;
      case kFree: co_await vm.madvise(exec, process, va, bytes, os::Advice::free); break;
      case kPageOut: co_await vm.madvise(exec, process, va, bytes, os::Advice::page_out); break;
      case kProtectRead: co_await vm.mprotect(exec, process, va, bytes, os::Protection::read); break;
      case kProtectWrite: co_await vm.mprotect(exec, process, va, bytes, os::Protection::read_write); break;
      default: co_await vm.touch_range(exec, process, va, bytes, true);
    }
  }
  Task<void> behind_its_back(cpu::Execution& exec, unsigned what, Range range) {
    os::PageEvents& events = b.vm.page_events();
    switch (what) {
      case kMigrate: co_await events.migrate(exec, process, range, os::PageEvents::Mover::move_pages); break;
      case kCompact: co_await events.migrate(exec, process, range, os::PageEvents::Mover::compaction); break;
      case kMerge: co_await events.merge_equal(exec, process, range); break;
      case kAge: co_await events.age(exec, process, range); break;
      case kWriteProtect: co_await events.write_protect(exec, process, range); break;
      case kUserfault: co_await events.userfault_protect(exec, process, range); break;
      case kNumaHint: co_await events.numa_hint(exec, process, range); break;
      case kCollapse: co_await b.vm.madvise(exec, process, base, kHugePage, os::Advice::collapse); break;
      default: co_await whole(exec, what, range);
    }
  }
  Task<void> whole(cpu::Execution& exec, unsigned what, Range range) {
    if (what == kFork) {
      const auto child = co_await b.vm.fork(exec, process);
      if (child.ok()) co_await b.vm.exit(exec, *child.value);
    } else if (what == kMremap) {
      const auto moved = co_await b.vm.mremap(exec, process, base, kHugePage);
      if (moved.ok()) base = moved.value;
    } else if (what == kFill) {
      co_await b.vm.store(process, range.begin, range.end - range.begin, 7);
    } else {
      co_await b.vm.settled(process, range.begin, range.end - range.begin);
      b.vm.discard(process, range.begin, range.end - range.begin);
    }
  }

  // Two operations side by side; false: the follower has what has gone, or lacks what is there.
  bool run(const Command& one, const Command& two) {
    b.tasks.start(step(b.thread, one));
    b.tasks.start(step(other, two));
    sc_core::sc_start();
    pushing.look();
    return !pushing.holds_what_has_gone && !pushing.lacks_any();
  }

  OsBench& b;
  Process& process;
  VirtualAddress base;
  Pushing pushing;
  Slow slow;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
};

// Whether a follower that is deaf so ever differs from the process's table.
bool is_found_out(Pushing::Deaf deaf) {
  OsBench b(small_swap(os::KernelVersion::linux_6_1), 256 * kMiB);
  std::mt19937 random(1);
  const auto draw = [&random](std::uint64_t end) { return random() % end; };
  Followed followed(b, deaf);
  for (unsigned i = 0; i < 100; ++i) {
    std::array<Command, 2> pair{};
    for (Command& c : pair) {
      const std::uint64_t first = draw(kArena);
      c = {static_cast<unsigned>(draw(kOperations)), first, 1 + draw(kArena - first),
           static_cast<std::int64_t>(draw(9))};
    }
    if (!followed.run(pair[0], pair[1])) return true;
  }
  return false;
}

void check_following(os::KernelVersion version) {
  set_number_of_cases(60);
  OsBench b(small_swap(version), 256 * kMiB);
  CHECK(rc::check([&b] {
    Followed followed(b, Pushing::Deaf::no);
    const auto kinds = *rc::gen::container<std::vector<unsigned>>(80, rc::gen::inRange(0u, unsigned{kOperations}));
    const auto command = [](unsigned kind) {
      const std::uint64_t first = *rc::gen::inRange<std::uint64_t>(0, kArena);
      const std::uint64_t count = *rc::gen::inRange<std::uint64_t>(1, kArena - first + 1);
      return Command{kind, first, count, *rc::gen::inRange<std::int64_t>(0, 9)};
    };
    for (std::size_t i = 0; i + 1 < kinds.size(); i += 2) {
      const Command one = command(kinds[i]);
      const Command two = command(kinds[i + 1]);
      RC_LOG() << one.what << " on " << one.first << " + " << one.count << " at " << one.delay << ", " << two.what
               << " on " << two.first << " + " << two.count << " at " << two.delay << '\n';
      RC_ASSERT(followed.run(one, two));
    }
    b.end(followed.process);
    RC_ASSERT(followed.pushing.pages.empty());
    b.vm.audit();
  }));
}

}  // namespace

TEST_CASE("5.4: who pushes what is usable has never a page that the process has not, and lacks none", "[property]") {
  check_following(os::KernelVersion::linux_5_4);
}
TEST_CASE("6.12: who pushes what is usable has never a page that the process has not, and lacks none", "[property]") {
  check_following(os::KernelVersion::linux_6_12);
}

TEST_CASE("a follower that is added late is told what is usable already") {
  OsBench b;
  const PresentPages pages(b);
  Pushing pushing(*b.process, Pushing::Deaf::no);
  b.vm.add_notifier(*b.process, pushing);
  CHECK(pushing.pages.size() == PresentPages::kPages);
  CHECK_FALSE(pushing.lacks_any());
}

TEST_CASE("such a follower is found out where it is deaf to the begin of changes") {
  CHECK(is_found_out(Pushing::Deaf::to_begin));
}
TEST_CASE("such a follower is found out where it is deaf to what becomes usable") {
  CHECK(is_found_out(Pushing::Deaf::to_usable));
}
TEST_CASE("such a follower that hears both is not found out") { CHECK_FALSE(is_found_out(Pushing::Deaf::no)); }
