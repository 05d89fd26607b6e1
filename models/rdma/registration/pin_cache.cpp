// SPDX-License-Identifier: Apache-2.0
// The pin-down cache (Tezuka et al., IPPS 1998): what a transfer has pinned stays pinned for the next one that uses the
// same memory, until a budget of bytes or of regions is spent; then a region that nobody uses goes, before a new one is
// pinned. A region serves each buffer that lies in it. One miss at a time pins, as under the write lock of UCX's
// registration cache (ucs/memory/rcache.c): who waits behind it looks again. Regions may overlap; or a miss takes all
// that overlap together (merge): one region around them takes their place, as in UCX.
//
// The cache must learn when memory changes, or a later mapping at the same address finds the frames of the earlier one:
// - emptied_by = notifier: the kernel tells each change of the table before it happens. Idle regions of the range are
//   unpinned then, on the time of who changes it. A pin waits for changes of its range, and one that was overtaken by
//   such a change is made again.
// - emptied_by = hooks: the library intercepts the program's calls, and may miss some: a binary that calls the kernel
//   by itself, another allocator. A region is no longer found from the call on, and unpinned with the next miss (UCX
//   and libfabric do so, because a hook may not call the driver).
// - emptied_by = nothing: it does not learn.
//
// A region that a transfer uses keeps its pins until the transfer's end, whatever happens to the memory: the device may
// go on with the old frames until then, as with any pinned registration. Reclaim and migration are refused instead.
#include <algorithm>
#include <utility>

#include "models/os/vm/mmu_notifier.hpp"
#include "models/rdma/registration/pin_cache_config.hpp"
#include "models/rdma/registration/pinned_range.hpp"
#include "models/rdma/registration/policy_of.hpp"
#include "models/rdma/registration/region_set.hpp"
#include "models/rdma/registration/unpinner.hpp"
#include "models/sim/random.hpp"

namespace faultline::rdma {
namespace {

using os::Error;
using sim::Task;
using Gone = RegionSet::Gone;

// It follows the process's table for as long as the process lives: the registration must not end before it.
class PinCacheMemory final : public Registration, private os::MmuNotifier {
 public:
  PinCacheMemory(const Owner& owner, const PinCacheConfig& config)
      : Registration(owner),
        config_(config),
        count_(owner.cpu.context().statistics),
        hooks_(owner.cpu.context().seed, "memory hooks",
               std::uint64_t{owner.cpu.context().node} << 16 | owner.process.id()),
        unpinner_(owner),
        turn_(owner.cpu.context().loop, 1),
        change_ended_(owner.cpu.context().loop) {
    if (config_.emptied_by == EmptiedBy::notifier) owner_.vm.add_notifier(owner_.process, *this);
  }

  Task<Error> acquire(cpu::Execution& thread, Buffer buffer, bool) override {
    if (buffer.length == 0) co_return Error::invalid;
    ++count_.gets;
    co_await owner_.cpu.run(thread, cpu::Work::user, config_.lookup);
    if (regions_.use(buffer)) {
      ++count_.hits_fast;
      co_return Error::none;
    }
    co_await turn_.acquire();
    Error error = Error::none;
    // Another thread may have pinned the buffer while this one waited for its turn.
    if (regions_.use(buffer)) {
      ++count_.hits_slow;
    } else {
      error = co_await pin_region(thread, buffer);
    }
    turn_.release();
    co_return error;
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
    const Gone gone = regions_.take_out(*ended.last);
    co_await turn_.acquire();
    const Error error = co_await let_go(thread, gone);
    turn_.release();
    co_return error;
  }

  Task<void> unmapping(cpu::Execution&, os::Range pages) override {
    if (config_.emptied_by != EmptiedBy::hooks) co_return;
    if (hooks_.chance(config_.hook_coverage)) {
      ++count_.unmap_events;
      invalidate(pages, garbage_);
    } else {
      ++count_.hooks_missed;
    }
  }

  Task<void> stop(cpu::Execution&) override { return unpinner_.stop(); }

 private:
  // The pin that is being made. It is overtaken by a change of its pages: then it may hold frames that the program no
  // longer has. Changes that the pin itself makes (it breaks copy-on-write before it takes a page) do not count.
  struct Pinning {
    os::Range pages;
    const cpu::Execution& thread;
    bool overtaken = false;
  };

  // Whether the cache holds no more than it may, with so many regions more.
  bool fits(std::size_t more) const {
    const bool few = config_.max_regions == 0 || regions_.size() + more <= config_.max_regions;
    return few && held_ <= config_.budget;
  }

  Task<Error> pin_region(cpu::Execution& thread, Buffer buffer) {
    while (!garbage_.empty()) {
      const Gone oldest = garbage_.front();
      garbage_.erase(garbage_.begin());
      co_await let_go(thread, oldest);
    }
    os::Range pages = buffer.pages();
    if (config_.merge) {
      pages = regions_.merged(pages);
      RegionSet::GoneOnes replaced;
      count_.regions_merged += regions_.lose(pages, replaced);
      for (const Gone& each : replaced) co_await let_go(thread, each);
    }
    const Error error = co_await pin_around(thread, pages, buffer);
    if (error == Error::none || pages == buffer.pages()) co_return error;
    // Where nobody tells of changes the wider range may have holes.
    co_return co_await pin_around(thread, buffer.pages(), buffer);
  }

  Task<Error> pin_around(cpu::Execution& thread, os::Range pages, Buffer buffer) {
    const std::uint64_t bytes = pages.end - pages.begin;
    held_ += bytes;
    for (bool goes_on = true; goes_on && !fits(1);) goes_on = co_await evict(thread);
    const os::Result<os::PinId> pinned = co_await pin_current_frames(thread, pages);
    if (!pinned.ok()) {
      held_ -= bytes;
      co_return pinned.error;
    }
    ++count_.misses;
    regions_.add_and_use(pages, pinned.value, buffer);
    co_return Error::none;
  }

  // Pins the frames that the program has when the pin is done. Fails with `limit` or `no_memory` when no idle region is
  // left whose pages would make room; with `again` when a transfer still uses an earlier mapping at one of the
  // addresses, so that the private table still has its frames.
  Task<os::Result<os::PinId>> pin_current_frames(cpu::Execution& thread, os::Range pages) {
    for (;;) {
      while (is_changing(pages)) co_await owner_.cpu.sleep(thread, change_ended_);
      Pinning making{pages, thread};
      making_ = &making;
      const std::uint64_t before = unpinner_.calls_ended();
      ++count_.mem_regs;
      const os::Result<os::PinId> pinned = co_await pin(thread, owner_, {pages.begin, pages.end - pages.begin});
      making_ = nullptr;
      if (pinned.ok() && !making.overtaken) co_return pinned;
      bool goes_on = true;
      if (pinned.ok()) {
        co_await unpin(thread, owner_, pinned.value);
        ++count_.mem_deregs;
      } else {
        goes_on = co_await make_room(thread, pages, pinned.error, before);
      }
      if (!goes_on) co_return pinned;
    }
  }

  // After a pin of the pages has failed: lets go of what may be in its way, but what has gone since so many calls had
  // ended. False: nothing was.
  Task<bool> make_room(cpu::Execution& thread, os::Range pages, Error error, std::uint64_t calls_ended) {
    const bool has_gone = co_await unpinner_.make_room(thread, error, calls_ended);
    if (has_gone) co_return true;
    bool makes_room = false;
    if (error == Error::limit || error == Error::no_memory) {
      makes_room = co_await evict(thread);
    } else if (error == Error::again && !regions_.is_in_use(pages)) {
      // The private table has other frames there: those of an earlier mapping, whose end a hook has missed.
      makes_room = co_await drop_idle(thread, pages);
    }
    if (makes_room) co_await unpinner_.flush(thread);
    co_return makes_room;
  }

  // Unpins one of the regions that nobody uses. False: there is none.
  Task<bool> evict(cpu::Execution& thread) {
    const auto victim = regions_.victim(config_.replacement);
    if (!victim) co_return false;
    ++count_.evictions;
    co_await let_go(thread, regions_.take_out(*victim));
    co_return true;
  }

  // Invalidates the regions of the range, and unpins those that nobody uses. False: there is none of these.
  Task<bool> drop_idle(cpu::Execution& thread, os::Range pages) {
    RegionSet::GoneOnes gone;
    invalidate(pages, gone);
    for (const Gone& each : gone) co_await let_go(thread, each);
    co_return !gone.empty();
  }

  Task<Error> let_go(cpu::Execution& thread, Gone gone) {
    held_ -= gone.bytes;
    ++count_.mem_deregs;
    return unpinner_.let_go(thread, gone.pinned);
  }

  // No region of the range is found from here on. Regions in use are taken out by their last user, others go to `gone`.
  void invalidate(os::Range pages, RegionSet::GoneOnes& gone) {
    count_.regions_inv_unmap += regions_.lose(pages, gone);
    if (making_ != nullptr && making_->pages.overlaps(pages)) making_->overtaken = true;
  }

  Task<bool> begin(cpu::Execution& exec, os::TableChange change) override {
    if (change.may_refuse() && regions_.is_in_use(change.range)) co_return false;
    ++count_.unmap_events;
    changes_.push_back(change.range);
    const bool makes_it = making_ != nullptr && &making_->thread == &exec;
    const bool was_overtaken = makes_it && making_->overtaken;
    RegionSet::GoneOnes gone;
    invalidate(change.range, gone);
    if (makes_it) making_->overtaken = was_overtaken;  // the pin's own change
    for (const Gone& each : gone) {
      held_ -= each.bytes;
      ++count_.mem_deregs;
      co_await unpin(exec, owner_, each.pinned, os::Caller::kernel);
    }
    co_return true;
  }
  void end(os::Range range) override {
    const auto found = std::ranges::find(changes_, range);
    if (found != changes_.end()) changes_.erase(found);
    change_ended_.notify_all();
  }
  void drop(os::Range pages, os::Taking) override {
    ++count_.unmap_events;
    invalidate(pages, garbage_);
  }

  bool is_changing(os::Range pages) const {
    return std::ranges::any_of(changes_, [&](os::Range change) { return change.overlaps(pages); });
  }

  const PinCacheConfig config_;
  PinCacheCounters count_;
  sim::RandomStream hooks_;
  Unpinner unpinner_;
  RegionSet regions_;
  RegionSet::GoneOnes garbage_;  // to be unpinned with the next miss
  std::uint64_t held_ = 0;       // bytes pinned by all regions and by the garbage, and to be by the pin being made
  sim::Semaphore turn_;          // to pin and unpin on the program's time
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
