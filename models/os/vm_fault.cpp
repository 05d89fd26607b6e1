// SPDX-License-Identifier: Apache-2.0
// How pages come and go: faults, populate, zap.
//
// Where the rest of Linux's VM joins: allocation that fails would wake kswapd or reclaim directly
// (take_page), swap entries and copy-on-write are further cases of fault(), khugepaged and migration are
// zap() and install() under the exclusive lock with a copy between them, and reclaim is zap() of pages that
// nobody pins.
#include <algorithm>

#include "models/os/vm.hpp"
#include "models/os/vm_counters.hpp"

namespace faultline::os {

sim::Task<Error> Vm::handle_fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write) {
  co_await process.lock_.lock_shared(cpu_, exec);
  const Error error = co_await fault(exec, process, va, write, sim::Time{0});
  process.lock_.unlock_shared();
  co_return error;
}

sim::Task<Error> Vm::fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write, sim::Time owed) {
  ++counters_->pgfault;
  const Vma* found = process.space_.find(va);
  if (found == nullptr || (write && !found->writable)) {
    co_await run(exec, owed + config_.fault_no_alloc);
    co_return Error::bad_address;
  }
  const Vma vma = *found;
  if (process.space_.page(va) != nullptr) {
    co_await run(exec, owed + config_.fault_no_alloc);
    co_return Error::none;
  }
  // Faults of several threads go on side by side, so a page may appear while this one is being cleared;
  // the later one then gives its frame back.
  while (process.space_.page(va) == nullptr) {
    const auto page = take_page(process, vma, va);
    if (!page) {
      ++counters_->out_of_memory;
      co_await run(exec, owed + config_.anon_minor_fault);
      co_return Error::no_memory;
    }
    const bool huge = page->size == PageSize::huge;
    if (huge) ++counters_->thp_fault_alloc;
    if (!huge && wants_huge(process, vma, va)) ++counters_->thp_fault_fallback;
    const std::uint64_t bytes = bytes_of(page->size);
    co_await run(exec, owed + (huge ? config_.thp_alloc : config_.anon_minor_fault));
    co_await cpu_.memory_bulk(exec, cpu::Work::system, page->frame, bytes, config_.zero_bandwidth, true);
    counters_->zeroed_bytes += bytes;
    owed = sim::Time{0};
    const Error error = install(process, vma, va, *page);
    if (error == Error::no_memory) {
      ++counters_->out_of_memory;
      co_return error;
    }
  }
  use_pages(process, {sim::page_begin(va), sim::page_begin(va) + kPage}, write, nullptr);
  co_return Error::none;
}

sim::Task<Result<std::uint64_t>> Vm::populate(cpu::Execution& exec, Process& process, Range range, bool write,
                                              WalkCost cost, Pin* pin) {
  const AddressSpace& space = process.space_;
  sim::Time owed{0};
  VirtualAddress va = range.begin;
  Error error = Error::none;
  while (va < range.end && error == Error::none) {
    const PageState* page = space.page(va);
    if (page == nullptr || (write && !page->writable)) {
      error = co_await fault(exec, process, va, write, owed);
      owed = sim::Time{0};
      continue;
    }
    const bool huge = space.is_huge(va);
    const VirtualAddress next = huge ? std::min(range.end, (va / kHugePage + 1) * kHugePage) : va + kPage;
    owed += cost.of((next - va) / kPage, huge);
    if (pin != nullptr) {
      const WalkCost release{config_.unpin_per_page, config_.unpin_per_huge_page};
      pin->release_cost += release.of((next - va) / kPage, huge);
    }
    use_pages(process, {va, next}, write, pin);
    va = next;
  }
  co_await run(exec, owed);
  co_return Result<std::uint64_t>{.error = error, .value = (va - range.begin) / kPage};
}

void Vm::use_pages(Process& process, Range range, bool write, Pin* pin) {
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    PageState& page = *process.space_.page(va);
    page.dirty = page.dirty || write;
    if (pin == nullptr) continue;
    ++frame_table_.at(page.frame).pins;
    pin->frames.push_back(page.frame);
  }
}

sim::Task<Result<std::uint64_t>> Vm::fault_in_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                                    std::uint64_t bytes, bool write) {
  co_await run(exec, config_.syscall);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return Result<std::uint64_t>{.error = range.error};
  co_await process.lock_.lock_shared(cpu_, exec);
  Range allowed = range.value;
  allowed.end = process.space_.covered_until(allowed.begin, allowed.end, write);
  if (allowed.end == allowed.begin) allowed.end += kPage;  // whose fault is refused
  const auto result = co_await populate(exec, process, allowed, write, gup_cost(), nullptr);
  process.lock_.unlock_shared();
  co_return result;
}

sim::Task<Error> Vm::touch(cpu::Execution& exec, Process& process, VirtualAddress va, bool write) {
  return touch_range(exec, process, va, 1, write);
}

sim::Task<Error> Vm::touch_range(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                                 bool write) {
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  sim::Time owed{0};
  for (VirtualAddress at = range.value.begin; at < range.value.end; at += kPage) {
    const PageState* page = process.space_.page(at);
    if (page != nullptr && (!write || page->writable)) {
      use_pages(process, {at, at + kPage}, write, nullptr);
      owed += config_.resident_touch;
      continue;
    }
    // The access that follows the fault finds the line in the cache that the kernel has just cleared.
    co_await cpu_.run_unscaled(exec, cpu::Work::user, std::exchange(owed, sim::Time{0}));
    const Error error = co_await handle_fault(exec, process, at, write);
    if (error != Error::none) co_return error;
  }
  co_await cpu_.run_unscaled(exec, cpu::Work::user, owed);
  co_return Error::none;
}

// Linux's thp_vma_allowable and alloc_anon_folio: the aligned range lies in the VMA and is empty.
bool Vm::wants_huge(const Process& process, const Vma& vma, VirtualAddress va) const {
  const bool allowed = config_.thp == ThpMode::always    ? vma.advice != HugeAdvice::no_huge
                       : config_.thp == ThpMode::madvise ? vma.advice == HugeAdvice::huge
                                                         : false;
  const VirtualAddress begin = va / kHugePage * kHugePage;
  return allowed && vma.begin <= begin && begin + kHugePage <= vma.end && process.space_.huge_range_empty(va);
}

std::optional<Vm::NewPage> Vm::take_page(const Process& process, const Vma& vma, VirtualAddress va) {
  if (wants_huge(process, vma, va)) {
    if (const auto block = frames_.allocate_huge()) return NewPage{*block, PageSize::huge};
  }
  if (const auto frame = frames_.allocate_page()) return NewPage{*frame, PageSize::small};
  return {};
}

void Vm::give_back(NewPage page) {
  if (page.size == PageSize::huge) {
    frames_.free_huge(page.frame);
  } else {
    frames_.free_page(page.frame);
  }
}

// again: another page is there by now. The frame is given back unless the answer is none.
Error Vm::install(Process& process, const Vma& vma, VirtualAddress va, NewPage page) {
  AddressSpace& space = process.space_;
  const std::uint64_t bytes = bytes_of(page.size);
  const VirtualAddress at = va / bytes * bytes;
  const bool taken = page.size == PageSize::huge ? !space.huge_range_empty(at) : space.page(at) != nullptr;
  const Error error = taken ? Error::again : process.table_->map(at, page.frame, page.size, vma.writable);
  if (error != Error::none) {
    give_back(page);
    return error;
  }
  const auto zeros = sim::Content::zeros(kPage);
  for (Address frame = page.frame; frame < page.frame + bytes; frame += kPage) {
    if (!(store_.read(frame, kPage) == zeros)) store_.write(frame, zeros);
    ++frame_table_.at(frame).mappings;
  }
  space.page_mapped(at, page.frame, page.size, vma.writable);
  return Error::none;
}

Error Vm::split_edges(Process& process, Range range) {
  for (const VirtualAddress edge : {range.begin, range.end}) {
    if (edge % kHugePage == 0 || !process.space_.is_huge(edge)) continue;
    if (process.table_->split(edge) != Error::none) {
      ++counters_->out_of_memory;
      return Error::no_memory;
    }
    process.space_.huge_split(edge);
  }
  return Error::none;
}

// Frames keep their mapping count, and tables their frames, until release(): until then a TLB or a walk
// cache may lead a device there, whoever else lets go of them.
Vm::Zapped Vm::zap(Process& process, Range range) {
  Zapped zapped;
  VirtualAddress va = range.begin;
  while (const auto next = process.space_.next_present(va, range.end)) {
    const auto mapping = process.table_->unmap(*next);
    process.space_.page_unmapped(*next);
    zapped.leaves.push_back(*next);
    const std::uint64_t bytes = bytes_of(mapping->size);
    for (std::uint64_t offset = 0; offset < bytes; offset += kPage) zapped.frames.push_back(mapping->frame + offset);
    va = *next + bytes;
  }
  zapped.tables = process.table_->take_retired();
  return zapped;
}

sim::Task<void> Vm::invalidate(cpu::Execution& exec, Process& process, sim::Vector<VirtualAddress> leaves,
                               bool cpus_walk) {
  if (leaves.empty()) co_return;  // TLBs hold only what was mapped
  ++counters_->tlb_invalidations;
  TlbFlush flush{.leaves = std::move(leaves)};
  flush.whole = flush.leaves.size() >= config_.tlbi_page_limit;
  const bool heard = std::any_of(invalidators_.begin(), invalidators_.end(),
                                 [](const TlbInvalidator* invalidator) { return invalidator->hears_broadcasts(); });
  const bool tlbi = cpus_walk || heard;
  const auto before_last = static_cast<std::int64_t>(flush.operations() - 1);
  if (tlbi && before_last > 0) co_await run(exec, config_.cpu_tlbi_page * before_last);
  sim::Vector<sim::Task<void>> others;
  for (TlbInvalidator* invalidator : invalidators_) others.push_back(invalidator->invalidate(exec, process, flush));
  // The DSB after the last operation waits for the other CPUs and for the devices at the same time.
  if (tlbi) co_await run(exec, config_.cpu_tlbi_page);
  for (sim::Task<void>& other : others) co_await other;
}

void Vm::release(Process& process, const Zapped& zapped) {
  for (const Address frame : zapped.frames) {
    --frame_table_.at(frame).mappings;
    put_frame(frame);
  }
  process.table_->free_tables(zapped.tables);
}

void Vm::put_frame(Address frame) {
  if (!frame_table_.at(frame).held()) frames_.free_page(frame);
}

}  // namespace faultline::os
