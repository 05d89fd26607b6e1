// SPDX-License-Identifier: Apache-2.0
// Overlapped pinning (Goglin, Open-MX, CAC 2009): the transfer begins at once, while a thread of the library pins the
// buffer, a few pages first and then more at a time. What the device wants of pages that are not pinned yet is dropped,
// and asked for again when they are (await_page()).
//
// RLIMIT_MEMLOCK is charged for the whole buffer before the transfer begins. So a buffer that it has no room for is
// refused while its owner can still do something else.
#include <algorithm>
#include <utility>

#include "models/os/ipc.hpp"
#include "models/rdma/registration/pinned_range.hpp"
#include "models/rdma/registration/unpinner.hpp"
#include "models/rdma/strategy.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::rdma {
namespace {

using os::Error;
using sim::Task;

struct OverlappedConfig {
  std::uint64_t first_pages = 1;
  std::uint64_t most_pages = 1024;
};

class OverlappedMemory final : public Registration {
 public:
  OverlappedMemory(const Owner& owner, const OverlappedConfig& config)
      : Registration(owner),
        config_(config),
        unpinner_(owner),
        work_(owner.vm.config(), owner.cpu),
        progress_(owner.vm.config(), owner.cpu),
        call_ended_(owner.cpu.context().loop) {}

  Task<Error> acquire(cpu::Execution& thread, Buffer buffer, bool) override {
    const os::Range pages = buffer.pages();
    const bool is_charged = co_await charge(thread, pages.end - pages.begin);
    if (!is_charged) co_return Error::limit;
    jobs_.push_back({.buffer = buffer,
                     .pinned_to = pages.begin,
                     .charged = pages.end - pages.begin,
                     .pages = config_.first_pages,
                     .pins = {}});
    if (helper_ != nullptr) {
      co_await work_.wake(thread);
    } else {
      helper_ = &owner_.cpu.new_thread("pinning thread").use(owner_.process.id());
      tasks_.start(help());
    }
    co_return Error::none;
  }

  // Of the use that began first, if nobody ends that one. It waits until the buffer is pinned, or cannot be.
  Task<Error> release(cpu::Execution& thread, Buffer buffer) override {
    const auto job = std::ranges::find_if(jobs_, [&](const Job& j) { return j.buffer == buffer && !j.is_ending; });
    if (job == jobs_.end()) co_return Error::invalid;
    job->is_ending = true;
    while (!job->is_over() && !stopping_) co_await progress_.sleep(thread);
    if (stopping_) co_return Error::invalid;
    Job done = std::move(*job);
    jobs_.erase(job);
    owner_.vm.give_back_charge(owner_.process, done.charged);
    if (done.pins.empty()) co_return done.error;
    const Error unpinned = co_await unpinner_.let_go(thread, std::move(done.pins));
    co_return done.error != Error::none ? done.error : unpinned;
  }

  Task<Error> await_page(cpu::Execution& thread, os::VirtualAddress page) override {
    while (!stopping_) {
      const auto job = std::ranges::find_if(jobs_, [page](const Job& each) {
        return each.buffer.pages().begin <= page && page < each.buffer.pages().end;
      });
      if (job == jobs_.end()) co_return Error::bad_address;
      if (page < job->pinned_to) co_return Error::none;
      if (job->error != Error::none) co_return job->error;
      co_await progress_.sleep(thread);
    }
    co_return Error::bad_address;
  }

  Task<void> stop(cpu::Execution& kernel) override {
    stopping_ = true;
    co_await progress_.wake(kernel);
    while (in_call_) co_await call_ended_;  // NOLINT(bugprone-infinite-loop): help() ends it
    co_await unpinner_.stop();
  }

 private:
  struct Job {
    Buffer buffer;
    os::VirtualAddress pinned_to;
    std::uint64_t charged;  // that no call has taken
    std::uint64_t pages;    // of the next call, at most
    sim::Vector<os::PinId> pins;
    Error error = Error::none;
    bool is_ending = false;  // somebody waits to let go of it
    bool is_over() const { return error != Error::none || pinned_to == buffer.pages().end; }
  };

  // What waits to be unpinned is in the way.
  Task<bool> charge(cpu::Execution& thread, std::uint64_t bytes) {
    for (;;) {
      const std::uint64_t before = unpinner_.calls_ended();
      if (owner_.vm.charge_pins(owner_.process, bytes)) co_return true;
      const bool has_made_room = co_await unpinner_.make_room(thread, Error::limit, before);
      if (!has_made_room) co_return false;
    }
  }

  Task<void> help() {
    while (!stopping_) {
      const auto job = std::ranges::find_if_not(jobs_, &Job::is_over);
      if (job == jobs_.end()) {
        co_await work_.sleep(*helper_);
        continue;
      }
      in_call_ = true;
      co_await pin_next(*job);
      in_call_ = false;
      call_ended_.notify_all();
      co_await progress_.wake(*helper_);
    }
  }

  Task<void> pin_next(Job& job) {
    const std::uint64_t bytes = std::min(job.pages * os::kPage, job.buffer.pages().end - job.pinned_to);
    job.charged -= bytes;
    const os::Result<os::PinId> pinned = co_await pin(*helper_, owner_, {job.pinned_to, bytes}, os::PinCharge::before);
    job.error = pinned.error;
    if (!pinned.ok()) co_return;
    job.pins.push_back(pinned.value);
    job.pinned_to += bytes;
    job.pages = std::min(2 * job.pages, config_.most_pages);
  }

  const OverlappedConfig config_;
  Unpinner unpinner_;
  sim::List<Job> jobs_;
  bool in_call_ = false;
  bool stopping_ = false;
  os::WaitQueue work_;      // where the helper sleeps
  os::WaitQueue progress_;  // where those sleep who want pages pinned
  sim::Signal call_ended_;
  cpu::Execution* helper_ = nullptr;
  sim::TaskGroup tasks_;
};

class PinOverlapped final : public RegistrationPolicy {
 public:
  std::unique_ptr<RegistrationPolicy> clone() const override { return std::make_unique<PinOverlapped>(*this); }
  std::string_view name() const override { return "pin-overlapped"; }
  std::string_view meaning() const override {
    return "begins the transfer at once, while a thread of the library pins the buffer; unpins after it; the target's "
           "program is asked to do so by a small message";
  }
  std::string_view adds() const override {
    return "memory pinned while transfers use it, within RLIMIT_MEMLOCK; a thread; payload that comes for pages too "
           "soon; a core of the target that polls for requests";
  }
  // Pins go at once: what waited would stay in the table, and a transfer that begins before its memory is pinned would
  // find the frames of memory that was there before.
  Abilities abilities() const override { return {.pins = true, .asks_target = true, .pins_late = true}; }

  void declare(sim::ParameterTable& table) override {
    table.add_count("first_pages", config_.first_pages, {1, 1U << 20},
                    {"pages that the first call pins; each further call pins twice as many",
                     "Open-MX (omx_reg.c, pinchunkmin): 1",
                     sim::Standing::published,
                     {"1", "64"}});
    table.add_count("most_pages", config_.most_pages, {1, 1U << 20},
                    {"pages that a call pins at most",
                     "Open-MX (omx_reg.c, pinchunkmax): 1024",
                     sim::Standing::published,
                     {"64", "1024"}});
  }
  std::vector<sim::Conflict> conflicts(const Strategy& strategy) const override {
    std::vector<sim::Conflict> found;
    if (config_.first_pages > config_.most_pages) {
      found.push_back({{"strategy.pin_overlapped.first_pages", "strategy.pin_overlapped.most_pages"},
                       "the first call would pin more than a call pins at most",
                       "take a smaller strategy.pin_overlapped.first_pages"});
    }
    if (!strategy.maps_only_registered()) {
      found.push_back({{"strategy.translate", "strategy.registration"},
                       "where the device does not walk a table of pinned pages it waits for no pin",
                       "set strategy.translate to private"});
    }
    if (strategy.pipeline.is_used()) {
      found.push_back({{"strategy.pipeline", "strategy.registration"},
                       "the whole of a transfer begins while it is pinned, so that parts have nothing to wait for",
                       "set strategy.pipeline to none"});
    }
    return found;
  }
  std::unique_ptr<Registration> open(Registration::Owner owner) const override {
    return std::make_unique<OverlappedMemory>(owner, config_);
  }

 private:
  OverlappedConfig config_;
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_pin_overlapped() { return std::make_unique<PinOverlapped>(); }

}  // namespace faultline::rdma
