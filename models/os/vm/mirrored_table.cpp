// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/mirrored_table.hpp"

#include "models/os/vm/explain_entry.hpp"
#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {

sim::Task<Result<std::uint64_t>> MirroredTable::fill(cpu::Execution& exec, Range wanted, bool write) {
  const std::uint64_t bytes = wanted.end - wanted.begin;
  MmuNotifiers& notifiers = Mm::of(process_).notifiers;
  sim::Vector<VirtualAddress> upgraded;
  for (;;) {
    Filling filling{whole_pages(wanted)};
    if (notifiers.under_way(filling.range)) {
      const ToldCall wait(core_.context, exec, process_, "wait for a change of the pages to end");
      while (notifiers.under_way(filling.range)) co_await core_.cpu.sleep(exec, notifiers.change_ended());
    }
    if (!co_await core_.make_room_for_tables(exec, process_, bytes)) {
      co_return Result<std::uint64_t>{.error = Error::no_memory};
    }
    fillings_.push_back(&filling);
    const auto present = co_await vm_.fault_in_pages(exec, process_, wanted.begin, bytes, write);
    const Range range{wanted.begin, wanted.begin + present.value * kPage};
    if (present.value > 0) co_await core_.run(exec, core_.config.private_map_per_page * descriptors(range));
    std::erase(fillings_, &filling);
    if (present.value == 0) co_return present;
    if (filling.overtaken || !map(range, write, upgraded)) {
      ++core_.counters.mirror_retries;
      continue;
    }
    co_await core_.tlbs.flush_device(exec, process_, root(), std::move(upgraded));
    co_return present;
  }
}

// Descriptors are made whole.
Range MirroredTable::whole_pages(Range range) const {
  const AddressSpace& space = process_.space();
  if (space.is_huge(range.begin)) range.begin = huge_range(range.begin).begin;
  if (space.is_huge(range.end - 1)) range.end = huge_range(range.end - 1).end;
  return range;
}

// That map the range: one for each page, or huge page.
std::int64_t MirroredTable::descriptors(Range range) const {
  std::int64_t count = 0;
  for (VirtualAddress va = range.begin; va < range.end; ++count) {
    va = process_.space().is_huge(va) ? huge_range(va).end : va + kPage;
  }
  return count;
}

// False: a page cannot be taken any more.
bool MirroredTable::map(Range range, bool write, sim::Vector<VirtualAddress>& upgraded) {
  const AddressSpace& space = process_.space();
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    const PageState* page = space.page(va);
    if (!takeable(page, write)) return false;
    if (const auto known = table_->walk(va)) {
      if (page->may_write() && !known->writable) {
        table_->protect(va, true);
        upgraded.push_back(va);
      }
      continue;
    }
    const PageSize size = space.leaf_size(va);
    const VirtualAddress begin = page_range(va, size).begin;
    const Error error = table_->map(begin, space.page(begin)->frame, size, page->may_write());
    if (error != Error::none) return true;  // no memory for a table: the device faults again
    mapped(begin, size);
  }
  return true;
}

void MirroredTable::mapped(VirtualAddress begin, PageSize size) {
  mapped_.emplace(begin, size);
  if (taken_.empty()) return;
  const VirtualAddress end = size == PageSize::small ? begin + 1 : begin + kHugePage;
  taken_.erase(taken_.lower_bound(begin), taken_.lower_bound(end));
}

sim::Task<bool> MirroredTable::begin(cpu::Execution& exec, TableChange change) {
  overtake(change.range);
  sim::Vector<VirtualAddress> leaves = empty(change.range, change.by);
  const sim::Vector<Address> tables = table_->take_retired();
  core_.counters.mirror_invalidations += leaves.size();
  co_await core_.run(exec, core_.config.private_map_per_page * static_cast<std::int64_t>(leaves.size()));
  co_await core_.tlbs.flush_device(exec, process_, root(), std::move(leaves));
  table_->free_tables(tables);
  co_return true;
}

void MirroredTable::drop(Range range, Taking by) {
  overtake(range);
  core_.tlbs.drop(process_, empty(range, by));
  table_->free_tables(table_->take_retired());
}

void MirroredTable::overtake(Range range) {
  for (Filling* filling : fillings_) filling->overtaken = filling->overtaken || filling->range.overlaps(range);
}

// Which descriptors had to go. Blocks go whole.
sim::Vector<VirtualAddress> MirroredTable::empty(Range range, Taking by) {
  sim::Vector<VirtualAddress> leaves;
  auto at = mapped_.lower_bound(huge_range(range.begin).begin);
  while (at != mapped_.end() && at->first < range.end) {
    if (at->first + bytes_of(at->second) <= range.begin) {
      ++at;
      continue;
    }
    table_->unmap(at->first);
    leaves.push_back(at->first);
    taken_[key_of(at->first, at->second)] = by;
    at = mapped_.erase(at);
  }
  return leaves;
}

// Who has taken the descriptor for the page away. Nobody: there has been none.
Taking MirroredTable::taken_from(VirtualAddress va) const {
  auto found = taken_.find(va);
  if (found == taken_.end()) found = taken_.find(key_of(huge_range(va).begin, PageSize::huge));
  return found == taken_.end() ? Taking{} : found->second;
}

// A mirror takes pages whatever their flags are. What it lacks of those that the process has it has lost to a change
// that is over by now, unless it has never had them.
void MirroredTable::explain(VirtualAddress va, bool write, FaultReason& reason) const {
  const auto known = table_->walk(va);
  if (known && (known->writable || !write)) {
    reason.cause = FaultCause::raced;
    return;
  }
  const Vma* vma = process_.space().find(va);
  const bool allowed = vma != nullptr && vma->allows(write);
  if (!allowed || !takeable(reason.page.present() ? &reason.page : nullptr, write)) {
    FaultReason with_flag = reason;
    with_flag.page.young = true;
    explain_entry(process_, va, write, with_flag);
    reason.cause = with_flag.cause;
    reason.by = with_flag.by;
    return;
  }
  reason.by = taken_from(va);
  reason.cause = reason.by.by == Taker::nobody ? FaultCause::mirror : cause_of(reason.by.by);
}

}  // namespace faultline::os
