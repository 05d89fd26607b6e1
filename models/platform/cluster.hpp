// SPDX-License-Identifier: Apache-2.0
// A cluster: the nodes of its shape and the routers that stand alone, wired as the topology says.
#pragma once

#include <memory>
#include <vector>

#include "models/platform/node.hpp"
#include "models/platform/plain_router.hpp"

namespace faultline::platform {

class Cluster : public sc_core::sc_module {
 public:
  // One at a time in a process: SystemC's kernel is global.
  Cluster(sc_core::sc_module_name name, const Machine& machine, sim::Seed seed);

  unsigned size() const { return static_cast<unsigned>(nodes_.size()); }
  Node& node(sim::NodeId id) { return *nodes_[id]; }
  sim::Trace& steps() { return trace_; }
  // Of the nodes' NIC.
  const sim::TransferLife& life() const { return kind_->life(); }
  const rdma::NicKind& nic_kind() const { return *kind_; }
  const network::Topology& topology() const { return *topology_; }

  // Of a node, or one that stands alone (from size() on).
  network::Router& router(network::RouterId id);

  // Ends elaboration and boots the kernels, at simulated time 0. Once.
  void boot();
  // Sum over all nodes and plain routers of the counters of this name.
  std::uint64_t total(std::string_view counter) const;
  // Cells that crossed a link, each link counted. In mid-run what is announced is in and may yet be taken back.
  std::uint64_t cell_hops() const;
  // Of network.lost_cells those that have not come to a failed link yet.

  sim::EventLoop loop;

 private:
  std::unique_ptr<const rdma::NicKind> kind_;
  std::unique_ptr<const network::Topology> topology_;
  std::unique_ptr<const network::FailureSchedule> failures_;
  sim::PayloadPool payloads_;
  sim::Trace trace_;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<std::unique_ptr<PlainRouter>> plain_routers_;  // after those of the nodes
};

}  // namespace faultline::platform
