// SPDX-License-Identifier: Apache-2.0
// The bound for a transfer by itself: pages are present at no cost, and nobody takes them.
#include "models/rdma/registration/policy_of.hpp"

namespace faultline::rdma {
namespace {

class IdealMemory : public Registration {
 public:
  using Registration::Registration;
  sim::Task<os::Error> add(cpu::Execution&, Buffer buffer) override {
    co_return owner_.vm.keep_present(owner_.process, buffer.address, buffer.length);
  }
};

class Ideal : public PolicyOf<Ideal, IdealMemory> {
 public:
  std::string_view name() const override { return "ideal"; }
  std::string_view meaning() const override { return "pages are present at no cost, and kept so"; }
  std::string_view adds() const override { return "memory that nobody can take, which no machine has"; }
  Abilities abilities() const override { return {.stays_prepared = true, .is_bound = true, .holds_all_added = true}; }
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_ideal() { return std::make_unique<Ideal>(); }

}  // namespace faultline::rdma
