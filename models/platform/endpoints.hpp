// SPDX-License-Identifier: Apache-2.0
// Programs on a node open its NIC here, so that workloads name no NIC.
#pragma once

#include <memory>
#include <string>

#include "models/platform/machine.hpp"
#include "models/platform/node.hpp"
#include "models/rdma/endpoint.hpp"

namespace faultline::platform {

// A program of this name, with the memory that the workload gives it. `end`: which end of its transfers' data it has.
// Throws sim::RunFailure when the node has no memory left for it, or its NIC takes no further process.
std::unique_ptr<rdma::Endpoint> open_endpoint(Node& node, const Machine& machine, const rdma::Strategy& strategy,
                                              const rdma::ProgramMemory& memory, const std::string& name,
                                              rdma::End end);

// Processes on one node that its NIC can serve, at most.
unsigned most_endpoints(const Machine& machine);
// Small messages that may wait for a program.
unsigned most_waiting_messages();

}  // namespace faultline::platform
