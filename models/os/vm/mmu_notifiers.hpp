// SPDX-License-Identifier: Apache-2.0
// The notifiers of a process, and the changes of its table that are under way (struct mmu_notifier_subscriptions).
#pragma once

#include <algorithm>

#include "models/os/vm/address_space.hpp"
#include "models/os/vm/mmu_notifier.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

class MmuNotifiers {
 public:
  // Of the process that has this address space.
  MmuNotifiers(sim::EventLoop& loop, const AddressSpace& space) : space_(space), change_ended_(loop), told_(loop) {}

  // As the last to be told. In no time.
  void add(MmuNotifier& notifier);
  // Ends when no begin() is under way, at once if there is none; the notifier is told nothing from then on.
  sim::Task<void> remove(MmuNotifier& notifier);

  // All know of the change, one after the other, by a range that cuts no page of 2 MiB. False: one has refused; those
  // before it have been told the end, and there is no change.
  sim::Task<bool> begin(cpu::Execution& exec, TableChange change);
  // With the range as it was given to begin().
  void end(Range range);
  // A change in no time, whose entries have changed already.
  void drop(Range range, Taking by);
  // The page or block at va has become usable.
  void usable(VirtualAddress va) {
    if (!followers_.empty()) tell_usable(page_range(va, space_.leaf_size(va)));
  }

  // What followers have to do of what has become usable, at the end of a page fault; and in no time, after set-up.
  bool has_to_follow() const {
    return !followers_.empty() &&
           std::any_of(followers_.begin(), followers_.end(), [](const MmuNotifier* f) { return f->has_to_follow(); });
  }
  sim::Task<void> follow(cpu::Execution& exec);
  void follow_now();

  // Whether a change of a part of the range has begun, and not ended.
  bool under_way(Range range) const;
  // A change has ended, or been refused.
  sim::Signal& change_ended() { return change_ended_; }

 private:
  // A change that is under way: as it is wanted, and with the pages of 2 MiB whole that it cuts.
  struct Change {
    Range range;
    Range whole;
  };
  Range whole_pages(Range range) const;
  Range leave(Range range);
  void tell_usable(Range leaf);
  void tell_what_is_usable(Range range);

  const AddressSpace& space_;
  sim::Vector<MmuNotifier*> notifiers_;
  sim::Vector<MmuNotifier*> followers_;  // those of them that want usable()
  sim::Vector<Change> changes_;
  unsigned telling_ = 0;  // begin()s under way
  sim::Signal change_ended_;
  sim::Signal told_;  // none of them is
};

}  // namespace faultline::os
