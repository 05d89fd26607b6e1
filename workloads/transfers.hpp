// SPDX-License-Identifier: Apache-2.0
// The benchmark: two processes on two nodes, a stream of transfers between them, every one of which is
// checked end to end. Written as the programs would be: prepare the buffer, ask the other side to where
// it must, post, poll, release.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "models/platform/cluster.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/random.hpp"
#include "workloads/breakdown.hpp"
#include "workloads/configuration.hpp"

namespace faultline::workloads {

// What was measured of one transfer.
struct Sample {
  sim::Time begin;
  sim::Time end;
  sim::Time latency() const { return end - begin; }
};

class Transfers {
 public:
  Transfers(const Configuration& configuration, platform::Cluster& cluster, std::uint64_t seed);

  // Runs warm-up and measured transfers, then stops the simulation.
  void start();

  bool finished() const { return finished_; }
  const std::vector<Sample>& samples() const { return samples_; }
  sim::Time setup_time() const { return setup_time_; }
  sim::Time teardown_time() const { return teardown_time_; }
  sim::Time measured_from() const { return measured_from_; }
  sim::Time measured_to() const { return measured_to_; }
  // Measured transfers that ended with an error completion; they are not among the samples.
  std::uint64_t failed() const { return failed_; }
  std::uint64_t data_errors() const { return data_errors_; }
  std::uint64_t clean_bytes() const { return clean_bytes_; }
  std::uint64_t clean_failed() const { return clean_failed_; }
  const Breakdown& breakdown() const { return breakdown_; }
  // Called when the first measured transfer is about to begin, so that counters can be read.
  std::function<void()> on_measurement_begins;
  std::function<void()> on_measurement_ends;

 private:
  // A buffer at each end, used by one transfer at a time.
  struct Lane {
    std::uint64_t initiator_address = 0;
    std::uint64_t target_address = 0;
    std::unique_ptr<rdma::PreparePolicy> initiator_policy;
    std::unique_ptr<rdma::PreparePolicy> target_policy;
  };
  struct Running {
    unsigned lane;
    sim::Time begin;
    rdma::Posted posted;
    sim::Content expected;
    bool measured;
  };

  sim::Task<void> run();
  sim::Task<void> run_messages();
  sim::Task<void> run_transfers();
  sim::Task<void> set_up();
  using Side = sim::Task<void> (Transfers::*)(rdma::Endpoint& endpoint, bool target);
  sim::Task<sim::Time> on_both_sides(Side side);
  sim::Task<void> set_up_side(rdma::Endpoint& endpoint, bool target);
  sim::Task<void> tear_down_side(rdma::Endpoint& endpoint, bool target);
  sim::Task<void> begin(unsigned lane, bool measured);
  sim::Task<void> finish();
  sim::Task<void> serve_target();
  sim::Task<void> run_clean(unsigned index);
  void make_cold(const Lane& lane, bool target);
  void cool(rdma::Endpoint& endpoint, std::uint64_t address, bool cold);
  std::vector<bool> choose_cold(std::uint64_t pages);
  sim::Task<void> late_faults_end();
  void measurement_begins();
  void measurement_ends();

  bool reads() const { return config_.kind == Kind::read; }
  rdma::Endpoint& data_source() { return reads() ? *target_ : *initiator_; }
  rdma::Endpoint& data_destination() { return reads() ? *initiator_ : *target_; }
  std::uint64_t source_address(const Lane& lane) const {
    return reads() ? lane.target_address : lane.initiator_address;
  }
  std::uint64_t destination_address(const Lane& lane) const {
    return reads() ? lane.initiator_address : lane.target_address;
  }

  const TransferConfig config_;
  const rdma::Strategy strategy_;
  platform::Cluster& cluster_;
  std::unique_ptr<rdma::Endpoint> initiator_;
  std::unique_ptr<rdma::Endpoint> target_;
  std::vector<Lane> lanes_;
  std::deque<Running> running_;
  sim::RandomStream cold_pages_;
  Breakdown breakdown_;

  std::uint64_t started_ = 0;
  bool finished_ = false;
  bool measuring_ = false;
  std::vector<Sample> samples_;
  sim::Time setup_time_{0};
  sim::Time teardown_time_{0};
  sim::Time measured_from_{0};
  sim::Time measured_to_{0};
  std::uint64_t failed_ = 0;
  std::uint64_t data_errors_ = 0;
  std::uint64_t clean_started_ = 0;
  std::uint64_t clean_bytes_ = 0;
  std::uint64_t clean_failed_ = 0;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::workloads
