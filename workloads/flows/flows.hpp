// SPDX-License-Identifier: Apache-2.0
// Several streams of transfers at once, between any nodes of the cluster: traffic that meets at routers,
// ports, memories and cores. Each stream has two processes of its own. Every transfer is checked end to end.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "models/messages/target.hpp"
#include "models/platform/cluster.hpp"
#include "models/rdma/endpoint.hpp"
#include "workloads/configuration.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/flows/flow.hpp"
#include "workloads/ignored_settings.hpp"
#include "workloads/needs.hpp"
#include "workloads/program.hpp"
#include "workloads/start_phase.hpp"
#include "workloads/stream.hpp"

namespace faultline::workloads {

class Flows : public Program {
 public:
  // Throws BadFlows when `workload.flows` is no list of flows.
  Flows(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  void start() override;
  std::uint64_t planned() const override;
  std::vector<PartResult> senders() const override;
  bool is_end(sim::NodeId node) const override;

 private:
  // Two programs, and the buffers that they prepare.
  struct Pair {
    Pair(const Flow& of, const rdma::Strategy& strategy, const sim::Context& clock, std::unique_ptr<rdma::Endpoint> a,
         std::unique_ptr<rdma::Endpoint> b, std::uint32_t n, StartPhase phase, sim::Seed seed)
        : number(n),
          from(std::move(a)),
          to(std::move(b)),
          answering(*to, strategy, check_buffer),
          stream(of, strategy, clock, *from, *to, n, seed),
          start_phase(phase) {}
    std::uint32_t number;
    std::unique_ptr<rdma::Endpoint> from;
    std::unique_ptr<rdma::Endpoint> to;
    std::vector<rdma::RegisteredBuffer> from_buffers;
    std::vector<rdma::RegisteredBuffer> to_buffers;
    messages::Target answering;
    Stream stream;
    StartPhase start_phase;
  };

  static void map_buffers(Pair& pair);
  sim::Task<void> run(Pair& pair);
  sim::Task<void> set_up(Pair& pair);
  sim::Context& clock(const Flow& flow) { return cluster_.node(flow.from).context; }

  const Configuration configuration_;
  platform::Cluster& cluster_;
  std::deque<Pair> pairs_;
  std::size_t preparing_ = 0;  // pairs that have not prepared their buffers
  sim::Signal all_prepared_;
  std::size_t unfinished_ = 0;
  sim::TaskGroup tasks_;
};

void check_flows(const Configuration& configuration, const AddConflict& add);
double work_of_flows(const Configuration& configuration);
std::vector<Need> needs_of_flows(const Configuration& configuration);
Ignored ignored_by_flows();

}  // namespace faultline::workloads
