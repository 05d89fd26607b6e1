// SPDX-License-Identifier: Apache-2.0
// The fault-tolerant strategies: the device's first access finds the page absent.
#include "models/rdma/registration/policy_of.hpp"

namespace faultline::rdma {
namespace {

class Nothing : public PolicyOf<Nothing, Registration> {
 public:
  std::string_view name() const override { return "nothing"; }
  std::string_view meaning() const override { return "the device's first access finds out"; }
  Abilities abilities() const override { return {.leaves_to_faults = true}; }
};

}  // namespace

std::unique_ptr<RegistrationPolicy> registration_nothing() { return std::make_unique<Nothing>(); }

}  // namespace faultline::rdma
