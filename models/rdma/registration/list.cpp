// SPDX-License-Identifier: Apache-2.0
// One line for each registration: it comes from a file of its own in this folder.
#include "models/rdma/registration/list.hpp"

namespace faultline::rdma {

using MakePolicy = std::unique_ptr<RegistrationPolicy>();
MakePolicy registration_nothing, registration_ideal, registration_touch, registration_populate, registration_mlock,
    registration_pin_per_transfer, registration_pin_once, registration_pin_cache;

std::vector<std::unique_ptr<RegistrationPolicy>> registration_policies() {
  std::vector<std::unique_ptr<RegistrationPolicy>> all;
  for (MakePolicy* make : {
           registration_nothing,
           registration_ideal,
           registration_touch,
           registration_populate,
           registration_mlock,
           registration_pin_per_transfer,
           registration_pin_once,
           registration_pin_cache,
       }) {
    all.push_back(make());
  }
  return all;
}

}  // namespace faultline::rdma
