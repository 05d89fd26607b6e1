// SPDX-License-Identifier: Apache-2.0
// Memory compaction: where free memory is there but in small pieces, pages are moved from the low end of memory to free
// frames at the high end until 2 MiB are free in one piece. A program that wants a huge page may do that itself, in its
// page fault, or leave it to kcompactd. Every page that is moved is away for a while, as by any migration.
//
// Order and conditions as in Linux 6.x, mm/compaction.c; who does it when, as in mm/page_alloc.c and mm/huge_memory.c.
#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "models/os/events/migration.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

class Reclaim;

class Compaction {
 public:
  // What whoever wants a huge page may do when none is free.
  struct Effort {
    bool direct = false;      // compact, and reclaim for it (__GFP_DIRECT_RECLAIM)
    bool stubborn = false;    // with that, wait for busy pages the second time (no __GFP_NORETRY)
    bool background = false;  // wake kswapd and kcompactd for the benefit of others (__GFP_KSWAPD_RECLAIM)
  };
  enum class Result : std::uint8_t {
    skipped,   // there is too little free memory for it
    deferred,  // it has failed before, and is not tried each time
    complete,  // the scanners have met, in vain
    success    // 2 MiB are free
  };

  Compaction(VmCore& core, Migration& migration, Reclaim& reclaim);

  // By os.thp_defrag: the page fault's. khugepaged's, and that of a program that asks for a collapse.
  Effort effort_of_fault(const Vma& vma) const;
  Effort effort_of_khugepaged() const;
  static Effort effort_of_advice() { return {.direct = true, .stubborn = true}; }

  // To be awaited before a huge frame is taken. If one is free afterwards, it is until the caller waits again.
  sim::Task<void> make_block(cpu::Execution& exec, Effort effort);
  // kcompactd is to make one.
  void wake();
  // vm.compact_memory: all of memory, until the scanners meet.
  sim::Task<void> compact_memory(cpu::Execution& exec);

  // compact_defer_shift: after how many failures in a row the next attempts are left out, as a power of two.
  unsigned defer_shift() const { return defer_shift_; }

 private:
  // async, in a program's own call, also leaves a block as it is that has a page which cannot be moved.
  using Mode = Migration::Mode;
  struct Run {
    Mode mode;
    bool direct;
    bool whole;       // compact_memory
    Address migrate;  // the next page that the migrate scanner looks at
    Address free;     // and the free scanner, whose blocks go from the highest down
    Migration::Sources sources{};
    std::deque<Address> targets{};
  };
  class FreePages;

  sim::Task<void> serve();
  sim::Task<Result> compact_directly(cpu::Execution& exec, Mode mode);
  sim::Task<Result> try_to_compact(cpu::Execution& exec, Mode mode, bool direct);
  sim::Task<Result> compact(cpu::Execution& exec, Run run);
  sim::Task<bool> migrate_sources(cpu::Execution& exec, Run& run);
  std::uint64_t isolate_sources(Run& run);
  std::uint64_t isolate_targets(Run& run, std::size_t wanted);
  void release(Run& run);
  Run start(Mode mode, bool direct, bool whole) const;
  bool movable(Address frame) const;
  bool have_met(const Run& run) const { return run.free / kHugePage <= run.migrate / kHugePage; }
  bool has_block() const;
  bool is_suitable() const;
  bool is_deferred();
  void defer();

  VmCore& core_;
  Migration& migration_;
  Reclaim& reclaim_;
  cpu::Execution* kcompactd_ = nullptr;
  sim::Signal wanted_;
  bool requested_ = false;
  // Where the last run stopped; the next goes on there.
  Address next_migrate_;
  Address next_free_;
  bool has_failed_ = false;  // compact_order_failed
  unsigned defer_shift_ = 0;
  unsigned considered_ = 0;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::os
