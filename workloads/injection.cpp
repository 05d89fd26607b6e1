// SPDX-License-Identifier: Apache-2.0
#include "workloads/injection.hpp"

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
                    {"cma", Mechanism::cma},
                    {"numa-hint", Mechanism::numa_hint},
                    {"ksm", Mechanism::ksm},
                    {"ageing", Mechanism::ageing},
                    {"write-protect", Mechanism::write_protect},
                    {"fork", Mechanism::fork},
                    {"lock-on-fault", Mechanism::lock_on_fault},
                    {"zero-page", Mechanism::zero_page},
                    {"truncate", Mechanism::truncate},
                    {"dont-need", Mechanism::dont_need},
                    {"memory-failure", Mechanism::memory_failure}},
                   {"what the kernel does to the buffer's pages while transfers use them, or has done before", "", {}});
  table.add_choice("end", at_source, {{"destination", false}, {"source", true}},
                   {"end of the transfers whose buffer it happens to", "", {}});
  table.add_time("after", after, {0ns, 100s}, {"time from the first measured transfer on without injections", "", {}});
  table.add_time("period", period, {1us, 100s},
                 {"one injection happens in each such time, at an instant of it that is drawn", "", {}});
  table.add_count("count", count, {std::uint64_t{1}, std::uint64_t{100'000}}, {"injections, at most", "", {}});
  table.add_count("draw", draw, {std::uint64_t{1}, std::uint64_t{1'000'000}},
                  {"runs that differ in this number alone have their injections at other instants", "", {}});
}

Injection::Injection(const InjectionConfig& config, std::uint64_t seed)
    : config_(config), times_(seed + (config.draw << 32), "injections") {}

Task<void> Injection::before_preparation(cpu::Execution& thread, Buffer b) const {
  if (config_.mechanism == Mechanism::thp_split) {
    b.vm.discard(b.process, b.begin, b.bytes);
    co_await b.vm.madvise(thread, b.process, b.begin, b.bytes, Advice::hugepage);
    b.vm.make_present(b.process, b.begin, b.bytes);
  }
  if (config_.mechanism == Mechanism::zero_page) {
    b.vm.discard(b.process, b.begin, b.bytes);
    co_await b.vm.madvise(thread, b.process, b.begin, b.bytes, Advice::populate_read);
  }
}

Task<void> Injection::after_preparation(cpu::Execution& thread, Buffer b, bool locked) {
  const bool happened = config_.mechanism == Mechanism::zero_page ||
                        (config_.mechanism == Mechanism::lock_on_fault && locked);
  if (!happened) co_return;
  ++injections_;
  pages_ += b.bytes / kPage;
  if (config_.mechanism == Mechanism::zero_page) co_return;
  co_await b.vm.munlock(thread, b.process, b.begin, b.bytes);
  b.vm.discard(b.process, b.begin, b.bytes);
  co_await b.vm.mlock(thread, b.process, b.begin, b.bytes, /*on_fault=*/true);
}

Task<void> Injection::run(cpu::Cpu& cpu, sim::Vector<Buffer> buffers) {
  if (config_.mechanism == Mechanism::none || config_.mechanism == Mechanism::zero_page ||
      config_.mechanism == Mechanism::lock_on_fault) {
    co_return;
  }
  cpu::Execution& exec = cpu.new_thread("injection");
  const sim::Time begin = cpu.context().now() + config_.after;
  const auto period = static_cast<std::uint64_t>(config_.period.count());
  for (std::uint64_t i = 0; i < config_.count; ++i) {
    const std::uint64_t at = i * period + times_.below(period);
    co_await cpu.context().loop.until(begin + sim::Time{static_cast<std::int64_t>(at)});
    for (const Buffer& buffer : buffers) {
      ++injections_;
      pages_ += co_await inject(exec, buffer);
    }
  }
}

Task<unsigned> Injection::inject(cpu::Execution& exec, Buffer b) {
  const os::Range range{b.begin, b.begin + b.bytes};
  os::PageEvents& events = b.vm.page_events();
  switch (config_.mechanism) {
    case Mechanism::collapse: return collapse(exec, b);
    case Mechanism::thp_split: return split(exec, b);
    case Mechanism::compaction: return events.migrate(exec, b.process, range, os::PageEvents::Mover::compaction);
    case Mechanism::cma: return events.migrate(exec, b.process, range, os::PageEvents::Mover::cma);
    case Mechanism::numa_hint: return events.numa_hint(exec, b.process, range);
    case Mechanism::ksm: return events.merge_equal(exec, b.process, range);
    case Mechanism::ageing: return events.age(exec, b.process, range);
    case Mechanism::write_protect: return events.write_protect(exec, b.process, range);
    case Mechanism::fork: return fork(exec, b);
    case Mechanism::truncate: return events.truncate(exec, b.process, range);
    case Mechanism::memory_failure: {
      const os::VirtualAddress page = b.begin + times_.below(b.bytes / kPage) * kPage;
      return events.poison(exec, b.process, {page, page + kPage});
    }
    default: break;
  }
  return drop(exec, b);
}

Task<unsigned> Injection::drop(cpu::Execution& exec, Buffer b) {
  const os::Error error = co_await b.vm.madvise(exec, b.process, b.begin, b.bytes, Advice::dont_need_locked);
  co_return error == os::Error::none ? static_cast<unsigned>(b.bytes / kPage) : 0;
}

Task<unsigned> Injection::collapse(cpu::Execution& exec, Buffer b) {
  unsigned collapsed = 0;
  for (os::VirtualAddress va = (b.begin + kHugePage - 1) / kHugePage * kHugePage; va + kHugePage <= b.begin + b.bytes;
       va += kHugePage) {
    const auto outcome = co_await b.vm.khugepaged().collapse(exec, b.process, va, os::Khugepaged::Wish::advice);
    if (outcome == os::Khugepaged::Outcome::collapsed) collapsed += os::kPagesPerHuge;
  }
  co_return collapsed;
}

// Different advice for its first page cuts the VMA, and with it the huge page.
Task<unsigned> Injection::split(cpu::Execution& exec, Buffer b) {
  unsigned split_pages = 0;
  for (os::VirtualAddress va = b.begin; va < b.begin + b.bytes; va += kHugePage) {
    if (!b.process.space().is_huge(va)) continue;
    const auto error = co_await b.vm.madvise(exec, b.process, sim::page_begin(va), kPage, Advice::dont_fork);
    if (error == os::Error::none) split_pages += os::kPagesPerHuge;
  }
  co_return split_pages;
}

Task<unsigned> Injection::fork(cpu::Execution& exec, Buffer b) {
  const auto pages = static_cast<unsigned>(b.bytes / kPage);
  const auto child = co_await b.vm.fork(exec, b.process);
  if (!child.ok()) co_return 0;
  // It runs something else by then (exec).
  co_await b.vm.exit(exec, *child.value);
  co_return pages;
}

}  // namespace faultline::workloads
