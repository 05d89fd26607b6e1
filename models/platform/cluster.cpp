// SPDX-License-Identifier: Apache-2.0
#include "models/platform/cluster.hpp"

#include <fmt/format.h>

namespace faultline::platform {

Cluster::Cluster(sc_core::sc_module_name name, const Machine& machine, std::uint64_t seed)
    : sc_module(name), loop("loop"), topology_(machine.shape) {
  for (sim::NodeId id = 0; id < topology_.nodes(); ++id) {
    const std::string node_name = fmt::format("node{}", id);
    nodes_.push_back(std::make_unique<Node>(node_name.c_str(), machine, topology_, id, loop, payloads_, trace_, seed));
  }
  for (const interconnect::Link& link : topology_.links()) {
    interconnect::connect(node(link.a).router, link.a_port, node(link.b).router, link.b_port);
  }
}

void Cluster::boot() {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: sockets answer from here on
  for (const auto& node : nodes_) node->smmu_driver.probe();
}

std::uint64_t Cluster::total(std::string_view counter) const {
  std::uint64_t sum = 0;
  for (const auto& node : nodes_) sum += node->statistics.value(counter);
  return sum;
}

}  // namespace faultline::platform
