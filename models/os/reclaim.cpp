// SPDX-License-Identifier: Apache-2.0
#include "models/os/reclaim.hpp"

#include <algorithm>
#include <cmath>

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr unsigned kDefaultPriority = 12;      // DEF_PRIORITY: a pass looks at a list's size >> priority
constexpr std::uint64_t kBatch = 32;           // SWAP_CLUSTER_MAX
constexpr unsigned kRetries = 16;              // MAX_RECLAIM_RETRIES
constexpr std::uint64_t kMostMinimum = 65536;  // 256 MiB

constexpr std::uint64_t kCompactGap = std::uint64_t{2} * kPagesPerHuge;  // compact_gap

std::uint64_t root_of(std::uint64_t value) { return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value))); }

// init_per_zone_wmark_min: the root of 16 times the memory, all in KiB.
std::uint64_t min_pages(const OsConfig& config, std::uint64_t total) {
  if (config.min_free_bytes > 0) return std::min(config.min_free_bytes / kPage, total);
  return std::clamp<std::uint64_t>(root_of(total * (kPage >> 10) * 16) / (kPage >> 10), 32, kMostMinimum);
}

}  // namespace

Reclaim::Reclaim(VmCore& core) : core_(core), wanted_(core.context.loop), progress_(core.context.loop) {
  const std::uint64_t total = core.frames.total_pages();
  min_ = core.swap.configured() ? min_pages(core.config, total) : 0;
  // __setup_per_zone_wmarks
  const std::uint64_t step = std::max(min_ / 4, total * core.config.watermark_scale_factor / 10'000);
  low_ = core.swap.configured() ? min_ + step : 0;
  high_ = core.swap.configured() ? low_ + step : 0;
}

std::uint64_t Reclaim::free_pages() const { return core_.frames.free_pages(); }

bool Reclaim::has_room(std::uint64_t pages) const { return free_pages() >= low_ + pages || low_ == 0; }

Task<bool> Reclaim::make_room(Execution& exec, std::uint64_t pages) {
  if (has_room(pages)) co_return true;
  wake();
  for (unsigned fruitless = 0; free_pages() < min_ + pages;) {
    ++core_.counters.allocstall;
    const std::uint64_t before = freed_;
    for (unsigned priority = kDefaultPriority + 1; priority-- > 0 && freed_ < before + kBatch;) {
      co_await shrink(exec, priority, high_);
      co_await throttle(exec, before);
    }
    fruitless = freed_ > before ? 0 : fruitless + 1;
    if (fruitless == kRetries) co_return false;
  }
  co_return true;
}

void Reclaim::wake() {
  if (free_pages() >= high_) return;
  if (kswapd_ == nullptr) {
    kswapd_ = &core_.cpu.new_thread("kswapd0");
    tasks_.start(serve());
  }
  wanted_.notify_all();
}

// should_continue_reclaim, compaction_ready: until compaction has what it needs, or nothing more is found.
Task<void> Reclaim::make_room_to_compact(Execution& exec) {
  const std::uint64_t begin = freed_;
  const auto enough = [&] { return free_pages() >= high_ + kCompactGap || freed_ >= begin + kCompactGap; };
  if (!core_.swap.configured() || enough()) co_return;
  ++core_.counters.allocstall;
  for (unsigned priority = kDefaultPriority + 1; priority-- > 0 && !enough();) {
    std::uint64_t before = 0;
    do {
      before = freed_;
      co_await shrink(exec, priority, high_ + kCompactGap);
      co_await throttle(exec, before);
    } while (freed_ > before && !enough());
  }
}

Task<void> Reclaim::serve() {
  for (;;) {
    if (free_pages() >= low_ || failures_ >= kRetries) {
      do {
        co_await core_.cpu.sleep(*kswapd_, wanted_);
      } while (failures_ >= kRetries);  // hopeless until somebody else has freed a page
    }
    co_await balance();
  }
}

// balance_pgdat: until the high watermark is reached, or everything has been looked at in vain.
Task<void> Reclaim::balance() {
  const std::uint64_t begin = freed_;
  for (unsigned priority = kDefaultPriority; priority > 0 && free_pages() < high_;) {
    const std::uint64_t before = freed_;
    co_await shrink(*kswapd_, priority, high_);
    co_await throttle(*kswapd_, before);
    if (freed_ == before) --priority;
  }
  failures_ = freed_ > begin ? 0 : failures_ + 1;
}

// reclaim_throttle: what is being written, or is in others' hands, may soon be free. Not when pages have become free
// since `before` was read, unless so much is being written that it will do, or more than the device can take.
Task<void> Reclaim::throttle(Execution& exec, std::uint64_t before) {
  const bool under_way = writing_ > 0 || isolated_ > 0;
  const bool enough = writing_ > 0 && free_pages() + writing_ >= high_;
  const bool too_much = writing_ > 2 * core_.config.swap_queue_depth;
  if ((freed_ == before && under_way) || enough || too_much) co_await core_.cpu.sleep(exec, progress_);
}

// Linux's get_swappiness and friends aside: there are anonymous pages only.
Task<void> Reclaim::shrink(Execution& exec, unsigned priority, std::uint64_t goal) {
  const std::uint64_t active = core_.lru.size(LruList::active_anon) >> priority;
  std::uint64_t inactive = core_.lru.size(LruList::inactive_anon) >> priority;
  if (inactive_is_low() && active > 0) co_await shrink_active(exec, std::min(active, kBatch));
  while (inactive > 0) {
    const std::uint64_t batch = std::min(inactive, kBatch);
    co_await shrink_inactive(exec, batch);
    inactive -= batch;
    if (free_pages() + writing_ >= goal || writing_ > 2 * core_.config.swap_queue_depth) break;
  }
}

bool Reclaim::inactive_is_low() const {
  const std::uint64_t inactive = core_.lru.size(LruList::inactive_anon);
  const std::uint64_t active = core_.lru.size(LruList::active_anon);
  const std::uint64_t gib = (inactive + active) * kPage >> 30;
  return inactive * (gib > 0 ? root_of(10 * gib) : 1) < active;
}

// Off their list, so that nobody else works on them.
sim::Vector<Address> Reclaim::isolate(LruList from, std::uint64_t pages) {
  sim::Vector<Address> isolated;
  while (isolated.size() < pages) {
    const auto frame = core_.lru.oldest(from);
    if (!frame) break;
    core_.isolate(*frame);
    isolated.push_back(*frame);
  }
  isolated_ += isolated.size();
  return isolated;
}

Task<void> Reclaim::shrink_active(Execution& exec, std::uint64_t pages) {
  const auto frames = isolate(LruList::active_anon, pages);
  co_await core_.run(exec, core_.config.reclaim_scan_per_page * static_cast<std::int64_t>(frames.size()));
  for (const Address frame : frames) {
    co_await take_references(exec, frame);
    ++core_.counters.pgdeactivate;
    core_.put_back(frame, LruList::inactive_anon);
    --isolated_;
  }
  progress_.notify_all();
}

Task<void> Reclaim::shrink_inactive(Execution& exec, std::uint64_t pages) {
  const auto frames = isolate(LruList::inactive_anon, pages);
  const bool by_kswapd = &exec == kswapd_;
  (by_kswapd ? core_.counters.pgscan_kswapd : core_.counters.pgscan_direct) += frames.size();
  co_await core_.run(exec, core_.config.reclaim_scan_per_page * static_cast<std::int64_t>(frames.size()));
  for (const Address frame : frames) {
    finish(frame, co_await reclaim_page(exec, frame, /*used_or_not=*/false), /*counted=*/true);
    --isolated_;
  }
  progress_.notify_all();
}

// shrink_folio_list, for one page.
Task<Reclaim::Outcome> Reclaim::reclaim_page(Execution& exec, Address frame, bool used_or_not) {
  if (!core_.evictable(frame)) co_return Outcome::unevictable;
  if (!used_or_not) {
    const unsigned references = co_await take_references(exec, frame);
    FrameRecord& record = core_.frame_table.at(frame);
    const bool activate = references > 1 || (references > 0 && record.referenced);
    record.referenced = references > 0;
    if (references > 0) co_return activate ? Outcome::activate : Outcome::keep;
  }
  const FrameRecord& record = core_.frame_table.at(frame);
  // folio_maybe_dma_pinned; or a fault is about to map it.
  if (is_pinned(frame) || record.isolated > 1) co_return Outcome::keep;
  co_await split(exec, frame);
  const bool discard = is_lazyfree(frame);
  if (!discard && !core_.swap.assign(frame)) co_return Outcome::activate;
  co_await core_.run(exec, core_.config.reclaim_page);
  const auto owners = co_await unmap(exec, frame, discard);
  if (record.mappings > 0) co_return core_.evictable(frame) ? Outcome::activate : Outcome::unevictable;
  // A pin that found the page in the swap cache, or a fault that has.
  if (record.pins > 0 || record.isolated > 1) co_return Outcome::keep;
  for (const Process* owner : owners) core_.on_change(*owner, 1);
  if (record.slot != 0 && core_.swap.wanted(frame) && !core_.swap.is_clean(frame)) co_return Outcome::writing;
  co_return Outcome::freed;
}

Reclaim::Outcome Reclaim::finish(Address frame, Outcome outcome, bool counted) {
  switch (outcome) {
    case Outcome::keep:
    case Outcome::activate:
      if (outcome == Outcome::activate) ++core_.counters.pgactivate;
      core_.put_back(frame, outcome == Outcome::keep ? LruList::inactive_anon : LruList::active_anon);
      core_.swap.economize(frame);
      break;
    case Outcome::unevictable:
      ++core_.counters.unevictable_culled;
      core_.put_back(frame, LruList::unevictable);
      break;
    case Outcome::writing:
      ++writing_;
      tasks_.start(write_and_free(frame, counted));
      break;
    case Outcome::freed: settle(frame, counted);
  }
  return outcome;
}

Task<void> Reclaim::write_and_free(Address frame, bool counted) {
  co_await core_.swap.write(frame);
  --writing_;
  settle(frame, counted);
  progress_.notify_all();
}

// Frees the page, unless somebody has found it in the swap cache meanwhile.
void Reclaim::settle(Address frame, bool counted) {
  const FrameRecord& record = core_.frame_table.at(frame);
  if (record.mappings > 0 || record.pins > 0 || record.isolated > 1 ||
      (core_.swap.wanted(frame) && !core_.swap.is_clean(frame))) {
    core_.put_back(frame, LruList::inactive_anon);
    return;
  }
  if (record.slot != 0) core_.swap.evict(frame);
  ++freed_;
  if (counted) ++core_.counters.pgsteal;
  failures_ = 0;
  core_.put_back(frame, LruList::inactive_anon);  // where nothing holds it any more
}

// folio_referenced: clears the access flags, and counts those that were set.
Task<unsigned> Reclaim::take_references(Execution& exec, Address frame) {
  unsigned found = 0;
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    if (!core_.frame_table.has_mapper(frame, mapper)) continue;
    Process& process = *mapper.process;
    const PageState* page = process.space_.page(mapper.va);
    if (page == nullptr || page->frame != frame || !page->young) continue;
    const Process::User user(process);
    core_.set_young(process, mapper.va, false);
    ++found;
    co_await core_.flush(exec, process, mapper.va);
  }
  co_return found;
}

// A huge page is taken apart, for every process that has it whole; its other pages are looked at in their turn.
Task<void> Reclaim::split(Execution& exec, Address frame) {
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    if (!core_.frame_table.has_mapper(frame, mapper) || !mapper.process->space_.is_huge(mapper.va)) continue;
    const Process::User user(*mapper.process);
    co_await core_.split(exec, *mapper.process, mapper.va);
  }
}

// Any page of a huge one.
bool Reclaim::is_pinned(Address frame) const {
  const Mapper mapper = core_.frame_table.find(frame).first;
  const bool huge = mapper.process != nullptr && mapper.process->space_.is_huge(mapper.va);
  const std::uint64_t bytes = bytes_of(huge ? PageSize::huge : PageSize::small);
  const Address begin = frame / bytes * bytes;
  for (Address at = begin; at < begin + bytes; at += kPage) {
    if (core_.frame_table.find(at).pins > 0) return true;
  }
  return false;
}

bool Reclaim::is_lazyfree(Address frame) const {
  const auto mappers = core_.frame_table.mappers(frame);
  return !mappers.empty() && std::all_of(mappers.begin(), mappers.end(), [](const Mapper& mapper) {
    return mapper.process->space_.entry(mapper.va)->lazyfree;
  });
}

// try_to_unmap: entries become references to the slot, or (`discard`) go. Those that are in motion or have failed keep
// the page, and so do those that were written since MADV_FREE: it is an ordinary page again. Whose entries they were.
Task<sim::Vector<Process*>> Reclaim::unmap(Execution& exec, Address frame, bool discard) {
  sim::Vector<Process*> owners;
  for (const Mapper& mapper : core_.frame_table.mappers(frame)) {
    if (!core_.frame_table.has_mapper(frame, mapper)) continue;
    Process& process = *mapper.process;
    const VirtualAddress va = mapper.va;
    const Process::User user(process);
    co_await core_.change_begins(exec, process, {va, va + kPage});
    const PageState* page = process.space_.entry(va);
    const Vma* vma = process.space_.find(va);
    const bool there = page != nullptr && page->has_frame() && page->frame == frame && !process.space_.is_huge(va) &&
                       (page->present() || page->entry == Entry::hidden) && (!discard || page->lazyfree) &&
                       (vma == nullptr || vma->evictable());
    if (there && co_await clear(exec, process, va, discard)) owners.push_back(&process);
    core_.change_ends(process, {va, va + kPage});
  }
  co_return owners;
}

// try_to_unmap_one. False: somebody has pinned the page since it was looked at; the descriptor, which was cleared
// already, is put back.
Task<bool> Reclaim::clear(Execution& exec, Process& process, VirtualAddress va, bool discard) {
  const PageState& page = *process.space_.entry(va);
  const Entry before = page.entry;
  core_.hide(process, va, Entry::moving);
  co_await core_.flush(exec, process, va);
  if (core_.frame_table.at(page.frame).pins > 0) {
    if (before == Entry::present) {
      core_.show(process, va);
    } else {
      VmCore::set_entry(process, *process.space_.entry(va), before);
    }
    co_return false;
  }
  if (discard) {
    VmCore::set_entry(process, *process.space_.entry(va), Entry::hidden);
    const VmCore::Zapped zapped = core_.zap(process, {va, va + kPage});
    if (!zapped.tables.empty()) co_await core_.flush(exec, process, zapped.leaves);
    core_.retire(process, zapped);
  } else {
    core_.swap_out(process, va);
  }
  co_return true;
}

Task<unsigned> Reclaim::page_out(Execution& exec, Process& process, Range range) {
  const Process::User user(process);
  AddressSpace& space = process.space_;
  unsigned gone = 0;
  for (VirtualAddress va = range.begin; const auto next = space.next_entry(va, range.end);) {
    va = *next + kPage;
    if (space.is_huge(*next)) co_await core_.split(exec, process, *next);
    const PageState* page = space.page(*next);
    if (page == nullptr || !page->has_frame()) continue;
    const Address frame = page->frame;
    if (core_.frame_table.find(frame).mappings != 1 || !core_.isolate(frame)) continue;
    const Outcome outcome = finish(frame, co_await reclaim_page(exec, frame, /*used_or_not=*/true), /*counted=*/false);
    if (outcome == Outcome::writing || outcome == Outcome::freed) ++gone;
  }
  co_return gone;
}

}  // namespace faultline::os
