// SPDX-License-Identifier: Apache-2.0
#include "models/os/reclaim/swap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm_core.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

Swap::Swap(VmCore& core, BlockDevice& disk)
    : core_(core), disk_(disk), slots_(core.config.swap_bytes / kPage), read_done_(core.context.loop) {}

// Slots.

std::optional<SwapSlot> Swap::take_slot() {
  if (used_ == slots_) return {};
  core_.counters.swap_peak.raise_to(++used_ * kPage);
  if (free_.empty()) return never_used_++;
  return free_.extract(free_.begin()).value();
}

bool Swap::assign(Address frame) {
  if (core_.frame_table.at(frame).slot != 0) return true;
  const auto slot = take_slot();
  if (slot) cache(*slot, frame);
  return slot.has_value();
}

void Swap::cache(SwapSlot slot, Address frame) {
  copies_[slot].frame = frame;
  core_.frame_table.at(frame).slot = slot;
}

void Swap::forget(Address frame) {
  const FrameRecord& record = core_.frame_table.at(frame);
  const SwapSlot slot = record.slot;
  if (slot == 0 || record.isolated > 0) return;  // who works on the page may be about to use the slot
  const Copy& copy = copies_.at(slot);
  if (copy.entries == 0 && !copy.reading && !copy.writing) evict(frame);
}

void Swap::economize(Address frame) {
  const SwapSlot slot = core_.frame_table.at(frame).slot;
  if (slot != 0 && (is_scarce() || !copies_.at(slot).clean)) forget(frame);
}

void Swap::dirtied(Address frame) {
  forget(frame);
  const SwapSlot slot = core_.frame_table.at(frame).slot;
  if (slot != 0) copies_.at(slot).clean = false;
}

void Swap::evict(Address frame) {
  FrameRecord& record = core_.frame_table.at(frame);
  const SwapSlot slot = std::exchange(record.slot, 0);
  copies_.at(slot).frame.reset();
  free_unused(slot);
}

void Swap::free_unused(SwapSlot slot) {
  const auto copy = copies_.find(slot);
  if (copy->second.entries > 0 || copy->second.frame) return;
  copies_.erase(copy);
  free_.insert(slot);
  --used_;
}

bool Swap::wanted(Address frame) const {
  const SwapSlot slot = core_.frame_table.find(frame).slot;
  return slot != 0 && copies_.at(slot).entries > 0;
}

bool Swap::is_clean(Address frame) const { return copies_.at(core_.frame_table.find(frame).slot).clean; }

void Swap::retain(SwapSlot slot, bool written) {
  Copy& copy = copies_.at(slot);
  ++copy.entries;
  if (written) copy.clean = false;
}

void Swap::release(SwapSlot slot) {
  Copy& copy = copies_.at(slot);
  --copy.entries;
  // Takes the slot away, too, if nothing else needs it.
  if (copy.frame) {
    core_.put_frame(*copy.frame);
  } else {
    free_unused(slot);
  }
}

sim::Content Swap::content(SwapSlot slot) const {
  const Copy& copy = copies_.at(slot);
  return copy.frame && !copy.reading ? core_.store.read(*copy.frame, kPage) : copy.content;
}

SwapSlot Swap::slot_of(const Process& process, VirtualAddress va) const {
  const PageState* page = Mm::of(process).space.entry(va);
  return page != nullptr && page->entry == Entry::swapped ? page->slot() : 0;
}

// Transfers.

Task<void> Swap::write(Address frame) {
  Copy& copy = copies_.at(core_.frame_table.find(frame).slot);  // stays where it is as long as it is being written
  copy.writing = true;
  copy.clean = true;  // unless somebody says meanwhile that the page differs
  ++core_.counters.pswpout;
  co_await disk_.write(kPage);
  copy.content = core_.store.read(frame, kPage);
  copy.writing = false;
}

Task<void> Swap::read(SwapSlot slot) {
  Copy& copy = copies_.at(slot);
  const Address frame = *copy.frame;
  ++core_.counters.pswpin;
  co_await disk_.read(kPage);
  core_.store.write(frame, copy.content);
  copy.reading = false;
  core_.put_back(frame, /*active=*/false);  // where nobody wants it any more
  read_done_.notify_all();
}

Task<Error> Swap::fault(Execution& exec, Process& process, VirtualAddress va, bool write, sim::Time owed) {
  const SwapSlot slot = slot_of(process, va);
  if (!copies_.at(slot).frame) {
    ++core_.counters.pgmajfault;
    ++Mm::of(process).faults.major;
    co_await core_.run(exec, std::exchange(owed, sim::Time{0}) + core_.config.disk_fault);
    const Error error = co_await read_around(exec, process, va);
    if (error != Error::none) co_return error;
  }
  if (slot_of(process, va) != slot || !copies_.at(slot).frame) co_return Error::again;
  Copy& copy = copies_.at(slot);
  const Address frame = *copy.frame;
  std::optional<VmCore::Hold> hold(std::in_place, core_, frame);  // or reclaim would take it before it is mapped
  if (copy.reading) {
    Mm::of(process).lock.unlock_fault(exec);
    {
      const ToldCall wait(core_.context, exec, process, "wait for the swap device");
      while (copy.reading) co_await core_.cpu.sleep(exec, read_done_);
    }
    co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  }
  co_await core_.run(exec, owed + core_.config.fault_no_alloc);
  // A munmap that goes on as a reader has the entry until it comes to it, and no VMA.
  const bool wanted = slot_of(process, va) == slot && Mm::of(process).space.find(va) != nullptr;
  hold.reset();
  if (wanted) {
    if (std::exchange(copy.ahead, false)) {
      ++core_.counters.swap_ra_hit;
      ReadAhead& ahead = *Mm::of(process).space.read_ahead(va);
      ahead.last = va;
      ++ahead.hits;
    }
    map(process, va, write);
  }
  co_return Error::again;
}

// Linux's do_swap_page, its end: only who has the page alone may write it at once; others copy it then.
void Swap::map(Process& process, VirtualAddress va, bool write) {
  const SwapSlot slot = slot_of(process, va);
  const Address frame = *copies_.at(slot).frame;
  core_.swap_in(process, va, frame);
  const Vma& vma = *Mm::of(process).space.find(va);
  if (write || is_scarce() || vma.locked) forget(frame);
  const FrameRecord& record = core_.frame_table.at(frame);
  const bool watched = Mm::of(process).space.page(va)->userfault;
  if (write && vma.writable && !watched && record.slot == 0 && record.mappings == 1) core_.allow_writing(process, va);
}

Task<Error> Swap::read_around(Execution& exec, Process& process, VirtualAddress va) {
  const Range window = read_ahead_window(process, va);
  for (VirtualAddress at = window.begin; at < window.end; at += kPage) {
    const bool room =
        at == va ? co_await core_.reclaim().make_room(exec, process, 1) : core_.reclaim().has_room(process, 1);
    if (!room && at != va) continue;
    if (!room) {
      ++core_.counters.out_of_memory;
      co_return Error::no_memory;
    }
    const SwapSlot slot = slot_of(process, at);
    if (slot == 0 || copies_.at(slot).frame) continue;
    const auto frame = core_.frames.allocate_page();
    if (!frame) co_return Error::no_memory;
    Copy& copy = copies_.at(slot);
    copy.ahead = at != va;
    if (copy.ahead) ++core_.counters.swap_ra;
    begin_read(slot, *frame);
  }
  co_return Error::none;
}

void Swap::begin_read(SwapSlot slot, Address frame) {
  cache(slot, frame);
  ++core_.frame_table.at(frame).isolated;
  Copy& copy = copies_.at(slot);
  copy.reading = true;
  copy.clean = true;
  transfers_.start(read(slot));
}

Task<void> Swap::sleep(Execution& exec) { return core_.cpu.sleep(exec, read_done_); }

// Linux's swap_vma_ra_win: as many as were found useful last time, rounded up to a power of two, in the direction in
// which the program goes; half as many as before when they were not.
Range Swap::read_ahead_window(Process& process, VirtualAddress va) const {
  const std::uint64_t most = std::uint64_t{1} << core_.config.page_cluster;
  ReadAhead& ahead = *Mm::of(process).space.read_ahead(va);
  const bool forward = va == ahead.last + kPage;
  const bool backward = va + kPage == ahead.last;
  std::uint64_t pages = ahead.hits + 2;
  if (pages == 2) {
    pages = forward || backward ? 2 : 1;
  } else {
    pages = std::max<std::uint64_t>(std::bit_ceil(pages), 4);
  }
  pages = std::max(std::min(pages, most), std::uint64_t{ahead.window / 2});
  ahead = {.last = va, .window = static_cast<unsigned>(pages), .hits = 0};
  const Vma& vma = *Mm::of(process).space.find(va);
  const Range whole = huge_range(va);
  const VirtualAddress lowest = std::max(vma.begin, whole.begin);
  const VirtualAddress highest = std::min(vma.end, whole.end);
  const std::uint64_t before = forward ? 0 : backward ? pages - 1 : (pages - 1) / 2;
  const VirtualAddress begin = va - std::min(before * kPage, va - lowest);
  return {begin, std::min(highest, va + (pages - before) * kPage)};
}

Task<void> Swap::arrived(const Process& process, VirtualAddress va) {
  for (SwapSlot slot = slot_of(process, va); slot != 0 && copies_.at(slot).reading; slot = slot_of(process, va)) {
    co_await read_done_;
  }
}

bool Swap::in_memory(const Process& process, VirtualAddress va) const {
  const Copy& copy = copies_.at(slot_of(process, va));
  return copy.frame && !copy.reading;
}

Error Swap::bring(Process& process, VirtualAddress va) {
  const Error error = bring(slot_of(process, va));
  if (error == Error::none) map(process, va, /*write=*/true);
  return error;
}

Error Swap::bring(SwapSlot slot) {
  Copy& copy = copies_.at(slot);
  if (copy.reading) return Error::again;
  if (copy.frame) return Error::none;
  const auto frame = core_.frames.allocate_page();
  if (!frame) return Error::no_memory;
  core_.store.write(*frame, copy.content);
  cache(slot, *frame);
  copy.clean = true;
  core_.lru(core_.frame_table.at(*frame)).add(*frame, LruList::inactive_anon);
  core_.note_arrival(core_.frame_table.at(*frame));
  return Error::none;
}

void Swap::audit(const SlotReferences& references) const {
  for (const auto& [slot, copy] : copies_) {
    const auto found = references.find(slot);
    if (copy.entries != (found == references.end() ? 0 : found->second)) {
      broken(fmt::format("slot {} counts {} entries that refer to it", slot, copy.entries));
    }
    if (copy.frame && core_.frame_table.find(*copy.frame).slot != slot) {
      broken(fmt::format("slot {} and its frame disagree", slot));
    }
  }
}

}  // namespace faultline::os
