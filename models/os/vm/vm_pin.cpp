// SPDX-License-Identifier: Apache-2.0
// Long-term pins.
#include <algorithm>
#include <utility>

#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {

sim::Task<Result<PinId>> Vm::pin_user_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                            std::uint64_t bytes, bool write, PinCharge charge) {
  const ToldCall told(core_.context, exec, process, "pin_user_pages", va, bytes);
  co_await run(exec, core_.config.pin_fixed);
  const auto range = pages_around(process, va, bytes);
  AddressSpace& space = Mm::of(process).space;
  if (!range.ok()) {
    if (charge == PinCharge::before) space.remove_promised(sim::page_end(va % kPage + bytes));
    co_return Result<PinId>{.error = range.error};
  }
  const std::uint64_t length = range.value.end - range.value.begin;
  // Charged before the pages are looked at, as ib_umem_get does: two callers cannot both pass the limit.
  if (charge == PinCharge::now && !charge_pins(process, length)) co_return Result<PinId>{.error = Error::limit};
  space.remove_promised(length);
  space.add_pinned(length);
  Pin pin{.process = &process, .begin = range.value.begin, .write = write, .frames = {}};
  pin.frames.reserve(length / kPage);
  co_await Mm::of(process).lock.lock_shared(core_.cpu, exec);
  const bool refused =
      write && core_.config.kernel.has(Change::refuses_file_pins) && maps_shared_file(process, range.value);
  Error error = Error::unsupported;
  if (!refused) error = co_await pin_outside_cma(exec, process, range.value, pin);
  Mm::of(process).lock.unlock_shared();
  if (error != Error::none) {
    co_await run(exec, pin.release_cost);
    drop_frames(pin);
    space.remove_pinned(length);
    co_return Result<PinId>{.error = error};
  }
  pinned_.set(pinned_.value() + length, core_.context.loop.now());
  core_.counters.pinned_bytes_peak.raise_to(pinned_.value());
  const PinId id = next_pin_++;
  pins_.emplace(id, std::move(pin));
  co_return Result<PinId>{.value = id};
}

bool Vm::charge_pins(Process& process, std::uint64_t bytes) {
  AddressSpace& space = Mm::of(process).space;
  if (exceeds_limit(space.pinned_bytes() + space.promised_bytes() + bytes)) {
    ++core_.counters.limit_refusals;
    return false;
  }
  space.add_promised(bytes);
  return true;
}

void Vm::give_back_charge(Process& process, std::uint64_t bytes) { Mm::of(process).space.remove_promised(bytes); }

// writable_file_mapping_allowed, the other way round.
bool Vm::maps_shared_file(const Process& process, Range range) {
  bool found = false;
  process.space().for_each_vma(range.begin, range.end,
                               [&](const Vma& vma) { found = found || (vma.shared && !vma.file->is_shmem()); });
  return found;
}

// __gup_longterm_locked: pins the pages; as long as some of them lie in the CMA area lets go of all, has those moved
// out, and begins anew. What faults bring meanwhile does not go there (PF_MEMALLOC_PIN). Old kernels do none of that.
sim::Task<Error> Vm::pin_outside_cma(cpu::Execution& exec, Process& process, Range range, Pin& pin) {
  const bool leaves = core_.config.kernel.has(Change::longterm_leaves_cma);
  if (leaves) pinning_.insert(&exec);
  Error error = Error::again;
  while (error == Error::again) {
    const auto populated =
        co_await populate(exec, process, range, pin.write ? Access::write : Access::read, gup_cost(), &pin);
    core_.counters.pins_acquired += pin.frames.size();
    error = populated.error;
    if (error != Error::none || !leaves || !cma_.holds_any(pin.frames)) break;
    // collect_longterm_unpinnable_folios, if it meets a page that is on no list yet.
    const bool arriving = std::any_of(pin.frames.begin(), pin.frames.end(), [this](Address frame) {
      return cma_.holds(frame) && core_.batches.holds(frame);
    });
    if (arriving) co_await core_.batches.drain(exec);
    co_await run(exec, std::exchange(pin.release_cost, sim::Time{0}));
    drop_frames(pin);
    const auto frames = std::exchange(pin.frames, {});
    error = co_await cma_.move_out(exec, frames);
    if (error == Error::none) error = Error::again;
  }
  pinning_.erase(&exec);
  co_return error;
}

sim::Task<Error> Vm::unpin(cpu::Execution& exec, PinId id, Caller caller) {
  return unpin(exec, sim::Vector<PinId>{id}, caller);
}

sim::Task<Error> Vm::unpin(cpu::Execution& exec, sim::Vector<PinId> ids, Caller caller) {
  sim::Time cost = caller == Caller::program ? core_.config.syscall : sim::Time{0};
  sim::Vector<Pin> pins;
  for (const PinId id : ids) {
    const auto found = pins_.find(id);
    if (found == pins_.end()) continue;
    pins.push_back(std::move(found->second));
    cost += pins.back().release_cost;
    pins_.erase(found);
  }
  const Error error = pins.size() == ids.size() ? Error::none : Error::invalid;
  if (pins.empty()) {
    co_await run(exec, cost);
    co_return error;
  }
  const Pin& first = pins.front();
  const bool is_one = pins.size() == 1;
  const ToldCall told(core_.context, exec, *first.process, "unpin_user_pages", is_one ? first.begin : 0,
                      is_one ? first.bytes() : 0);
  co_await run(exec, cost);
  for (const Pin& pin : pins) {
    drop_frames(pin);
    Mm::of(*pin.process).space.remove_pinned(pin.bytes());
    pinned_.set(pinned_.value() - pin.bytes(), core_.context.loop.now());
  }
  co_return error;
}

// Each part is released at its share of the cost, in whole picoseconds; the first one has what is left over.
sim::Vector<PinId> Vm::split_pin(PinId id, PrivateTable* table, std::span<const VirtualAddress> cuts) {
  const auto found = pins_.find(id);
  const Pin whole = std::move(found->second);
  pins_.erase(found);
  if (table != nullptr) table->remove_pin(id);
  const auto pages = static_cast<std::int64_t>(whole.frames.size());
  sim::Time left = whole.release_cost;
  sim::Vector<PinId> parts;
  auto frame = whole.frames.begin();
  for (std::size_t i = 0; i <= cuts.size(); ++i) {
    const VirtualAddress begin = i == 0 ? whole.begin : cuts[i - 1];
    const VirtualAddress end = i == cuts.size() ? whole.begin + whole.bytes() : cuts[i];
    const auto own = static_cast<std::int64_t>((end - begin) / kPage);
    Pin part{.process = whole.process, .begin = begin, .write = whole.write, .frames = {frame, frame + own}};
    frame += own;
    part.release_cost = whole.release_cost * own / pages;
    left -= part.release_cost;
    parts.push_back(next_pin_++);
    pins_.emplace(parts.back(), std::move(part));
    if (table != nullptr) table->add_pin(parts.back());
  }
  pins_.at(parts.front()).release_cost += left;
  return parts;
}

const Pin* Vm::find_pin(PinId pin) const {
  const auto found = pins_.find(pin);
  return found == pins_.end() ? nullptr : &found->second;
}

// A frame that was unmapped meanwhile is freed with its last pin.
void Vm::drop_frames(const Pin& pin) {
  for (const Address frame : pin.frames) {
    // unpin_user_pages_dirty_lock: the device may have written since the page was last cleaned.
    if (pin.write && core_.frame_table.at(frame).file != 0) page_cache_.dirtied(frame);
    core_.frame_table.remove_pin(frame, *pin.process);
    core_.put_frame(frame);
  }
  core_.counters.pins_released += pin.frames.size();
}

}  // namespace faultline::os
