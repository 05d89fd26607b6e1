// SPDX-License-Identifier: Apache-2.0
// The swap device and the swap cache: where pages go that reclaim takes from programs, and how they come back.
//
// A slot is a page of the device. It stays taken while an entry of a process table refers to it, or while it is the
// copy of a page in memory: until that is written it need not be written out again.
#pragma once

#include <cstdint>
#include <optional>

#include "models/cpu/cpu.hpp"
#include "models/os/error.hpp"
#include "models/os/reclaim/block_device.hpp"
#include "models/os/vm/audit.hpp"
#include "models/os/vm/frame_table.hpp"
#include "models/os/vm/process.hpp"
#include "models/os/vm/swap_slots.hpp"
#include "models/sim/content.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::os {

class VmCore;

class Swap : public SwapSlots {
 public:
  Swap(VmCore& core, BlockDevice& disk);

  bool configured() const { return slots_ > 0; }
  bool has_free_slots() const { return used_ < slots_; }
  std::uint64_t used_pages() const { return used_; }
  std::uint64_t total_pages() const { return slots_; }

  // Takes a slot for a page in memory (add_to_swap); false when none is free. A page that has one keeps it.
  bool assign(Address frame);
  void forget(Address frame) override;
  // forget() where slots are scarce, or the slot holds nothing of use.
  void economize(Address frame);
  // The page is about to be written: its slot is given up, or no longer holds what it holds.
  void dirtied(Address frame);
  // The page in memory goes; who comes to the slot reads it from the device.
  void evict(Address frame);
  bool wanted(Address frame) const override;
  // Whether the slot holds what the page holds.
  bool is_clean(Address frame) const;

  void retain(SwapSlot slot, bool written) override;
  void release(SwapSlot slot) override;

  // The page, which has a slot and is isolated, goes to it.
  sim::Task<void> write(Address frame);
  // do_swap_page, the process's lock shared: finds the page in memory, or reads it from the device, together with those
  // neighbours that read-ahead expects to be wanted. The lock is not held while it is read. again: look once more;
  // no_memory.
  sim::Task<Error> fault(cpu::Execution& exec, Process& process, VirtualAddress va, bool write, sim::Time owed);
  // Ends when the swapped page at va, if there is one, is not being read.
  sim::Task<void> arrived(const Process& process, VirtualAddress va);
  // The same as fault() for set-up, in no time. no_memory; again: it is being read.
  Error bring(Process& process, VirtualAddress va);
  // Whether fault() would find the swapped page at va in memory.
  bool in_memory(const Process& process, VirtualAddress va) const;
  // For pages of shared memory, whose slots no entry refers to.
  // The frame that has the slot's content in memory, or will have it; empty: there is none.
  std::optional<Address> cached(SwapSlot slot) const { return copies_.at(slot).frame; }
  bool is_reading(SwapSlot slot) const { return copies_.at(slot).reading; }
  // Begins to read the slot into a frame that holds no page yet.
  void begin_read(SwapSlot slot, Address frame);
  // Until the next read of any slot has ended.
  sim::Task<void> sleep(cpu::Execution& exec);
  // For set-up: the slot's content is in memory at once. no_memory; again: it is being read.
  Error bring(SwapSlot slot);
  // What the page is that a swapped entry refers to.
  sim::Content content(SwapSlot slot) const;

  // Throws std::logic_error when slots are not referred to as they count, or their frames do not know them.
  void audit(const SlotReferences& references) const;

 private:
  struct Copy {
    std::uint32_t entries = 0;
    std::optional<Address> frame;  // the swap cache
    bool reading = false;
    bool writing = false;
    bool clean = false;  // the device has it, as it is in memory
    bool ahead = false;  // read before anybody asked
    sim::Content content;
  };
  bool is_scarce() const { return used_ * 2 > slots_; }
  std::optional<SwapSlot> take_slot();
  void free_unused(SwapSlot slot);
  void cache(SwapSlot slot, Address frame);
  void map(Process& process, VirtualAddress va, bool write);
  sim::Task<Error> read_around(cpu::Execution& exec, Process& process, VirtualAddress va);
  sim::Task<void> read(SwapSlot slot);
  Range read_ahead_window(Process& process, VirtualAddress va) const;
  // The slot that va refers to at present; 0: it refers to none.
  SwapSlot slot_of(const Process& process, VirtualAddress va) const;

  VmCore& core_;
  BlockDevice& disk_;
  const std::uint64_t slots_;
  std::uint64_t used_ = 0;
  SwapSlot never_used_ = 1;  // and all behind it
  sim::Set<SwapSlot> free_;  // below that
  sim::HashMap<SwapSlot, Copy> copies_;
  sim::Signal read_done_;
  sim::TaskGroup transfers_;
};

}  // namespace faultline::os
