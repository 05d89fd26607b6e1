// SPDX-License-Identifier: Apache-2.0
#include "models/os/cma.hpp"

#include <algorithm>
#include <bit>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr std::uint64_t kMostAlignment = 256;  // pages: CONFIG_CMA_ALIGNMENT
constexpr unsigned kTries = 5;                 // __alloc_contig_migrate_range

}  // namespace

bool Cma::holds_any(const sim::Vector<Address>& frames) const {
  return std::any_of(frames.begin(), frames.end(), [this](Address frame) { return holds(frame); });
}

// migrate_longterm_unpinnable_folios. What somebody else works on just now is looked at again by the caller.
Task<Error> Cma::move_out(Execution& exec, const sim::Vector<Address>& frames) {
  for (const Address frame : frames) {
    if (!holds(frame)) continue;
    const Move result = co_await move_away(exec, frame, FrameUse::fixed);
    if (result == Move::moved) ++core_.counters.cma_pin_migrated;
    if (result == Move::held || result == Move::no_memory) co_return Error::no_memory;
  }
  co_return Error::none;
}

Task<Cma::Move> Cma::move_away(Execution& exec, Address frame, FrameUse use) {
  if (co_await core_.split_frame(exec, frame) != Error::none) co_return Move::no_memory;
  if (core_.is_whole(frame) || core_.frame_table.find(frame).list == LruList::none) co_return Move::busy;
  const auto to = core_.frames.allocate_page(use);
  if (!to) {
    ++core_.counters.out_of_memory;
    co_return Move::no_memory;
  }
  const bool active = core_.frame_table.find(frame).is_active();
  core_.isolate(frame);
  const bool moved = co_await events_.move_isolated(exec, frame, active, *to, core_.config.migrate_passes);
  ++(moved ? core_.counters.pgmigrate_success : core_.counters.pgmigrate_fail);
  if (!moved) co_return core_.frame_table.find(frame).pins > 0 ? Move::held : Move::busy;
  for (const Mapper& mapper : core_.frame_table.mappers(*to)) core_.on_change(*mapper.process, 1);
  co_return Move::moved;
}

bool Cma::overlaps_claim(Address begin, std::uint64_t pages) const {
  const auto next = claims_.lower_bound(begin + pages * kPage);
  if (next == claims_.begin()) return false;
  const auto before = std::prev(next);
  return before->first + before->second * kPage > begin;
}

Task<std::optional<Address>> Cma::allocate(Execution& exec, std::uint64_t pages) {
  const FrameRange& area = core_.frames.cma();
  const std::uint64_t step = std::min(std::bit_ceil(pages), kMostAlignment) * kPage;
  for (Address begin = area.begin(); begin + pages * kPage <= area.end(); begin += step) {
    if (overlaps_claim(begin, pages) || !co_await claim(exec, begin, pages)) continue;
    core_.counters.cma_alloc_success += pages;
    co_return std::optional<Address>(begin);
  }
  core_.counters.cma_alloc_fail += pages;
  co_return std::optional<Address>();
}

Task<bool> Cma::allocate_at(Execution& exec, Address begin, std::uint64_t pages) {
  const FrameRange& area = core_.frames.cma();
  const bool inside = begin >= area.begin() && begin + pages * kPage <= area.end();
  const bool done = inside && !overlaps_claim(begin, pages) && co_await claim(exec, begin, pages);
  (done ? core_.counters.cma_alloc_success : core_.counters.cma_alloc_fail) += pages;
  co_return done;
}

// alloc_contig_range: what is free is kept from others first, the rest is moved away, and taken as soon as it is free.
Task<bool> Cma::claim(Execution& exec, Address begin, std::uint64_t pages) {
  const Address end = begin + pages * kPage;
  claims_.emplace(begin, pages);
  sim::Set<Address> mine;
  const auto take = [&](Address frame) {
    if (core_.frames.take(frame)) taken_ += mine.insert(frame).second ? 1 : 0;
  };
  co_await core_.batches.drain(exec);  // __alloc_contig_migrate_range
  bool hopeless = false;
  for (unsigned i = 0; i < kTries && mine.size() < pages && !hopeless; ++i) {
    for (Address frame = begin; frame < end; frame += kPage) take(frame);
    for (Address frame = begin; frame < end && !hopeless; frame += kPage) {
      take(frame);  // somebody may have let go of it
      const FrameRecord record = core_.frame_table.find(frame);
      const bool busy = record.isolated > 0 || (record.list == LruList::none && !record.foreign && record.pins == 0);
      if (mine.contains(frame) || (busy && !core_.is_whole(frame))) continue;
      hopeless = !events_.movable(frame) && !core_.is_whole(frame);
      if (hopeless) break;
      hopeless = co_await move_away(exec, frame, FrameUse::movable) == Move::no_memory;
      take(frame);
    }
  }
  if (mine.size() == pages) {
    co_await core_.batches.drain(exec);  // of free pages, too: drain_all_pages
    co_return true;
  }
  for (const Address frame : mine) core_.frames.free_page(frame);
  taken_ -= mine.size();
  claims_.erase(begin);
  co_return false;
}

void Cma::release(Address begin) {
  const auto claim = claims_.find(begin);
  for (std::uint64_t i = 0; i < claim->second; ++i) core_.frames.free_page(begin + i * kPage);
  taken_ -= claim->second;
  claims_.erase(claim);
}

Error Cma::settle(Process& process, VirtualAddress va, std::uint64_t bytes) {
  for (VirtualAddress at = va; at < va + bytes; at += kPage) {
    const Vma* vma = process.space().find(at);
    if (vma == nullptr) return Error::bad_address;
    const auto frame = core_.frames.allocate_from_cma();
    if (!frame) return Error::no_memory;
    const Error error = core_.install(process, at, {*frame, PageSize::small}, vma->writable);
    if (error != Error::none) return error;
  }
  return Error::none;
}

}  // namespace faultline::os
