// SPDX-License-Identifier: Apache-2.0
// MADV_POPULATE_WRITE, which tells errors. Before Linux 5.14 the library has but MAP_POPULATE, which hides them: the
// device finds the pages that did not come. The buffer is then mapped with that flag, by an mmap that every strategy
// makes and none is charged for. Where the device has a private table, its frames are those that the pages have then:
// nothing keeps them, and the kernel may give them to others.
#include "models/rdma/registration/policy_of.hpp"

namespace faultline::rdma {
namespace {

class PopulatedMemory : public Registration {
 public:
  using Registration::Registration;
  sim::Task<os::Error> add(cpu::Execution& thread, Buffer buffer) override {
    const os::Error populated = co_await populate(thread, buffer);
    if (populated != os::Error::none || owner_.device_table == nullptr) co_return populated;
    co_return co_await owner_.vm.map_unpinned(thread, *owner_.device_table, buffer.address, buffer.length);
  }

 private:
  sim::Task<os::Error> populate(cpu::Execution& thread, Buffer buffer) {
    if (!owner_.vm.config().kernel.has(os::Change::madv_populate)) {
      co_await owner_.vm.populate_mapping(thread, owner_.process, buffer.address, buffer.length);
      co_return os::Error::none;
    }
    co_return co_await owner_.vm.madvise(thread, owner_.process, buffer.address, buffer.length,
                                         os::Advice::populate_write);
  }
};

class Populate : public PolicyOf<Populate, PopulatedMemory> {
 public:
  std::string_view name() const override { return "populate"; }
  std::string_view meaning() const override {
    return "MADV_POPULATE_WRITE when the buffer is mapped; before Linux 5.14 MAP_POPULATE, which hides errors";
  }
  Abilities abilities() const override { return {.stays_prepared = true, .prepares_once = true, .knows_frames = true}; }
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_populate() { return std::make_unique<Populate>(); }

}  // namespace faultline::rdma
