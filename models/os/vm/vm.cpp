// SPDX-License-Identifier: Apache-2.0
// The system calls that map, unmap and lock. Advice and protection: vm_change.cpp; fork: vm_fork.cpp; faults:
// vm_fault.cpp; pins: vm_pin.cpp; device tables: vm_device.cpp; what takes no time: vm_setup.cpp.
#include "models/os/vm/vm.hpp"
#include "models/os/vm/told_call.hpp"

#include <algorithm>
#include <bit>

namespace faultline::os {

Vm::Vm(const OsConfig& config, const sim::Context& context, memory::FrameStore& store, cpu::Cpu& cpu)
    : core_(config, context, store, cpu),
      disk_(context.loop, {.read_latency = config.disk_read_latency,
                           .write_latency = config.disk_write_latency,
                           .bandwidth = config.disk_bandwidth,
                           .queue_depth = config.disk_queue_depth}) {
  core_.attach(swap_, reclaim_);
}

sim::Time Vm::WalkCost::of(std::uint64_t pages, bool huge) const {
  const sim::Time singly = per_page * static_cast<std::int64_t>(pages);
  return huge ? std::min(singly, per_huge_page) : singly;
}

// The whole pages that [va, va + bytes) touches.
Result<Range> Vm::pages_around(const Process& process, VirtualAddress va, std::uint64_t bytes) {
  const VirtualAddress top = process.space().all().end;
  if (bytes == 0) return {.error = Error::invalid};
  if (va >= top || bytes > top - va) return {.error = Error::bad_address};
  return {.value = {sim::page_begin(va), sim::page_end(va + bytes)}};
}

// The same where Linux asks for an aligned address.
Result<Range> Vm::aligned_pages(const Process& process, VirtualAddress va, std::uint64_t bytes) {
  const auto range = pages_around(process, va, bytes);
  if (range.ok() && va % kPage != 0) return {.error = Error::invalid};
  return range;
}

sim::Task<Result<VirtualAddress>> Vm::mmap(cpu::Execution& exec, Process& process, std::uint64_t bytes,
                                           MmapOptions options) {
  const ToldCall told(core_.context, exec, process, "mmap");
  co_await run(exec, core_.config.mmap_fixed);
  const bool misplaced = options.offset % kPage != 0 || (options.shared && options.file == nullptr) ||
                         (options.hugetlb && options.file != nullptr);
  if (bytes == 0 || options.alignment < kPage || !std::has_single_bit(options.alignment) || misplaced) {
    co_return Result<VirtualAddress>{.error = Error::invalid};
  }
  const std::uint64_t grain = options.hugetlb ? kHugePage : kPage;
  const std::uint64_t length = options.hugetlb ? huge_page_end(bytes) : sim::page_end(bytes);
  AddressSpace& space = Mm::of(process).space;
  co_await Mm::of(process).lock.lock_exclusive(core_.cpu, exec);
  Result<VirtualAddress> result;
  const auto gap = length < bytes ? std::nullopt : space.find_gap(length, std::max(options.alignment, grain));
  if (!gap) {
    result.error = Error::no_memory;
  } else if (options.locked && exceeds_limit(space.locked_bytes() + length)) {
    ++core_.counters.limit_refusals;
    result.error = Error::limit;
  } else if (options.hugetlb && !core_.huge_pool.reserve(process, {*gap, *gap + length})) {
    ++core_.counters.hugetlb_refused;
    result.error = Error::no_huge_page;
  } else {
    const Range range{*gap, *gap + length};
    result.value = range.begin;
    space.insert(Vma{.begin = range.begin,
                     .end = range.end,
                     .writable = options.writable,
                     .shared = options.shared,
                     .reserves = options.hugetlb,
                     .advice = options.advice,
                     .hugetlb = options.hugetlb ? core_.huge_pool.new_mapping() : 0,
                     .file = options.file,
                     .file_origin = options.file != nullptr || options.hugetlb ? range.begin - options.offset : 0});
    if (options.locked) set_locked(process, range, true);
    if (core_.config.thp == ThpMode::always || options.advice == HugeAdvice::huge) khugepaged_.start();
  }
  Mm::of(process).lock.downgrade();
  if (result.ok() && (options.populate || options.locked)) {
    const WalkCost cost = options.locked ? mlock_cost() : gup_cost();
    const Range range{result.value, result.value + length};
    // Linux's mm_populate ignores errors here: the access that finds the page absent meets them again.
    co_await populate(exec, process, range, Access::as_mapped, cost, nullptr);
  }
  Mm::of(process).lock.unlock_shared();
  co_return result;
}

sim::Task<void> Vm::populate_mapping(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  const ToldCall told(core_.context, exec, process, "populate (MAP_POPULATE)", va, bytes);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return;
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  co_await populate(exec, process, range.value, Access::as_mapped, gup_cost(), nullptr);
  Mm::of(process).lock.unlock_shared();
}

sim::Task<Error> Vm::munmap(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  const ToldCall told(core_.context, exec, process, "munmap", va, bytes);
  co_await run(exec, core_.config.munmap_fixed);
  const auto range = aligned_pages(process, va, bytes);
  if (!range.ok() || cuts_huge_page(process, range.value)) co_return Error::invalid;
  co_await core_.lock_for_change(exec, process, range.value);
  const Error split = co_await core_.split_edges(exec, process, range.value);
  if (split == Error::none) {
    set_locked(process, range.value, false);
    Mm::of(process).space.erase(range.value.begin, range.value.end);
  }
  // Without a VMA nobody faults on the range, and no new mapping gets it before this call has let go of the locks.
  const bool shared = core_.config.kernel.has(Change::munmap_downgrades);
  if (shared) Mm::of(process).lock.downgrade();
  if (split == Error::none) {
    co_await core_.unmap(exec, process, range.value, Taker::unmapping);
    core_.huge_pool.release(process, range.value);
  }
  if (shared) {
    Mm::of(process).lock.unlock_shared();
  } else {
    Mm::of(process).lock.unlock_exclusive();
  }
  co_return split;
}

sim::Task<Error> Vm::mlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                           bool on_fault) {
  const ToldCall told(core_.context, exec, process, "mlock", va, bytes);
  co_await run(exec, core_.config.mlock_fixed);
  if (!core_.config.kernel.has(Change::mlock_as_it_is)) co_await core_.batches.drain(exec);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  const auto [begin, end] = range.value;
  AddressSpace& space = Mm::of(process).space;
  co_await core_.lock_for_change(exec, process, range.value);
  Error error = Error::none;
  if (!space.covered(begin, end)) {
    error = Error::bad_address;
  } else if (exceeds_limit(space.locked_bytes() + (end - begin) - space.locked_bytes(begin, end))) {
    ++core_.counters.limit_refusals;
    error = Error::limit;
  } else {
    error = co_await core_.split_edges(exec, process, range.value);
  }
  if (error != Error::none) {
    Mm::of(process).lock.unlock_exclusive();
    co_return error;
  }
  set_locked(process, range.value, true);
  Mm::of(process).lock.downgrade();
  Result<std::uint64_t> populated;
  if (!on_fault) populated = co_await populate(exec, process, range.value, Access::as_mapped, mlock_cost(), nullptr);
  Mm::of(process).lock.unlock_shared();
  co_return populated.error;
}

sim::Task<Error> Vm::munlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  const ToldCall told(core_.context, exec, process, "munlock", va, bytes);
  co_await run(exec, core_.config.mlock_fixed);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  co_await core_.lock_for_change(exec, process, range.value);
  Error error = Mm::of(process).space.covered(range.value.begin, range.value.end) ? Error::none : Error::bad_address;
  if (error == Error::none) error = co_await core_.split_edges(exec, process, range.value);
  if (error == Error::none) {
    TableWalk walk = locked_leaves(process, range.value);
    set_locked(process, range.value, false);
    co_await core_.run_walk(exec, core_.config.munlock_per_page, std::move(walk));
  }
  Mm::of(process).lock.unlock_exclusive();
  co_return error;
}

void Vm::set_locked(Process& process, Range range, bool locked) {
  const std::uint64_t before = Mm::of(process).space.locked_bytes();
  const bool changes = locked || Mm::of(process).space.locked_bytes(range.begin, range.end) > 0;
  Mm::of(process).space.set_locked(range.begin, range.end, locked);
  if (changes) relist(process, range, locked);
  locked_bytes_ = locked_bytes_ - before + Mm::of(process).space.locked_bytes();
  core_.counters.locked_bytes_peak.raise_to(locked_bytes_);
}

// mlock takes pages off the lists that reclaim looks at; munlock brings back those that nobody else locks.
void Vm::relist(const Process& process, Range range, bool locked) {
  Mm::of(process).space.for_each_leaf(range.begin, range.end, [&](VirtualAddress va, PageSize) {
    const PageState& page = *Mm::of(process).space.entry(va);
    if (!page.has_frame()) return;
    const FrameRecord& record = core_.frame_table.at(page.frame);
    const bool unevictable = record.list == LruList::unevictable;
    if (unevictable == locked || core_.evictable(page.frame) == locked) return;
    core_.lru(record).move(page.frame, locked ? LruList::unevictable : record.inactive());
  });
}

// munlock's walk: as many pages in one go as a pagevec takes (__munlock_pagevec_fill), later a table (mlock_pte_range).
TableWalk Vm::locked_leaves(const Process& process, Range range) const {
  const bool by_tables = core_.config.kernel.has(Change::munlock_by_tables);
  TableWalk leaves(kHugePage, by_tables ? std::int64_t{kPagesPerHuge} : std::int64_t{kPagevec});
  const AddressSpace& space = Mm::of(process).space;
  VirtualAddress va = range.begin;
  while (const auto next = space.next_entry(va, range.end)) {
    const Vma* vma = space.find(*next);
    if (vma != nullptr && vma->locked) leaves.add(*next);
    va = page_range(*next, space.leaf_size(*next)).end;
  }
  return leaves;
}

}  // namespace faultline::os
