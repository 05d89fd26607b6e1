// SPDX-License-Identifier: Apache-2.0
// Several streams of transfers at once, between any nodes of the cluster: traffic that meets at routers,
// ports, memories and cores. Each stream has two processes of its own. Every transfer is checked end to end.
#pragma once

#include <deque>
#include <memory>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/rdma/endpoint.hpp"
#include "workloads/benchmark.hpp"
#include "workloads/configuration.hpp"
#include "workloads/flow.hpp"

namespace faultline::workloads {

class Flows : public Benchmark {
 public:
  // Throws BadFlows when `workload.flows` is no list of flows.
  Flows(const Configuration& configuration, platform::Cluster& cluster);

  void start() override;
  std::uint64_t planned() const override;

 private:
  // A buffer at each end, used by one transfer at a time.
  struct Lane {
    std::uint64_t from_address = 0;
    std::uint64_t to_address = 0;
    std::unique_ptr<rdma::PreparePolicy> from_policy;
    std::unique_ptr<rdma::PreparePolicy> to_policy;
  };
  struct Running {
    Lane* lane;
    sim::Time begin;
    rdma::Posted posted;
    sim::Content expected;
  };
  struct Stream {
    Stream(const Flow& of, std::uint64_t first_seed) : flow(of), next_seed(first_seed) {}
    const Flow flow;
    std::uint64_t next_seed;  // of the content that is sent next
    std::unique_ptr<rdma::Endpoint> from;
    std::unique_ptr<rdma::Endpoint> to;
    std::vector<Lane> lanes;
    std::deque<Running> running;
    rdma::Endpoint& source() { return flow.reads() ? *to : *from; }
    rdma::Endpoint& destination() { return flow.reads() ? *from : *to; }
    std::uint64_t source_address(const Lane& lane) const { return flow.reads() ? lane.to_address : lane.from_address; }
    std::uint64_t destination_address(const Lane& lane) const {
      return flow.reads() ? lane.from_address : lane.to_address;
    }
  };

  std::unique_ptr<rdma::Endpoint> open(unsigned node, bool has_source);
  void map_buffers(Stream& stream);
  sim::Task<void> run(Stream& stream);
  sim::Task<void> set_up(Stream& stream);
  sim::Task<void> begin(Stream& stream, Lane& lane);
  sim::Task<void> finish(Stream& stream);
  void make_cold(Stream& stream, const Lane& lane);
  sim::Context& clock(const Stream& stream) { return cluster_.node(stream.flow.from).context; }

  const Configuration configuration_;
  platform::Cluster& cluster_;
  std::vector<unsigned> channels_;  // in use, by node
  std::deque<Stream> streams_;
  std::size_t unfinished_ = 0;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::workloads
