// SPDX-License-Identifier: Apache-2.0
// Two processes on two nodes (of a QFDB, if nothing else is said), and the steps of their transfers: for tests that
// do what the benchmark does not. One in a process, so build it in a child (tests/support/child.hpp).
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/platform/endpoints.hpp"

namespace faultline::test {

class TwoProcesses : public sim::StepListener {
 public:
  explicit TwoProcesses(const rdma::Strategy& strategy, const platform::Machine& machine = {}, sim::NodeId at = 0,
                        sim::NodeId other = 1)
      : cluster("cluster", machine, 1), strategy_(strategy) {
    cluster.boot();
    here = open(at, strategy.on_source_fault->name, rdma::End::source);
    there = open(other, strategy.on_destination_fault->name, rdma::End::destination);
    cluster.steps().listen(*this);
  }

  // A further process, whose faults end so.
  std::unique_ptr<rdma::Endpoint> open(sim::NodeId id, std::string_view on_fault, rdma::End end = rdma::End::source) {
    rdma::Strategy own = strategy_;
    (end == rdma::End::source ? own.on_source_fault : own.on_destination_fault) = on_fault;
    return platform::open_endpoint(cluster.node(id), own, {}, "process", end);
  }
  std::unique_ptr<rdma::Endpoint> open(sim::NodeId id) { return open(id, strategy_.on_source_fault->name); }

  // Runs the program to its end. False: it waits for ever, or for longer than ten seconds.
  bool run(std::function<sim::Task<void>(TwoProcesses&)> program) {
    tasks_.start(main(*this, program));
    cluster.loop.run(std::chrono::seconds(10));
    return finished_;
  }
  void start(sim::Task<void> task) { tasks_.start(std::move(task)); }

  // Memory that the program uses already, `absent` pages of it cold from the start of the buffer on.
  std::uint64_t buffer(rdma::Endpoint& owner, std::uint64_t bytes, std::uint64_t absent = 0) {
    const std::uint64_t address = owner.map_buffer(bytes, 0);
    const std::uint64_t cold = absent * os::kPage;
    if (bytes > cold) owner.vm().make_present(owner.process(), address + cold, bytes - cold);
    return address;
  }
  rdma::RemoteBuffer remote(std::uint64_t address) const { return {there->node(), there->process().id(), address}; }
  static bool same(rdma::Endpoint& a, std::uint64_t at_a, rdma::Endpoint& b, std::uint64_t at_b, std::uint32_t bytes) {
    return a.vm().read(a.process(), at_a, bytes) == b.vm().read(b.process(), at_b, bytes);
  }
  bool same(std::uint64_t at_here, std::uint64_t at_there, std::uint32_t bytes) const {
    return same(*here, at_here, *there, at_there, bytes);
  }

  void on_step(const sim::StepRecord& record) override {
    steps.push_back(record);
    if (on_each_step) on_each_step(record);
  }
  std::int64_t count(sim::Step step) const {
    std::int64_t n = 0;
    for (const sim::StepRecord& r : steps) n += r.step == step ? 1 : 0;
    return n;
  }
  // When the transfer first came to this step; -1: never.
  std::int64_t first(sim::Step step, std::uint64_t transfer) const {
    for (const sim::StepRecord& r : steps) {
      if (r.step == step && r.key.transfer == transfer) return r.at.count();
    }
    return -1;
  }
  // Of the two nodes: the others have no library that counts.
  std::int64_t total(std::string_view counter) {
    return static_cast<std::int64_t>(cluster.node(here->node()).statistics.value(counter) +
                                     cluster.node(there->node()).statistics.value(counter));
  }

  platform::Cluster cluster;
  std::unique_ptr<rdma::Endpoint> here;   // source of writes
  std::unique_ptr<rdma::Endpoint> there;  // destination of writes
  std::vector<sim::StepRecord> steps;
  std::function<void(const sim::StepRecord&)> on_each_step;

 private:
  static sim::Task<void> main(TwoProcesses& self, std::function<sim::Task<void>(TwoProcesses&)> program) {
    co_await program(self);
    self.finished_ = true;
    self.cluster.loop.stop();
  }

  const rdma::Strategy strategy_;
  bool finished_ = false;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::test
