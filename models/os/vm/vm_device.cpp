// SPDX-License-Identifier: Apache-2.0
// The tables that only devices walk: private ones, filled once, and mirrors of the process's own.
#include <utility>

#include "models/os/reclaim/reclaim.hpp"
#include "models/os/vm/vm.hpp"

namespace faultline::os {

Result<PrivateTable*> Vm::create_private_table(Process& process) {
  auto table = PageTable::create(core_.store, core_.frames, static_cast<unsigned>(core_.config.va_bits),
                                 /*dated=*/true);
  if (!table) {
    ++core_.counters.out_of_memory;
    return {.error = Error::no_memory};
  }
  process.private_tables_.push_back(std::make_unique<PrivateTable>(process, std::move(table)));
  return {.value = process.private_tables_.back().get()};
}

// Before a device's table grows by that much, which is then done in an instant: at both ends tables of each level, and
// a leaf table for each 2 MiB between. False: no_memory.
sim::Task<bool> Vm::make_room_for_tables(cpu::Execution& exec, const Process& process, std::uint64_t bytes) {
  const bool room = co_await core_.reclaim->make_room_for_tables(exec, process, bytes / kHugePage + 6);
  if (!room) ++core_.counters.out_of_memory;
  co_return room;
}

sim::Task<Error> Vm::map_pinned(cpu::Execution& exec, PrivateTable& table, PinId id) {
  const Pin* pin = find_pin(id);
  if (pin == nullptr || pin->process != &table.process_ || table.pins_.contains(id)) co_return Error::invalid;
  const std::uint64_t bytes = pin->bytes();
  co_await run(exec, core_.config.private_map_per_page * static_cast<std::int64_t>(bytes / kPage));
  if (!co_await make_room_for_tables(exec, table.process_, bytes)) co_return Error::no_memory;
  pin = find_pin(id);  // the pin may have ended meanwhile
  if (pin == nullptr || !table.pins_.insert(id).second) co_return Error::invalid;
  sim::Vector<VirtualAddress> upgraded;
  for (std::size_t i = 0; i < pin->frames.size(); ++i) {
    const Error error = map_private(table, pin->begin + i * kPage, pin->frames[i], pin->write, upgraded);
    if (error == Error::none) continue;
    if (error == Error::no_memory) ++core_.counters.out_of_memory;
    unmap_private(table, *pin, i);
    // No walker has seen the tables: all this happened in one instant.
    table.table_->free_tables(table.table_->take_retired());
    table.pins_.erase(id);
    co_return error;
  }
  co_await core_.tlbs.flush_device(exec, table.process_, table.root(), std::move(upgraded));
  co_return Error::none;
}

// `upgraded`: where TLBs may hold that the page must not be written.
Error Vm::map_private(PrivateTable& table, VirtualAddress va, Address frame, bool write,
                      sim::Vector<VirtualAddress>& upgraded) {
  const auto mapped = table.table_->walk(va);
  if (!mapped) {
    const Error error = table.table_->map(va, frame, PageSize::small, write);
    if (error != Error::none) return error;
  } else if (mapped->frame != frame) {
    return Error::again;
  } else if (write && !mapped->writable) {
    table.table_->protect(va, true);
    upgraded.push_back(va);
  }
  ++table.users_[va];
  return Error::none;
}

sim::Task<Error> Vm::unmap_pinned(cpu::Execution& exec, PrivateTable& table, PinId id) {
  const Pin* pin = find_pin(id);
  if (pin == nullptr || table.pins_.erase(id) == 0) co_return Error::invalid;
  const sim::Time cost = core_.config.private_map_per_page * static_cast<std::int64_t>(pin->frames.size());
  sim::Vector<VirtualAddress> leaves = unmap_private(table, *pin, pin->frames.size());
  const sim::Vector<Address> retired = table.table_->take_retired();
  co_await run(exec, cost);
  co_await core_.tlbs.flush_device(exec, table.process_, table.root(), std::move(leaves));
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

sim::Task<Error> Vm::map_unpinned(cpu::Execution& exec, PrivateTable& table, VirtualAddress va, std::uint64_t bytes) {
  co_await run(exec, core_.config.syscall);
  const auto range = pages_around(table.process_, va, bytes);
  if (!range.ok()) co_return range.error;
  co_await run(exec, core_.config.private_map_per_page * static_cast<std::int64_t>(range.value.pages()));
  if (!co_await make_room_for_tables(exec, table.process_, range.value.end - range.value.begin)) {
    co_return Error::no_memory;
  }
  sim::Vector<VirtualAddress> upgraded;  // none: nobody has mapped the page before
  for (VirtualAddress at = range.value.begin; at < range.value.end; at += kPage) {
    const PageState* page = table.process_.space_.page(at);
    if (page == nullptr) co_return Error::bad_address;
    const Error error = map_private(table, at, page->frame, page->writable, upgraded);
    if (error != Error::none) co_return error;
  }
  co_return Error::none;
}

Result<MirroredTable*> Vm::create_mirrored_table(Process& process) {
  auto table = PageTable::create(core_.store, core_.frames, static_cast<unsigned>(core_.config.va_bits));
  if (!table) {
    ++core_.counters.out_of_memory;
    return {.error = Error::no_memory};
  }
  process.mirrors_.push_back(std::make_unique<MirroredTable>(core_.context.loop, process, std::move(table)));
  return {.value = process.mirrors_.back().get()};
}

sim::Task<Result<std::uint64_t>> Vm::mirror_pages(cpu::Execution& exec, MirroredTable& mirror, VirtualAddress va,
                                                  std::uint64_t bytes, bool write) {
  const auto found = pages_around(mirror.process_, va, bytes);
  if (!found.ok()) co_return Result<std::uint64_t>{.error = found.error};
  sim::Vector<VirtualAddress> upgraded;
  for (;;) {
    MirroredTable::Filling filling{found.value};
    // Whole huge pages, because descriptors are made whole.
    const AddressSpace& space = mirror.process_.space_;
    if (space.is_huge(va)) filling.range.begin = huge_range(va).begin;
    if (space.is_huge(found.value.end - 1)) filling.range.end = huge_range(found.value.end - 1).end;
    while (mirror.changes(filling.range)) co_await core_.cpu.sleep(exec, mirror.settled_);
    if (!co_await make_room_for_tables(exec, mirror.process_, found.value.end - found.value.begin)) {
      co_return Result<std::uint64_t>{.error = Error::no_memory};
    }
    mirror.fillings_.push_back(&filling);
    const auto present = co_await fault_in_pages(exec, mirror.process_, va, bytes, write);
    const Range range{found.value.begin, found.value.begin + present.value * kPage};
    if (present.value > 0) {
      co_await run(exec, core_.config.private_map_per_page * descriptors(mirror.process_, range));
    }
    std::erase(mirror.fillings_, &filling);
    if (present.value == 0) co_return present;
    if (filling.overtaken || !fill_mirror(mirror, range, write, upgraded)) {
      ++core_.counters.mirror_retries;
      continue;
    }
    co_await core_.tlbs.flush_device(exec, mirror.process_, mirror.root(), std::move(upgraded));
    co_return present;
  }
}

// That map the range: one for each page, or huge page.
std::int64_t Vm::descriptors(const Process& process, Range range) {
  std::int64_t count = 0;
  for (VirtualAddress va = range.begin; va < range.end; ++count) {
    va = process.space_.is_huge(va) ? huge_range(va).end : va + kPage;
  }
  return count;
}

// False: a page cannot be taken any more.
bool Vm::fill_mirror(MirroredTable& mirror, Range range, bool write, sim::Vector<VirtualAddress>& upgraded) {
  const AddressSpace& space = mirror.process_.space_;
  for (VirtualAddress va = range.begin; va < range.end; va += kPage) {
    const PageState* page = space.page(va);
    if (!takeable(page, write)) return false;
    if (const auto known = mirror.table_->walk(va)) {
      if (page->may_write() && !known->writable) {
        mirror.table_->protect(va, true);
        upgraded.push_back(va);
      }
      continue;
    }
    const PageSize size = space.leaf_size(va);
    const VirtualAddress begin = page_range(va, size).begin;
    const Error error = mirror.table_->map(begin, space.page(begin)->frame, size, page->may_write());
    if (error != Error::none) return true;  // no memory for a table: the device faults again
    mirror.filled(begin, size);
  }
  return true;
}

}  // namespace faultline::os
