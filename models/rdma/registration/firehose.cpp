// SPDX-License-Identifier: Apache-2.0
// Firehose (Bell and Bonachea, CAC 2003; GASNet's firehose library): an initiator holds pages of its target's memory,
// which stay pinned there, and writes and reads them without asking. What one process keeps pinned is bounded. A share
// of that is divided among the processes that transfer to and from it; each may hold so many pages ("buckets"), and
// decides itself which ones (RemoteBuckets). For a transfer with pages that it does not hold it asks the target in one
// small message, the move: the pages that it gives back, and those that it takes.
//
// A process's own buffers are pinned by pages, too, and stay pinned. A page has users (transfers of this process) and
// leases (initiators that hold it). Without either it rests. Pages without leases have the rest of the budget (GASNet's
// pool of victims), however little of the share is held: when they exceed it those that rest are unpinned, the one that
// has rested for the longest time first.
//
// The original keeps one segment mapped for the life of the program. Here a program may unmap memory: who holds it
// gives it back before (RemoteBuckets::forget). A page that goes without that, because the kernel's notifier tells of
// it, is unpinned, and its leases are void: what still comes for it meets an absent page. Changes that leave a pinned
// frame where it is are none: a right that goes, a huge page that is split, and what kernels begin and do to no page
// under a pin (they merge and collapse none). (Linux tells a driver of the kind of a change, MMU_NOTIFY_*, but calls
// these as it calls a zap: there a driver would have to compare frames.)
#include <fmt/format.h>

#include <algorithm>
#include <boost/algorithm/cxx11/all_of.hpp>
#include <utility>

#include "models/rdma/registration/bucket_table.hpp"
#include "models/rdma/registration/firehose_config.hpp"
#include "models/rdma/registration/following_pins.hpp"
#include "models/sim/failure.hpp"

namespace faultline::rdma {

using os::Error;
using os::Range;
using os::VirtualAddress;
using sim::Task;

namespace {

class FirehoseMemory final : public FollowingPins {
 public:
  FirehoseMemory(const Owner& owner, const FirehoseConfig& config)
      : FollowingPins(owner, /*follows=*/true, config.own_budget()), config_(config) {}

  Task<Error> acquire(cpu::Execution& thread, Buffer buffer, bool) override {
    if (buffer.length == 0) co_return Error::invalid;
    ++count_.gets;
    const Range pages = buffer.pages();
    co_await owner_.cpu.run(thread, cpu::Work::user, config_.lookup * static_cast<std::int64_t>(pages.pages()));
    if (has_all(pages)) {
      for (const VirtualAddress page : buckets_of(pages)) begin_use(page, kOwn);
      ++count_.hits_fast;
      co_return Error::none;
    }
    const sim::Semaphore::Hold turn = co_await turn_.hold();
    ++(has_all(pages) ? count_.hits_slow : count_.misses);
    co_return co_await hold(thread, pages, kOwn);
  }

  Task<Error> release(cpu::Execution& thread, Buffer buffer) override {
    GoneOnes gone;
    bool known = true;
    for (const VirtualAddress page : buckets_of(buffer.pages())) known = end_use(page, kOwn, gone) && known;
    const Error error = known ? Error::none : Error::invalid;
    if (known) ++count_.puts;
    if (gone.empty() && within_budget()) co_return error;
    const sim::Semaphore::Hold turn = co_await turn_.hold();
    co_await let_go(thread, std::move(gone));
    co_await keep_budget(thread);
    co_return error;
  }

  // What comes back is unpinned only where there is no other room: it is often taken again.
  Task<Error> lease(cpu::Execution& thread, std::uint64_t initiator, os::Ranges back, os::Ranges taken) override {
    admit(initiator);
    const sim::Semaphore::Hold turn = co_await turn_.hold();
    GoneOnes gone;
    for (const Range pages : back) end_uses(pages, initiator, gone);
    Error error = Error::none;
    os::Ranges held;
    for (const Range pages : taken) {
      if (error == Error::none) error = co_await hold(thread, pages, initiator);
      if (error == Error::none) held.push_back(pages);
    }
    if (error != Error::none) {
      for (const Range pages : held) end_uses(pages, initiator, gone);
    }
    co_await keep_budget(thread);
    co_return error;
  }

 private:
  // Who uses a page: its own process, or an initiator.
  using User = std::uint64_t;
  static constexpr User kOwn = UINT64_MAX;
  struct Pinned {
    os::PinId pin;
    unsigned users = 0;
    sim::SmallVector<User, 2> leases = {};
  };
  // A page whose memory has changed, and that transfers of this process still use.
  struct Lost {
    VirtualAddress page;
    Pinned pinned;
  };

  // The budget is divided among so many: more of them would pin more than it.
  void admit(User initiator) {
    initiators_.insert(initiator);
    if (initiators_.size() <= config_.peers) return;
    throw sim::RunFailure(
        fmt::format("node {}: {} processes want to hold pages of one, whose budget is divided among {}",
                    owner_.vm.context().node, initiators_.size(), config_.peers),
        {"strategy.firehose.peers", "workload.kind"}, /*refused=*/true);
  }

  bool has_all(Range pages) const {
    return boost::algorithm::all_of(buckets_of(pages),
                                    [&](VirtualAddress page) { return pages_.find(page) != nullptr; });
  }

  void begin_use(VirtualAddress page, User user) {
    Pinned& pinned = *pages_.find(page);
    pages_.wake(page);
    if (user == kOwn) {
      ++pinned.users;
    } else if (config_.counts_leases || std::ranges::find(pinned.leases, user) == pinned.leases.end()) {
      if (pinned.leases.empty()) held_ -= kBucket;
      pinned.leases.push_back(user);
    }
  }

  // False: the process does not use the page. What an initiator gives back may be void already.
  bool end_use(VirtualAddress page, User user, GoneOnes& gone) {
    if (user == kOwn && end_use_of_lost(page, gone)) return true;
    Pinned* pinned = pages_.find(page);
    if (pinned == nullptr) return false;
    if (user == kOwn) {
      if (pinned->users == 0) return false;
      --pinned->users;
    } else {
      const auto lease = std::ranges::find(pinned->leases, user);
      if (lease == pinned->leases.end()) return false;
      pinned->leases.erase(lease);
      if (pinned->leases.empty()) held_ += kBucket;
    }
    if (pinned->users == 0 && pinned->leases.empty()) pages_.rest(page);
    return true;
  }
  // Of those that are lost the use began first.
  bool end_use_of_lost(VirtualAddress page, GoneOnes& gone) {
    const auto lost = std::ranges::find(lost_, page, &Lost::page);
    if (lost == lost_.end()) return false;
    if (--lost->pinned.users > 0) return true;
    gone.push_back({lost->pinned.pin, kBucket});
    lost_.erase(lost);
    return true;
  }
  void end_uses(Range pages, User user, GoneOnes& gone) {
    for (const VirtualAddress page : buckets_of(pages)) end_use(page, user, gone);
  }

  // Begins a use of each page. Those that are missing are pinned, neighbours in one call. The caller has the turn.
  Task<Error> hold(cpu::Execution& thread, Range pages, User user) {
    co_await let_go_of_garbage(thread);
    os::Ranges missing;
    os::Ranges held;
    for (const VirtualAddress page : buckets_of(pages)) {
      const bool is_there = pages_.find(page) != nullptr;
      if (is_there) begin_use(page, user);
      append(is_there ? held : missing, page);
    }
    for (const Range run : missing) {
      const Error error = co_await pin_pages(thread, run, user);
      if (error != Error::none) {
        GoneOnes gone;
        for (const Range each : held) end_uses(each, user, gone);
        co_await let_go(thread, std::move(gone));
        co_return error;
      }
      for (const VirtualAddress page : buckets_of(run)) begin_use(page, user);
      held.push_back(run);
    }
    co_return Error::none;
  }

  // Pages that an initiator takes make no others go, but for those that have come back and are too many.
  Task<Error> pin_pages(cpu::Execution& thread, Range run, User user) {
    const std::uint64_t bytes = run.end - run.begin;
    const std::uint64_t own = user == kOwn ? bytes : 0;
    held_ += own;
    co_await keep_budget(thread);
    const os::Result<os::PinId> pinned = co_await pin_current_frames(thread, run);
    if (!pinned.ok()) {
      held_ -= own;
      co_return pinned.error;
    }
    held_ += bytes - own;  // until its use begins
    const sim::Vector<os::PinId> each = split(pinned.value, run);
    for (std::size_t i = 0; i < each.size(); ++i) pages_.add(run.begin + i * kBucket, {.pin = each[i]});
    co_return Error::none;
  }

  // A pin for each page of a run, in the place of the one of all.
  sim::Vector<os::PinId> split(os::PinId pin, Range run) {
    sim::Vector<VirtualAddress> cuts;
    for (VirtualAddress page = run.begin + kBucket; page < run.end; page += kBucket) cuts.push_back(page);
    return owner_.vm.split_pin(pin, owner_.device_table, cuts);
  }

  Task<void> keep_budget(cpu::Execution& thread) {
    for (bool goes_on = true; goes_on && !within_budget();) goes_on = co_await evict(thread, beyond_budget());
  }

  template <typename Uses>
  bool any_of(Range pages, Uses uses) const {
    return std::ranges::any_of(pages_.in(pages), [&](VirtualAddress page) { return uses(*pages_.find(page)); });
  }
  bool is_in_use(Range pages) const override {
    return any_of(pages, [](const Pinned& p) { return p.users > 0; }) ||
           std::ranges::any_of(lost_, [&](const Lost& l) { return l.page >= pages.begin && l.page < pages.end; });
  }
  bool is_held(Range pages) const override {
    return is_in_use(pages) || any_of(pages, [](const Pinned& p) { return !p.leases.empty(); });
  }
  std::size_t lose(Range pages, GoneOnes& gone) override {
    const sim::Vector<VirtualAddress> lost = pages_.in(pages);
    for (const VirtualAddress page : lost) {
      const Pinned pinned = pages_.take_out(page);
      if (!pinned.leases.empty()) held_ += kBucket;
      if (pinned.users > 0) {
        lost_.push_back({page, pinned});
      } else {
        gone.push_back({pinned.pin, kBucket});
      }
    }
    return lost.size();
  }
  bool takes_frames(os::Taker by) const override {
    using enum os::Taker;
    switch (by) {
      case madv_free:
      case mprotect:
      case fork:
      case ksm:
      case userfaultfd:
      case writeback:
      case collapse:
      case numa:
      case split:
      case clear_refs:
      case idle_tracking: return false;
      default: return true;
    }
  }
  bool lets_go_together() const override { return true; }
  std::optional<Gone> take_victim() override {
    const std::optional<VirtualAddress> oldest = pages_.oldest();
    if (!oldest) return std::nullopt;
    return Gone{pages_.take_out(*oldest).pin, kBucket};
  }

  const FirehoseConfig config_;
  sim::Set<User> initiators_;
  BucketTable<Pinned> pages_;
  sim::Vector<Lost> lost_;  // the one that was lost first in front
};

class Firehose final : public RegistrationPolicy {
 public:
  std::unique_ptr<RegistrationPolicy> clone() const override { return std::make_unique<Firehose>(*this); }
  std::string_view name() const override { return "firehose"; }
  std::string_view meaning() const override {
    return "pins its own pages before a transfer and keeps them pinned within a budget; holds pages of the target, "
           "which "
           "stay pinned there, and asks the target's program by a small message only to give back some and take others";
  }
  std::string_view adds() const override {
    return "pinned memory up to a budget at each end, within RLIMIT_MEMLOCK; an MMU notifier; a core of the target "
           "that "
           "polls for requests; a table of what each initiator holds";
  }
  Abilities abilities() const override { return {.pins = true, .stays_prepared = true, .lets_go = true}; }
  std::optional<LeaseTerms> lease_terms() const override { return config_.terms(); }
  void declare(sim::ParameterTable& table) override { config_.declare(table); }
  std::span<const sim::CounterMetric> metrics() const override { return firehose_metrics(); }
  std::unique_ptr<Registration> open(Registration::Owner owner) const override { return open_firehose(owner, config_); }

 private:
  FirehoseConfig config_;
};

}  // namespace

std::unique_ptr<Registration> open_firehose(const Registration::Owner& owner, const FirehoseConfig& config) {
  return std::make_unique<FirehoseMemory>(owner, config);
}

std::unique_ptr<RegistrationPolicy> registration_firehose() { return std::make_unique<Firehose>(); }

}  // namespace faultline::rdma
