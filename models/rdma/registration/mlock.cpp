// SPDX-License-Identifier: Apache-2.0
// mlock() when the buffer is mapped. Where the device has a private table, its frames are those that the pages have
// then: nothing keeps them.
#include "models/rdma/registration/policy_of.hpp"

namespace faultline::rdma {
namespace {

class LockedMemory : public Registration {
 public:
  using Registration::Registration;
  sim::Task<os::Error> add(cpu::Execution& thread, Buffer buffer) override {
    os::Vm& vm = owner_.vm;
    const os::Error locked = co_await vm.mlock(thread, owner_.process, buffer.address, buffer.length);
    if (locked != os::Error::none || owner_.device_table == nullptr) co_return locked;
    co_return co_await vm.map_unpinned(thread, *owner_.device_table, buffer.address, buffer.length);
  }
  sim::Task<os::Error> remove(cpu::Execution& thread, Buffer buffer) override {
    return owner_.vm.munlock(thread, owner_.process, buffer.address, buffer.length);
  }
};

class Mlock : public PolicyOf<Mlock, LockedMemory> {
 public:
  std::string_view name() const override { return "mlock"; }
  std::string_view meaning() const override { return "mlock() when the buffer is mapped"; }
  std::string_view adds() const override { return "locked memory, within RLIMIT_MEMLOCK"; }
  Abilities abilities() const override {
    return {.locks = true, .stays_prepared = true, .prepares_once = true, .holds_all_added = true};
  }
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_mlock() { return std::make_unique<Mlock>(); }

}  // namespace faultline::rdma
