// SPDX-License-Identifier: Apache-2.0
// The tables that only devices walk: private ones, filled once, and mirrors of the process's own.
#include <utility>

#include "models/os/vm/told_call.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {

// nullptr: no frame for it.
std::unique_ptr<PageTable> Vm::new_device_table(bool dated) {
  auto table = PageTable::create(core_.store, core_.frames, static_cast<unsigned>(core_.config.va_bits), dated);
  if (!table) ++core_.counters.out_of_memory;
  return table;
}

Result<PrivateTable*> Vm::create_private_table(Process& process) {
  auto entries = new_device_table(/*dated=*/true);
  if (!entries) return {.error = Error::no_memory};
  auto table = std::make_unique<PrivateTable>(process, std::move(entries));
  PrivateTable* created = table.get();
  Mm::of(process).device_tables.push_back(std::move(table));
  return {.value = created};
}

Result<MirroredTable*> Vm::create_mirrored_table(Process& process) {
  auto entries = new_device_table(/*dated=*/false);
  if (!entries) return {.error = Error::no_memory};
  auto table = std::make_unique<MirroredTable>(*this, core_, process, std::move(entries));
  MirroredTable* created = table.get();
  Mm::of(process).device_tables.push_back(std::move(table));
  core_.add_notifier(process, *created);
  return {.value = created};
}

sim::Task<Result<std::uint64_t>> Vm::mirror_pages(cpu::Execution& exec, MirroredTable& mirror, VirtualAddress va,
                                                  std::uint64_t bytes, bool write) {
  const ToldCall told(core_.context, exec, mirror.process(), "hmm_range_fault", va, bytes);
  const auto found = pages_around(mirror.process(), va, bytes);
  if (!found.ok()) co_return Result<std::uint64_t>{.error = found.error};
  co_return co_await mirror.fill(exec, found.value, write);
}

sim::Task<Error> Vm::map_pinned(cpu::Execution& exec, PrivateTable& table, PinId id) {
  const ToldCall told(core_.context, exec, table.process(), "fill the private table");
  const Pin* pin = find_pin(id);
  if (pin == nullptr || pin->process != &table.process() || table.has_pin(id)) co_return Error::invalid;
  const std::uint64_t bytes = pin->bytes();
  co_await run(exec, core_.config.private_map_per_page * static_cast<std::int64_t>(bytes / kPage));
  if (!co_await core_.make_room_for_tables(exec, table.process(), bytes)) co_return Error::no_memory;
  pin = find_pin(id);  // the pin may have ended meanwhile
  if (pin == nullptr || !table.add_pin(id)) co_return Error::invalid;
  sim::Vector<VirtualAddress> upgraded;
  for (std::size_t i = 0; i < pin->frames.size(); ++i) {
    const Error error = table.map(pin->begin + i * kPage, pin->frames[i], pin->write, upgraded);
    if (error == Error::none) continue;
    if (error == Error::no_memory) ++core_.counters.out_of_memory;
    // No walker has seen the tables: all this happened in one instant.
    table.free_tables(table.unmap(pin->begin, i).tables);
    table.remove_pin(id);
    co_return error;
  }
  co_await core_.tlbs.flush_device(exec, table.process(), table.root(), std::move(upgraded));
  co_return Error::none;
}

sim::Task<Error> Vm::unmap_pinned(cpu::Execution& exec, PrivateTable& table, PinId id) {
  return unmap_pinned(exec, table, sim::Vector<PinId>{id});
}

sim::Task<Error> Vm::unmap_pinned(cpu::Execution& exec, PrivateTable& table, sim::Vector<PinId> ids) {
  const ToldCall told(core_.context, exec, table.process(), "empty the private table");
  sim::Time cost{0};
  PrivateTable::Unmapped unmapped;
  Error error = Error::none;
  for (const PinId id : ids) {
    const Pin* pin = find_pin(id);
    if (pin == nullptr || !table.remove_pin(id)) {
      error = Error::invalid;
      continue;
    }
    cost += core_.config.private_map_per_page * static_cast<std::int64_t>(pin->frames.size());
    const PrivateTable::Unmapped own = table.unmap(pin->begin, pin->frames.size());
    unmapped.leaves.insert(unmapped.leaves.end(), own.leaves.begin(), own.leaves.end());
    unmapped.tables.insert(unmapped.tables.end(), own.tables.begin(), own.tables.end());
  }
  if (ids.size() == 1 && error != Error::none) co_return error;
  co_await run(exec, cost);
  co_await core_.tlbs.flush_device(exec, table.process(), table.root(), std::move(unmapped.leaves));
  table.free_tables(unmapped.tables);
  co_return error;
}

sim::Task<Error> Vm::map_unpinned(cpu::Execution& exec, PrivateTable& table, VirtualAddress va, std::uint64_t bytes) {
  const ToldCall told(core_.context, exec, table.process(), "fill the private table without pins", va, bytes);
  co_await run(exec, core_.config.syscall);
  const auto range = pages_around(table.process(), va, bytes);
  if (!range.ok()) co_return range.error;
  co_await run(exec, core_.config.private_map_per_page * static_cast<std::int64_t>(range.value.pages()));
  if (!co_await core_.make_room_for_tables(exec, table.process(), range.value.end - range.value.begin)) {
    co_return Error::no_memory;
  }
  for (VirtualAddress at = range.value.begin; at < range.value.end; at += kPage) {
    const PageState* page = table.process().space().page(at);
    if (page == nullptr) co_return Error::bad_address;
    const Error error = table.map_unpinned(at, page->frame, page->writable);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

}  // namespace faultline::os
