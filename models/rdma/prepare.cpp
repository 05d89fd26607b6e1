// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/prepare.hpp"

#include <stdexcept>

namespace faultline::rdma {

using os::Error;
using sim::Task;

Task<Error> PreparePolicy::set_up(cpu::Execution&) { co_return Error::none; }
Task<Error> PreparePolicy::before(cpu::Execution&, bool) { co_return Error::none; }
Task<Error> PreparePolicy::after(cpu::Execution&) { co_return Error::none; }
Task<Error> PreparePolicy::tear_down(cpu::Execution&) { co_return Error::none; }

namespace {

// The fault-tolerant strategies: the device's first access finds the page absent.
class Nothing : public PreparePolicy {
 public:
  using PreparePolicy::PreparePolicy;
};

class Ideal : public PreparePolicy {
 public:
  using PreparePolicy::PreparePolicy;
  Task<Error> set_up(cpu::Execution&) override {
    co_return buffer_.vm.keep_present(buffer_.process, buffer_.address, buffer_.length);
  }
};

class Touch : public PreparePolicy {
 public:
  using PreparePolicy::PreparePolicy;
  Task<Error> before(cpu::Execution& thread, bool written) override {
    return buffer_.vm.touch_range(thread, buffer_.process, buffer_.address, buffer_.length, written);
  }
};

// MADV_POPULATE_WRITE, which tells errors. Before Linux 5.14 the library has but MAP_POPULATE, which hides them: the
// device finds the pages that did not come. The buffer is then mapped with that flag, by an mmap that every strategy
// makes and none is charged for.
class Populate : public PreparePolicy {
 public:
  using PreparePolicy::PreparePolicy;
  Task<Error> set_up(cpu::Execution& thread) override {
    if (!buffer_.vm.config().kernel.has(os::Change::madv_populate)) {
      co_await buffer_.vm.populate_mapping(thread, buffer_.process, buffer_.address, buffer_.length);
      co_return Error::none;
    }
    co_return co_await buffer_.vm.madvise(thread, buffer_.process, buffer_.address, buffer_.length,
                                          os::Advice::populate_write);
  }
};

// Where the device has a private table, its frames are those that the pages have then: nothing keeps them.
class Mlock : public PreparePolicy {
 public:
  using PreparePolicy::PreparePolicy;
  Task<Error> set_up(cpu::Execution& thread) override {
    const Error locked = co_await buffer_.vm.mlock(thread, buffer_.process, buffer_.address, buffer_.length);
    if (locked != Error::none || buffer_.device_table == nullptr) co_return locked;
    co_return co_await buffer_.vm.map_unpinned(thread, *buffer_.device_table, buffer_.address, buffer_.length);
  }
  Task<Error> tear_down(cpu::Execution& thread) override {
    return buffer_.vm.munlock(thread, buffer_.process, buffer_.address, buffer_.length);
  }
};

// Pins, and fills the device's private table where it walks one.
class Pinned : public PreparePolicy {
 public:
  using PreparePolicy::PreparePolicy;

 protected:
  Task<Error> pin(cpu::Execution& thread) {
    const os::Result<os::PinId> pinned =
        co_await buffer_.vm.pin_user_pages(thread, buffer_.process, buffer_.address, buffer_.length, true);
    if (!pinned.ok()) co_return pinned.error;
    pin_ = pinned.value;
    if (buffer_.device_table == nullptr) co_return Error::none;
    const Error mapped = co_await buffer_.vm.map_pinned(thread, *buffer_.device_table, pin_);
    if (mapped != Error::none) co_await buffer_.vm.unpin(thread, pin_);
    co_return mapped;
  }
  Task<Error> unpin(cpu::Execution& thread) {
    Error unmapped = Error::none;
    if (buffer_.device_table != nullptr) {
      unmapped = co_await buffer_.vm.unmap_pinned(thread, *buffer_.device_table, pin_);
    }
    const Error unpinned = co_await buffer_.vm.unpin(thread, pin_);
    co_return unmapped != Error::none ? unmapped : unpinned;
  }

 private:
  os::PinId pin_ = 0;
};

class PinPerTransfer : public Pinned {
 public:
  using Pinned::Pinned;
  Task<Error> before(cpu::Execution& thread, bool) override { return pin(thread); }
  Task<Error> after(cpu::Execution& thread) override { return unpin(thread); }
};

class PinOnce : public Pinned {
 public:
  using Pinned::Pinned;
  Task<Error> set_up(cpu::Execution& thread) override { return pin(thread); }
  Task<Error> tear_down(cpu::Execution& thread) override { return unpin(thread); }
};

}  // namespace

std::unique_ptr<PreparePolicy> make_prepare_policy(const Strategy& strategy, PreparePolicy::Buffer buffer) {
  switch (strategy.prepare) {
    case Prepare::nothing: return std::make_unique<Nothing>(buffer);
    case Prepare::ideal: return std::make_unique<Ideal>(buffer);
    case Prepare::touch: return std::make_unique<Touch>(buffer);
    case Prepare::populate: return std::make_unique<Populate>(buffer);
    case Prepare::mlock: return std::make_unique<Mlock>(buffer);
    case Prepare::pin_per_transfer: return std::make_unique<PinPerTransfer>(buffer);
    case Prepare::pin_once: return std::make_unique<PinOnce>(buffer);
  }
  throw std::logic_error("unknown prepare policy");
}

}  // namespace faultline::rdma
