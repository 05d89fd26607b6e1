// SPDX-License-Identifier: Apache-2.0
// Programs on a node open its NIC here, so that workloads name no NIC.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/platform/machine.hpp"
#include "models/platform/node.hpp"
#include "models/rdma/endpoint.hpp"

namespace faultline::platform {

// A program of this name, with the memory that the workload gives it. `end`: which end of its transfers' data it has.
// Throws sim::RunFailure when the node has no memory left for it, or its NIC takes no further process.
std::unique_ptr<rdma::Endpoint> open_endpoint(Node& node, const Machine& machine, const rdma::Strategy& strategy,
                                              const rdma::ProgramMemory& memory, const std::string& name,
                                              rdma::End end);

// How much a node's NIC can do at a time, and what decides that, as messages to the user say it.
struct NicLimit {
  unsigned most;
  std::vector<std::string> keys;  // the parameters that decide it
  std::string uses;               // what each takes, or all of them share: "a channel and a context bank"
  std::string has;                // how many of these a node has: "16 and 16"

  // The parameters as text: "exanest.channels and smmu.context_banks".
  std::string named() const;
  // For a conflict: other keys, and the parameters behind them.
  std::vector<std::string> keys_behind(std::vector<std::string> others) const;
};
// Processes on one node that have opened the NIC.
NicLimit most_endpoints(const Machine& machine);
// Transfers that one process has posted and that have not ended.
NicLimit most_posted(const Machine& machine);
// Memory of one process in which its NIC leaves notices of a kind, of so many other processes.
std::uint64_t bytes_of_notices(const Machine& machine, rdma::NoticeKind kind, unsigned words);
// Whether the last byte of a write with these offsets within pages is placed after all others, whatever happens.
bool is_placed_in_order(std::uint64_t source_offset, std::uint64_t destination_offset, std::uint64_t bytes);
// Small messages that may wait for one program: a further one is lost.
unsigned most_waiting_messages();

}  // namespace faultline::platform
