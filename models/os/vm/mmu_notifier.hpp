// SPDX-License-Identifier: Apache-2.0
// What follows the table of a process and must know of its changes: a device's mirror, a driver that pushes entries
// into a NIC's table, a pin-down cache. Linux: struct mmu_notifier_ops.
//
// Where a change takes time:
//
//   begin(change)   ... entries change, TLBs forget them ...   end(range)   usable(leaf) of what is usable then
#pragma once

#include <cstdint>

#include "models/cpu/cpu.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/os/vm/taking.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

// told: of what happens in any case (munmap, exit, mprotect, fork, copy-on-write, collapse ...). asked: for pages that
// may as well stay, which reclaim and migration want. Linux asks only in the OOM reaper, which cannot wait
// (mmu_notifier_invalidate_range_start_nonblock, -EAGAIN).
enum class Notice : std::uint8_t { told, asked };

// struct mmu_notifier_range.
struct TableChange {
  Range range;  // widened: a page of 2 MiB of which a part changes lies in it as a whole
  Taking by;
  Notice notice = Notice::told;
  bool may_refuse() const { return notice == Notice::asked; }
};

class MmuNotifier {
 public:
  virtual ~MmuNotifier() = default;

  // invalidate_range_start: before entries of the range change. Ends when the device can no longer use the range, which
  // may take simulated time of `exec` (invalidations, unpinning, waiting for the device). Until end() nothing of the
  // range may be given to the device again. Changes of overlapping ranges may be under way together.
  //
  // False: it refuses, and goes on as if it had not been asked; end() does not follow. Only where change.may_refuse();
  // the pages are then treated as any that cannot be taken.
  //
  // The caller may hold the process's mmap lock, and may be reclaiming: the task must take no lock of the process, and
  // no memory that would have to be reclaimed.
  virtual sim::Task<bool> begin(cpu::Execution& exec, TableChange change) = 0;
  // invalidate_range_end: the change is over, or another notifier has refused it. Takes no time. Follows each begin()
  // that did not refuse; comes without one for a change that began before the notifier was added.
  virtual void end(Range range) = 0;
  // begin() and end() in no time, where a change takes none (set-up). It cannot be refused.
  virtual void drop(Range range, Taking by) = 0;

  // Whether usable() is wanted, for as long as it is on a process's list.
  virtual bool wants_usable() const { return false; }
  // The entry of this page, or block of 2 MiB, may be given to the device as the process's table has it now, until the
  // next begin() of a range that contains it. Called for each entry that
  // - is there when the notifier is added,
  // - is mapped, made young or made writable, or whose page is no longer being moved,
  // - lies in a range whose changes under way have all ended.
  // May be called again for an entry that the notifier knows. Takes no time, and changes no table.
  virtual void usable([[maybe_unused]] Range leaf) {}
  // Whether there is work for follow() or follow_now().
  virtual bool has_to_follow() const { return false; }
  // At the end of a page fault, by the thread that has faulted: what follows of usable(), and takes time. Mainline has
  // no such hook; Quadrics' IOPROC patch (2005) had one, under the page table's lock.
  virtual sim::Task<void> follow(cpu::Execution& /*exec*/) { co_return; }
  // The same in no time, where a change takes none (set-up).
  virtual void follow_now() {}
};

}  // namespace faultline::os
