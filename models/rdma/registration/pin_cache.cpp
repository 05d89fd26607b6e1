// SPDX-License-Identifier: Apache-2.0
// The pin-down cache (Tezuka et al., IPPS 1998): what a transfer has pinned stays pinned for the next one that uses the
// same memory, until a budget of bytes is spent; then the regions that were used longest ago go. Lookup, counters and
// the order of things are as in UCX's registration cache (ucs/memory/rcache.c).
//
// A cache of pins must learn when the program unmaps memory, or a later mapping at the same address finds the frames of
// the earlier one. Either the kernel tells it (MMU notifier), or the library intercepts the program's calls (memory
// hooks), which may miss some: a binary that calls the kernel by itself, another allocator.
#include <algorithm>
#include <list>
#include <utility>

#include "models/os/vm/mmu_notifier.hpp"
#include "models/rdma/registration/pinned_range.hpp"
#include "models/rdma/registration/policy_of.hpp"
#include "models/rdma/strategy.hpp"
#include "models/sim/random.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::rdma {
namespace {

using os::Error;
using sim::Task;
using namespace std::chrono_literals;

enum class EmptiedBy { notifier, hooks };

struct PinCacheConfig {
  std::uint64_t budget = std::uint64_t{4} << 20;
  EmptiedBy emptied_by = EmptiedBy::notifier;
  double hook_coverage = 1;
  sim::Time lookup = 50ns;
};

class PinCacheMemory final : public Registration, private os::MmuNotifier {
 public:
  PinCacheMemory(Owner owner, const PinCacheConfig& config)
      : Registration(owner),
        config_(config),
        hooks_(owner.cpu.context().seed, "memory hooks",
               std::uint64_t{owner.cpu.context().node} << 16 | owner.process.id()),
        gets_(counter("gets", "acquisitions: lookups of a transfer's buffer")),
        hits_(counter("hits", "acquisitions that found a region around the buffer")),
        misses_(counter("misses", "acquisitions that had to pin")),
        evictions_(counter("evictions", "regions that went because the budget was spent")),
        unmap_events_(counter("unmap_events", "changes of the process's table that the cache was told of")),
        invalidations_(counter("invalidations", "regions that went because their memory changed")),
        missed_(counter("hooks_missed", "unmappings that no hook has seen")) {
    if (config_.emptied_by == EmptiedBy::notifier) owner_.vm.add_notifier(owner_.process, *this);
  }

  Task<Error> acquire(cpu::Execution& thread, Buffer buffer, bool) override {
    ++gets_;
    co_await owner_.cpu.run(thread, cpu::Work::user, config_.lookup);
    const auto known = std::ranges::find_if(
        regions_, [&](const Region& region) { return region.is_valid && region.covers(buffer.pages()); });
    if (known != regions_.end()) {
      ++hits_;
      use(known, buffer);
      co_return Error::none;
    }
    ++misses_;
    co_return co_await pin_region(thread, buffer);
  }

  // The region stays; one that is no longer valid, or that the budget has no room for, goes with its last user.
  Task<Error> release(cpu::Execution& thread, Buffer buffer) override {
    const auto used = std::ranges::find(in_use_, buffer, &Use::buffer);
    if (used == in_use_.end()) co_return Error::invalid;
    const Place region = used->region;
    in_use_.erase(used);
    if (--region->users > 0) co_return Error::none;
    if (region->is_valid && held_ <= config_.budget) co_return Error::none;
    co_return co_await drop_region(thread, region);
  }

  Task<void> unmapping(cpu::Execution& thread, os::Range pages) override {
    if (config_.emptied_by != EmptiedBy::hooks) co_return;
    if (!hooks_.chance(config_.hook_coverage)) {
      ++missed_;
      co_return;
    }
    co_await invalidate(thread, pages);
  }

 private:
  struct Region {
    os::Range pages;
    os::PinId pinned = 0;
    unsigned users = 0;
    bool is_valid = true;  // until the memory changes
    bool covers(os::Range wanted) const { return pages.begin <= wanted.begin && wanted.end <= pages.end; }
    std::uint64_t bytes() const { return pages.end - pages.begin; }
  };
  using Regions = std::list<Region, sim::Recycling<Region>>;
  using Place = Regions::iterator;
  struct Use {
    Buffer buffer;
    Place region;
  };
  // A pin that is being made: a change that comes between makes it one of frames that may have gone.
  struct Pinning {
    os::Range pages;
    bool overtaken = false;
  };

  sim::Counter& counter(const char* name, const char* description) const {
    return owner_.cpu.context().statistics.counter(std::string("pin_cache.") + name, "count", description);
  }

  // The first of the list was used last.
  void use(Place region, Buffer buffer) {
    regions_.splice(regions_.begin(), regions_, region);
    ++region->users;
    in_use_.push_back({buffer, region});
  }

  Task<Error> pin_region(cpu::Execution& thread, Buffer buffer) {
    const os::Range pages = buffer.pages();
    // Not in the condition: there g++ 12 awaits the right side of an && whatever the left one says.
    while (held_ + (pages.end - pages.begin) > config_.budget) {
      if (!co_await evict(thread)) break;
    }
    for (;;) {
      Pinning making{pages};
      makings_.push_back(&making);
      const os::Result<os::PinId> pinned = co_await pin(thread, owner_, buffer);
      std::erase(makings_, &making);
      if (pinned.ok() && !making.overtaken) {
        regions_.push_front({pages, pinned.value});
        held_ += pages.end - pages.begin;
        use(regions_.begin(), buffer);
        co_return Error::none;
      }
      if (pinned.ok()) {
        co_await unpin(thread, owner_, pinned.value);
      } else if (pinned.error == Error::again) {
        co_await invalidate(thread, pages);  // the private table has frames of an earlier mapping
      } else {
        if (!is_of_room(pinned.error)) co_return pinned.error;
        if (!co_await evict(thread)) co_return pinned.error;
      }
    }
  }

  static bool is_of_room(Error error) { return error == Error::limit || error == Error::no_memory; }

  // The region that was used longest ago, of those that nobody uses. False: there is none.
  Task<bool> evict(cpu::Execution& thread) {
    const auto found = std::find_if(regions_.rbegin(), regions_.rend(), [](const Region& r) { return r.users == 0; });
    if (found == regions_.rend()) co_return false;
    ++evictions_;
    co_await drop_region(thread, std::prev(found.base()));
    co_return true;
  }

  // It is no longer found from the call on, before its pages are unpinned.
  Task<Error> drop_region(cpu::Execution& thread, Place region) {
    const os::PinId pinned = region->pinned;
    held_ -= region->bytes();
    regions_.erase(region);
    return unpin(thread, owner_, pinned);
  }

  Task<void> invalidate(cpu::Execution& thread, os::Range pages) {
    ++unmap_events_;
    for (Pinning* making : makings_) making->overtaken = making->overtaken || making->pages.overlaps(pages);
    sim::SmallVector<os::PinId, 8> gone;
    for (Place region = regions_.begin(); region != regions_.end();) {
      const Place at = region++;
      if (!at->is_valid || !at->pages.overlaps(pages)) continue;
      ++invalidations_;
      at->is_valid = false;
      if (at->users > 0) continue;  // with its last user
      gone.push_back(at->pinned);
      held_ -= at->bytes();
      regions_.erase(at);
    }
    for (const os::PinId pinned : gone) co_await unpin(thread, owner_, pinned);
  }

  // What moves a page refuses pinned ones by itself, so that the cache need not.
  Task<bool> begin(cpu::Execution& exec, os::TableChange change) override {
    co_await invalidate(exec, change.range);
    co_return true;
  }
  void end(os::Range) override {}
  // Set-up: before any transfer, so that nothing of the range is pinned.
  void drop(os::Range pages, os::Taking) override {
    for (Region& region : regions_) region.is_valid = region.is_valid && !region.pages.overlaps(pages);
  }

  const PinCacheConfig config_;
  sim::RandomStream hooks_;
  sim::Counter& gets_;
  sim::Counter& hits_;
  sim::Counter& misses_;
  sim::Counter& evictions_;
  sim::Counter& unmap_events_;
  sim::Counter& invalidations_;
  sim::Counter& missed_;
  Regions regions_;
  sim::Vector<Use> in_use_;
  sim::Vector<Pinning*> makings_;
  std::uint64_t held_ = 0;  // bytes of all regions
};

class PinCache final : public RegistrationPolicy {
 public:
  std::unique_ptr<RegistrationPolicy> clone() const override { return std::make_unique<PinCache>(*this); }
  std::string_view name() const override { return "pin-cache"; }
  std::string_view meaning() const override {
    return "pins before a transfer what no earlier one has pinned, and unpins when a budget is spent or the memory "
           "changes; the target's program is asked to do so by a small message";
  }
  std::string_view adds() const override {
    return "pinned memory up to a budget, within RLIMIT_MEMLOCK; an MMU notifier or memory hooks; a core of the target "
           "that polls for requests";
  }
  Abilities abilities() const override {
    return {.pins = true, .asks_target = true, .stays_prepared = true, .hears_unmapping = true};
  }

  void declare(sim::ParameterTable& table) override {
    using sim::Standing;
    table.add_bytes("budget", config_.budget, {0, std::uint64_t{1} << 40},
                    {"memory that the cache of a process keeps pinned while no transfer uses it",
                     "assumed: half of RLIMIT_MEMLOCK's default of 8 MiB",
                     Standing::assumed,
                     {"1 MiB", "8 MiB"}});
    table.add_choice("emptied_by", config_.emptied_by, {{"notifier", EmptiedBy::notifier}, {"hooks", EmptiedBy::hooks}},
                     {"how the cache learns that memory was unmapped: the kernel's MMU notifier, which tells every "
                      "change, or hooks in the program's calls",
                      "",
                      {}});
    table.add_fraction(
        "hook_coverage", config_.hook_coverage, {0.0, 1.0},
        {"share of the program's unmappings that the hooks see; the others are drawn by the seed", "", {}});
    table.add_time("lookup", config_.lookup, {0ns, 1ms},
                   {"user code that looks a buffer up",
                    "UCX takes 50 ns (ucp_mm.h, UCP_RCACHE_LOOKUP overhead); on a Cortex-A53 assumed up to 1 us",
                    Standing::assumed,
                    {"50 ns", "1 us"}});
  }

  std::vector<sim::Conflict> conflicts(const Strategy&) const override {
    if (config_.emptied_by == EmptiedBy::hooks || config_.hook_coverage == 1) return {};
    return {{{"strategy.pin_cache.hook_coverage", "strategy.pin_cache.emptied_by"},
             "an MMU notifier misses nothing",
             "set strategy.pin_cache.emptied_by to hooks, or leave hook_coverage at 1"}};
  }

  std::span<const sim::CounterMetric> metrics() const override {
    static constexpr sim::CounterMetric kMetrics[] = {
        {"pin_cache.gets", "cache_gets", "1", 1, "buffers that were looked up in a cache of pins, at both ends"},
        {"pin_cache.hits", "cache_hits", "1", 1, "of these, found pinned"},
        {"pin_cache.misses", "cache_misses", "1", 1, "of these, pinned"},
        {"pin_cache.evictions", "cache_evictions", "1", 1, "regions unpinned because the budget was spent"},
        {"pin_cache.invalidations", "cache_invalidations", "1", 1, "regions unpinned because their memory changed"},
        {"pin_cache.hooks_missed", "hooks_missed", "1", 1, "unmappings that no memory hook has seen"},
    };
    return kMetrics;
  }

  std::unique_ptr<Registration> open(Registration::Owner owner) const override {
    return std::make_unique<PinCacheMemory>(owner, config_);
  }

 private:
  PinCacheConfig config_;
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_pin_cache() { return std::make_unique<PinCache>(); }

}  // namespace faultline::rdma
