// SPDX-License-Identifier: Apache-2.0
// How often programs use the same memory again decides what registering it costs (the kind `reuse`): one process writes
// to another, from and to buffers that each draws from a pool of its own; now and then both unmap theirs and go on with
// new memory. Every transfer is checked end to end. There may be several such pairs (workload.ranks), each with pools,
// sizes and draws of its own.
//
// A transfer's latency begins when its buffers are there and what is sent stands in the source. What the programs do to
// their mappings before, and what those who keep memory registered pay for that, is told apart (remap_mean).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "models/messages/target.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/random.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/gathering.hpp"
#include "workloads/ignored_settings.hpp"
#include "workloads/moving_transfer.hpp"
#include "workloads/needs.hpp"
#include "workloads/program.hpp"
#include "workloads/start_phase.hpp"

namespace faultline::workloads {

// Numbers of buffers, 0 to n - 1. The same for the same seed and rank.
class BufferDraw {
 public:
  BufferDraw(Draw how, unsigned buffers, sim::Seed seed, unsigned rank = 0);
  unsigned next();

 private:
  const Draw how_;
  const unsigned buffers_;
  sim::RandomStream draws_;
  std::uint64_t number_ = 0;
  std::vector<std::uint64_t> sums_;  // of zipf's weights, up to each buffer
};

// The size of each buffer of a pool (reuse.smallest). The same for the same seed and rank.
std::vector<std::uint64_t> sizes_of_buffers(const ReuseConfig& config, std::uint64_t largest, sim::Seed seed,
                                            unsigned rank = 0);

class Reuse : public Program {
 public:
  Reuse(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  void start() override;
  std::uint64_t planned() const override { return config_.iterations * pairs_.size(); }
  bool is_end(sim::NodeId node) const override { return node == config_.initiator || node == config_.target; }
  std::vector<PartResult> senders() const override;
  std::vector<Metric> own_metrics() const override;

 private:
  // A process and the addresses of its buffers.
  struct Side {
    std::unique_ptr<rdma::Endpoint> endpoint;
    cpu::Execution* mapper = nullptr;  // the thread that maps memory, since another one may wait for requests
    std::vector<std::uint64_t> addresses;
    rdma::RegisteredBuffer buffer(unsigned index, std::uint64_t size) {
      return endpoint->buffer(addresses[index], size);
    }
  };
  struct Pair {
    // `strategy` outlives it.
    Pair(unsigned n, std::unique_ptr<rdma::Endpoint> from, std::unique_ptr<rdma::Endpoint> to,
         const Configuration& configuration, const rdma::Strategy& strategy, sim::Seed seed);
    const unsigned number;
    Side source;
    Side target;
    messages::Initiator asking;
    messages::Target answering;
    const std::vector<std::uint64_t> sizes;  // by buffer, at either end
    BufferDraw draw;
    sim::RandomStream fresh;
    StartPhase start_phase;
    std::uint64_t contents;
  };

  sim::Task<void> run(Pair& pair);
  sim::Task<void> set_up(Pair& pair, Side& side);
  // Until a measured transfer is due (reuse.period); `due` is then when the next one is.
  sim::Task<void> keep_pace(sim::Time& due) const;
  sim::Task<void> make_transfer(Pair& pair, unsigned index, bool is_new, bool measured);
  sim::Task<void> remap(Pair& pair, Side& side, unsigned index);
  sim::Task<void> register_new(Pair& pair, Side& side, unsigned index);
  // Of both processes at the same time; ends with the slower one.
  using Step = sim::Task<void> (Reuse::*)(Pair& pair, Side& side, unsigned index);
  sim::Task<void> on_both_sides(Pair& pair, Step step, unsigned index);
  sim::Time now() const { return clock_.now(); }

  const TransferConfig config_;
  const rdma::Strategy strategy_;
  const unsigned buffers_;
  const double again_;
  const bool touches_;
  const sim::Time period_;
  const sim::Context& clock_;
  std::vector<std::unique_ptr<Pair>> pairs_;
  Gathering set_up_;
  Gathering warmed_up_;
  std::size_t unfinished_;
  std::uint64_t reused_ = 0;
  std::uint64_t remaps_ = 0;
  sim::Time remapping_{0};
  sim::TaskGroup tasks_;
};

void check_reuse(const Configuration& configuration, const AddConflict& add);
double work_of_reuse(const Configuration& configuration);
std::vector<Need> needs_of_reuse(const Configuration& configuration);
Ignored ignored_by_reuse();

}  // namespace faultline::workloads
