// SPDX-License-Identifier: Apache-2.0
// Programs on a node open its NIC here, so that workloads name no NIC.
#pragma once

#include <memory>
#include <string>

#include "models/platform/node.hpp"

namespace faultline::platform {

using rdma::NicLimit;

// A program of this name, with the memory that the workload gives it. `end`: which end of its transfers' data it has.
// Throws sim::RunFailure when the node has no memory left for it, or its NIC takes no further process.
std::unique_ptr<rdma::Endpoint> open_endpoint(Node& node, const rdma::Strategy& strategy,
                                              const rdma::ProgramMemory& memory, const std::string& name,
                                              rdma::End end);

// Processes on one node that have opened the NIC.
NicLimit most_endpoints(const Machine& machine);
// What a strategy asks of the machine's NIC that it cannot do.
std::vector<sim::Conflict> conflicts(const Machine& machine, const rdma::Strategy& strategy);

}  // namespace faultline::platform
