// SPDX-License-Identifier: Apache-2.0
// Random sequences of operations on a process and its children beside a model of plain maps without time: same errors,
// same pages, same contents, and books that agree. What the kernel does behind the programs' backs comes between them.
#include <rapidcheck.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>

#include "models/os/events/khugepaged.hpp"
#include "models/os/events/page_events.hpp"
#include "tests/support/number_of_cases.hpp"
#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using os::Advice;
using os::Protection;

namespace {

constexpr std::uint64_t kPages = 12;  // of the arena that are used; it has 512
constexpr std::uint64_t kLimit = 9;   // RLIMIT_MEMLOCK, in pages

// A page of the arena as a program knows it.
struct ModelPage {
  bool mapped = false;
  bool readable = true;
  bool writable = true;
  bool locked = false;
  bool inherited = true;
  bool present = false;
  bool lazy = false;       // MADV_FREE, and not written since: reclaim may drop it
  std::uint64_t seed = 0;  // of its content, 0: zeros

  bool allows(bool write) const { return mapped && readable && (writable || !write); }
  auto attributes() const { return std::tuple(mapped, readable, writable, locked, inherited); }
};

struct ModelProcess {
  Process* process;
  VirtualAddress base;
  std::array<ModelPage, kPages> pages{};
  std::map<os::PinId, std::uint64_t> pins{};  // that are held, with their number of pages

  template <typename Visit>
  void each(std::uint64_t first, std::uint64_t count, Visit visit) {
    for (std::uint64_t i = first; i < first + count; ++i) visit(pages[i]);
  }
  template <typename Test>
  bool all(std::uint64_t first, std::uint64_t count, Test test) const {
    return std::all_of(pages.begin() + static_cast<std::ptrdiff_t>(first),
                       pages.begin() + static_cast<std::ptrdiff_t>(first + count), test);
  }
  bool mapped(std::uint64_t first, std::uint64_t count) const {
    return all(first, count, [](const ModelPage& p) { return p.mapped; });
  }
  std::uint64_t locked() const {
    return static_cast<std::uint64_t>(std::count_if(pages.begin(), pages.end(), [](auto& p) { return p.locked; }));
  }
  std::uint64_t pinned() const {
    std::uint64_t sum = 0;
    for (const auto& [id, count] : pins) sum += count;
    return sum;
  }
  // Up to the first page that must not be accessed so, as every populate does.
  Error populate(std::uint64_t first, std::uint64_t count, bool write) {
    for (std::uint64_t i = first; i < first + count; ++i) {
      if (!pages[i].allows(write)) return Error::bad_address;
      pages[i].present = true;
      if (write) pages[i].lazy = false;
    }
    return Error::none;
  }
  Error lock(std::uint64_t first, std::uint64_t count) {
    if (!mapped(first, count)) return Error::bad_address;
    std::uint64_t added = 0;
    each(first, count, [&](ModelPage& p) { added += p.locked ? 0 : 1; });
    if (locked() + added > kLimit) return Error::limit;
    each(first, count, [](ModelPage& p) { p.locked = true; });
    return populate(first, count, false);
  }
};

enum Operation : unsigned {
  kMunmap,
  kRead,
  kWrite,
  kMlock,
  kMunlock,
  kPin,
  kUnpin,
  kDiscard,
  kFill,
  kFillAgain,
  kFaultIn,
  kProtectNone,
  kProtectRead,
  kProtectWrite,
  kDontNeed,
  kFree,
  kPopulateRead,
  kPopulateWrite,
  kDontFork,
  kDoFork,
  kMremap,
  kFork,
  kExit,
  kCollapse,
  kCompact,
  kCma,
  kMerge,
  kAge,
  kWriteProtect,
  kNumaHint,
  kPageOut,
  kOperations
};

struct Command {
  unsigned what;
  std::uint64_t first;
  std::uint64_t count;
};

Task<Error> exit(OsBench& b, Process& process) {
  co_await b.vm.exit(b.thread, process);
  co_return Error::none;
}

struct Beside {
  OsBench& b;
  bool huge = false;  // memory may come in huge pages: more is present than what was asked for
  std::deque<ModelProcess> processes{};
  std::uint64_t next_seed = 1;
  os::PageEvents& events = b.vm.page_events();

  Error error_of(Task<Error> operation) { return b.run(std::move(operation)).value; }
  Error advise(ModelProcess& m, const Command& c, Advice advice) {
    return error_of(b.vm.madvise(b.thread, *m.process, m.base + c.first * kPage, c.count * kPage, advice));
  }

  void step(ModelProcess& m, const Command& c) {
    if (c.what < kDontNeed) return change(m, c);
    if (c.what < kCollapse) return advise_or_fork(m, c);
    disturb(m, c);
  }

  void change(ModelProcess& m, const Command& c) {
    const VirtualAddress va = m.base + c.first * kPage;
    const std::uint64_t bytes = c.count * kPage;
    os::Vm& vm = b.vm;
    Process& p = *m.process;
    const Error if_mapped = m.mapped(c.first, c.count) ? Error::none : Error::bad_address;
    switch (c.what) {
      case kMunmap:
        RC_ASSERT(error_of(vm.munmap(b.thread, p, va, bytes)) == Error::none);
        m.each(c.first, c.count, [](ModelPage& page) { page = {}; });
        break;
      case kRead:
      case kWrite: {
        const bool write = c.what == kWrite;
        RC_ASSERT(error_of(vm.touch_range(b.thread, p, va, bytes, write)) == m.populate(c.first, c.count, write));
        break;
      }
      case kMlock: RC_ASSERT(error_of(vm.mlock(b.thread, p, va, bytes)) == m.lock(c.first, c.count)); break;
      case kMunlock:
        RC_ASSERT(error_of(vm.munlock(b.thread, p, va, bytes)) == if_mapped);
        if (if_mapped == Error::none) m.each(c.first, c.count, [](ModelPage& page) { page.locked = false; });
        break;
      case kPin: {
        const auto pin = b.run(vm.pin_user_pages(b.thread, p, va, bytes, true)).value;
        RC_ASSERT(pin.error == (m.pinned() + c.count > kLimit ? Error::limit : m.populate(c.first, c.count, true)));
        if (pin.ok()) m.pins[pin.value] = c.count;
        break;
      }
      case kUnpin:
        if (m.pins.empty()) break;
        RC_ASSERT(error_of(vm.unpin(b.thread, m.pins.begin()->first)) == Error::none);
        m.pins.erase(m.pins.begin());
        break;
      case kDiscard:
        RC_ASSERT(vm.discard(p, va, bytes) == Error::none);
        m.each(c.first, c.count, [](ModelPage& page) { page.present = false, page.seed = 0; });
        break;
      case kFill:
      case kFillAgain:
        for (std::uint64_t i = c.first; i < c.first + c.count; ++i, ++next_seed) {
          const bool there = m.pages[i].present && m.pages[i].allows(true);
          RC_ASSERT(vm.fill(p, m.base + i * kPage, kPage, next_seed) == (there ? kPage : 0));
          if (there) m.pages[i].seed = next_seed;
          if (there) m.pages[i].lazy = false;
        }
        break;
      case kFaultIn:
        // Only a first page that must not be accessed is an error.
        m.populate(c.first, c.count, true);
        RC_ASSERT(b.run(vm.fault_in_pages(b.thread, p, va, bytes, true)).value.error ==
                  (m.pages[c.first].allows(true) ? Error::none : Error::bad_address));
        break;
      default: {
        const auto wanted = c.what == kProtectNone   ? Protection::none
                            : c.what == kProtectRead ? Protection::read
                                                     : Protection::read_write;
        RC_ASSERT(error_of(vm.mprotect(b.thread, p, va, bytes, wanted)) == if_mapped);
        if (if_mapped != Error::none) break;
        m.each(c.first, c.count, [wanted](ModelPage& page) {
          page.readable = wanted != Protection::none;
          page.writable = wanted == Protection::read_write;
        });
      }
    }
  }

  void advise_or_fork(ModelProcess& m, const Command& c) {
    const Error if_mapped = m.mapped(c.first, c.count) ? Error::none : Error::bad_address;
    switch (c.what) {
      case kDontNeed: {
        const bool locked = !m.all(c.first, c.count, [](const ModelPage& p) { return !p.locked; });
        RC_ASSERT(advise(m, c, Advice::dont_need) == (locked ? Error::invalid : if_mapped));
        if (!locked) m.each(c.first, c.count, [](ModelPage& p) { p.present = false, p.seed = 0; });
        break;
      }
      case kFree: {
        const bool locked = !m.all(c.first, c.count, [](const ModelPage& p) { return !p.locked; });
        RC_ASSERT(advise(m, c, Advice::free) == (locked ? Error::invalid : if_mapped));
        if (!locked) m.each(c.first, c.count, [](ModelPage& p) { p.lazy = p.present; });
        break;
      }
      case kPopulateRead:
      case kPopulateWrite: {
        const bool write = c.what == kPopulateWrite;
        const bool allowed = m.all(c.first, c.count, [write](const ModelPage& p) { return p.allows(write); });
        RC_ASSERT(advise(m, c, write ? Advice::populate_write : Advice::populate_read) ==
                  (allowed ? Error::none : Error::bad_address));
        if (allowed) m.populate(c.first, c.count, write);
        break;
      }
      case kDontFork:
      case kDoFork:
        RC_ASSERT(advise(m, c, c.what == kDontFork ? Advice::dont_fork : Advice::do_fork) == if_mapped);
        m.each(c.first, c.count, [&](ModelPage& p) { p.inherited = !p.mapped || c.what == kDoFork; });
        break;
      case kMremap: {
        const bool one = m.all(
            0, kPages, [&](const ModelPage& p) { return p.attributes() == std::tuple(true, true, true, false, true); });
        const auto moved = b.run(b.vm.mremap(b.thread, *m.process, m.base, kHugePage)).value;
        RC_ASSERT(moved.error == (one ? Error::none : Error::bad_address));
        if (one) m.base = moved.value;
        break;
      }
      case kFork: {
        if (processes.size() == 3) break;
        const auto child = b.run(b.vm.fork(b.thread, *m.process)).value;
        RC_ASSERT(child.ok());
        ModelProcess inherited{.process = child.value, .base = m.base, .pages = m.pages};
        for (ModelPage& page : inherited.pages) {
          page.locked = false;
          if (!page.inherited) page = {};
        }
        processes.push_back(inherited);
        break;
      }
      default: {
        if (processes.size() == 1) break;
        b.run(exit(b, *processes.back().process));
        processes.pop_back();
      }
    }
  }

  // None of it changes what the program sees, but that a collapse fills the holes and reclaim drops what is lazily
  // free.
  void disturb(ModelProcess& m, const Command& c) {
    const os::Range range{m.base + c.first * kPage, m.base + (c.first + c.count) * kPage};
    Process& p = *m.process;
    switch (c.what) {
      case kCollapse: {
        const VirtualAddress all = m.base / kHugePage * kHugePage;
        const Error error = error_of(b.vm.madvise(b.thread, p, all, kHugePage, Advice::collapse));
        RC_ASSERT(error == Error::none || error == Error::again);
        if (error == Error::none) m.each(0, kPages, [](ModelPage& page) { page.present = true; });
        break;
      }
      case kCompact: b.run(events.migrate(b.thread, p, range, os::PageEvents::Mover::compaction)); break;
      case kCma: b.run(events.migrate(b.thread, p, range, os::PageEvents::Mover::move_pages)); break;
      case kMerge: b.run(events.merge_equal(b.thread, p, range)); break;
      case kAge: b.run(events.age(b.thread, p, range)); break;
      case kPageOut: {
        const bool locked = !m.all(c.first, c.count, [](const ModelPage& page) { return !page.locked; });
        const Error if_mapped = m.mapped(c.first, c.count) ? Error::none : Error::bad_address;
        RC_ASSERT(advise(m, c, Advice::page_out) == (locked ? Error::invalid : if_mapped));
        for (std::uint64_t i = c.first; i < c.first + c.count; ++i) {
          const bool gone = p.space().entry(m.base + i * kPage) == nullptr;
          if (gone && m.pages[i].lazy) m.pages[i].present = m.pages[i].lazy = false, m.pages[i].seed = 0;
        }
        break;
      }
      case kWriteProtect: b.run(events.write_protect(b.thread, p, range)); break;
      default:
        // Linux has no NUMA hints on what nobody may access.
        if (m.all(c.first, c.count, [](const ModelPage& page) { return page.allows(false); })) {
          b.run(events.numa_hint(b.thread, p, range));
        }
    }
  }

  void check(bool audit) {
    if (audit) b.vm.audit();
    std::uint64_t locked = 0;
    std::uint64_t pinned = 0;
    for (ModelProcess& m : processes) {
      for (std::uint64_t i = 0; i < kPages; ++i) {
        ModelPage& page = m.pages[i];
        const VirtualAddress va = m.base + i * kPage;
        const bool present = m.process->space().entry(va) != nullptr;
        if (huge && page.mapped && present) page.present = true;
        RC_ASSERT(present == page.present);
        RC_ASSERT((m.process->space().find(va) != nullptr) == page.mapped);
        const auto expected = page.seed == 0 ? sim::Content::zeros(kPage) : sim::Content::pattern(page.seed, 0, kPage);
        RC_ASSERT(b.vm.read(*m.process, va, kPage) == expected);
      }
      RC_ASSERT(m.process->space().locked_bytes() == m.locked() * kPage);
      RC_ASSERT(m.process->space().pinned_bytes() == m.pinned() * kPage);
      locked += m.locked();
      pinned += m.pinned();
    }
    RC_ASSERT(b.vm.locked_bytes() == locked * kPage);
    RC_ASSERT(b.vm.pinned_bytes() == pinned * kPage);
    const auto& frames = b.vm.frames();
    RC_ASSERT(frames.used_pages() + frames.free_pages() == frames.total_pages());
  }
};

// The first read of 2 MiB makes it, for good: it is nobody's loss.
void make_huge_zero_page(OsBench& b) {
  Process& reader = *b.vm.create_process("reader");
  const VirtualAddress va = b.vm.map(reader, kHugePage, kHugePage).value;
  b.run(b.vm.touch_range(b.thread, reader, va, kPage, /*write=*/false));
  b.run(exit(b, reader));
}

void check_operations(OsConfig config, bool huge) {
  config.rlimit_memlock = kLimit * kPage;
  config.swap_bytes = 2 * kPages * kPage;  // three processes may want more
  set_number_of_cases(200);
  OsBench b(config, 256 * kMiB);
  if (huge) make_huge_zero_page(b);
  const auto operations = [&b, huge] {
    const auto used = b.used();
    const auto merged = b.counted("os.ksm_pages_merged");
    Beside both{.b = b, .huge = huge};
    Process& first_process = *b.vm.create_process("first");
    both.processes.push_back({.process = &first_process, .base = b.vm.map(first_process, kHugePage, kHugePage).value});
    for (ModelPage& page : both.processes[0].pages) page.mapped = true;
    unsigned steps = 0;
    const auto kinds = *rc::gen::container<std::vector<unsigned>>(100, rc::gen::inRange(0u, 3u * kOperations));
    for (const unsigned kind : kinds) {
      const std::uint64_t first = *rc::gen::inRange<std::uint64_t>(0, kPages);
      const std::uint64_t count = *rc::gen::inRange<std::uint64_t>(1, kPages - first + 1);
      auto& process = both.processes[*rc::gen::inRange<std::size_t>(0, both.processes.size())];
      // munmap and PROT_NONE are rare, or little stays to be looked at.
      const unsigned what = kind % kOperations;
      const bool rare = what == kMunmap || what == kProtectNone;
      const Command command{rare && kind >= kOperations ? unsigned{kWrite} : what, first, count};
      RC_LOG() << "process " << process.process->id() << ": operation " << command.what << " on " << first << " + "
               << count << '\n';
      both.step(process, command);
      both.check(/*audit=*/++steps % 5 == 0);
    }
    for (const ModelProcess& m : both.processes) b.run(exit(b, *m.process));
    b.vm.audit();
    // KSM's other sharers hold what they had.
    RC_ASSERT(b.used() - (b.counted("os.ksm_pages_merged") - merged) == used);
  };
  CHECK(rc::check(operations));
  if (!huge) return;
  for (const char* counter : {"os.thp_fault_alloc", "os.thp_zero_page_alloc", "os.thp_split_pmd"}) {
    INFO(counter);
    CHECK(b.counted(counter) > 0);
  }
}

}  // namespace

TEST_CASE("random operations agree with a model of plain maps", "[property]") { check_operations({}, /*huge=*/false); }

TEST_CASE("random operations agree with a model of plain maps where memory comes in huge pages", "[property]") {
  OsConfig config;
  config.thp = os::ThpMode::always;
  check_operations(config, /*huge=*/true);
}
