// SPDX-License-Identifier: Apache-2.0
// One of several streams of transfers that run at a time, and the text of `workload.flows` that lists them:
//
//   from=0, to=1, size=4 KiB; from=2, to=1, kind=read, size=100 B, cold=source, start=3 us
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "models/rdma/operation.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"
#include "workloads/transfer_config.hpp"

namespace faultline::workloads {

// Two processes of its own, one on each node; the one on `from` posts.
struct Flow : ColdConfig, ArrivalConfig {
  unsigned from = 0;
  unsigned to = 1;
  rdma::Operation kind = rdma::Operation::write;
  std::uint64_t size = 4096;
  std::uint64_t source_offset = 0;  // of the data's source: for a read, that is on `to`
  std::uint64_t destination_offset = 0;
  unsigned transfers = 1;
  unsigned window = 1;  // under way at a time, each from and to buffers of its own
  sim::Time start{0};   // pause before the first one, from when all flows have prepared their buffers

  bool operator==(const Flow&) const = default;
  bool reads() const { return kind == rdma::Operation::read; }
  void declare(sim::ParameterTable& table);
};

// what() says which field of which flow is wrong, and what is allowed.
struct BadFlows : std::runtime_error {
  using std::runtime_error::runtime_error;
};
std::vector<Flow> parse_flows(const std::string& text);
// Of the kind `flows` its flows; of others, which refuse workload.flows, none.
std::vector<Flow> flows_of(const TransferConfig& workload);
// Fields at their defaults are left out, but for the ends and the size.
std::string format_flows(const std::vector<Flow>& flows);

}  // namespace faultline::workloads
