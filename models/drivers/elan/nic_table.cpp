// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/elan/nic_table.hpp"

#include <iterator>
#include <utility>

#include "models/nic/elan/registers.hpp"
#include "models/sim/failure.hpp"

namespace faultline::elan {

using cpu::Work;
using sim::Task;

NicTable::Counters::Counters(sim::Statistics& s)
    : pushes(s.counter("elan_driver.pushes", "count",
                       "entries pushed into the NIC's table before the NIC has asked for them")),
      unpushed(
          s.counter("elan_driver.unpushed", "count", "entries that were not pushed, because the NIC's table was full")),
      evictions(s.counter("elan_driver.evictions", "count",
                          "entries that went from the NIC's table to make room for others")),
      vetoes(s.counter("elan_driver.vetoes", "count",
                       "changes of pages, by reclaim or migration, that the driver has refused")) {}

NicTable::NicTable(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, std::uint64_t base,
                   unsigned capacity)
    : counters(context.statistics),
      config_(config),
      cpu_(cpu),
      base_(base),
      capacity_(capacity),
      lock_(context.loop, 1) {}

Task<void> NicTable::write(cpu::Execution& exec, std::uint64_t offset, std::uint64_t value) {
  co_await cpu_.mmio_write(exec, Work::system, base_ + offset, value);
}

std::uint64_t NicTable::frame_word(const Entry& entry) {
  return entry.frame | (entry.writable ? reg::kEntryWritable : 0) |
         (entry.size == os::PageSize::huge ? reg::kEntryBlock : 0);
}

void NicTable::enter(Owner& owner, std::uint32_t pdid, const Entry& entry, bool replaces) {
  if (replaces) return;
  Places& among = entry.stays ? staying_ : by_age_;
  among.push_back({&owner, pdid, entry.begin, entry.stays});
  places_.emplace(std::pair(&owner, entry.begin), std::prev(among.end()));
}

void NicTable::stay(Owner& owner, os::VirtualAddress begin) {
  const auto found = places_.find({&owner, begin});
  if (found == places_.end() || std::exchange(found->second->stays, true)) return;
  staying_.splice(staying_.end(), by_age_, found->second);
}

void NicTable::leave(Owner& owner, os::Range begins) {
  const auto first = places_.lower_bound({&owner, begins.begin});
  const auto last = places_.lower_bound({&owner, begins.end});
  for (auto place = first; place != last; ++place) {
    (place->second->stays ? staying_ : by_age_).erase(place->second);
  }
  places_.erase(first, last);
}

Task<void> NicTable::load(cpu::Execution& exec, Owner& owner, std::uint32_t pdid, Entry entry, std::uint64_t epoch,
                          bool replaces) {
  cpu_.mmio_set_up(base_ + reg::kEntryEpoch, epoch);
  enter(owner, pdid, entry, replaces);
  co_await cpu_.run(exec, Work::system, config_.load);
  co_await write(exec, reg::kEntryAddress, reg::address_of(pdid, entry.begin));
  co_await write(exec, reg::kEntryFrame, frame_word(entry));
}

void NicTable::load_now(Owner& owner, std::uint32_t pdid, const Entry& entry, std::uint64_t epoch, bool replaces) {
  enter(owner, pdid, entry, replaces);
  cpu_.mmio_set_up(base_ + reg::kEntryEpoch, epoch);
  cpu_.mmio_set_up(base_ + reg::kEntryAddress, reg::address_of(pdid, entry.begin));
  cpu_.mmio_set_up(base_ + reg::kEntryFrame, frame_word(entry));
}

// No frame goes with it, so that nothing is waited for; whoever takes the frame later does.
Task<void> NicTable::evict(cpu::Execution& exec) {
  if (by_age_.empty()) {
    throw sim::RunFailure(
        "the NIC's table has no entry left beside those of the processes' libraries: their queues, words and slots",
        {"elan.table_entries", "messages.slots", "messages.slot_bytes", "socket.window", "socket.segment",
         "elan_library.event_entries", "workload.peers"},
        /*refused=*/true);
  }
  const Place oldest = by_age_.front();
  needs_drain_ = true;
  leave(*oldest.owner, {oldest.begin, oldest.begin + 1});
  ++counters.evictions;
  oldest.owner->evicted(oldest.begin);
  co_await take_out(exec, oldest.pdid, oldest.begin);
}

Task<void> NicTable::invalidate(cpu::Execution& exec, Owner& owner, std::uint32_t pdid, os::VirtualAddress begin) {
  leave(owner, {begin, begin + 1});
  co_await take_out(exec, pdid, begin);
}

Task<void> NicTable::take_out(cpu::Execution& exec, std::uint32_t pdid, os::VirtualAddress begin) {
  co_await cpu_.run(exec, Work::system, config_.unload);
  co_await write(exec, reg::kInvalidate, reg::address_of(pdid, begin));
}

void NicTable::invalidate_now(Owner& owner, std::uint32_t pdid, os::VirtualAddress begin) {
  leave(owner, {begin, begin + 1});
  cpu_.mmio_set_up(base_ + reg::kInvalidate, reg::address_of(pdid, begin));
}

Task<void> NicTable::invalidate_process(cpu::Execution& exec, Owner& owner, std::uint32_t pdid) {
  leave(owner, {0, UINT64_MAX});
  co_await write(exec, reg::kInvalidateProcess, pdid);
}

Task<void> NicTable::drain(cpu::Execution& exec) {
  co_await write(exec, reg::kDrain, 1);
  needs_drain_ = false;
  for (;;) {
    const std::uint64_t waits = co_await cpu_.mmio_read(exec, Work::system, base_ + reg::kDrain);
    if (waits == 0) co_return;
  }
}

Task<void> NicTable::restart(cpu::Execution& exec, std::uint32_t pdid, os::VirtualAddress page, bool give_up) {
  co_await write(exec, give_up ? reg::kGiveUp : reg::kRestart, reg::address_of(pdid, page));
}

}  // namespace faultline::elan
