// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/elan/pushed_table.hpp"

#include <algorithm>
#include <utility>

#include "models/os/vm/address_space.hpp"

namespace faultline::elan {

using os::Range;
using os::VirtualAddress;
using sim::Task;

PushedTable::PushedTable(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
                         os::Process& process, NicTable& table, Ways ways)
    : config_(config),
      context_(context),
      vm_(vm),
      process_(process),
      table_(table),
      ways_(ways),
      thread_(cpu.new_thread("elan push").use(process.id())),
      came_(context.loop) {
  vm_.add_notifier(process_, *this);
  follow_now();
  tasks_.start(push_late());
}

bool PushedTable::changes(Range range) const {
  return config_.awaits_changes &&
         std::ranges::any_of(changing_, [&](const Range& change) { return change.overlaps(range); });
}

PushedTable::Leaves::const_iterator PushedTable::find(VirtualAddress va) const {
  auto found = loaded_.upper_bound(va);
  if (found == loaded_.begin()) return loaded_.end();
  --found;
  return found->second.range(found->first).end > va ? found : loaded_.end();
}

bool PushedTable::has(VirtualAddress va, bool write) const {
  const auto found = find(va);
  return found != loaded_.end() && (found->second.writable || !write);
}

// The Cortex-A53 sets no bit that says that a page is written: what the process may store to without a fault, the
// NIC may write.
std::optional<NicTable::Entry> PushedTable::wanted(VirtualAddress va) const {
  const os::AddressSpace& space = process_.space();
  const os::PageSize size = space.leaf_size(va);
  const Range leaf = os::page_range(va, size);
  const os::PageState* page = space.page(leaf.begin);
  if (page == nullptr || changes(leaf)) return std::nullopt;
  if (const auto known = find(leaf.begin); known != loaded_.end()) {
    const Loaded& there = known->second;
    if (there.size == size && there.frame == page->frame && there.writable == page->writable) return std::nullopt;
  }
  return NicTable::Entry{leaf.begin, size, page->frame, page->writable, kept_.contains(leaf.begin)};
}

// The lock is held, so that no change of the page goes on until the entry is written: its begin() would wait.
Task<void> PushedTable::load(cpu::Execution& exec, NicTable::Entry entry) {
  const auto known = loaded_.find(entry.begin);
  bool replaces = known != loaded_.end();
  if (replaces && known->second.size != entry.size) {
    co_await table_.invalidate(exec, *this, process_.id(), entry.begin);
    replaces = false;
  }
  loaded_[entry.begin] = {entry.size, entry.frame, entry.writable};
  taken_.erase(entry.begin);
  co_await table_.load(exec, *this, process_.id(), entry, vm_.mapping_epoch(), replaces);
  // A change in no time does not wait for the lock.
  const auto now = loaded_.find(entry.begin);
  if (now == loaded_.end() || now->second.frame != entry.frame) {
    table_.invalidate_now(*this, process_.id(), entry.begin);
    loaded_.erase(entry.begin);
  }
}

Task<void> PushedTable::follow(cpu::Execution& exec) {
  while (!pending_.empty() && !closed_) {
    co_await table_.lock().acquire();
    const TableLock lock(table_);
    if (pending_.empty() || closed_) co_return;
    const VirtualAddress next = *pending_.begin();
    pending_.erase(pending_.begin());
    const auto entry = wanted(next);
    if (!entry) continue;
    if (!table_.has_room() && !loaded_.contains(entry->begin)) {
      if (!entry->stays) {
        ++table_.counters.unpushed;
        continue;
      }
      co_await table_.evict(exec);
    }
    const auto now = wanted(next);  // evicting has taken time
    if (!now) continue;
    ++table_.counters.pushes;
    co_await load(exec, *now);
  }
}

void PushedTable::follow_now() {
  if (closed_) return;
  if (table_.is_locked()) {
    if (!pending_.empty()) came_.notify_all();  // its thread does it
    return;
  }
  for (const VirtualAddress next : std::exchange(pending_, {})) {
    const auto entry = wanted(next);
    if (!entry) continue;
    const bool replaces = loaded_.contains(entry->begin);
    if (!table_.has_room() && !replaces && entry->stays) {
      pending_.insert(next);  // its thread makes room
      came_.notify_all();
      continue;
    }
    if (!table_.has_room() && !replaces) {
      ++table_.counters.unpushed;
      continue;
    }
    ++table_.counters.pushes;
    loaded_[entry->begin] = {entry->size, entry->frame, entry->writable};
    taken_.erase(entry->begin);
    table_.load_now(*this, process_.id(), *entry, vm_.mapping_epoch(), replaces);
  }
}

Task<void> PushedTable::push_late() {
  for (;;) {
    while (pending_.empty() && !closed_) co_await came_;
    if (closed_) co_return;
    co_await context_.loop.delay(config_.push_delay);
    co_await follow(thread_);
  }
}

// All at once: each call looks at all that waits for room.
void PushedTable::keep(std::span<const VirtualAddress> pages) {
  for (const VirtualAddress page : pages) {
    kept_.insert(page);
    table_.stay(*this, page);
    pending_.insert(page);
  }
  follow_now();
}

Task<bool> PushedTable::load_missed(cpu::Execution& exec, Range pages, bool write) {
  for (VirtualAddress va = pages.begin; va < pages.end && !closed_; va += os::kPage) {
    co_await table_.lock().acquire();
    const TableLock lock(table_);
    if (closed_) co_return false;
    const auto entry = wanted(va);
    if (!entry) continue;
    if (!loaded_.contains(entry->begin)) {
      while (!table_.has_room()) co_await table_.evict(exec);
    }
    // Evicting has taken time, in which no change of the page has ended.
    const auto now = wanted(va);
    if (now) co_await load(exec, *now);
  }
  co_return has(pages.begin, write);
}

os::Taking PushedTable::taken_from(VirtualAddress va) const {
  for (const VirtualAddress begin : {sim::page_begin(va), os::huge_range(va).begin}) {
    if (const auto found = taken_.find(begin); found != taken_.end()) return found->second;
  }
  return {};
}

sim::Vector<VirtualAddress> PushedTable::loaded_in(Range range) const {
  sim::Vector<VirtualAddress> begins;
  auto at = loaded_.lower_bound(os::huge_range(range.begin).begin);
  for (; at != loaded_.end() && at->first < range.end; ++at) {
    if (at->second.range(at->first).end > range.begin) begins.push_back(at->first);
  }
  return begins;
}

// What may wait to be pushed in the range waits no more; whoever is about to push it finds it gone.
void PushedTable::forget(Range range, os::Taking by) {
  pending_.erase(pending_.lower_bound(range.begin), pending_.lower_bound(range.end));
  for (const VirtualAddress begin : loaded_in(range)) taken_[begin] = by;
}

Task<bool> PushedTable::begin(cpu::Execution& exec, os::TableChange change) {
  const Range range = change.range;
  if (!config_.hears_changes) co_return true;
  if (ways_.vetoes && change.may_refuse() && !loaded_in(range).empty()) {
    ++table_.counters.vetoes;
    co_return false;
  }
  changing_.push_back(range);
  forget(range, change.by);
  if (loaded_in(range).empty() && !table_.is_locked() && !table_.needs_drain()) co_return true;
  co_await table_.lock().acquire();
  const TableLock lock(table_);
  const sim::Vector<VirtualAddress> begins = loaded_in(range);
  for (const VirtualAddress begin : begins) {
    loaded_.erase(begin);
    co_await table_.invalidate(exec, *this, process_.id(), begin);
  }
  if (!begins.empty() || table_.needs_drain()) co_await table_.drain(exec);
  co_return true;
}

void PushedTable::end(Range range) {
  const auto found = std::ranges::find(changing_, range);
  if (found != changing_.end()) changing_.erase(found);
}

void PushedTable::drop(Range range, os::Taking by) {
  if (!config_.hears_changes) return;
  forget(range, by);
  for (const VirtualAddress begin : loaded_in(range)) {
    loaded_.erase(begin);
    table_.invalidate_now(*this, process_.id(), begin);
  }
}

void PushedTable::usable(Range leaf) {
  if (closed_ || (!ways_.pushes && !kept_.contains(leaf.begin))) return;
  pending_.insert(leaf.begin);
  came_.notify_all();
}

Task<void> PushedTable::close(cpu::Execution& exec) {
  closed_ = true;
  came_.notify_all();
  {
    co_await table_.lock().acquire();
    const TableLock lock(table_);
    loaded_.clear();
    pending_.clear();
    co_await table_.invalidate_process(exec, *this, process_.id());
    co_await table_.drain(exec);
  }
  co_await vm_.remove_notifier(process_, *this);
}

}  // namespace faultline::elan
