// SPDX-License-Identifier: Apache-2.0
// The owner touches each page before each transfer. Nothing holds them.
#include "models/rdma/registration/policy_of.hpp"

namespace faultline::rdma {
namespace {

class TouchedMemory : public Registration {
 public:
  using Registration::Registration;
  sim::Task<os::Error> acquire(cpu::Execution& thread, Buffer buffer, bool written) override {
    return owner_.vm.touch_range(thread, owner_.process, buffer.address, buffer.length, written);
  }
};

class Touch : public PolicyOf<Touch, TouchedMemory> {
 public:
  std::string_view name() const override { return "touch"; }
  std::string_view meaning() const override {
    return "touches each page before each transfer, which the target's program is asked to do by a small message";
  }
  std::string_view adds() const override { return "a core of the target that polls for requests"; }
  Abilities abilities() const override { return {.asks_target = true}; }
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_touch() { return std::make_unique<Touch>(); }

}  // namespace faultline::rdma
