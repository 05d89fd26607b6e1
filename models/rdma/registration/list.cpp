// SPDX-License-Identifier: Apache-2.0
// One line for each policy: registration_NAME() comes from a file of its own in this folder.
#include "models/rdma/registration/list.hpp"

// In the order in which they are shown; the first is the default.
#define FAULTLINE_POLICIES(POLICY) \
  POLICY(nothing)                  \
  POLICY(ideal)                    \
  POLICY(touch)                    \
  POLICY(populate)                 \
  POLICY(mlock)                    \
  POLICY(pin_per_transfer)         \
  POLICY(pin_overlapped)           \
  POLICY(pin_once)                 \
  POLICY(pin_cache)                \
  POLICY(firehose)

namespace faultline::rdma {

#define FAULTLINE_DECLARE(name) std::unique_ptr<RegistrationPolicy> registration_##name();
FAULTLINE_POLICIES(FAULTLINE_DECLARE)

std::vector<std::unique_ptr<RegistrationPolicy>> registration_policies() {
  std::vector<std::unique_ptr<RegistrationPolicy>> all;
#define FAULTLINE_MAKE(name) all.push_back(registration_##name());
  FAULTLINE_POLICIES(FAULTLINE_MAKE)
  return all;
}

}  // namespace faultline::rdma
