// SPDX-License-Identifier: Apache-2.0
// The stream of a process's accesses, as the endpoint tells the SMMU's driver.
#pragma once

#include "models/nic/exanest/registers.hpp"
#include "models/os/vm/process.hpp"
#include "models/smmu/config.hpp"

namespace faultline::test {

inline std::uint32_t stream_of(const os::Process& process) {
  return smmu::stream_id(0, exanest::hpc0_master_id(process.id()));
}

}  // namespace faultline::test
