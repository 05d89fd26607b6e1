// SPDX-License-Identifier: Apache-2.0
// get_user_pages for as long as it is needed: for each transfer, or for as long as the buffer is mapped.
#include "models/rdma/registration/pinned_range.hpp"
#include "models/rdma/registration/policy_of.hpp"
#include "models/rdma/registration/unpinner.hpp"

namespace faultline::rdma {
namespace {

using os::Error;
using sim::Task;

// The pins of each buffer: as many as transfers use it.
class PinnedMemory : public Registration {
 public:
  explicit PinnedMemory(const Owner& owner) : Registration(owner), unpinner_(owner) {}
  Task<void> stop(cpu::Execution&) override { return unpinner_.stop(); }

 protected:
  Task<Error> hold(cpu::Execution& thread, Buffer buffer) {
    for (;;) {
      const std::uint64_t before = unpinner_.calls_ended();
      const os::Result<os::PinId> pinned = co_await pin(thread, owner_, buffer);
      if (pinned.ok()) pins_[buffer].push_back(pinned.value);
      if (pinned.ok()) co_return Error::none;
      const bool has_made_room = co_await unpinner_.make_room(thread, pinned.error, before);
      if (!has_made_room) co_return pinned.error;
    }
  }
  Task<Error> let_go(cpu::Execution& thread, Buffer buffer) {
    const auto held = pins_.find(buffer);
    if (held == pins_.end()) co_return Error::invalid;
    const os::PinId pinned = held->second.back();
    held->second.pop_back();
    if (held->second.empty()) pins_.erase(held);
    co_return co_await unpinner_.let_go(thread, pinned);
  }

 private:
  Unpinner unpinner_;
  sim::Map<Buffer, sim::SmallVector<os::PinId, 2>> pins_;
};

class PinnedForTransfer : public PinnedMemory {
 public:
  using PinnedMemory::PinnedMemory;
  Task<Error> acquire(cpu::Execution& thread, Buffer buffer, bool) override { return hold(thread, buffer); }
  Task<Error> release(cpu::Execution& thread, Buffer buffer) override { return let_go(thread, buffer); }
};

class PinnedForLife : public PinnedMemory {
 public:
  using PinnedMemory::PinnedMemory;
  Task<Error> add(cpu::Execution& thread, Buffer buffer) override { return hold(thread, buffer); }
  Task<Error> remove(cpu::Execution& thread, Buffer buffer) override { return let_go(thread, buffer); }
};

class PinPerTransfer : public PolicyOf<PinPerTransfer, PinnedForTransfer> {
 public:
  std::string_view name() const override { return "pin-per-transfer"; }
  std::string_view meaning() const override {
    return "pins before and unpins after each transfer, which the target's program is asked to do by a small message";
  }
  std::string_view adds() const override {
    return "memory pinned while transfers use it, within RLIMIT_MEMLOCK; a core of the target that polls for requests";
  }
  Abilities abilities() const override { return {.pins = true, .asks_target = true, .lets_go = true}; }
};

class PinOnce : public PolicyOf<PinOnce, PinnedForLife> {
 public:
  std::string_view name() const override { return "pin-once"; }
  std::string_view meaning() const override { return "pins when the buffer is registered"; }
  std::string_view adds() const override { return "memory pinned as long as it is mapped, within RLIMIT_MEMLOCK"; }
  Abilities abilities() const override {
    return {.pins = true, .stays_prepared = true, .prepares_once = true, .holds_all_added = true};
  }
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_pin_per_transfer() { return std::make_unique<PinPerTransfer>(); }
std::unique_ptr<RegistrationPolicy> registration_pin_once() { return std::make_unique<PinOnce>(); }

}  // namespace faultline::rdma
