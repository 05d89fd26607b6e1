// SPDX-License-Identifier: Apache-2.0
#include "workloads/injection.hpp"

#include "models/os/reclaim/reclaim.hpp"

namespace faultline::workloads {

using os::Advice;
using os::kHugePage;
using os::kPage;
using sim::Task;

void InjectionConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("inject");
  table.add_choice("mechanism", mechanism,
                   {{"none", Mechanism::none},
                    {"collapse", Mechanism::collapse},
                    {"thp-split", Mechanism::thp_split},
                    {"compaction", Mechanism::compaction},
                    {"compact-memory", Mechanism::compact_memory},
                    {"longterm-pin", Mechanism::longterm_pin},
                    {"cma-alloc", Mechanism::cma_alloc},
                    {"move-pages", Mechanism::move_pages},
                    {"numa-hint", Mechanism::numa_hint},
                    {"ksm", Mechanism::ksm},
                    {"ageing", Mechanism::ageing},
                    {"clear-refs", Mechanism::clear_refs},
                    {"idle-tracking", Mechanism::idle_tracking},
                    {"write-protect", Mechanism::write_protect},
                    {"fork", Mechanism::fork},
                    {"fork-child-lives", Mechanism::fork_child_lives},
                    {"userfault-wp", Mechanism::userfault_wp},
                    {"lock-on-fault", Mechanism::lock_on_fault},
                    {"zero-page", Mechanism::zero_page},
                    {"truncate", Mechanism::truncate},
                    {"dont-need", Mechanism::dont_need},
                    {"memory-failure", Mechanism::memory_failure},
                    {"reclaim", Mechanism::reclaim}},
                   {"what the kernel does to the buffer's pages while transfers use them, or has done before", "", {}});
  table.add_choice("end", at_source, {{"destination", false}, {"source", true}},
                   {"end of the transfers whose buffer it happens to", "", {}});
  table.add_time("after", after, {0ns, 100s}, {"time from the first measured transfer on without injections", "", {}});
  table.add_time("period", period, {1us, 100s},
                 {"one injection happens in each such time, at an instant of it that is drawn", "", {}});
  table.add_count("count", count, {std::uint64_t{1}, std::uint64_t{100'000}}, {"injections, at most", "", {}});
  table.add_time(
      "child_life", child_life, {0ns, 100s},
      {"of fork-child-lives: how long each child lives, during which the program stores to its buffer before "
       "each transfer",
       "",
       {}});
  table.add_count("draw", draw, {std::uint64_t{1}, std::uint64_t{1'000'000}},
                  {"runs that differ in this number alone have their injections at other instants", "", {}});
}

Injection::Injection(const InjectionConfig& config, sim::Seed seed)
    : config_(config), times_(seed + (config.draw << 32), "injections") {}

Task<void> Injection::before_preparation(cpu::Execution& thread, Buffer b) const {
  if (config_.mechanism == Mechanism::thp_split) {
    b.vm.discard(b.process, b.begin, b.bytes);
    co_await b.vm.madvise(thread, b.process, b.begin, b.bytes, Advice::hugepage);
    b.vm.make_present(b.process, b.begin, b.bytes);
  }
  if (config_.mechanism == Mechanism::longterm_pin || config_.mechanism == Mechanism::cma_alloc) {
    b.vm.discard(b.process, b.begin, b.bytes);
    b.vm.cma().bring_into_area(b.process, b.begin, b.bytes);
    b.vm.make_present(b.process, b.begin, b.bytes);  // what does not fit there
  }
  if (config_.mechanism == Mechanism::zero_page) {
    b.vm.discard(b.process, b.begin, b.bytes);
    co_await b.vm.touch_range(thread, b.process, b.begin, b.bytes, /*write=*/false);
  }
}

namespace {

// Another thread of the program does it, by a system call. All else the kernel does, or a process of somebody else.
bool is_of_program(Mechanism m) {
  switch (m) {
    case Mechanism::thp_split:
    case Mechanism::write_protect:
    case Mechanism::fork:
    case Mechanism::fork_child_lives:
    case Mechanism::lock_on_fault:
    case Mechanism::dont_need: return true;
    default: return false;
  }
}

}  // namespace

Task<void> Injection::run(cpu::Cpu& cpu, sim::Vector<Buffer> buffers, bool locked) {
  const Mechanism m = config_.mechanism;
  if (m == Mechanism::zero_page) injections_ = buffers.size();  // it has happened
  if (m == Mechanism::none || m == Mechanism::zero_page || (m == Mechanism::lock_on_fault && !locked)) co_return;
  const cpu::Kernel& kernel = buffers.front().vm.config().kernel;
  if (m == Mechanism::userfault_wp && !kernel.has(os::Change::userfault_protection)) co_return;
  buffers.front().vm.observe_changes([this, process = &buffers.front().process](const os::Process& whose, unsigned n) {
    if (&whose == process) count(n);
  });
  cpu::Execution& exec = cpu.new_thread("injection");
  if (is_of_program(m)) exec.use(buffers.front().process.id());
  buffers.front().vm.injects(exec);
  const sim::Time begin = cpu.context().now() + config_.after;
  const auto period = static_cast<std::uint64_t>(config_.period.count());
  for (std::uint64_t i = 0; i < config_.count; ++i) {
    const std::uint64_t at = i * period + times_.below(period);
    co_await cpu.context().loop.until(begin + sim::Time{static_cast<std::int64_t>(at)});
    if (ended_) co_return;
    for (const Buffer& buffer : buffers) {
      const bool can_happen = can_happen_to(buffer);
      ++(can_happen ? injections_ : in_vain_);
      if (can_happen) co_await inject(cpu, exec, buffer);
    }
  }
}

bool Injection::can_happen_to(const Buffer& b) const {
  if (config_.mechanism != Mechanism::collapse && config_.mechanism != Mechanism::thp_split) return true;
  const os::Range blocks = os::whole_huge_pages({b.begin, b.begin + b.bytes});
  return blocks.begin < blocks.end;
}

Task<void> Injection::inject(cpu::Cpu& cpu, cpu::Execution& exec, Buffer b) {
  const os::Range range{b.begin, b.begin + b.bytes};
  os::PageEvents& events = b.vm.page_events();
  switch (config_.mechanism) {
    case Mechanism::none:
    case Mechanism::zero_page: break;
    case Mechanism::collapse: co_return co_await collapse(exec, b);
    case Mechanism::thp_split: co_return co_await split(exec, b);
    case Mechanism::compaction:
      co_await events.migrate(exec, b.process, range, os::PageEvents::Mover::compaction);
      break;
    case Mechanism::compact_memory: co_await b.vm.compaction().compact_memory(exec); break;
    case Mechanism::longterm_pin: co_return co_await pin(exec, b);
    case Mechanism::cma_alloc: co_return co_await claim_cma(exec, b);
    case Mechanism::move_pages:
      co_await events.migrate(exec, b.process, range, os::PageEvents::Mover::move_pages);
      break;
    case Mechanism::numa_hint: co_await events.numa_hint(exec, b.process, range); break;
    case Mechanism::ksm: co_await events.merge_equal(exec, b.process, range); break;
    case Mechanism::ageing: co_await events.age(exec, b.process, range); break;
    case Mechanism::clear_refs: co_await events.clear_refs(exec, b.process); break;
    case Mechanism::idle_tracking: events.mark_idle(exec, b.process, range); break;
    case Mechanism::write_protect: co_await events.write_protect(exec, b.process, range); break;
    case Mechanism::userfault_wp: co_await events.userfault_protect(exec, b.process, range); break;
    case Mechanism::fork:
    case Mechanism::fork_child_lives: co_return co_await fork(cpu, exec, b);
    case Mechanism::truncate: co_await events.truncate(exec, b.process, range); break;
    case Mechanism::dont_need: co_return co_await drop(exec, b);
    case Mechanism::lock_on_fault: co_return co_await lock_on_fault(exec, b);
    case Mechanism::reclaim: co_return co_await reclaim(exec, b);
    case Mechanism::memory_failure: {
      const os::VirtualAddress page = b.begin + times_.below(b.bytes / kPage) * kPage;
      co_await events.poison(exec, b.process, {page, page + kPage});
    }
  }
}

Task<void> Injection::drop(cpu::Execution& exec, Buffer b) {
  const bool locked_too = b.vm.config().kernel.has(os::Change::dontneed_locked);
  const Advice advice = locked_too ? Advice::dont_need_locked : Advice::dont_need;
  co_await b.registration.unmapping(exec, {b.begin, b.begin + b.bytes});
  const os::Error error = co_await b.vm.madvise(exec, b.process, b.begin, b.bytes, advice);
  if (error == os::Error::none) count(b.bytes / kPage);
}

Task<void> Injection::reclaim(cpu::Execution& exec, Buffer b) {
  if (b.vm.config().kernel.has(os::Change::madv_pageout)) {
    co_await b.vm.madvise(exec, b.process, b.begin, b.bytes, Advice::page_out);
  } else {
    co_await b.vm.reclaim().page_out(exec, b.process, {b.begin, b.begin + b.bytes});
  }
}

Task<void> Injection::lock_on_fault(cpu::Execution& exec, Buffer b) {
  co_await b.vm.munlock(exec, b.process, b.begin, b.bytes);
  co_await b.registration.unmapping(exec, {b.begin, b.begin + b.bytes});
  co_await b.vm.madvise(exec, b.process, b.begin, b.bytes, Advice::dont_need);
  co_await b.vm.mlock(exec, b.process, b.begin, b.bytes, /*on_fault=*/true);
  count(b.bytes / kPage);
}

// As long as the scan finds a range unfit it is looked at again, until it would be time for the next injection.
Task<void> Injection::collapse(cpu::Execution& exec, Buffer b) {
  const sim::Context& context = b.vm.context();
  const sim::Time end = context.now() + config_.period;
  const os::Range blocks = os::whole_huge_pages({b.begin, b.begin + b.bytes});
  for (os::VirtualAddress va = blocks.begin; va < blocks.end; va += kHugePage) {
    auto outcome = os::Khugepaged::Outcome::unfit;
    while (outcome == os::Khugepaged::Outcome::unfit && context.now() < end && !b.process.space().is_huge(va)) {
      outcome = co_await b.vm.khugepaged().collapse(exec, b.process, va, os::Khugepaged::Wish::advice);
    }
  }
}

// Other advice for its first page cuts the VMA, and with it the huge page.
Task<void> Injection::split(cpu::Execution& exec, Buffer b) {
  for (os::VirtualAddress va = b.begin; va < b.begin + b.bytes; va += kHugePage) {
    if (!b.process.space().is_huge(va)) continue;
    const auto error = co_await b.vm.madvise(exec, b.process, va, kPage, Advice::dont_fork);
    if (error == os::Error::none) count(os::kPagesPerHuge);
  }
}

// The child goes on to run something else: its memory is gone (exec). Or it keeps it for a while.
Task<void> Injection::fork(cpu::Cpu& cpu, cpu::Execution& exec, Buffer b) {
  co_await b.registration.forking(exec);
  const auto child = co_await b.vm.fork(exec, b.process);
  if (!child.ok()) co_return;
  count(b.bytes / kPage);
  if (config_.mechanism == Mechanism::fork_child_lives) {
    children_.start(live(cpu.new_thread("child").use(child.value->id()), b.vm, *child.value));
  } else {
    co_await b.vm.exit(exec, *child.value);
  }
}

Task<void> Injection::live(cpu::Execution& exec, os::Vm& vm, os::Process& child) const {
  co_await vm.context().loop.delay(config_.child_life);
  co_await vm.exit(exec, child);
}

// io_uring's fixed buffers, or another device's driver.
Task<void> Injection::pin(cpu::Execution& exec, Buffer b) {
  const auto pinned = co_await b.vm.pin_user_pages(exec, b.process, b.begin, b.bytes, /*write=*/true);
  if (pinned.ok()) co_await b.vm.unpin(exec, pinned.value);
}

// A driver that wants just the pieces where the buffer lies, one after the other, and gives them back at once.
Task<void> Injection::claim_cma(cpu::Execution& exec, Buffer b) {
  os::Cma& cma = b.vm.cma();
  const auto frame_of = [&](os::VirtualAddress va) -> os::Address {
    const os::PageState* page = b.process.space().entry(va);
    return page != nullptr && page->has_frame() && cma.holds(page->frame) ? page->frame : 0;
  };
  for (os::VirtualAddress va = b.begin; va < b.begin + b.bytes; va += kPage) {
    const os::Address begin = frame_of(va);
    if (begin == 0) continue;
    std::uint64_t pages = 1;
    while (va + kPage < b.begin + b.bytes && frame_of(va + kPage) == begin + pages * kPage) {
      va += kPage;
      ++pages;
    }
    if (co_await cma.allocate_at(exec, begin, pages)) cma.release(begin);
  }
}

}  // namespace faultline::workloads
