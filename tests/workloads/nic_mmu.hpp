// SPDX-License-Identifier: Apache-2.0
// Machines with the NIC that has an MMU of its own, and its mutants.
#pragma once

#include "models/drivers/elan/nic_kind.hpp"
#include "models/nic/elan/steps.hpp"
#include "tests/workloads/corner_case.hpp"

namespace faultline::test {

using Mutate = void (*)(elan::NicConfig&);

inline elan::NicConfig& elan_of(platform::Machine& machine) { return machine.nic.of<elan::NicKind>().config; }

inline platform::Machine machine_with_elan(Mutate mutate = nullptr) {
  platform::Machine machine;
  machine.nic = "elan";
  if (mutate != nullptr) mutate(elan_of(machine));
  return machine;
}

inline rdma::Strategy nic_mmu(std::string_view translate = "pushed") {
  rdma::Strategy s;
  s.translate = translate;
  s.on_source_fault = "park";
  s.on_destination_fault = "nak";
  s.resolve = rdma::Resolve::touch_a_page;
  return s;
}

inline const Settings kPushed = preset("nic-mmu/pushed");

}  // namespace faultline::test
