// SPDX-License-Identifier: Apache-2.0
#include "models/platform/cluster.hpp"

#include <fmt/format.h>

namespace faultline::platform {

Cluster::Cluster(sc_core::sc_module_name name, const Machine& described, sim::Seed seed)
    : sc_module(name),
      loop("loop"),
      kind_(described.nic->clone()),
      topology_(network::make_topology(described.shape)),
      failures_(std::make_unique<network::FailureSchedule>(described.failures, *topology_)) {
  Machine machine = described;
  machine.router.failures = failures_.get();
  for (sim::NodeId id = 0; id < topology_->nodes(); ++id) {
    const std::string node_name = fmt::format("node{}", id);
    nodes_.push_back(std::make_unique<Node>(node_name.c_str(), machine, *topology_, id, loop, payloads_, trace_, seed));
  }
  for (network::RouterId id = topology_->nodes(); id < topology_->routers(); ++id) {
    const std::string router_name = fmt::format("router{}", id);
    plain_routers_.push_back(
        std::make_unique<PlainRouter>(router_name.c_str(), machine, *topology_, id, loop, payloads_, trace_, seed));
  }
  for (const network::Link& link : topology_->links()) {
    network::connect(router(link.a), link.a_port, router(link.b), link.b_port);
  }
}

network::Router& Cluster::router(network::RouterId id) {
  return id < size() ? *nodes_[id]->router : *plain_routers_[id - size()]->router;
}

std::uint64_t Cluster::cell_hops() const {
  std::uint64_t sum = 0;
  for (const auto& node : nodes_) sum += node->router->cells_on_links();
  for (const auto& plain : plain_routers_) sum += plain->router->cells_on_links();
  return sum;
}

void Cluster::boot() {
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: sockets answer from here on
  for (const auto& node : nodes_) node->smmu_driver.probe();
}

std::uint64_t Cluster::total(std::string_view counter) const {
  std::uint64_t sum = 0;
  for (const auto& node : nodes_) sum += node->statistics.value(counter);
  for (const auto& router : plain_routers_) {
    for (const sim::Counter& c : router->statistics.all()) sum += c.name() == counter ? c.value() : 0;
  }
  return sum;
}

}  // namespace faultline::platform
