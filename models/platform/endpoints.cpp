// SPDX-License-Identifier: Apache-2.0
#include "models/platform/endpoints.hpp"

#include <algorithm>

#include "models/drivers/exanest/endpoint.hpp"

namespace faultline::platform {

std::unique_ptr<rdma::Endpoint> open_endpoint(Node& node, const Machine& machine, const rdma::Strategy& strategy,
                                              const rdma::ProgramMemory& memory, const std::string& name,
                                              rdma::End end) {
  const exanest::Endpoint::Device device{node.smmu_driver, node.faults, node.ddr, kEngineBase, machine.engine.channels};
  return std::make_unique<exanest::Endpoint>(strategy, machine.library,
                                             rdma::Endpoint::Host{node.context, node.cpu, node.vm, memory}, device,
                                             name, node.channels_in_use++, end);
}

unsigned most_endpoints(const Machine& machine) {
  return std::min(machine.engine.channels, machine.smmu.context_banks);
}

unsigned most_waiting_messages() { return exanest::Library::kMailboxSlots; }

}  // namespace faultline::platform
