// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/following_pins.hpp"

#include <algorithm>
#include <utility>

#include "models/rdma/registration/pinned_range.hpp"

namespace faultline::rdma {

using os::Error;
using sim::Task;

FollowingPins::FollowingPins(const Owner& owner, bool follows, std::uint64_t budget)
    : Registration(owner),
      count_(owner.cpu.context().statistics),
      unpinner_(owner),
      turn_(owner.cpu.context().loop, 1),
      budget_(budget),
      change_ended_(owner.cpu.context().loop) {
  if (follows) owner_.vm.add_notifier(owner_.process, *this);
}

Task<bool> FollowingPins::evict(cpu::Execution& thread, std::uint64_t bytes) {
  GoneOnes gone;
  std::uint64_t taken = 0;
  for (bool goes_on = true; goes_on; goes_on = lets_go_together() && taken < bytes) {
    const std::optional<Gone> victim = take_victim();
    if (!victim) break;
    gone.push_back(*victim);
    taken += victim->bytes;
  }
  if (gone.empty()) co_return false;
  count_.evictions += gone.size();
  co_await let_go(thread, std::move(gone));
  co_return true;
}

Task<Error> FollowingPins::let_go(cpu::Execution& thread, GoneOnes gone) {
  Error first = Error::none;
  for (sim::Vector<os::PinId>& call : calls_for(gone)) {
    const Error error = co_await unpinner_.let_go(thread, std::move(call));
    if (first == Error::none) first = error;
  }
  co_return first;
}

// The pins that go in one call each, and are held no more.
sim::Vector<sim::Vector<os::PinId>> FollowingPins::calls_for(const GoneOnes& gone) {
  sim::Vector<sim::Vector<os::PinId>> calls;
  for (const Gone& each : gone) {
    held_ -= each.bytes;
    ++count_.mem_deregs;
    if (calls.empty() || !lets_go_together()) calls.emplace_back();
    calls.back().push_back(each.pinned);
  }
  return calls;
}

Task<void> FollowingPins::let_go_of_garbage(cpu::Execution& thread) {
  while (!garbage_.empty()) {
    GoneOnes oldest{garbage_.front()};
    garbage_.erase(garbage_.begin());
    co_await let_go(thread, std::move(oldest));
  }
}

Task<os::Result<os::PinId>> FollowingPins::pin_current_frames(cpu::Execution& thread, os::Range pages) {
  for (;;) {
    while (is_changing(pages)) co_await owner_.cpu.sleep(thread, change_ended_);
    Pinning making{pages, thread};
    making_ = &making;
    const std::uint64_t before = unpinner_.calls_ended();
    ++count_.mem_regs;
    const os::Result<os::PinId> pinned = co_await pin(thread, owner_, {pages.begin, pages.end - pages.begin});
    making_ = nullptr;
    if (pinned.ok() && !making.overtaken) co_return pinned;
    bool goes_on = true;
    if (pinned.ok()) {
      co_await unpin(thread, owner_, pinned.value);
      ++count_.mem_deregs;
    } else {
      goes_on = co_await make_room(thread, pages, pinned.error, before);
    }
    if (!goes_on) co_return pinned;
  }
}

// After a pin of the pages has failed: lets go of what may be in its way, but what has gone since so many calls had
// ended. False: nothing was.
Task<bool> FollowingPins::make_room(cpu::Execution& thread, os::Range pages, Error error, std::uint64_t calls_ended) {
  const bool has_gone = co_await unpinner_.make_room(thread, error, calls_ended);
  if (has_gone) co_return true;
  bool makes_room = false;
  if (error == Error::limit || error == Error::no_memory) {
    makes_room = co_await evict(thread, pages.end - pages.begin);
  } else if (error == Error::again && !is_in_use(pages)) {
    // The private table has other frames there: those of an earlier mapping, whose end a hook has missed.
    makes_room = co_await drop_idle(thread, pages);
  }
  if (makes_room) co_await unpinner_.flush(thread);
  co_return makes_room;
}

// Invalidates what is pinned of the range, and unpins what nobody uses. False: there is nothing of that.
Task<bool> FollowingPins::drop_idle(cpu::Execution& thread, os::Range pages) {
  GoneOnes gone;
  invalidate(pages, gone);
  const bool has_some = !gone.empty();
  co_await let_go(thread, std::move(gone));
  co_return has_some;
}

void FollowingPins::invalidate(os::Range pages, GoneOnes& gone) {
  count_.regions_inv_unmap += lose(pages, gone);
  if (making_ != nullptr && making_->pages.overlaps(pages)) making_->overtaken = true;
}

Task<bool> FollowingPins::begin(cpu::Execution& exec, os::TableChange change) {
  if (change.may_refuse() && is_held(change.range)) co_return false;
  changes_.push_back(change.range);
  if (!takes_frames(change.by.by)) co_return true;
  ++count_.unmap_events;
  const bool makes_it = making_ != nullptr && &making_->thread == &exec;
  const bool was_overtaken = makes_it && making_->overtaken;
  GoneOnes gone;
  invalidate(change.range, gone);
  if (makes_it) making_->overtaken = was_overtaken;  // the pin's own change
  for (sim::Vector<os::PinId>& call : calls_for(gone)) {
    co_await unpin(exec, owner_, std::move(call), os::Caller::kernel);
  }
  co_return true;
}

void FollowingPins::end(os::Range range) {
  const auto found = std::ranges::find(changes_, range);
  if (found != changes_.end()) changes_.erase(found);
  change_ended_.notify_all();
}

void FollowingPins::drop(os::Range pages, os::Taking taking) {
  if (!takes_frames(taking.by)) return;
  ++count_.unmap_events;
  invalidate(pages, garbage_);
}

bool FollowingPins::is_changing(os::Range pages) const {
  return std::ranges::any_of(changes_, [&](os::Range change) { return change.overlaps(pages); });
}

}  // namespace faultline::rdma
