// SPDX-License-Identifier: Apache-2.0
#include "models/os/reclaim/reclaim.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "models/os/vm/told_call.hpp"

namespace faultline::os {

using cpu::Execution;
using sim::Task;

namespace {

constexpr unsigned kDefaultPriority = 12;      // DEF_PRIORITY: a pass looks at a list's size >> priority
constexpr std::uint64_t kBatch = 32;           // SWAP_CLUSTER_MAX
constexpr unsigned kRetries = 16;              // MAX_RECLAIM_RETRIES
constexpr std::uint64_t kMostMinimum = 65536;  // 256 MiB
// DDR below 4 GiB of address, which Linux has in a zone of its own; what is above makes a second zone. Only the number
// of zones follows from it. It is the machine's and not the kernel's: Zynq UltraScale+ has 2 GiB of DDR there (UG1085).
// It becomes a parameter when a second machine has another amount.
constexpr std::uint64_t kMemoryBelow4GiB = std::uint64_t{2} << 30;

constexpr std::uint64_t kCompactGap = std::uint64_t{2} * kPagesPerHuge;  // compact_gap

std::uint64_t root_of(std::uint64_t value) { return static_cast<std::uint64_t>(std::sqrt(static_cast<double>(value))); }

// init_per_zone_wmark_min: the root of 16 times the memory, all in KiB.
std::uint64_t usual_minimum(std::uint64_t total) {
  return std::clamp<std::uint64_t>(root_of(total * (kPage >> 10) * 16) / (kPage >> 10), 32, kMostMinimum);
}

// __setup_per_zone_wmarks
std::uint64_t distance_of_watermarks(const OsConfig& config, std::uint64_t minimum, std::uint64_t total) {
  return std::max(minimum / 4, total * config.watermark_scale_factor / 10'000);
}

// set_recommended_min_free_kbytes (khugepaged.c): two free page blocks of 2 MiB a zone, and one for each pair of the
// three kinds of pages that the allocator keeps apart; a twentieth of what lies above the high watermark at most.
std::uint64_t minimum_for_huge_pages(const OsConfig& config, std::uint64_t total, std::uint64_t installed) {
  const std::uint64_t zones = installed > kMemoryBelow4GiB ? 2 : 1;
  const std::uint64_t usual = usual_minimum(total);
  const std::uint64_t high = usual + 2 * distance_of_watermarks(config, usual, total);
  return std::min(kPagesPerHuge * zones * (2 + 3 * 3), (total - std::min(high, total)) / 20);
}

std::uint64_t min_pages(const OsConfig& config, std::uint64_t total, std::uint64_t installed) {
  if (config.min_free_bytes > 0) return std::min(config.min_free_bytes / kPage, total);
  const std::uint64_t usual = usual_minimum(total);
  if (config.thp == ThpMode::never) return usual;
  return std::max(usual, minimum_for_huge_pages(config, total, installed));
}

}  // namespace

Reclaim::Reclaim(VmCore& core, Swap& swap, PageCache& page_cache, OomKiller& oom_killer)
    : core_(core),
      swap_(swap),
      page_cache_(page_cache),
      oom_killer_(oom_killer),
      wanted_(core.context.loop),
      progress_(core.context.loop) {
  if (swap.configured()) Reclaim::begin();
}

void Reclaim::begin() {
  const std::uint64_t total = core_.frames.total_pages();
  min_ = min_pages(core_.config, total, core_.store.bytes());
  const std::uint64_t step = distance_of_watermarks(core_.config, min_, total);
  low_ = min_ + step;
  high_ = low_ + step;
}

std::uint64_t Reclaim::free_pages() const { return core_.frames.free_pages(); }

bool Reclaim::has_room(std::uint64_t pages) const { return free_pages() >= low_ + pages || low_ == 0; }

bool Reclaim::has_room(const Process& process, std::uint64_t pages) const {
  return has_room(pages) && Mm::of(process).group->has_room(pages);
}

Task<bool> Reclaim::make_room(Execution& exec, const Process& process, std::uint64_t pages) {
  const Goal of_group{Mm::of(process).group, pages, 0};
  while (!is_reached(of_group)) {
    ++core_.counters.memcg_max;
    if (!co_await reach(exec, process, of_group)) co_return false;
  }
  co_return co_await make_room_for_tables(exec, process, pages);
}

Task<bool> Reclaim::make_room_for_tables(Execution& exec, const Process& process, std::uint64_t pages) {
  if (has_room(pages)) co_return true;
  wake();
  co_return co_await reach(exec, process, {nullptr, pages, 0});
}

// Direct reclaim: try_to_free_pages, try_to_free_mem_cgroup_pages.
Task<bool> Reclaim::reach(Execution& exec, const Process& process, Goal goal) {
  if (is_reached(goal)) co_return true;
  const ToldCall told(core_.context, exec, process, ToldCall::kReclaim);
  const std::uint64_t& freed = goal.group != nullptr ? goal.group->freed : freed_;
  for (unsigned fruitless = 0; !is_reached(goal);) {
    if (process.was_killed()) co_return false;
    if (goal.group == nullptr) ++core_.counters.allocstall;
    const std::uint64_t before = freed;
    for (unsigned priority = kDefaultPriority + 1; priority-- > 0 && freed < before + kBatch;) {
      co_await shrink(exec, goal, priority);
      co_await throttle(exec, freed > before);
    }
    fruitless = freed > before ? 0 : fruitless + 1;
    if (fruitless < kRetries || is_reached(goal) || process.was_killed()) continue;
    if (!co_await oom_killer_.kill(exec, process, goal.group)) co_return false;
    fruitless = 0;
  }
  co_return true;
}

bool Reclaim::is_reached(const Goal& goal) const {
  return goal.group != nullptr ? goal.group->has_room(goal.pages) : free_pages() >= min_ + goal.pages;
}

// A pass need not go on.
bool Reclaim::is_enough(const Goal& goal) const {
  if (writing_ > 2 * core_.config.disk_queue_depth) return true;
  if (goal.group != nullptr) return goal.group->has_room(goal.pages + kBatch);
  return free_pages() + writing_ >= high_ + goal.above;
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
  if (low_ == 0 || enough()) co_return;
  ++core_.counters.allocstall;
  const Goal goal{nullptr, 0, kCompactGap};
  for (unsigned priority = kDefaultPriority + 1; priority-- > 0 && !enough();) {
    std::uint64_t before = 0;
    do {
      before = freed_;
      co_await shrink(exec, goal, priority);
      co_await throttle(exec, freed_ > before);
    } while (freed_ > before && !enough());
  }
}

Task<void> Reclaim::serve() {
  for (;;) {
    if (free_pages() >= high_ || failures_ >= kRetries) {
      do {
        co_await core_.cpu.sleep(*kswapd_, wanted_);
      } while (failures_ >= kRetries);  // hopeless until somebody else has freed a page
    }
    co_await balance();
  }
}

// balance_pgdat: until the high watermark is reached, or the greatest share of the lists has been looked at. A pass
// looks at twice the share of the one before, unless that has looked at as many pages as there are below the high
// watermark (kswapd_shrink_node).
Task<void> Reclaim::balance() {
  const std::uint64_t begin = freed_;
  const Goal high{nullptr, 0, 0};
  for (unsigned priority = kDefaultPriority; priority > 0 && free_pages() < high_;) {
    const std::uint64_t before = freed_;
    const std::uint64_t looked_at = kswapd_looked_at_;
    for (std::size_t i = 0; i < core_.groups.size(); ++i) co_await age(*kswapd_, *core_.groups[i]);  // kswapd_age_node
    co_await shrink(*kswapd_, high, priority);
    co_await throttle(*kswapd_, freed_ > before);
    if (freed_ == before || kswapd_looked_at_ < looked_at + high_) --priority;
  }
  failures_ = freed_ > begin ? 0 : failures_ + 1;
}

// reclaim_throttle: what is being written, or is in others' hands, may soon be free. Not when pages have become free
// meanwhile, unless so much is being written that it will do, or more than the device can take.
Task<void> Reclaim::throttle(Execution& exec, bool progress) {
  const bool under_way = writing_ > 0 || isolated_ > 0 || page_cache_.writeback().is_at_work();
  const bool enough = writing_ > 0 && free_pages() + writing_ >= high_;
  const bool too_much = writing_ > 2 * core_.config.disk_queue_depth;
  if ((!progress && under_way) || enough || too_much) co_await core_.cpu.sleep(exec, progress_);
}

// get_scan_count: files alone where nothing can be swapped, or where many of their pages are old; anonymous pages alone
// where files have next to nothing; else by swappiness and by what looking at each has cost lately.
Reclaim::Shares Reclaim::shares(const Goal& goal, MemoryGroup& group, unsigned priority) const {
  const Lru& lru = group.lru;
  const std::uint64_t files = listed(lru)[ScanBalance::file];
  const std::uint64_t swappiness = core_.config.swappiness;
  if (!swap_.has_free_slots()) return {.anon = 0, .file = 1, .whole = 1};
  if (files == 0) return {.anon = 1, .file = 0, .whole = 1};
  if (goal.group != nullptr && swappiness == 0) return {.anon = 0, .file = 1, .whole = 1};
  if (priority == 0 && swappiness > 0) return {.anon = 1, .file = 1, .whole = 1};
  const bool old_anon = lru.size(kAnon.inactive) >> priority > 0 && !inactive_is_low(lru, kAnon);
  const bool old_files = lru.size(kFile.inactive) >> priority > 0 && !inactive_is_low(lru, kFile);
  const std::uint64_t in_node = core_.listed(kFile.inactive) + core_.listed(kFile.active);
  if (goal.group == nullptr && in_node + free_pages() <= high_ && old_anon) return {.anon = 1, .file = 0, .whole = 1};
  if (old_files) return {.anon = 0, .file = 1, .whole = 1};
  return group.balance.shares(swappiness, listed(lru));
}

// shrink_node_memcgs
Task<void> Reclaim::shrink(Execution& exec, Goal goal, unsigned priority) {
  if (goal.group != nullptr) co_return co_await shrink_group(exec, goal, *goal.group, priority);
  for (std::size_t i = 0; i < core_.groups.size(); ++i) {
    co_await shrink_group(exec, goal, *core_.groups[i], priority);
  }
}

// shrink_lruvec: both kinds in turn, a batch of each list at a time. Active lists are looked at where inactive ones are
// short, those of anonymous pages in the end once more.
Task<void> Reclaim::shrink_group(Execution& exec, Goal goal, MemoryGroup& group, unsigned priority) {
  const Shares share = shares(goal, group, priority);
  struct Part {
    const Kind& kind;
    std::uint64_t active;
    std::uint64_t inactive;
  };
  const auto part = [&](const Kind& kind, std::uint64_t of) {
    return Part{kind, (group.lru.size(kind.active) >> priority) * of / share.whole,
                (group.lru.size(kind.inactive) >> priority) * of / share.whole};
  };
  std::array parts{part(kAnon, share.anon), part(kFile, share.file)};
  auto& [anon, file] = parts;
  while (anon.inactive + file.active + file.inactive > 0) {
    for (Part& p : parts) {
      const std::uint64_t inactive = std::min(p.inactive, kBatch);
      if (inactive > 0) co_await shrink_inactive(exec, group, p.kind, inactive);
      p.inactive -= inactive;
      const std::uint64_t active = std::min(p.active, kBatch);
      if (active > 0 && inactive_is_low(group.lru, p.kind)) co_await shrink_active(exec, group, p.kind, active);
      p.active -= active;
    }
    if (is_enough(goal)) break;
  }
  co_await age(exec, group);
}

// Anonymous pages are to have their chance to be used again on the inactive list.
Task<void> Reclaim::age(Execution& exec, MemoryGroup& group) {
  if (core_.config.swap_bytes > 0 && inactive_is_low(group.lru, kAnon)) {
    co_await shrink_active(exec, group, kAnon, kBatch);
  }
}

ScanBalance::Listed Reclaim::listed(const Lru& lru) {
  return {lru.size(kAnon.inactive) + lru.size(kAnon.active), lru.size(kFile.inactive) + lru.size(kFile.active)};
}

bool Reclaim::inactive_is_low(const Lru& lru, const Kind& kind) {
  const std::uint64_t inactive = lru.size(kind.inactive);
  const std::uint64_t active = lru.size(kind.active);
  const std::uint64_t gib = (inactive + active) * kPage >> 30;
  return inactive * (gib > 0 ? root_of(10 * gib) : 1) < active;
}

// Off their list, so that nobody else works on them.
sim::Vector<Address> Reclaim::isolate(const Lru& lru, LruList from, std::uint64_t pages) {
  sim::Vector<Address> isolated;
  while (isolated.size() < pages) {
    const auto frame = lru.oldest(from);
    if (!frame) break;
    core_.isolate(*frame);
    isolated.push_back(*frame);
  }
  isolated_ += isolated.size();
  return isolated;
}

Task<void> Reclaim::shrink_active(Execution& exec, MemoryGroup& group, const Kind& kind, std::uint64_t pages) {
  const auto frames = isolate(group.lru, kind.active, pages);
  co_await core_.run(exec, core_.config.reclaim_scan_per_page * static_cast<std::int64_t>(frames.size()));
  std::uint64_t used = 0;
  for (const Address frame : frames) {
    co_await core_.cond_resched(exec);
    if (co_await take_references(exec, frame) > 0) ++used;
    ++core_.counters.pgdeactivate;
    core_.put_back(frame, /*active=*/false);
    --isolated_;
  }
  group.balance.looked_at_active(kind.number, frames.size(), used);
  progress_.notify_all();
}

Task<void> Reclaim::shrink_inactive(Execution& exec, MemoryGroup& group, const Kind& kind, std::uint64_t pages) {
  const auto frames = isolate(group.lru, kind.inactive, pages);
  const bool by_kswapd = &exec == kswapd_;
  (by_kswapd ? core_.counters.pgscan_kswapd : core_.counters.pgscan_direct) += frames.size();
  if (by_kswapd) kswapd_looked_at_ += frames.size();
  co_await core_.run(exec, core_.config.reclaim_scan_per_page * static_cast<std::int64_t>(frames.size()));
  ScanBalance::Looks looks{.taken = frames.size()};
  Batch batch{.used_or_not = false, .counted = true};
  for (const Address frame : frames) {
    const Outcome outcome = co_await shrink_page(exec, frame, batch);
    --isolated_;
    if (outcome == Outcome::activate) ++looks.activated;
    if (outcome == Outcome::writing) ++looks.written;
    if (outcome == Outcome::freed) ++looks.freed;
  }
  co_await end(exec, batch);
  group.balance.looked_at_inactive(kind.number, looks, listed(group.lru));
  progress_.notify_all();
}

}  // namespace faultline::os
