// SPDX-License-Identifier: Apache-2.0
// Random sequences of operations on a mapping of the pool of huge pages, its owner's and its children's, beside a model
// without time: who gets a page, who is refused, who loses one; what each reads; and what the pool counts.
#include <rapidcheck.h>

#include <array>
#include <deque>
#include <map>

#include "models/os/events/page_events.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;

namespace hugetlb_model {

constexpr std::size_t kPages = 3;
constexpr std::size_t kProcesses = 3;

// A page of the pool that is in use.
struct ModelCopy {
  unsigned sharers = 0;
  unsigned pins = 0;
  std::uint64_t seed = 0;  // of its content, 0: zeros
};

struct ModelPage {
  unsigned copy = 0;  // 0: absent
  bool writable = false;
  bool reserved = false;
};

struct ModelProcess {
  Process* process;
  bool owner;
  bool lost = false;
  std::array<ModelPage, kPages> pages{};
  std::map<os::PinId, unsigned> pins{};  // the copies that are held
};

enum Operation : unsigned {
  kRead,
  kWrite,
  kFill,
  kPin,
  kUnpin,
  kDontNeed,
  kLock,
  kFork,
  kExit,
  kMove,
  kDisturb,
  kOperations
};

Task<Error> exit(OsBench& b, Process& process) {
  co_await b.vm.exit(b.thread, process);
  co_return Error::none;
}

struct Beside {
  OsBench& b;
  VirtualAddress base = 0;
  std::uint64_t total = b.vm.huge_pool().total_pages();
  std::deque<ModelProcess> processes{};
  std::map<unsigned, ModelCopy> copies{};
  unsigned next_copy = 1;
  std::uint64_t next_seed = 1;

  VirtualAddress at(std::size_t page) const { return base + page * kHugePage; }
  std::uint64_t reserved() const {
    std::uint64_t count = 0;
    for (const ModelProcess& m : processes) {
      for (const ModelPage& page : m.pages) count += page.reserved ? 1 : 0;
    }
    return count;
  }
  bool available() const { return total - copies.size() > reserved(); }
  unsigned new_copy(std::uint64_t seed) {
    copies[next_copy] = {.sharers = 1, .pins = 0, .seed = seed};
    return next_copy++;
  }
  void let_go(ModelPage& page) {
    if (page.copy == 0) return;
    --copies.at(page.copy).sharers;
    tidy(page.copy);
    page.copy = 0;
  }
  void tidy(unsigned copy) {
    if (copies.at(copy).sharers == 0 && copies.at(copy).pins == 0) copies.erase(copy);
  }

  Error access(ModelProcess& m, std::size_t i, bool write) {
    ModelPage& page = m.pages[i];
    if (page.copy == 0) {
      if (m.lost || (!page.reserved && !available())) return Error::no_huge_page;
      page = {.copy = new_copy(0), .writable = write, .reserved = false};
      return Error::none;
    }
    if (!write || page.writable) return Error::none;
    if (copies.at(page.copy).sharers > 1 && available()) {
      const unsigned copy = new_copy(copies.at(page.copy).seed);
      let_go(page);
      page.copy = copy;
    } else if (copies.at(page.copy).sharers > 1) {
      if (!m.owner) return Error::no_huge_page;
      for (ModelProcess& other : processes) {
        if (&other == &m || other.pages[i].copy != page.copy) continue;
        other.lost = true;
        let_go(other.pages[i]);
      }
    }
    page.writable = true;
    return Error::none;
  }

  void step(unsigned what, ModelProcess& m, std::size_t i) {
    switch (what) {
      case kRead:
      case kWrite:
        RC_ASSERT(b.run(b.vm.touch(b.thread, *m.process, at(i), what == kWrite)).value == access(m, i, what == kWrite));
        break;
      case kFill:
        if (!m.pages[i].writable || m.pages[i].copy == 0) break;
        RC_ASSERT(b.vm.fill(*m.process, at(i), kHugePage, next_seed) == kHugePage);
        copies.at(m.pages[i].copy).seed = next_seed++;
        break;
      case kPin: {
        const auto pin = b.run(b.vm.pin_user_pages(b.thread, *m.process, at(i), kHugePage, true)).value;
        RC_ASSERT(pin.error == access(m, i, true));
        if (!pin.ok()) break;
        m.pins[pin.value] = m.pages[i].copy;
        ++copies.at(m.pages[i].copy).pins;
        break;
      }
      case kUnpin: unpin(m); break;
      case kDontNeed:
        RC_ASSERT(b.run(b.vm.madvise(b.thread, *m.process, at(i), kHugePage, Advice::dont_need)).value == Error::none);
        let_go(m.pages[i]);
        m.pages[i].writable = false;
        break;
      case kLock:
        RC_ASSERT(b.run(b.vm.mlock(b.thread, *m.process, at(i) + kPage, kPage)).value == access(m, i, true));
        break;
      case kFork: fork(m); break;
      case kExit:
        if (processes.size() > 1) end_last();
        break;
      case kMove: {
        const bool there = m.pages[i].copy != 0;
        const bool moves = there && available() && copies.at(m.pages[i].copy).pins == 0;
        const os::Range range{at(i), at(i) + kHugePage};
        RC_ASSERT(
            b.run(b.vm.page_events().migrate(b.thread, *m.process, range, os::PageEvents::Mover::move_pages)).value ==
            (moves ? 512u : 0u));
        break;
      }
      default: disturb(m, {at(i), at(i) + kHugePage});
    }
  }

  void unpin(ModelProcess& m) {
    if (m.pins.empty()) return;
    const auto [pin, copy] = *m.pins.begin();
    RC_ASSERT(b.run(b.vm.unpin(b.thread, pin)).value == Error::none);
    m.pins.erase(m.pins.begin());
    --copies.at(copy).pins;
    tidy(copy);
  }

  // Copies of pinned pages are taken as the pages come; what a child has got before one is missing goes again.
  void fork(ModelProcess& m) {
    if (processes.size() == kProcesses) return;
    ModelProcess child{.process = nullptr, .owner = false};
    Error expected = Error::none;
    for (std::size_t i = 0; i < kPages && expected == Error::none; ++i) {
      ModelPage& page = m.pages[i];
      if (page.copy == 0) continue;
      ModelCopy& copy = copies.at(page.copy);
      if (copy.pins > 0) {
        if (!available()) expected = Error::no_memory;
        if (available()) child.pages[i] = {.copy = new_copy(copy.seed), .writable = true, .reserved = false};
        continue;
      }
      ++copy.sharers;
      page.writable = false;
      child.pages[i] = {.copy = page.copy, .writable = false, .reserved = false};
    }
    const auto forked = b.run(b.vm.fork(b.thread, *m.process)).value;
    RC_ASSERT(forked.error == expected);
    if (forked.ok()) {
      child.process = forked.value;
      processes.push_back(child);
    } else {
      for (ModelPage& page : child.pages) let_go(page);
    }
  }

  void end_last() {
    ModelProcess& m = processes.back();
    while (!m.pins.empty()) unpin(m);
    b.run(exit(b, *m.process));
    for (ModelPage& page : m.pages) let_go(page);
    processes.pop_back();
  }

  // None of it is for pages of the pool.
  void disturb(ModelProcess& m, os::Range range) {
    os::PageEvents& events = b.vm.page_events();
    RC_ASSERT(b.run(events.migrate(b.thread, *m.process, range, os::PageEvents::Mover::compaction)).value == 0);
    RC_ASSERT(b.run(events.merge_equal(b.thread, *m.process, range)).value == 0);
    RC_ASSERT(b.run(events.age(b.thread, *m.process, range)).value == 0);
    RC_ASSERT(b.run(events.write_protect(b.thread, *m.process, range)).value == 0);
    RC_ASSERT(b.run(events.numa_hint(b.thread, *m.process, range)).value == 0);
    RC_ASSERT(b.run(b.vm.madvise(b.thread, *m.process, range.begin, kHugePage, Advice::page_out)).value ==
              Error::invalid);
  }

  void check() {
    b.vm.audit();
    for (const ModelProcess& m : processes) {
      for (std::size_t i = 0; i < kPages; ++i) {
        const ModelPage& page = m.pages[i];
        const os::PageState* state = m.process->space().entry(at(i));
        RC_ASSERT((state != nullptr) == (page.copy != 0));
        if (state != nullptr) RC_ASSERT(state->writable == page.writable);
        const std::uint64_t seed = page.copy == 0 ? 0 : copies.at(page.copy).seed;
        const auto expected = seed == 0 ? sim::Content::zeros(kHugePage) : sim::Content::pattern(seed, 0, kHugePage);
        RC_ASSERT(b.vm.read(*m.process, at(i), kHugePage) == expected);
      }
    }
    RC_ASSERT(b.vm.huge_pool().free_pages() == total - copies.size());
    RC_ASSERT(b.vm.huge_pool().reserved_pages() == reserved());
  }
};

TEST_CASE("random operations on hugetlb memory agree with a model without time", "[property]") {
  set_number_of_cases(30, 100, 1);
  OsConfig config;
  config.nr_hugepages = 5;  // three for the owner; its children and copies have to do with two
  config.rlimit_memlock = os::kUnlimited;
  OsBench b(config);
  const auto operations = [&b] {
    Beside both{.b = b};
    Process& owner = *b.vm.create_process("owner");
    both.base = b.vm.map_huge(owner, kPages * kHugePage).value;
    both.processes.push_back({.process = &owner, .owner = true});
    for (ModelPage& page : both.processes.front().pages) page.reserved = true;
    both.check();
    for (const unsigned what :
         *rc::gen::container<std::vector<unsigned>>(60, rc::gen::inRange(0u, unsigned{kOperations}))) {
      auto& process = both.processes[*rc::gen::inRange<std::size_t>(0, both.processes.size())];
      const std::size_t page = *rc::gen::inRange<std::size_t>(0, kPages);
      RC_LOG() << "process " << process.process->id() << ": operation " << what << " on page " << page << '\n';
      both.step(what, process, page);
      both.check();
    }
    while (!both.processes.empty()) both.end_last();
    b.vm.audit();
    RC_ASSERT(b.vm.huge_pool().free_pages() == both.total);
    RC_ASSERT(b.vm.huge_pool().reserved_pages() == 0u);
  };
  CHECK(rc::check(operations));
  for (const char* counter : {"os.hugetlb_refused", "os.hugetlb_unmapped", "os.migrate_restored"}) {
    INFO(counter);
    CHECK(b.counted(counter) > 0);
  }
}

}  // namespace hugetlb_model
