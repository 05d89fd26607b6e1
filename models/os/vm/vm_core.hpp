// SPDX-License-Identifier: Apache-2.0
// What all mechanisms of the memory manager share: the node's frames and who holds them, the entries of process tables,
// and the order in which a change of a table reaches everybody who walks or mirrors it:
//
//   co_await core.change_begins(exec, process, range, by);   // MMU notifiers: devices can no longer use the range
//   ... entries change, in no time ...
//   co_await core.flush(exec, process, leaves);          // nobody uses the old descriptors any more
//   core.change_ends(process, range);                    // what is usable now may go to devices again
//   core.retire(...);                                    // now frames may be copied, freed, used again
//
// An access by a device through what was retired is a stale access. Only tasks take time.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/memory/frame_store.hpp"
#include "models/os/error.hpp"
#include "models/os/os_config.hpp"
#include "models/os/vm/audit.hpp"
#include "models/os/vm/frame_allocator.hpp"
#include "models/os/vm/frame_table.hpp"
#include "models/os/vm/huge_pool.hpp"
#include "models/os/vm/memory_group.hpp"
#include "models/os/vm/mm.hpp"
#include "models/os/vm/page_batches.hpp"
#include "models/os/vm/page_reclaim.hpp"
#include "models/os/vm/swap_slots.hpp"
#include "models/os/vm/table_walk.hpp"
#include "models/os/vm/tlbs.hpp"
#include "models/os/vm/vm_counters.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class VmCore {
 public:
  struct NewPage {
    Address frame;
    PageSize size;
  };
  // Keeps a frame from being freed, and its page from being moved, while a task works on what it has found there
  // (folio_get).
  class Hold {
   public:
    Hold(VmCore& core, Address frame) : core_(core), frame_(frame) { ++core_.frame_table.at(frame).isolated; }
    ~Hold() {
      --core_.frame_table.at(frame_).isolated;
      core_.put_frame(frame_);
    }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;

   private:
    VmCore& core_;
    Address frame_;
  };
  // What is no longer mapped but may still be in a TLB or walk cache.
  struct Zapped {
    sim::Vector<Address> frames;  // 4 KiB each
    sim::Vector<Address> tables;
    Leaves leaves;  // where descriptors were cleared
  };

  VmCore(const OsConfig& config, const sim::Context& context, memory::FrameStore& store, cpu::Cpu& cpu);
  // Who works above it, and is asked where frames are short and where pages have slots. To be called once, before there
  // is a process.
  void attach(SwapSlots& swap, PageReclaim& reclaim) {
    swap_ = &swap;
    reclaim_ = &reclaim;
  }
  PageReclaim& reclaim() const { return *reclaim_; }

  // nullptr when there is no frame for its page table or no ASID left. In the root group.
  Process* create_process(std::string name);
  void destroy_process(Process& process);  // which maps nothing

  sim::Task<void> run(cpu::Execution& exec, sim::Time cost) { return cpu.run(exec, cpu::Work::system, cost); }
  // The cost of many pages: the kernel gives way to other threads after each page (cond_resched).
  sim::Task<void> run_giving_way(cpu::Execution& exec, sim::Time cost) { return cpu.run_giving_way(exec, cost); }
  sim::Task<void> cond_resched(cpu::Execution& exec) { return cpu.cond_resched(exec); }
  // The cost of a walk's entries, each of which takes `per_entry`.
  sim::Task<void> run_walk(cpu::Execution& exec, sim::Time per_entry, TableWalk walk);
  sim::Task<void> clear_memory(cpu::Execution& exec, NewPage page);
  sim::Task<void> copy_page(cpu::Execution& exec, Address from, Address to);
  // The same for 2 MiB, giving way after each page; _now takes no time.
  sim::Task<void> copy_block(cpu::Execution& exec, Address from, Address to);
  void copy_block_now(Address from, Address to);

  // To be awaited before VMAs change, in the range or at its ends: mmap_lock exclusively, and the locks of the VMAs in
  // kernels that have them. unlock_exclusive() or downgrade() ends it.
  sim::Task<void> lock_for_change(cpu::Execution& exec, Process& process, Range range);
  // The locks of the VMAs alone, for who holds mmap_lock.
  sim::Task<void> lock_vmas(cpu::Execution& exec, Process& process, Range range);
  // What a change by this thread is to be remembered as: part of an experiment's injection, or not.
  Taking taking(const cpu::Execution& exec, Taker by) const { return {by, injectors.contains(&exec)}; }
  // Notifiers that follow the process's table (mmu_notifier.hpp); a driver's own, which it takes off the list before it
  // goes. add_notifier() takes no time; remove_notifier() waits until the notifier is told nothing any more.
  static void add_notifier(Process& process, MmuNotifier& notifier);
  static sim::Task<void> remove_notifier(Process& process, MmuNotifier& notifier);
  // The two ends of a change of a process's table, and the flush between them. tlbs.hpp names the function of Linux
  // that each flush is. False, where notifiers are asked: one refuses, and there is no change.
  sim::Task<bool> change_begins(cpu::Execution& exec, Process& process, Range range, Taker by,
                                Notice notice = Notice::told);
  void change_ends(Process& process, Range range);
  sim::Task<void> flush(cpu::Execution& exec, Process& process, VirtualAddress leaf);
  // Where rights or flags have changed in place: one operation, of a block, too (flush_tlb_page).
  sim::Task<void> flush_entry(cpu::Execution& exec, Process& process, VirtualAddress leaf);
  // A page that is unmapped with others, for all of which TLBs are waited for by finish_unmapping().
  sim::Task<void> flush_unmapped(cpu::Execution& exec, Process& process, VirtualAddress leaf, UnmapBatch& batch);
  sim::Task<void> finish_unmapping(cpu::Execution& exec, UnmapBatch& batch) { return tlbs.finish(exec, batch); }
  // One leaf after the other, as mechanisms do that go by the reverse mapping.
  sim::Task<void> flush(cpu::Execution& exec, Process& process, sim::Vector<VirtualAddress> leaves);
  sim::Task<void> flush_gathered(cpu::Execution& exec, Process& process, Leaves leaves, std::size_t tables = 0);
  sim::Task<void> flush_protected(cpu::Execution& exec, Process& process, Range range, Leaves leaves);
  sim::Task<void> flush_range(cpu::Execution& exec, Process& process, Range range, Leaves leaves);
  sim::Task<void> flush_all(cpu::Execution& exec, Process& process, Leaves leaves, std::size_t tables = 0);
  // Sets the access flag of a page or block, for a store or for a load (ptep_set_access_flags).
  sim::Task<void> make_young(cpu::Execution& exec, Process& process, VirtualAddress leaf, bool by_store);
  // After a store's fault at a page whose entry allows the store: before 5.10 TLBs forget the entry, which may be an
  // older one there (flush_tlb_fix_spurious_fault; not of 2 MiB entries).
  sim::Task<void> fix_spurious_fault(cpu::Execution& exec, Process& process, VirtualAddress va);
  // Clears the access flag of a page or block, and TLBs forget it (ptep_clear_flush_young): reclaim does so.
  sim::Task<void> clear_young(cpu::Execution& exec, Process& process, VirtualAddress leaf);
  // Ends when no page of the range is in motion. A page in motion may be changed by nobody but the task that moves it.
  // Until the caller waits again no page of the range begins to move.
  sim::Task<void> settled(Process& process, Range range);
  // All TLBs and notifiers forget the leaves, in no time.
  void drop(Process& process, Range range, const sim::Vector<VirtualAddress>& leaves, Taking by = {});

  // Entries. Each changes table, page state and reverse mapping together.
  // A page in a fresh frame, whose content is zeros from now on; again: another page is there by now. The frame is
  // given back unless the answer is none.
  Error install(Process& process, VirtualAddress va, NewPage page, bool writable);
  // The same with the content that the frame has.
  Error adopt(Process& process, VirtualAddress va, NewPage page, bool writable);
  // The shared zero page, not writable. no_memory: no frame for a table.
  Error install_zero_page(Process& process, VirtualAddress va);
  // The same of 2 MiB, from huge_zero_page(); again: a page is there by now.
  Error install_huge_zero_page(Process& process, VirtualAddress va);
  // The page of another process, which is not writable here; there it is the caller's to protect.
  Error share(Process& process, VirtualAddress va, PageState page, PageSize size, Taking by = {});
  // To another place of the same process. There is a frame for each table that this may need.
  void move(Process& process, VirtualAddress from, VirtualAddress to, PageSize size);
  void protect(Process& process, VirtualAddress va, Taking by);
  void allow_writing(Process& process, VirtualAddress va);
  // pte_mkclean: the page stays writable by right, and the next store to it faults. A page that is not writable stays
  // as it is.
  void make_clean(Process& process, VirtualAddress va, Taking by);
  void set_young(Process& process, VirtualAddress va);
  void set_old(Process& process, VirtualAddress va, Taking by);
  // Of a page whose descriptor the caller changes. Who waits for it to come to rest is told.
  static void set_entry(Process& process, PageState& page, Entry entry, Taking by = {});
  // From now on faults on the page wait (moving, migrating), are answered by show() (hidden) or are refused (poisoned).
  // A huge page is hidden whole. The page must not be in motion.
  void hide(Process& process, VirtualAddress va, Entry as, Taking by);
  void show(Process& process, VirtualAddress va);
  // A hidden or moving page leads to another frame, which takes the old one's place in the reverse mapping; whoever
  // calls retires the old one.
  void redirect(Process& process, VirtualAddress va, Address frame);
  // The same of a page of the pool, 2 MiB aligned.
  void redirect_block(Process& process, VirtualAddress va, Address block);
  // A moving page, which has a slot, leaves the process for the swap device; whoever calls has isolated the frame.
  void swap_out(Process& process, VirtualAddress va);
  // A swapped page has come to this frame, which is its slot's. Not writable.
  void swap_in(Process& process, VirtualAddress va, Address frame);
  // The huge zero page makes way for a block of zeros; _now: in no time.
  sim::Task<void> replace_huge_zero_page(cpu::Execution& exec, Process& process, Range range, Address block);
  void replace_huge_zero_page_now(Process& process, Range range, Address block);
  // The pages of the range are moving and have been copied, and their table is detached: the block, all of it present,
  // takes the place of pages and table.
  void replace_by_block(Process& process, Range range, Address block, Address table);
  // All entries of a range whose ends split no huge page. Frames keep their mapping count, and tables their frames,
  // until retire(): until then a TLB or a walk cache may lead a device there, whoever else lets go of them.
  Zapped zap(Process& process, Range range, Taking by);
  // All steps of unmapping a range, once nothing in it is in motion; the value is the number of frames that went.
  // no_memory: an end cuts a huge page, and there is no frame for the split.
  sim::Task<Result<std::uint64_t>> unmap(cpu::Execution& exec, Process& process, Range range, Taker by);
  // Unmaps all that an ending process maps.
  sim::Task<void> unmap_all(cpu::Execution& exec, Process& process);
  void retire(Process& process, const Zapped& zapped);
  // The process maps the frame once less; a frame without a holder is freed.
  void retire(const Process& process, Address frame);
  // The same of 2 MiB.
  void retire_block(const Process& process, Address block);
  // Whether its devices reach the frame, and the process does not.
  bool is_cut_off(const Process& process, Address frame, const FrameRecord& record) const;
  // Translations of the frame from before are stale; it stays where it is.
  void stamp(Address frame);

  // Linux's rmap_walk: visit(process, va), a task, for each entry that led to the frame when its turn came, between the
  // two ends of a change of it. It may lead elsewhere by then. False, where notifiers are asked: one refuses, and the
  // walk has ended there.
  template <typename Visit>
  sim::Task<bool> for_each_mapper(cpu::Execution& exec, Address frame, Taker by, Notice notice, Visit visit) {
    for (const Mapper& mapper : frame_table.mappers(frame)) {
      if (!frame_table.has_mapper(frame, mapper)) continue;  // the list is of a moment ago
      const MmUser user(*mapper.process);
      const Range page{mapper.va, mapper.va + kPage};
      if (!co_await change_begins(exec, *mapper.process, page, by, notice)) co_return false;
      co_await visit(*mapper.process, mapper.va);
      change_ends(*mapper.process, page);
    }
    co_return true;
  }

  // Huge pages that the ends of the range cut, and the one around va. The descriptor is invalid until the TLBs have
  // forgotten the block (Arm: break before make). no_memory: no frame for a table; again: a notifier that was asked
  // refuses. Then the page is whole.
  sim::Task<Error> split_edges(cpu::Execution& exec, Process& process, Range range);
  sim::Task<Error> split(cpu::Execution& exec, Process& process, VirtualAddress va, Notice notice = Notice::told);
  Error split_now(Process& process, VirtualAddress va);
  // A frame of a huge page, for every process that has it whole. Notifiers are asked.
  sim::Task<Error> split_frame(cpu::Execution& exec, Address frame);
  bool is_whole(Address frame) const;  // part of a huge page
  // In no time: for set-up, and where a huge page has come since split_edges().
  Error split_edges_now(Process& process, Range range);

  // Frames.
  std::optional<NewPage> take_page(const Process& process, const Vma& vma, VirtualAddress va,
                                   FrameUse use = FrameUse::movable);
  void give_back(NewPage page);
  // One for a process, reclaimed if need be. Empty: out of memory, or the process was killed.
  sim::Task<std::optional<Address>> new_frame(cpu::Execution& exec, const Process& process,
                                              FrameUse use = FrameUse::movable);
  // Before a device's table grows by what that many bytes need, which is then done in an instant: at both ends tables
  // of each level, and a leaf table for each 2 MiB between. False: no_memory.
  sim::Task<bool> make_room_for_tables(cpu::Execution& exec, const Process& process, std::uint64_t bytes);
  void put_frame(Address frame);
  // The lists that a frame is on, or would be.
  Lru& lru(const FrameRecord& record) { return groups[record.group]->lru; }
  // The page, which is on one of them, counts as one that has come there.
  void note_arrival(const FrameRecord& record);
  // Pages on the lists of this kind of all groups.
  std::uint64_t listed(LruList list) const;
  // The frame is one of this process's group's, unless somebody else's group has it already.
  void charge(const Process& process, Address frame, FrameRecord& record);
  // Takes a page off the lists and holds it, so that no other mechanism of the kernel works on it; false when one does.
  bool isolate(Address frame);
  // Lets go of it, on the list for such pages, unless it is locked by now; it may be free then.
  void put_back(Address frame, bool active);
  // Whether no process that maps the frame has locked it.
  bool evictable(Address frame) const;
  // Whether a process has the frame for itself: nobody maps it, works on it or will want it from the swap device.
  bool owned_alone(const PageState& page) const;
  // Whether a write fault on a page, or on a part of a huge one, gives it the right to write instead of copying it
  // (do_wp_page): it is the process's alone, and in some kernels nobody may refer to it otherwise, by a pin for one.
  bool reusable(const PageState& page, PageSize size) const;
  // Whether any page of the range has more references than mappings: a pin, or somebody at work on it.
  bool held(const Process& process, Range range) const;
  // Whether any page of the range is pinned, by whomever.
  bool pinned(const Process& process, Range range) const;
  bool wants_huge(const Process& process, const Vma& vma, VirtualAddress va) const;
  bool allows_huge(const Vma& vma) const;
  Address zero_page() const { return zero_page_; }
  // mm_get_huge_zero_folio: made when it is wanted first, and kept. False: no memory for it.
  bool has_huge_zero_page() const { return huge_zero_page_.has_value(); }
  sim::Task<bool> make_huge_zero_page(cpu::Execution& exec);
  bool is_huge_zero_page(const Process& process, VirtualAddress va) const;

  // Looks at every page of every process; takes host time, but no simulated time. Throws std::logic_error: a frame that
  // more or fewer entries lead to than it knows of, one that is free and mapped, a descriptor that is not what the page
  // state says. `changing`: something may be under way, so that frames have mappings that entries have left already.
  // The slots that entries refer to, counted.
  SlotReferences audit(bool changing) const;
  // The same for frames: each that is allocated has a holder, and nobody is at work on one for ever.
  // `elsewhere`: frames that others hold, drivers in the CMA area.
  void audit_frames(bool changing, std::uint64_t elsewhere) const;

  // For observers: called when a mechanism of the kernel has changed that many pages of the process for good.
  std::function<void(const Process& process, unsigned pages)> on_change = [](const Process&, unsigned) {};

  const OsConfig config;
  const sim::Context context;
  memory::FrameStore& store;
  cpu::Cpu& cpu;
  FrameAllocator frames;
  FrameTable frame_table;
  VmCounters counters;
  Tlbs tlbs;
  PageBatches batches{config, cpu, context.loop, counters.batch_drains};
  std::deque<std::unique_ptr<Process>> processes;
  std::vector<std::unique_ptr<MemoryGroup>> groups;  // by number
  HugePool huge_pool;
  sim::Set<const cpu::Execution*> injectors;  // threads that do what an experiment injects

 private:
  template <typename Is>
  bool any_frame(const Process& process, Range range, Is is) const;
  void fill_with_zeros(NewPage page);
  void map_in_place_of_note(Process& process, Range range, Address block);
  PageState& state(Process& process, VirtualAddress va);
  void add_mappings(Process& process, VirtualAddress va, Address frame, PageSize size);
  Error add_entry(Process& process, VirtualAddress va, const PageState& page, PageSize size);
  PageState remove_entry(Process& process, VirtualAddress va, PageSize size);
  void list_frame(const Process& process, VirtualAddress va, Address frame);
  void list_tails(const Process& process, Range range);
  void set_entries(Process& process, VirtualAddress va, Entry entry, Taking by = {});

  // The steps of audit(). `entries`: how many lead to a frame.
  using Entries = sim::HashMap<Address, std::uint32_t>;
  void audit_process(Process& process, bool changing, Entries& entries, SlotReferences& to_slots) const;
  void audit_mappings(bool changing, const Entries& entries) const;

  SwapSlots* swap_ = nullptr;
  PageReclaim* reclaim_ = nullptr;
  Address zero_page_;
  std::optional<Address> huge_zero_page_;
};

}  // namespace faultline::os
