// SPDX-License-Identifier: Apache-2.0
// The pin-down cache (Tezuka et al., IPPS 1998): what a transfer has pinned stays pinned for the next one that uses the
// same memory, until a budget of bytes is spent; then the region that was acquired longest ago goes, before a new one
// is pinned. A region serves each buffer that lies in it; regions may overlap. One miss at a time pins, as under the
// write lock of UCX's registration cache (ucs/memory/rcache.c): who waits behind it looks again.
//
// The cache must learn when memory changes, or a later mapping at the same address finds the frames of the earlier one:
// - emptied_by = notifier: the kernel tells each change of the table before it happens. Idle regions of the range are
//   unpinned then, on the time of who changes it. A pin waits for changes of its range, and one that was overtaken by
//   such a change is made again.
// - emptied_by = hooks: the library intercepts the program's calls, and may miss some: a binary that calls the kernel
//   by itself, another allocator. A region is no longer found from the call on, and unpinned with the next miss (UCX
//   and libfabric do so, because a hook may not call the driver).
//
// A region that a transfer uses keeps its pins until the transfer's end, whatever happens to the memory: the device may
// go on with the old frames until then, as with any pinned registration. Reclaim and migration are refused instead.
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

// It follows the process's table for as long as the process lives: the registration must not end before it.
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
        evictions_(counter("evictions", "regions that went because the budget or RLIMIT_MEMLOCK was spent")),
        invalidations_(
            counter("invalidations",
                    "regions that are no longer found because their memory changed, or was mapped anew unseen")),
        missed_(counter("hooks_missed", "unmappings that no hook has seen")),
        turn_(owner.cpu.context().loop, 1),
        change_ended_(owner.cpu.context().loop) {
    if (config_.emptied_by == EmptiedBy::notifier) owner_.vm.add_notifier(owner_.process, *this);
  }

  Task<Error> acquire(cpu::Execution& thread, Buffer buffer, bool) override {
    if (buffer.length == 0) co_return Error::invalid;
    ++gets_;
    co_await owner_.cpu.run(thread, cpu::Work::user, config_.lookup);
    if (find_and_use(buffer)) co_return Error::none;
    co_await turn_.acquire();
    Error error = Error::none;
    // Another thread may have pinned the buffer while this one waited for its turn.
    if (!find_and_use(buffer)) {
      ++misses_;
      error = co_await pin_region(thread, buffer);
    }
    turn_.release();
    co_return error;
  }

  // Ends the use of this buffer that began first. Its region stays pinned as long as it has other users; without them
  // it goes if its memory has changed, or if the cache holds more than the budget.
  Task<Error> release(cpu::Execution& thread, Buffer buffer) override {
    const auto used = std::ranges::find(in_use_, buffer, &Use::buffer);
    if (used == in_use_.end()) co_return Error::invalid;
    const Place region = used->region;
    in_use_.erase(used);
    if (--region->users > 0) co_return Error::none;
    const bool in_budget = held_ <= config_.budget;
    if (region->is_valid && in_budget) co_return Error::none;
    if (region->is_valid) ++evictions_;
    const Gone gone = take_out(region);
    co_await turn_.acquire();
    const Error error = co_await let_go(thread, gone);
    turn_.release();
    co_return error;
  }

  Task<void> unmapping(cpu::Execution&, os::Range pages) override {
    if (config_.emptied_by != EmptiedBy::hooks) co_return;
    if (hooks_.chance(config_.hook_coverage)) {
      invalidate(pages, garbage_);
    } else {
      ++missed_;
    }
  }

 private:
  struct Region {
    os::Range pages;
    os::PinId pinned = 0;
    unsigned users = 0;
    bool is_valid = true;  // until the memory changes; an invalid region is in the list only while it has users
    bool covers(os::Range wanted) const { return pages.begin <= wanted.begin && wanted.end <= pages.end; }
  };
  using Regions = std::list<Region, sim::Recycling<Region>>;
  using Place = Regions::iterator;
  struct Use {
    Buffer buffer;
    Place region;
  };
  // The pin of a region that is no longer in the list: it is still to be let go.
  struct Gone {
    os::PinId pinned;
    std::uint64_t bytes;
  };
  using GoneOnes = sim::SmallVector<Gone, 8>;
  // The pin that is being made. It is overtaken by a change of its pages: then it may hold frames that the program no
  // longer has. Changes that the pin itself makes (it breaks copy-on-write before it takes a page) do not count.
  struct Pinning {
    os::Range pages;
    const cpu::Execution& thread;
    bool overtaken = false;
  };

  sim::Counter& counter(const char* name, const char* description) const {
    return owner_.cpu.context().statistics.counter(std::string("pin_cache.") + name, "count", description);
  }

  // Begins a use of a region around the buffer: the one that was acquired last, if there are several. False: there is
  // none.
  bool find_and_use(Buffer buffer) {
    const auto found = std::ranges::find_if(
        regions_, [&](const Region& region) { return region.is_valid && region.covers(buffer.pages()); });
    if (found == regions_.end()) return false;
    ++hits_;
    use(found, buffer);
    return true;
  }
  void use(Place region, Buffer buffer) {
    regions_.splice(regions_.begin(), regions_, region);
    ++region->users;
    in_use_.push_back({buffer, region});
  }

  Task<Error> pin_region(cpu::Execution& thread, Buffer buffer) {
    while (!garbage_.empty()) {
      const Gone oldest = garbage_.front();
      garbage_.erase(garbage_.begin());
      co_await let_go(thread, oldest);
    }
    const std::uint64_t bytes = buffer.pages().end - buffer.pages().begin;
    held_ += bytes;
    while (held_ > config_.budget) {
      if (!co_await evict(thread)) break;
    }
    const os::Result<os::PinId> pinned = co_await pin_current_frames(thread, buffer);
    if (!pinned.ok()) {
      held_ -= bytes;
      co_return pinned.error;
    }
    regions_.push_front({buffer.pages(), pinned.value});
    use(regions_.begin(), buffer);
    co_return Error::none;
  }

  // Pins the frames that the program has when the pin is done. Fails with `limit` or `no_memory` when no idle region is
  // left whose pages would make room; with `again` when a transfer still uses an earlier mapping at one of the
  // addresses, so that the private table still has its frames.
  Task<os::Result<os::PinId>> pin_current_frames(cpu::Execution& thread, Buffer buffer) {
    const os::Range pages = buffer.pages();
    for (;;) {
      while (is_changing(pages)) co_await owner_.cpu.sleep(thread, change_ended_);
      Pinning making{pages, thread};
      making_ = &making;
      const os::Result<os::PinId> pinned = co_await pin(thread, owner_, buffer);
      making_ = nullptr;
      if (pinned.ok() && !making.overtaken) co_return pinned;
      bool goes_on = false;
      if (pinned.ok()) {
        co_await unpin(thread, owner_, pinned.value);
        goes_on = true;
      } else if (pinned.error == Error::again && !is_in_use(pages)) {
        // The private table has other frames there: those of an earlier mapping, whose end a hook has missed.
        goes_on = co_await drop_idle(thread, pages);
      } else if (pinned.error == Error::limit || pinned.error == Error::no_memory) {
        goes_on = co_await evict(thread);
      }
      if (!goes_on) co_return pinned;
    }
  }

  // Unpins the region that was acquired longest ago, of those that nobody uses. False: there is none.
  Task<bool> evict(cpu::Execution& thread) {
    const auto found = std::find_if(regions_.rbegin(), regions_.rend(), [](const Region& r) { return r.users == 0; });
    if (found == regions_.rend()) co_return false;
    ++evictions_;
    co_await let_go(thread, take_out(std::prev(found.base())));
    co_return true;
  }

  // Invalidates the regions of the range, and unpins those that nobody uses. False: there is none of these.
  Task<bool> drop_idle(cpu::Execution& thread, os::Range pages) {
    GoneOnes gone;
    invalidate(pages, gone);
    for (const Gone& each : gone) co_await let_go(thread, each);
    co_return !gone.empty();
  }

  // From here on nobody finds the region, though its pages are pinned until let_go().
  Gone take_out(Place region) {
    const Gone gone{region->pinned, region->pages.end - region->pages.begin};
    regions_.erase(region);
    return gone;
  }
  Task<Error> let_go(cpu::Execution& thread, Gone gone, os::Caller caller = os::Caller::program) {
    held_ -= gone.bytes;
    return unpin(thread, owner_, gone.pinned, caller);
  }

  // No region of the range is found from here on. Regions in use are taken out by their last user, others go to `gone`.
  template <typename List>
  void invalidate(os::Range pages, List& gone) {
    for (Place region = regions_.begin(); region != regions_.end();) {
      const Place at = region++;
      if (!at->is_valid || !at->pages.overlaps(pages)) continue;
      ++invalidations_;
      at->is_valid = false;
      if (at->users == 0) gone.push_back(take_out(at));
    }
    if (making_ != nullptr && making_->pages.overlaps(pages)) making_->overtaken = true;
  }

  Task<bool> begin(cpu::Execution& exec, os::TableChange change) override {
    if (change.may_refuse() && is_in_use(change.range)) co_return false;
    changes_.push_back(change.range);
    const bool makes_it = making_ != nullptr && &making_->thread == &exec;
    const bool was_overtaken = makes_it && making_->overtaken;
    GoneOnes gone;
    invalidate(change.range, gone);
    if (makes_it) making_->overtaken = was_overtaken;  // the pin's own change
    for (const Gone& each : gone) co_await let_go(exec, each, os::Caller::kernel);
    co_return true;
  }
  void end(os::Range range) override {
    const auto found = std::ranges::find(changes_, range);
    if (found != changes_.end()) changes_.erase(found);
    change_ended_.notify_all();
  }
  void drop(os::Range pages, os::Taking) override { invalidate(pages, garbage_); }

  bool is_changing(os::Range pages) const {
    return std::ranges::any_of(changes_, [&](os::Range change) { return change.overlaps(pages); });
  }
  bool is_in_use(os::Range pages) const {
    return std::ranges::any_of(regions_, [&](const Region& r) { return r.users > 0 && r.pages.overlaps(pages); });
  }

  const PinCacheConfig config_;
  sim::RandomStream hooks_;
  sim::Counter& gets_;
  sim::Counter& hits_;
  sim::Counter& misses_;
  sim::Counter& evictions_;
  sim::Counter& invalidations_;
  sim::Counter& missed_;
  Regions regions_;
  sim::Vector<Use> in_use_;
  sim::Vector<Gone> garbage_;  // to be unpinned with the next miss
  std::uint64_t held_ = 0;     // bytes pinned by all regions and by the garbage, and to be by the pin being made
  sim::Semaphore turn_;        // to pin and unpin on the program's time
  Pinning* making_ = nullptr;
  sim::Vector<os::Range> changes_;  // that the kernel has begun
  sim::Signal change_ended_;
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
  Abilities abilities() const override { return {.pins = true, .asks_target = true, .stays_prepared = true}; }

  void declare(sim::ParameterTable& table) override {
    using sim::Standing;
    table.add_bytes("budget", config_.budget, {0, std::uint64_t{1} << 40},
                    {"memory that the cache of a process keeps pinned while no transfer uses it",
                     "assumed: half of RLIMIT_MEMLOCK's default of 8 MiB",
                     Standing::assumed,
                     {"1 MiB", "8 MiB"}});
    table.add_choice("emptied_by", config_.emptied_by, {{"notifier", EmptiedBy::notifier}, {"hooks", EmptiedBy::hooks}},
                     {"how the cache learns that memory has changed: the kernel's MMU notifier, which tells every "
                      "change, or hooks in the program's calls",
                      "",
                      {}});
    table.add_fraction(
        "hook_coverage", config_.hook_coverage, {0.0, 1.0},
        {"share of the program's calls that drop memory (munmap, MADV_DONTNEED) that the hooks see; the seed draws "
         "which",
         "",
         {}});
    table.add_time("lookup", config_.lookup, sim::kAnyTime,
                   {"user code that looks a buffer up",
                    "UCX takes 50 ns (ucp_mm.h, UCP_RCACHE_OVERHEAD_DEFAULT); on a Cortex-A53 assumed up to 1 us",
                    Standing::assumed,
                    {"50 ns", "1 us"}});
  }

  std::vector<sim::Conflict> conflicts(const Strategy&) const override {
    if (config_.emptied_by == EmptiedBy::hooks || config_.hook_coverage == 1) return {};
    return {{{"strategy.pin_cache.hook_coverage", "strategy.pin_cache.emptied_by"},
             "an MMU notifier misses nothing",
             "set strategy.pin_cache.emptied_by to hooks, or leave strategy.pin_cache.hook_coverage at 1"}};
  }

  std::span<const sim::CounterMetric> metrics() const override {
    static constexpr sim::CounterMetric kMetrics[] = {
        {"pin_cache.gets", "cache_gets", "1", 1, "buffers that were looked up in a pin-down cache, at both ends"},
        {"pin_cache.hits", "cache_hits", "1", 1, "of cache_gets, those that were found pinned"},
        {"pin_cache.misses", "cache_misses", "1", 1, "of cache_gets, those that were not found, and had to be pinned"},
        {"pin_cache.evictions", "cache_evictions", "1", 1,
         "regions unpinned because the budget or RLIMIT_MEMLOCK was spent"},
        {"pin_cache.invalidations", "cache_invalidations", "1", 1,
         "regions that are no longer found because their memory changed"},
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
