// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/mmu_notifiers.hpp"

#include <algorithm>
#include <stdexcept>

namespace faultline::os {

void MmuNotifiers::add(MmuNotifier& notifier) {
  notifiers_.push_back(&notifier);
  if (!notifier.wants_usable()) return;
  followers_.push_back(&notifier);
  tell_what_is_usable(space_.all());
}

// mmu_notifier_unregister, which waits for the callbacks that are under way (synchronize_srcu).
sim::Task<void> MmuNotifiers::remove(MmuNotifier& notifier) {
  while (telling_ > 0) co_await told_;
  std::erase(notifiers_, &notifier);
  std::erase(followers_, &notifier);
}

// mn_hlist_invalidate_range_start.
sim::Task<bool> MmuNotifiers::begin(cpu::Execution& exec, TableChange change) {
  const Range wanted = change.range;
  change.range = whole_pages(wanted);
  changes_.push_back({wanted, change.range});
  ++telling_;
  bool refused = false;
  std::size_t told = 0;
  while (told < notifiers_.size()) {  // others may be added meanwhile
    refused = !co_await notifiers_[told]->begin(exec, change);
    if (refused) break;
    ++told;
  }
  if (--telling_ == 0) told_.notify_all();
  if (!refused) co_return true;
  if (!change.may_refuse()) throw std::logic_error("a notifier refuses what it was not asked for");
  leave(wanted);
  for (std::size_t i = 0; i < told; ++i) notifiers_[i]->end(change.range);
  tell_what_is_usable(change.range);
  co_return false;
}

void MmuNotifiers::end(Range range) {
  const Range whole = leave(range);
  for (MmuNotifier* notifier : notifiers_) notifier->end(whole);
  tell_what_is_usable(whole);
}

// As it was told.
Range MmuNotifiers::leave(Range range) {
  const auto found =
      std::find_if(changes_.begin(), changes_.end(), [&](const Change& change) { return change.range == range; });
  const Range whole = found->whole;
  changes_.erase(found);
  change_ended_.notify_all();
  return whole;
}

void MmuNotifiers::drop(Range range, Taking by) {
  const Range whole = whole_pages(range);
  for (MmuNotifier* notifier : notifiers_) notifier->drop(whole, by);
  change_ended_.notify_all();
  tell_what_is_usable(whole);
}

sim::Task<void> MmuNotifiers::follow(cpu::Execution& exec) {
  ++telling_;
  for (std::size_t i = 0; i < followers_.size(); ++i) co_await followers_[i]->follow(exec);
  if (--telling_ == 0) told_.notify_all();
}

void MmuNotifiers::follow_now() {
  for (MmuNotifier* follower : followers_) follower->follow_now();
}

Range MmuNotifiers::whole_pages(Range range) const {
  if (space_.is_huge(range.begin)) range.begin = huge_range(range.begin).begin;
  if (space_.is_huge(range.end - 1)) range.end = huge_range(range.end - 1).end;
  return range;
}

bool MmuNotifiers::under_way(Range range) const {
  return std::any_of(changes_.begin(), changes_.end(),
                     [&](const Change& change) { return change.whole.overlaps(range); });
}

// What is used while it changes is told when the change ends.
void MmuNotifiers::tell_usable(Range leaf) {
  if (under_way(leaf)) return;
  for (MmuNotifier* follower : followers_) follower->usable(leaf);
}

void MmuNotifiers::tell_what_is_usable(Range range) {
  if (followers_.empty()) return;
  space_.for_each_leaf(range.begin, range.end, [this](VirtualAddress va, PageSize size) {
    if (space_.page(va) != nullptr) tell_usable(page_range(va, size));
  });
}

}  // namespace faultline::os
