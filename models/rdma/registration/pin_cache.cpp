// SPDX-License-Identifier: Apache-2.0
// The pin-down cache (Tezuka et al., IPPS 1998): what a transfer has pinned stays pinned for the next one that uses the
// same memory, until a budget of bytes or of regions is spent; then a region that nobody uses goes, before a new one is
// pinned. A region serves each buffer that lies in it. One miss at a time pins, as under the write lock of UCX's
// registration cache (ucs/memory/rcache.c): who waits behind it looks again. Regions may overlap; or a miss takes all
// that overlap together (merge): one region around them takes their place, as in UCX.
//
// The cache must learn when memory changes, or a later mapping at the same address finds the frames of the earlier one:
// - emptied_by = notifier: the kernel tells each change of the table before it happens (FollowingPins).
// - emptied_by = hooks: the library intercepts the program's calls, and may miss some: a binary that calls the kernel
//   by itself, another allocator. A region is no longer found from the call on, and unpinned with the next miss (UCX
//   and libfabric do so, because a hook may not call the driver). A fork has all regions go (UCX's purge on fork).
// - emptied_by = nothing: it does not learn.
//
// A region that a transfer uses keeps its pins until the transfer's end, whatever happens to the memory: the device may
// go on with the old frames until then, as with any pinned registration. Reclaim and migration are refused instead.
#include <utility>

#include "models/rdma/registration/following_pins.hpp"
#include "models/rdma/registration/pin_cache_config.hpp"
#include "models/rdma/registration/region_set.hpp"
#include "models/sim/random.hpp"

namespace faultline::rdma {
namespace {

using os::Error;
using sim::Task;

class PinCacheMemory final : public FollowingPins {
 public:
  PinCacheMemory(const Owner& owner, const PinCacheConfig& config)
      : FollowingPins(owner, config.emptied_by == EmptiedBy::notifier, config.budget),
        config_(config),
        hooks_(owner.cpu.context().seed, "memory hooks",
               std::uint64_t{owner.cpu.context().node} << 16 | owner.process.id()) {}

  Task<Error> acquire(cpu::Execution& thread, Buffer buffer, bool) override {
    if (buffer.length == 0) co_return Error::invalid;
    ++count_.gets;
    co_await owner_.cpu.run(thread, cpu::Work::user, config_.lookup);
    if (regions_.use(buffer)) {
      ++count_.hits_fast;
      co_return Error::none;
    }
    const sim::Semaphore::Hold turn = co_await turn_.hold();
    // Another thread may have pinned the buffer while this one waited for its turn.
    if (regions_.use(buffer)) {
      ++count_.hits_slow;
      co_return Error::none;
    }
    co_return co_await pin_region(thread, buffer);
  }

  // Ends the use of this buffer that began first. Its region stays pinned as long as it has other users; without them
  // it goes if it is found no more, or if the cache holds more than it may.
  Task<Error> release(cpu::Execution& thread, Buffer buffer) override {
    const RegionSet::Ended ended = regions_.end_use(buffer);
    if (!ended.known) co_return Error::invalid;
    ++count_.puts;
    if (!ended.last) co_return Error::none;
    const bool is_found = (*ended.last)->is_found;
    if (is_found && fits(0)) co_return Error::none;
    if (is_found) ++count_.evictions;
    GoneOnes gone{regions_.take_out(*ended.last)};
    const sim::Semaphore::Hold turn = co_await turn_.hold();
    co_return co_await let_go(thread, std::move(gone));
  }

  Task<void> unmapping(cpu::Execution&, os::Range pages) override {
    hear(pages);
    co_return;
  }
  Task<void> forking(cpu::Execution&) override {
    hear({0, UINT64_MAX});
    co_return;
  }

 private:
  // A call of the program's, which the hooks may miss.
  void hear(os::Range pages) {
    if (config_.emptied_by != EmptiedBy::hooks) return;
    if (hooks_.chance(config_.hook_coverage)) {
      ++count_.unmap_events;
      invalidate(pages, garbage_);
    } else {
      ++count_.hooks_missed;
    }
  }

  // Whether the cache holds no more than it may, with so many regions more.
  bool fits(std::size_t more) const {
    const bool few = config_.max_regions == 0 || regions_.size() + more <= config_.max_regions;
    return few && within_budget();
  }

  Task<Error> pin_region(cpu::Execution& thread, Buffer buffer) {
    co_await let_go_of_garbage(thread);
    os::Range pages = buffer.pages();
    if (config_.merge) {
      pages = regions_.merged(pages);
      GoneOnes replaced;
      count_.regions_merged += regions_.lose(pages, replaced);
      co_await let_go(thread, std::move(replaced));
    }
    const Error error = co_await pin_around(thread, pages, buffer);
    if (error == Error::none || pages == buffer.pages()) co_return error;
    // Where nobody tells of changes the wider range may have holes.
    co_return co_await pin_around(thread, buffer.pages(), buffer);
  }

  Task<Error> pin_around(cpu::Execution& thread, os::Range pages, Buffer buffer) {
    const std::uint64_t bytes = pages.end - pages.begin;
    held_ += bytes;
    for (bool goes_on = true; goes_on && !fits(1);) goes_on = co_await evict(thread, beyond_budget());
    const os::Result<os::PinId> pinned = co_await pin_current_frames(thread, pages);
    if (!pinned.ok()) {
      held_ -= bytes;
      co_return pinned.error;
    }
    ++count_.misses;
    regions_.add_and_use(pages, pinned.value, buffer);
    co_return Error::none;
  }

  bool is_in_use(os::Range pages) const override { return regions_.is_in_use(pages); }
  std::size_t lose(os::Range pages, GoneOnes& gone) override { return regions_.lose(pages, gone); }
  std::optional<Gone> take_victim() override {
    const auto victim = regions_.victim(config_.replacement);
    if (!victim) return std::nullopt;
    return regions_.take_out(*victim);
  }

  const PinCacheConfig config_;
  sim::RandomStream hooks_;
  RegionSet regions_;
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
    return {.pins = true, .asks_target = true, .stays_prepared = true, .lets_go = true};
  }
  void declare(sim::ParameterTable& table) override { config_.declare(table); }
  std::vector<sim::Conflict> conflicts(const Strategy&) const override { return config_.conflicts(); }
  std::span<const sim::CounterMetric> metrics() const override { return pin_cache_metrics(); }
  std::unique_ptr<Registration> open(Registration::Owner owner) const override {
    return std::make_unique<PinCacheMemory>(owner, config_);
  }

 private:
  PinCacheConfig config_;
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_pin_cache() { return std::make_unique<PinCache>(); }

}  // namespace faultline::rdma
