// SPDX-License-Identifier: Apache-2.0
// The registrations that there are.
#pragma once

#include <memory>
#include <vector>

#include "models/rdma/registration/registration.hpp"

namespace faultline::rdma {

// In the order in which they are shown; the first is the default.
std::vector<std::unique_ptr<RegistrationPolicy>> registration_policies();

}  // namespace faultline::rdma
