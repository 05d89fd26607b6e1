// SPDX-License-Identifier: Apache-2.0
// Everybody who caches translations and must forget them when a table changes: the CPUs, and devices through their
// drivers. How many operations go out, and for how many the CPU waits, is arm64's tlbflush.h, or, where cores interrupt
// each other (os.tlb_shootdown), x86's tlb.c.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/os/os_config.hpp"
#include "models/os/vm/page_table.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/statistics.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class Process;

// Pages and blocks whose descriptors have changed, in one table.
class Leaves {
 public:
  void add(VirtualAddress va, PageSize size) {
    addresses_.push_back(va);
    const Range leaf{va, va + bytes_of(size)};
    span_ = span_ ? Range{std::min(span_->begin, leaf.begin), std::max(span_->end, leaf.end)} : leaf;
    small_ = small_ || size == PageSize::small;
  }
  bool empty() const { return addresses_.empty(); }
  std::size_t size() const { return addresses_.size(); }
  const sim::Vector<VirtualAddress>& addresses() const { return addresses_; }
  sim::Vector<VirtualAddress> take() { return std::move(addresses_); }
  // From the first to the end of the last; there must be one.
  Range span() const { return *span_; }
  PageSize smallest() const { return small_ ? PageSize::small : PageSize::huge; }

 private:
  sim::Vector<VirtualAddress> addresses_;
  std::optional<Range> span_;
  bool small_ = false;
};

// The TLB maintenance that a change of a table asks for, the same on the CPUs and on the SMMU.
struct TlbFlush {
  Address table = 0;                   // root of the table that has changed
  sim::Vector<VirtualAddress> leaves;  // one address of each page or block whose descriptor was changed
  // Operations: one for the process's ASID; or one at each multiple of `stride` of a range, which covers the leaves; or
  // (stride 0) one a leaf.
  bool whole = false;
  Range range{};
  std::uint64_t stride = 0;
  bool waits = true;  // for the end of the operations

  std::uint64_t operations() const {
    if (whole) return 1;
    return stride == 0 ? leaves.size() : (range.end - range.begin) / stride;
  }
  // The address of each, where they are not one for the ASID.
  template <typename Visit>
  void for_each_operation(Visit visit) const {
    for (const VirtualAddress leaf : leaves) {
      if (stride == 0) visit(leaf);
    }
    for (VirtualAddress va = range.begin; stride > 0 && va < range.end; va += stride) visit(va);
  }
};

// What caches translations of a process beside the CPUs' TLBs (the SMMU, by its driver).
class TlbInvalidator {
 public:
  virtual ~TlbInvalidator() = default;
  // Its TLBs obey what the CPUs broadcast, so that tables need broadcasts even when no CPU walks them.
  virtual bool hears_broadcasts() const = 0;
  // Called when the CPU that does the flush has done its operations (or at once, when the CPUs' TLBs are not concerned)
  // and begins to wait for them. The task is awaited once that is over, and ends when no cached translation of a leaf,
  // nor of the tables above it, can be used nor is in use: frames are freed only then. `flush` lives until then. A TLB
  // that hears broadcasts need not wait where the CPU does not.
  virtual sim::Task<void> invalidate(cpu::Execution& exec, const Process& process, const TlbFlush& flush) = 0;
  // Called when the CPU begins to wait for all operations that it has not waited for; awaited as above. Nothing where
  // invalidate() does not end before its operations have.
  virtual sim::Task<void> finish(cpu::Execution& exec) = 0;
  // The same, leaf by leaf and in no time (Vm::discard).
  virtual void drop(const Process& process, const sim::Vector<VirtualAddress>& leaves) = 0;
};

// Pages that a thread unmaps one after the other, and has TLBs to wait for (struct tlbflush_unmap_batch).
struct UnmapBatch {
  bool pending = false;
  cpu::CoreSet cores{};  // os.tlb_shootdown = interrupt: those to interrupt (struct arch_tlbflush_unmap_batch)
};

class Tlbs {
 public:
  Tlbs(const OsConfig& config, cpu::Cpu& cpu, sim::Counter& invalidations)
      : config_(config), cpu_(cpu), invalidations_(invalidations) {}

  void add(TlbInvalidator& invalidator) { invalidators_.push_back(&invalidator); }

  // Each ends when nobody uses the leaves any more, `table` being the root of their table; without leaves there is
  // nothing to do, but for flush_all.
  // The page or block at va, by itself: flush_tlb_page, flush_pmd_tlb_range.
  sim::Task<void> flush_leaf(cpu::Execution& exec, const Process& process, Address table, VirtualAddress va,
                             PageSize size);
  // The same of a page that is unmapped by the reverse mapping, with others: since arm64 batches that, the CPU waits in
  // finish() instead (set_tlb_ubc_flush_pending, try_to_unmap_flush).
  sim::Task<void> flush_unmapped(cpu::Execution& exec, const Process& process, Address table, VirtualAddress va,
                                 UnmapBatch& batch);
  sim::Task<void> finish(cpu::Execution& exec, UnmapBatch& batch);
  // As flush_leaf() where only the access flag has gone: ptep_clear_flush_young. Whether the CPU waits depends on the
  // kernel; x86 flushes no page of 4 KiB for it.
  sim::Task<void> flush_young(cpu::Execution& exec, const Process& process, Address table, VirtualAddress va,
                              PageSize size);
  // The leaves that one mmu_gather has collected, and `tables` that became empty with them.
  sim::Task<void> flush_gathered(cpu::Execution& exec, const Process& process, Address table, Leaves leaves,
                                 std::size_t tables);
  // The leaves that change_protection has changed in a range: by flush_gathered() or flush_range(), as the kernel does.
  sim::Task<void> flush_protected(cpu::Execution& exec, const Process& process, Address table, Range range,
                                  Leaves leaves);
  // flush_tlb_range: the whole range, page by page, whatever the leaves are.
  sim::Task<void> flush_range(cpu::Execution& exec, const Process& process, Address table, Range range, Leaves leaves);
  // flush_tlb_mm, and `tables` that became empty.
  sim::Task<void> flush_all(cpu::Execution& exec, const Process& process, Address table, Leaves leaves,
                            std::size_t tables);
  // A table that only devices walk, whose driver invalidates each leaf and then waits.
  sim::Task<void> flush_device(cpu::Execution& exec, const Process& process, Address table,
                               sim::Vector<VirtualAddress> leaves);
  // One operation for each table by itself in older kernels (__flush_tlb_pgtable); nothing in others.
  sim::Task<void> flush_tables(cpu::Execution& exec, std::size_t tables);
  // Takes no time.
  void drop(const Process& process, const sim::Vector<VirtualAddress>& leaves);

 private:
  bool interrupts() const { return config_.tlb_shootdown == TlbShootdown::interrupt; }
  // One operation for the whole address space in place of too many.
  TlbFlush bounded(TlbFlush flush) const;
  sim::Task<void> invalidate(cpu::Execution& exec, const Process& process, TlbFlush flush, bool cpus_walk);
  // The operations of the core that flushes. Broadcast ones reach the other cores, too; where cores interrupt each
  // other they are for this core's TLB alone, and nothing is done if it is not among `cores`.
  // `cpus_walk`: CPUs may have entries of the table that must be flushed here.
  sim::Task<void> issue(cpu::Execution& exec, cpu::CoreSet cores, std::uint64_t operations);
  // Ends when no other core has the entries: after the broadcast operations, or when each of `cores` has been
  // interrupted and has done so many operations itself.
  sim::Task<void> wait_for_cores(cpu::Execution& exec, cpu::CoreSet cores, std::uint64_t operations);

  const OsConfig& config_;
  cpu::Cpu& cpu_;
  sim::Counter& invalidations_;
  std::vector<TlbInvalidator*> invalidators_;
};

}  // namespace faultline::os
