// SPDX-License-Identifier: Apache-2.0
// What a policy need not write: how it is copied, and how a registration is made that needs its owner alone.
#pragma once

#include <memory>

#include "models/rdma/registration/registration.hpp"

namespace faultline::rdma {

template <typename Policy, typename Made>
class PolicyOf : public RegistrationPolicy {
 public:
  std::unique_ptr<RegistrationPolicy> clone() const override {
    return std::make_unique<Policy>(static_cast<const Policy&>(*this));
  }
  std::unique_ptr<Registration> open(Registration::Owner owner) const override { return std::make_unique<Made>(owner); }
};

}  // namespace faultline::rdma
