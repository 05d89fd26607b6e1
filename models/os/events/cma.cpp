// SPDX-License-Identifier: Apache-2.0
#include "models/os/events/cma.hpp"

#include <algorithm>
#include <bit>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr std::uint64_t kMostAlignment = 256;  // pages: CONFIG_CMA_ALIGNMENT
constexpr unsigned kTries = 5;                 // __alloc_contig_migrate_range

}  // namespace

class Cma::Frames : public Migration::Targets {
 public:
  Frames(VmCore& core, FrameUse use) : core_(core), use_(use) {}
  Task<std::optional<Address>> take(Execution& /*exec*/) override {
    const auto frame = core_.frames.allocate_page(use_);
    if (!frame) ++core_.counters.out_of_memory;
    co_return frame;
  }
  void give_back(Address frame) override { core_.frames.free_page(frame); }

 protected:
  VmCore& core_;

 private:
  FrameUse use_;
};

// A driver's, as far as it is free already. Frames of the area that pages have left are taken before others can.
class Cma::Piece : public Frames {
 public:
  Piece(VmCore& core, Range wanted, std::uint64_t& taken)
      : Frames(core, FrameUse::movable), range(wanted), taken_(taken) {}

  bool complete() const { return mine_.size() == (range.end - range.begin) / kPage; }
  // Whether the frame is this piece's now.
  bool take(Address frame) {
    if (core_.frames.take(frame)) taken_ += mine_.insert(frame).second ? 1 : 0;
    return mine_.contains(frame);
  }
  void take_free() {
    for (Address frame = range.begin; frame < range.end; frame += kPage) take(frame);
  }
  void left(Address frame) override { take(frame); }
  void release() {
    for (const Address frame : mine_) core_.frames.free_page(frame);
    taken_ -= mine_.size();
    mine_.clear();
  }
  using Frames::take;

  const Range range;

 private:
  sim::Set<Address> mine_;
  std::uint64_t& taken_;
};

bool Cma::holds_any(const sim::Vector<Address>& frames) const {
  return std::any_of(frames.begin(), frames.end(), [this](Address frame) { return holds(frame); });
}

// Isolates a page, unless somebody else works on it just now.
void Cma::add_source(Address frame, Migration::Sources& sources) {
  const bool active = core_.frame_table.find(frame).is_active();
  if (!core_.is_whole(frame) && core_.isolate(frame)) sources.push_back({frame, active});
}

// migrate_longterm_unpinnable_folios. What somebody else works on just now is looked at again by the caller.
Task<Error> Cma::move_out(Execution& exec, const sim::Vector<Address>& frames) {
  Migration::Sources sources;
  bool enough = true;
  for (std::size_t i = 0; i < frames.size() && enough; ++i) {
    if (!holds(frames[i])) continue;
    enough = co_await core_.split_frame(exec, frames[i]) == Error::none;
    if (enough) add_source(frames[i], sources);
  }
  Frames targets(core_, FrameUse::fixed);
  const Migration::Result result = co_await migration_.migrate(exec, sources, Migration::Mode::sync, targets);
  core_.counters.cma_pin_migrated += result.moved;
  const bool done = enough && sources.empty();
  migration_.put_back(sources);
  co_return done ? Error::none : Error::no_memory;
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

// How often a claim waits for the cores' workers. Lists: lru_add_drain_all, lru_cache_disable. Free pages:
// drain_all_pages; before 5.13 once for each pageblock of 2 MiB that is set apart (set_migratetype_isolate), of a range
// rounded to 4 MiB, so two for each 4 MiB.
Cma::Drains Cma::drains(Range claimed) const {
  const cpu::Kernel& kernel = core_.config.kernel;
  const bool free_too = kernel.has(Change::drains_by_workers) && !kernel.has(Change::drains_from_afar);
  if (kernel.has(Change::claim_drains_first)) return {.before = free_too ? 2U : 1U, .after = 0};
  constexpr std::uint64_t kApart = 2 * kHugePage;
  const std::uint64_t blocks = 2 * ((claimed.end - 1) / kApart - claimed.begin / kApart + 1);
  return {.before = 1 + (free_too ? static_cast<unsigned>(blocks) : 0),
          .after = free_too && !kernel.has(Change::claim_ends_lighter) ? 2U : 1U};
}

// alloc_contig_range: what is free is kept from others first, the rest is moved away, and taken as soon as it is free.
Task<bool> Cma::claim(Execution& exec, Address begin, std::uint64_t pages) {
  claims_.emplace(begin, pages);
  Piece piece(core_, {begin, begin + pages * kPage}, taken_);
  const Drains rounds = drains(piece.range);
  for (unsigned i = 0; i < rounds.before; ++i) co_await core_.batches.drain(exec);
  bool hopeful = true;
  for (unsigned i = 0; i < kTries && !piece.complete() && hopeful; ++i) {
    piece.take_free();
    hopeful = co_await empty(exec, piece);
  }
  if (piece.complete()) {
    for (unsigned i = 0; i < rounds.after; ++i) co_await core_.batches.drain(exec);
    co_return true;
  }
  piece.release();
  claims_.erase(begin);
  co_return false;
}

// isolate_migratepages_range, and what follows each cluster. False: a page is there to stay.
Task<bool> Cma::empty(Execution& exec, Piece& piece) {
  Migration::Sources sources;
  bool hopeful = true;
  for (Address frame = piece.range.begin; frame < piece.range.end && hopeful; frame += kPage) {
    if (piece.take(frame)) continue;  // somebody may have let go of it
    hopeful = co_await core_.split_frame(exec, frame) == Error::none;
    const FrameRecord record = core_.frame_table.find(frame);
    const bool busy = record.isolated > 0 || (record.list == LruList::none && !record.foreign && record.pins == 0);
    if (busy) continue;
    hopeful = hopeful && migration_.movable(frame);
    if (hopeful) add_source(frame, sources);
    if (sources.size() >= Migration::kCluster) hopeful = co_await move_away(exec, sources, piece);
  }
  if (hopeful) hopeful = co_await move_away(exec, sources, piece);
  migration_.put_back(sources);
  co_return hopeful;
}

Task<bool> Cma::move_away(Execution& exec, Migration::Sources& sources, Piece& piece) {
  for (unsigned i = 0; i < kTries && !sources.empty(); ++i) {
    const Migration::Result result = co_await migration_.migrate(exec, sources, Migration::Mode::sync, piece);
    if (result.out_of_memory) co_return false;
  }
  co_return sources.empty();
}

void Cma::release(Address begin) {
  const auto claim = claims_.find(begin);
  for (std::uint64_t i = 0; i < claim->second; ++i) core_.frames.free_page(begin + i * kPage);
  taken_ -= claim->second;
  claims_.erase(claim);
}

Error Cma::bring_into_area(Process& process, VirtualAddress va, std::uint64_t bytes) {
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
