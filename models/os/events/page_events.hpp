// SPDX-License-Identifier: Apache-2.0
// What the kernel does to pages behind a program's back, each mechanism with Linux's order of steps, on a range of a
// process. Who decides when (compaction, ageing, an experiment's injection) is the caller's business.
//
// Of a mechanism's steps those matter here that a device sees: when a descriptor is not valid or has fewer rights, and
// until when. Each function returns how many pages it has dealt with. Costs fall on `exec`.
#pragma once

#include <cstdint>

#include "models/os/events/migration.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

class PageEvents {
 public:
  PageEvents(VmCore& core, Migration& migration, PageCache& page_cache)
      : core_(core), migration_(migration), page_cache_(page_cache) {}

  // Who asks for pages to be moved. Compaction and CMA look for pins first, and leave alone pages that are pinned (and,
  // by option, mlocked); move_pages() and memory offlining find a pin only when the entry is cleared already.
  enum class Mover : std::uint8_t { compaction, move_pages };
  // Page migration. The value is how many pages have moved.
  sim::Task<unsigned> migrate(cpu::Execution& exec, Process& process, Range range, Mover mover);

  // KSM (mm/ksm.c): clears the descriptor, puts it back as it was if somebody holds the page, else without the right to
  // write; then the page shares the frame of an equal one, which here always exists.
  sim::Task<unsigned> merge_equal(cpu::Execution& exec, Process& process, Range range);

  // Who clears access flags. None looks at pins, and reclaim alone leaves locked pages alone.
  // page_referenced: page by page, each with a TLB invalidation, which older kernels wait for.
  sim::Task<unsigned> age(cpu::Execution& exec, Process& process, Range range);
  // /proc/PID/clear_refs: all pages of the process, under mmap_lock; TLBs hear of it in the oldest kernels alone.
  sim::Task<unsigned> clear_refs(cpu::Execution& exec, Process& process);
  // Idle-page tracking (page_idle) and DAMON: no TLB hears of it. Takes no time, because the thread that does it is not
  // modelled.
  unsigned mark_idle(const cpu::Execution& exec, Process& process, Range range);
  // Takes the right to write, as mprotect to read-only and back does; of a shared mapping of a file: its dirty pages
  // are written to the disk, and lose that right first. Does not look at pins.
  sim::Task<unsigned> write_protect(cpu::Execution& exec, Process& process, Range range);
  // userfaultfd in write-protect mode: takes the right to write, which a monitor gives back when it is asked.
  sim::Task<unsigned> userfault_protect(cpu::Execution& exec, Process& process, Range range);
  // NUMA balancing: PROT_NONE until the next access; which private pages it leaves alone the kernel's version says.
  sim::Task<unsigned> numa_hint(cpu::Execution& exec, Process& process, Range range);
  // Memory failure: the pages are gone, and faults on them fail with `poisoned`.
  sim::Task<unsigned> poison(cpu::Execution& exec, Process& process, Range range);
  // A hole punched into the file below: unmapped whatever locks or pins it, zeros from then on. Anonymous memory is
  // treated as if it were a file's.
  sim::Task<unsigned> truncate(cpu::Execution& exec, Process& process, Range range);

 private:
  bool is_spared_by_compaction(const Process& process, VirtualAddress va) const;
  static Leaves used_leaves(const Process& process, Range range);
  bool hinted(const Process& process, VirtualAddress va) const;
  sim::Task<Error> split(cpu::Execution& exec, Process& process, VirtualAddress va, Notice notice);
  void isolate_to_migrate(Address frame, Migration::Sources& sources);
  sim::Task<unsigned> migrate_isolated(cpu::Execution& exec, Migration::Sources& sources);
  sim::Task<bool> migrate_block(cpu::Execution& exec, const Process& owner, Address frame);
  sim::Task<Migration::Unmapping> unmap_block(cpu::Execution& exec, Address frame);
  sim::Task<unsigned> take_right_to_write(cpu::Execution& exec, Process& process, Range range, Taker taker);
  sim::Task<unsigned> flush_changed(cpu::Execution& exec, Process& process, Range range, Leaves leaves);
  sim::Task<unsigned> hide(cpu::Execution& exec, Process& process, Range range, Entry as, Taker taker);
  sim::Task<bool> merge_page(cpu::Execution& exec, Process& process, VirtualAddress va);

  VmCore& core_;
  Migration& migration_;
  PageCache& page_cache_;
};

}  // namespace faultline::os
