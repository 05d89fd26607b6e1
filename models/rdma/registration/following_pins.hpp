// SPDX-License-Identifier: Apache-2.0
// Pins that outlive the transfer they were made for: what the registrations share that keep such pins within a budget
// (pin_cache.cpp, firehose.cpp).
//
// They must learn when memory changes, or a later mapping at the same address finds the frames of the earlier one. The
// kernel's MMU notifier tells each change of the table before it happens. What nobody uses is unpinned then, on the
// time of who changes the memory. A pin waits for changes of its range, and one that was overtaken by such a change is
// made again.
#pragma once

#include <optional>

#include "models/os/vm/mmu_notifier.hpp"
#include "models/rdma/registration/pin_cache_config.hpp"
#include "models/rdma/registration/pinned_range.hpp"
#include "models/rdma/registration/unpinner.hpp"

namespace faultline::rdma {

// Of one process. The registration must not end before the process, whose table it follows.
class FollowingPins : public Registration, private os::MmuNotifier {
 public:
  sim::Task<void> stop(cpu::Execution&) override { return unpinner_.stop(); }

 protected:
  // `follows`: the kernel tells of changes. `budget`: bytes that stay pinned while nobody uses them.
  FollowingPins(const Owner& owner, bool follows, std::uint64_t budget);

  // What is pinned, and who uses it; the deriving class knows.
  virtual bool is_in_use(os::Range pages) const = 0;
  // The kernel may not take such pages, if it asks.
  virtual bool is_held(os::Range pages) const { return is_in_use(pages); }
  // A change by this one may put other frames in the place of those that are pinned.
  virtual bool takes_frames(os::Taker) const { return true; }
  // Nothing of the range is found from here on. What is used is unpinned by its last user, the rest goes to `gone`. The
  // number of what is lost.
  virtual std::size_t lose(os::Range pages, GoneOnes& gone) = 0;
  // Takes out the pin that nobody uses and that goes first. Nothing: there is none.
  virtual std::optional<Gone> take_victim() = 0;
  // Several pins go in one call of the driver; else each goes in its own, as a registration does.
  virtual bool lets_go_together() const { return false; }

  bool within_budget() const { return held_ <= budget_; }
  std::uint64_t beyond_budget() const { return within_budget() ? 0 : held_ - budget_; }
  // Unpins one that nobody uses; where pins go together, as many as it takes for so many bytes. False: there is none.
  sim::Task<bool> evict(cpu::Execution& thread, std::uint64_t bytes);
  // Of the first call that fails.
  sim::Task<os::Error> let_go(cpu::Execution& thread, GoneOnes gone);
  // What a hook has told, or a kernel that could not wait.
  sim::Task<void> let_go_of_garbage(cpu::Execution& thread);
  // Pins the frames that the program has when the pin is done; one thread at a time. Fails with `limit` or `no_memory`
  // when no pages are left that nobody uses and that would make room; with `again` when a transfer still uses an
  // earlier mapping at one of the addresses, so that the private table still has its frames.
  sim::Task<os::Result<os::PinId>> pin_current_frames(cpu::Execution& thread, os::Range pages);
  void invalidate(os::Range pages, GoneOnes& gone);

  PinCacheCounters count_;
  Unpinner unpinner_;
  GoneOnes garbage_;        // to be unpinned with the next miss
  std::uint64_t held_ = 0;  // bytes within the budget: pinned, the garbage too, and of the pin that is being made
  sim::Semaphore turn_;     // to pin and unpin on the program's time

 private:
  // The pin that is being made. It is overtaken by a change of its pages: then it may hold frames that the program no
  // longer has. Changes that the pin itself makes (it breaks copy-on-write before it takes a page) do not count.
  struct Pinning {
    os::Range pages;
    const cpu::Execution& thread;
    bool overtaken = false;
  };
  sim::Task<bool> make_room(cpu::Execution& thread, os::Range pages, os::Error error, std::uint64_t calls_ended);
  sim::Task<bool> drop_idle(cpu::Execution& thread, os::Range pages);
  bool is_changing(os::Range pages) const;
  sim::Vector<sim::Vector<os::PinId>> calls_for(const GoneOnes& gone);

  sim::Task<bool> begin(cpu::Execution& exec, os::TableChange change) override;
  void end(os::Range range) override;
  void drop(os::Range pages, os::Taking taking) override;

  const std::uint64_t budget_;
  Pinning* making_ = nullptr;
  sim::Vector<os::Range> changes_;  // that the kernel has begun
  sim::Signal change_ended_;
};

}  // namespace faultline::rdma
