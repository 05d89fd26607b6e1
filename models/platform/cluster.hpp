// SPDX-License-Identifier: Apache-2.0
// A cluster: the nodes of its shape, their routers wired as the topology says.
#pragma once

#include <memory>
#include <vector>

#include "models/platform/node.hpp"

namespace faultline::platform {

class Cluster : public sc_core::sc_module {
 public:
  // One at a time in a process: SystemC's kernel is global.
  Cluster(sc_core::sc_module_name name, const Machine& machine, std::uint64_t seed);

  unsigned size() const { return static_cast<unsigned>(nodes_.size()); }
  Node& node(sim::NodeId id) { return *nodes_[id]; }
  sim::Trace& steps() { return trace_; }

  // Ends elaboration and boots the kernels, at simulated time 0. Once.
  void boot();
  // Sum over all nodes of the counters of this name.
  std::uint64_t total(std::string_view counter) const;

  sim::EventLoop loop;

 private:
  interconnect::Topology topology_;
  sim::PayloadPool payloads_;
  sim::Trace trace_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

}  // namespace faultline::platform
