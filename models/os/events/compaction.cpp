// SPDX-License-Identifier: Apache-2.0
#include "models/os/events/compaction.hpp"

#include <algorithm>

#include "models/os/reclaim/reclaim.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr unsigned kMostDeferred = 6;                             // COMPACT_MAX_DEFER_SHIFT
constexpr std::uint64_t kGap = std::uint64_t{2} * kPagesPerHuge;  // compact_gap: both ends of the copies

// Of the last block, which may be cut.
Address last_block(const FrameAllocator& frames) {
  return huge_page_begin(std::max(frames.end(), frames.begin() + kPage) - kPage);
}

}  // namespace

Compaction::Compaction(VmCore& core, Migration& migration, Reclaim& reclaim)
    : core_(core),
      migration_(migration),
      reclaim_(reclaim),
      wanted_(core.context.loop),
      next_migrate_(core.frames.begin()),
      next_free_(last_block(core.frames)) {}

// vma_thp_gfp_mask
Compaction::Effort Compaction::effort_of_fault(const Vma& vma) const {
  const bool advised = vma.advice == HugeAdvice::huge;
  const Effort asked = advised ? effort_of_advice() : Effort{};
  switch (core_.config.thp_defrag) {
    case ThpDefrag::always: return {.direct = true, .stubborn = advised};
    case ThpDefrag::defer: return {.background = true};
    case ThpDefrag::defer_madvise: return advised ? asked : Effort{.background = true};
    case ThpDefrag::madvise: return asked;
    case ThpDefrag::never: break;
  }
  return {};
}

Compaction::Effort Compaction::effort_of_khugepaged() const {
  return core_.config.khugepaged_defrag ? effort_of_advice() : Effort{};
}

bool Compaction::has_block() const { return core_.frames.has_whole_block() && reclaim_.has_room(kPagesPerHuge); }

// compaction_suitable, without the index of fragmentation.
bool Compaction::is_suitable() const { return core_.frames.free_pages() >= reclaim_.low_watermark() + kGap; }

// __alloc_pages_slowpath, for an order that is costly.
Task<void> Compaction::make_block(Execution& exec, Effort effort) {
  if (has_block()) co_return;
  if (effort.background) wake();
  if (!effort.direct) co_return;
  const Result first = co_await compact_directly(exec, Mode::async);
  if (has_block()) co_return;
  if (!effort.stubborn && first <= Result::deferred) co_return;
  co_await reclaim_.make_room_to_compact(exec);
  if (has_block()) co_return;
  co_await compact_directly(exec, effort.stubborn ? Mode::sync : Mode::async);
}

// __alloc_pages_direct_compact
Task<Compaction::Result> Compaction::compact_directly(Execution& exec, Mode mode) {
  const Result result = co_await try_to_compact(exec, mode, /*direct=*/true);
  if (result == Result::skipped) co_return result;
  ++core_.counters.compact_stall;
  if (has_block()) {
    ++core_.counters.compact_success;
    has_failed_ = false;
    defer_shift_ = considered_ = 0;
  } else {
    ++core_.counters.compact_fail;
  }
  co_return result;
}

Task<Compaction::Result> Compaction::try_to_compact(Execution& exec, Mode mode, bool direct) {
  if (is_deferred()) co_return Result::deferred;
  if (has_block()) co_return Result::success;
  if (!is_suitable()) co_return Result::skipped;
  const Result result = co_await compact(exec, start(mode, direct, /*whole=*/false));
  if (result == Result::success) {
    has_failed_ = false;
  } else if (mode != Mode::async) {
    defer();
  }
  co_return result;
}

// compaction_deferred, defer_compaction.
bool Compaction::is_deferred() {
  if (!has_failed_) return false;
  const unsigned limit = 1u << defer_shift_;
  considered_ = std::min(considered_ + 1, limit);
  return considered_ < limit;
}

void Compaction::defer() {
  considered_ = 0;
  defer_shift_ = std::min(defer_shift_ + 1, kMostDeferred);
  has_failed_ = true;
}

// wakeup_kswapd, which ends in wakeup_kcompactd.
void Compaction::wake() {
  reclaim_.wake();
  if (kcompactd_ == nullptr) {
    kcompactd_ = &core_.cpu.new_thread("kcompactd0");
    tasks_.start(serve());
  }
  requested_ = true;
  wanted_.notify_all();
}

Task<void> Compaction::serve() {
  for (;;) {
    while (!requested_) co_await core_.cpu.sleep(*kcompactd_, wanted_);
    requested_ = false;
    ++core_.counters.compact_daemon_wake;
    co_await try_to_compact(*kcompactd_, Mode::sync, /*direct=*/false);
  }
}

Task<void> Compaction::compact_memory(Execution& exec) {
  co_await compact(exec, start(Mode::sync, /*direct=*/false, /*whole=*/true));
}

Compaction::Run Compaction::start(Mode mode, bool direct, bool whole) const {
  return {.mode = mode,
          .direct = direct,
          .whole = whole,
          .migrate = whole ? core_.frames.begin() : next_migrate_,
          .free = whole ? last_block(core_.frames) : next_free_};
}

// compact_zone. A block is finished before anybody looks whether it was worth it.
Task<Compaction::Result> Compaction::compact(Execution& exec, Run run) {
  Result result = Result::complete;
  while (!have_met(run)) {
    const std::uint64_t scanned = isolate_sources(run);
    core_.counters.compact_migrate_scanned += scanned;
    co_await core_.run_giving_way(exec, core_.config.compact_scan_per_page * static_cast<std::int64_t>(scanned));
    if (!co_await migrate_sources(exec, run)) break;
    if (!run.whole && run.migrate % kHugePage == 0 && has_block()) {
      result = Result::success;
      break;
    }
  }
  release(run);
  const bool from_start = result == Result::complete;
  next_migrate_ = from_start ? core_.frames.begin() : run.migrate;
  next_free_ = from_start ? last_block(core_.frames) : huge_page_begin(run.free);
  if (!run.whole && result == Result::complete && has_block()) result = Result::success;  // by somebody else's doing
  co_return result;
}

// isolate_migratepages_block: at most a cluster, of one block. How many pages it looked at.
std::uint64_t Compaction::isolate_sources(Run& run) {
  const Address end = std::min(huge_page_begin(run.migrate) + kHugePage, core_.frames.end());
  const bool skip_on_failure = run.direct && run.mode == Mode::async;
  std::uint64_t scanned = 0;
  const FrameAllocator& frames = core_.frames;
  const bool unsuitable = skip_on_failure && frames.use_of_block(run.migrate) == FrameUse::fixed;
  if (unsuitable || frames.free_in_block(run.migrate) == kPagesPerHuge || core_.is_whole(run.migrate)) {
    run.migrate = end;
    return 1;
  }
  while (run.migrate < end && run.sources.size() < Migration::kCluster) {
    const Address frame = run.migrate;
    run.migrate += kPage;
    ++scanned;
    if (!frames.is_allocated(frame)) continue;
    if (movable(frame)) {
      run.sources.push_back({frame, core_.frame_table.at(frame).is_active()});
      core_.isolate(frame);
    } else if (skip_on_failure) {
      migration_.put_back(run.sources);
      run.migrate = end;
    }
  }
  core_.counters.compact_isolated += run.sources.size();
  return scanned;
}

bool Compaction::movable(Address frame) const {
  const bool locked = core_.frame_table.find(frame).list == LruList::unevictable;
  return migration_.movable(frame) && (!locked || core_.config.compact_unevictable_allowed);
}

// isolate_freepages: not from blocks that are free as a whole, which are what compaction is for, nor from those for
// what cannot be moved. How many pages it looked at.
std::uint64_t Compaction::isolate_targets(Run& run, std::size_t wanted) {
  const Address lowest = huge_page_begin(run.migrate) + kHugePage;  // the scanners do not share a block
  const std::size_t before = run.targets.size();
  std::uint64_t scanned = 0;
  while (run.targets.size() < wanted && run.free >= lowest) {
    const Address block = huge_page_begin(run.free);
    const unsigned free = core_.frames.free_in_block(block);
    const Address end = std::min(block + kHugePage, core_.frames.end());
    if (free == 0 || free == kPagesPerHuge || core_.frames.use_of_block(block) == FrameUse::fixed) {
      ++scanned;
      run.free = end;
    }
    for (; run.free < end && run.targets.size() < wanted; run.free += kPage) {
      ++scanned;
      if (core_.frames.take(run.free)) run.targets.push_back(run.free);
    }
    if (run.free >= end) run.free = block - kHugePage;
  }
  core_.counters.compact_isolated += run.targets.size() - before;
  return scanned;
}

// compaction_alloc, compaction_free: the free scanner goes on when what it has isolated is used up.
class Compaction::FreePages : public Migration::Targets {
 public:
  FreePages(Compaction& compaction, Run& run) : compaction_(compaction), run_(run), wanted_(run.sources.size()) {}

  Task<std::optional<Address>> take(Execution& exec) override {
    if (run_.targets.empty()) {
      VmCore& core = compaction_.core_;
      const std::uint64_t scanned = compaction_.isolate_targets(run_, wanted_);
      core.counters.compact_free_scanned += scanned;
      co_await core.run_giving_way(exec, core.config.compact_free_scan_per_page * static_cast<std::int64_t>(scanned));
    }
    std::optional<Address> frame;
    if (!run_.targets.empty()) {
      --wanted_;
      frame = run_.targets.front();
      run_.targets.pop_front();
    }
    co_return frame;
  }
  void give_back(Address frame) override {
    ++wanted_;
    run_.targets.push_front(frame);
  }

 private:
  Compaction& compaction_;
  Run& run_;
  std::size_t wanted_;  // pages that have no frame yet
};

// False: there is nothing to move them to.
Task<bool> Compaction::migrate_sources(Execution& exec, Run& run) {
  FreePages targets(*this, run);
  const Migration::Result result = co_await migration_.migrate(exec, run.sources, run.mode, targets);
  migration_.put_back(run.sources);
  co_return !result.out_of_memory;
}

// release_freepages: what was not needed is looked at again.
void Compaction::release(Run& run) {
  for (const Address frame : run.targets) {
    run.free = std::max(run.free, huge_page_begin(frame));
    core_.frames.free_page(frame);
  }
  run.targets.clear();
}

}  // namespace faultline::os
