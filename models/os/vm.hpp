// SPDX-License-Identifier: Apache-2.0
// The kernel's memory manager of a node, after Linux: demand-zero faults, transparent huge pages on
// touch, mlock, pins, populate, munmap, and the page tables that the SMMU walks.
//
// Every operation that a program or driver can call is a coroutine. It charges its cost to the caller's
// Execution and answers with an Error; a failed operation gives back what it took, except where Linux
// keeps it (pages populated before an mlock ran out of memory). Operations marked "takes no time" are for
// setting up experiments, not for modelled software.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/memory/frame_store.hpp"
#include "models/os/error.hpp"
#include "models/os/frame_allocator.hpp"
#include "models/os/frame_table.hpp"
#include "models/os/os_config.hpp"
#include "models/os/process.hpp"
#include "models/sim/content.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

// The TLB maintenance that a change of a table asks for, the same on the CPUs and on the SMMU.
struct TlbFlush {
  sim::Vector<VirtualAddress> leaves;  // one address of each page or block whose descriptor was cleared
  bool whole = false;                  // one operation for the process's ASID instead of one a leaf
  std::uint64_t operations() const { return whole ? 1 : leaves.size(); }
};

// Whoever else caches translations of a process (the SMMU's driver).
class TlbInvalidator {
 public:
  virtual ~TlbInvalidator() = default;
  // Its TLBs obey what the CPUs broadcast, so that tables need broadcasts even when no CPU walks them.
  virtual bool hears_broadcasts() const = 0;
  // Called when the CPU that does the flush has come to the last of its operations (or at once, when the CPUs' TLBs
  // are not concerned). The task is awaited once those are over, and ends when no cached translation of a leaf, nor
  // of the tables above it, can be used nor is in use: frames are freed only then. `flush` lives until then.
  virtual sim::Task<void> invalidate(cpu::Execution& exec, const Process& process, const TlbFlush& flush) = 0;
  // The same, leaf by leaf and in no time (Vm::discard).
  virtual void drop(const Process& process, const sim::Vector<VirtualAddress>& leaves) = 0;
};

struct MmapOptions {
  bool writable = true;
  bool populate = false;  // MAP_POPULATE: like Linux, memory that runs out leaves pages absent, silently
  bool locked = false;    // MAP_LOCKED: counts against RLIMIT_MEMLOCK and populates
  HugeAdvice advice = HugeAdvice::none;
  std::uint64_t alignment = kPage;  // power of two, at least 4 KiB
};

using PinId = std::uint64_t;  // never reused

// A long-term pin (FOLL_PIN | FOLL_LONGTERM): the frames stay what and where they are, whatever becomes
// of the process's mapping.
struct Pin {
  Process* process;
  VirtualAddress begin;
  bool write;
  sim::Vector<Address> frames;  // of each page, in order
  sim::Time release_cost{0};    // of the pages; a huge page is released as one
  std::uint64_t bytes() const { return frames.size() * kPage; }
};

class Vm {
 public:
  // Memory below config.kernel_reserved belongs to the kernel image; the rest, up to config.user_memory,
  // is handed out as pages and page tables.
  Vm(const OsConfig& config, const sim::Context& context, memory::FrameStore& store, cpu::Cpu& cpu);
  ~Vm();
  Vm(const Vm&) = delete;
  Vm& operator=(const Vm&) = delete;

  void add_invalidator(TlbInvalidator& invalidator) { invalidators_.push_back(&invalidator); }

  // nullptr when there is no frame for its page table or no ASID left. Takes no time.
  Process* create_process(std::string name);

  // System calls. Lengths are rounded up to whole pages; empty or (where Linux asks for it) misaligned
  // ranges are `invalid`.
  sim::Task<Result<VirtualAddress>> mmap(cpu::Execution& exec, Process& process, std::uint64_t bytes,
                                         MmapOptions options);
  // Splits huge pages at the ends; clears the tables, invalidates the CPU's and all other TLBs, frees the
  // frames. no_memory: no frame for the split's table, nothing unmapped.
  sim::Task<Error> munmap(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);
  // Sets VM_LOCKED (limit: RLIMIT_MEMLOCK, counted in bytes of VMA), then populates. no_memory leaves the
  // VMA locked and what was populated present, as Linux does.
  sim::Task<Error> mlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);
  sim::Task<Error> munlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);
  sim::Task<Error> madvise_populate_write(cpu::Execution& exec, Process& process, VirtualAddress va,
                                          std::uint64_t bytes);
  // MADV_HUGEPAGE: with os.thp = madvise, faults from now on may map 2 MiB. bad_address: a part of the range has no
  // VMA; the rest is advised all the same.
  sim::Task<Error> madvise_hugepage(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes);

  // Pins. RLIMIT_MEMLOCK bounds a process's pinned bytes, apart from its locked bytes (as the kernel's
  // pinned_vm). All or nothing.
  sim::Task<Result<PinId>> pin_user_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                          std::uint64_t bytes, bool write);
  sim::Task<Error> unpin(cpu::Execution& exec, PinId pin);
  const Pin* find_pin(PinId pin) const;

  // get_user_pages without keeping the pages: makes the range present in one system call. As there, it ends before
  // the first page that no VMA allows to be accessed so, which is an error only when it is the very first. The value
  // is the number of pages present from va on, also when an error stopped it.
  sim::Task<Result<std::uint64_t>> fault_in_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                                  std::uint64_t bytes, bool write);

  // One access by user code: a load or store when the page is present, a page fault first when not.
  sim::Task<Error> touch(cpu::Execution& exec, Process& process, VirtualAddress va, bool write);
  // One access to each page of the range, in order; stops at the first error.
  sim::Task<Error> touch_range(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes,
                               bool write);
  // Linux's handle_mm_fault under the mmap lock: what all of the above do for an absent page.
  sim::Task<Error> handle_fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write);

  // Private device tables. map_pinned gives no_memory, or again when another pin of another frame is
  // mapped at one of its addresses; then nothing is mapped. unmap_pinned invalidates TLBs before it returns; call it
  // before unpin.
  Result<PrivateTable*> create_private_table(Process& process);  // takes no time
  sim::Task<Error> map_pinned(cpu::Execution& exec, PrivateTable& table, PinId pin);
  sim::Task<Error> unmap_pinned(cpu::Execution& exec, PrivateTable& table, PinId pin);

  // The following take no time.
  // A writable mapping with no page present, as mmap() makes it.
  Result<VirtualAddress> map(Process& process, std::uint64_t bytes, std::uint64_t alignment = kPage);
  // Makes pages present by the rules of a fault (huge pages included) without its cost and counters.
  Error make_present(Process& process, VirtualAddress va, std::uint64_t bytes);
  // Removes the pages that lie wholly in the range, VMAs stay: like MADV_DONTNEED, TLBs included.
  Error discard(Process& process, VirtualAddress va, std::uint64_t bytes);
  // Writes the pattern (seed, 0 ...) through the page table; bytes on absent pages are lost. Returns the
  // bytes written.
  std::uint64_t fill(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed);
  // What the process would read; absent pages read as zeros, as demand-zero pages would.
  sim::Content read(const Process& process, VirtualAddress va, std::uint32_t bytes) const;

  const OsConfig& config() const { return config_; }
  const FrameAllocator& frames() const { return frames_; }
  FrameRecord frame_record(Address frame) const { return frame_table_.find(frame); }
  std::uint64_t pinned_bytes() const { return pinned_bytes_; }
  std::uint64_t locked_bytes() const { return locked_bytes_; }

 private:
  struct Counters;
  struct Range {
    VirtualAddress begin;
    VirtualAddress end;
  };
  // Of a page on top of its fault, if it had one; the pages of one huge page cost at most per_huge_page.
  struct WalkCost {
    sim::Time per_page;
    sim::Time per_huge_page;
    sim::Time of(std::uint64_t pages, bool huge) const;
  };
  struct NewPage {
    Address frame;
    PageSize size;
  };
  // What is no longer mapped but may still be in a TLB or walk cache.
  struct Zapped {
    sim::Vector<Address> frames;  // 4 KiB each
    sim::Vector<Address> tables;
    sim::Vector<VirtualAddress> leaves;  // where descriptors were cleared
  };

  // With the mmap lock held. `owed` is charged together with the fault's own cost.
  sim::Task<Error> fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write, sim::Time owed);
  // Linux's __get_user_pages; pins the pages as it passes them if `pin` is not nullptr. The value is the
  // number of pages passed.
  sim::Task<Result<std::uint64_t>> populate(cpu::Execution& exec, Process& process, Range range, bool write,
                                            WalkCost cost, Pin* pin);
  // For a table that the CPUs walk, too, or only devices.
  sim::Task<void> invalidate(cpu::Execution& exec, Process& process, sim::Vector<VirtualAddress> leaves,
                             bool cpus_walk);
  sim::Task<void> run(cpu::Execution& exec, sim::Time cost);

  // Without time.
  static Result<Range> pages_around(const Process& process, VirtualAddress va, std::uint64_t bytes);
  bool wants_huge(const Process& process, const Vma& vma, VirtualAddress va) const;
  std::optional<NewPage> take_page(const Process& process, const Vma& vma, VirtualAddress va);
  void give_back(NewPage page);
  Error install(Process& process, const Vma& vma, VirtualAddress va, NewPage page);
  void use_pages(Process& process, Range range, bool write, Pin* pin);
  Error split_edges(Process& process, Range range);
  Zapped zap(Process& process, Range range);
  void release(Process& process, const Zapped& zapped);
  void put_frame(Address frame);
  void drop_frames(const Pin& pin);
  Error map_private(PrivateTable& table, VirtualAddress va, Address frame, bool write);
  static sim::Vector<VirtualAddress> unmap_private(PrivateTable& table, const Pin& pin, std::size_t pages);
  void set_locked(Process& process, Range range, bool locked);
  unsigned locked_leaves(const Process& process, Range range) const;
  bool exceeds_limit(std::uint64_t bytes) const { return bytes > config_.rlimit_memlock; }
  WalkCost gup_cost() const { return {config_.gup_per_page, config_.gup_per_huge_page}; }
  // One operation a folio, whatever its size.
  WalkCost mlock_cost() const { return {config_.mlock_per_page, config_.mlock_per_page}; }

  const OsConfig config_;
  sim::Context context_;
  memory::FrameStore& store_;
  cpu::Cpu& cpu_;
  FrameAllocator frames_;
  FrameTable frame_table_;
  std::deque<std::unique_ptr<Process>> processes_;
  std::vector<TlbInvalidator*> invalidators_;
  sim::HashMap<PinId, Pin> pins_;
  PinId next_pin_ = 1;
  std::uint64_t pinned_bytes_ = 0;
  std::uint64_t locked_bytes_ = 0;
  std::unique_ptr<Counters> counters_;
};

}  // namespace faultline::os
