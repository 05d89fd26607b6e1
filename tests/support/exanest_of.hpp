// SPDX-License-Identifier: Apache-2.0
// The parameters of ExaNeSt's NIC in a machine.
#pragma once

#include "models/drivers/exanest/nic_kind.hpp"
#include "models/platform/machine.hpp"

namespace faultline::test {

inline exanest::NicConfig& exanest_of(platform::Machine& machine) { return machine.nic.of<exanest::NicKind>().config; }

inline const exanest::NicConfig& exanest_of(const platform::Machine& machine) {
  return machine.nic.of<exanest::NicKind>().config;
}

}  // namespace faultline::test
