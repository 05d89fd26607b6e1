// SPDX-License-Identifier: Apache-2.0
// Long-term pins, and the private device tables that hold nothing else.
#include "models/os/vm.hpp"
#include "models/os/vm_counters.hpp"

namespace faultline::os {

sim::Task<Result<PinId>> Vm::pin_user_pages(cpu::Execution& exec, Process& process, VirtualAddress va,
                                            std::uint64_t bytes, bool write) {
  co_await run(exec, config_.pin_fixed);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return Result<PinId>{.error = range.error};
  const std::uint64_t length = range.value.end - range.value.begin;
  AddressSpace& space = process.space_;
  if (exceeds_limit(space.pinned_bytes() + length)) {
    ++counters_->limit_refusals;
    co_return Result<PinId>{.error = Error::limit};
  }
  // Charged before the pages are looked at, as ib_umem_get does: two callers cannot both pass the limit.
  space.add_pinned(length);
  Pin pin{.process = &process, .begin = range.value.begin, .write = write, .frames = {}};
  pin.frames.reserve(length / kPage);
  co_await process.lock_.lock_shared(cpu_, exec);
  const auto populated = co_await populate(exec, process, range.value, write, gup_cost(), &pin);
  process.lock_.unlock_shared();
  counters_->pins_acquired += pin.frames.size();
  if (!populated.ok()) {
    co_await run(exec, pin.release_cost);
    drop_frames(pin);
    space.remove_pinned(length);
    co_return Result<PinId>{.error = populated.error};
  }
  pinned_bytes_ += length;
  counters_->pinned_bytes_peak.raise_to(pinned_bytes_);
  const PinId id = next_pin_++;
  pins_.emplace(id, std::move(pin));
  co_return Result<PinId>{.value = id};
}

sim::Task<Error> Vm::unpin(cpu::Execution& exec, PinId id) {
  const auto found = pins_.find(id);
  if (found == pins_.end()) {
    co_await run(exec, config_.syscall);
    co_return Error::invalid;
  }
  const Pin pin = std::move(found->second);
  pins_.erase(found);
  co_await run(exec, config_.syscall + pin.release_cost);
  drop_frames(pin);
  pin.process->space_.remove_pinned(pin.bytes());
  pinned_bytes_ -= pin.bytes();
  co_return Error::none;
}

const Pin* Vm::find_pin(PinId pin) const {
  const auto found = pins_.find(pin);
  return found == pins_.end() ? nullptr : &found->second;
}

// A frame that was unmapped meanwhile is freed with its last pin.
void Vm::drop_frames(const Pin& pin) {
  for (const Address frame : pin.frames) {
    --frame_table_.at(frame).pins;
    put_frame(frame);
  }
  counters_->pins_released += pin.frames.size();
}

Result<PrivateTable*> Vm::create_private_table(Process& process) {
  auto table = PageTable::create(store_, frames_, static_cast<unsigned>(config_.va_bits));
  if (!table) {
    ++counters_->out_of_memory;
    return {.error = Error::no_memory};
  }
  process.private_tables_.push_back(std::make_unique<PrivateTable>(process, std::move(table)));
  return {.value = process.private_tables_.back().get()};
}

sim::Task<Error> Vm::map_pinned(cpu::Execution& exec, PrivateTable& table, PinId id) {
  const Pin* pin = find_pin(id);
  if (pin == nullptr || pin->process != &table.process_ || table.pins_.contains(id)) co_return Error::invalid;
  co_await run(exec, config_.private_map_per_page * static_cast<std::int64_t>(pin->frames.size()));
  pin = find_pin(id);  // the pin may have ended meanwhile
  if (pin == nullptr || !table.pins_.insert(id).second) co_return Error::invalid;
  for (std::size_t i = 0; i < pin->frames.size(); ++i) {
    const Error error = map_private(table, pin->begin + i * kPage, pin->frames[i], pin->write);
    if (error == Error::none) continue;
    if (error == Error::no_memory) ++counters_->out_of_memory;
    unmap_private(table, *pin, i);
    // No walker has seen the tables: all this happened in one instant.
    table.table_->free_tables(table.table_->take_retired());
    table.pins_.erase(id);
    co_return error;
  }
  co_return Error::none;
}

Error Vm::map_private(PrivateTable& table, VirtualAddress va, Address frame, bool write) {
  const auto mapped = table.table_->walk(va);
  if (!mapped) {
    const Error error = table.table_->map(va, frame, PageSize::small, write);
    if (error != Error::none) return error;
  } else if (mapped->frame != frame) {
    return Error::again;
  } else if (write && !mapped->writable) {
    table.table_->protect(va, true);
  }
  ++table.users_[va];
  return Error::none;
}

sim::Task<Error> Vm::unmap_pinned(cpu::Execution& exec, PrivateTable& table, PinId id) {
  const Pin* pin = find_pin(id);
  if (pin == nullptr || table.pins_.erase(id) == 0) co_return Error::invalid;
  const sim::Time cost = config_.private_map_per_page * static_cast<std::int64_t>(pin->frames.size());
  sim::Vector<VirtualAddress> leaves = unmap_private(table, *pin, pin->frames.size());
  const sim::Vector<Address> retired = table.table_->take_retired();
  co_await run(exec, cost);
  co_await invalidate(exec, table.process_, std::move(leaves), /*cpus_walk=*/false);
  table.table_->free_tables(retired);
  co_return Error::none;
}

// Where that cleared a descriptor: other pins may need those that remain.
sim::Vector<VirtualAddress> Vm::unmap_private(PrivateTable& table, const Pin& pin, std::size_t pages) {
  sim::Vector<VirtualAddress> leaves;
  for (std::size_t i = 0; i < pages; ++i) {
    const auto users = table.users_.find(pin.begin + i * kPage);
    if (--users->second > 0) continue;
    leaves.push_back(users->first);
    table.table_->unmap(users->first);
    table.users_.erase(users);
  }
  return leaves;
}

}  // namespace faultline::os
