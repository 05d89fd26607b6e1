// SPDX-License-Identifier: Apache-2.0
// The benchmark: two processes on two nodes, a stream of transfers between them, every one of which is
// checked end to end. Written as the programs would be: prepare the buffer, ask the other side to where
// it must, post, poll, release.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "models/messages/target.hpp"
#include "models/platform/cluster.hpp"
#include "models/platform/instruments.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/recycling.hpp"
#include "workloads/cold_pages.hpp"
#include "workloads/configuration.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/ignored_settings.hpp"
#include "workloads/moving_transfer.hpp"
#include "workloads/needs.hpp"
#include "workloads/paced.hpp"
#include "workloads/program.hpp"
#include "workloads/start_phase.hpp"

namespace faultline::workloads {

enum class TransferKind {
  write,    // RDMA writes from initiator to target
  read,     // RDMA reads by the initiator from the target
  message,  // small messages, one way
};

class Transfers : public Program, private Paced {
 public:
  Transfers(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed, TransferKind kind);

  void start() override;
  const Injection* injection() const override { return injects_ ? &injection_ : nullptr; }
  bool is_end(sim::NodeId node) const override { return node == config_.initiator || node == config_.target; }
  std::uint64_t planned() const override { return config_.iterations; }

 private:
  // A buffer at each end, used by one transfer at a time.
  struct Lane {
    std::uint64_t initiator_address = 0;
    std::uint64_t target_address = 0;
    std::optional<rdma::RegisteredBuffer> initiator_buffer;
    std::optional<rdma::RegisteredBuffer> target_buffer;
  };
  struct Running : MovingTransfer {
    using MovingTransfer::MovingTransfer;
    unsigned lane = 0;
    sim::Time arrived{0};
    sim::Time begin{0};
    bool measured = false;
    bool cold = false;
  };

  sim::Task<void> run();
  sim::Task<void> run_messages();
  sim::Task<void> run_transfers();
  sim::Task<void> set_up();
  using Side = sim::Task<void> (Transfers::*)(bool target);
  sim::Task<sim::Time> on_both_sides(Side side);
  sim::Task<void> set_up_side(bool target);
  sim::Task<void> tear_down_side(bool target);
  sim::Task<void> run_closed_loop(std::uint64_t transfers);
  sim::Task<void> pause();
  bool measures() const { return started_ >= config_.warmup; }
  bool cools_before_next() const;
  sim::Task<void> cool(const Lane& lane);
  sim::Task<void> begin_next(sim::Time arrived) override;
  void leave_to_device(Running& running);
  sim::Task<void> finish_oldest() override;
  void serve_target();
  sim::Task<void> use_target_buffer(std::uint64_t lane);
  sim::Task<void> run_clean(unsigned index);
  sim::Task<void> make_cold(const Lane& lane, bool target);
  bool has_pagers() const { return !pagers_.empty(); }
  sim::Task<void> put_away(const Lane& lane, bool target);
  sim::Task<void> write_again(const Lane& lane, bool target);
  sim::Task<void> late_faults_end();
  sim::Task<void> write_source(const Lane& lane);
  sim::Task<void> write_destination(const Lane& lane);
  void start_injections();
  Injection::Buffer buffer_of(rdma::Endpoint& endpoint, std::uint64_t address) const;
  // Whether injections happen to this program's buffers.
  bool is_injected(bool target) const;

  sim::Time now() const { return cluster_.node(config_.initiator).context.now(); }
  bool reads() const { return kind_ == TransferKind::read; }
  // One of the two programs: `target`, or the initiator. And of it the buffer in a lane, whether that has what is sent,
  // and whether and how it is cold.
  rdma::Endpoint& endpoint_at(bool target) { return target ? *target_ : *initiator_; }
  static std::uint64_t address_at(const Lane& lane, bool target) {
    return target ? lane.target_address : lane.initiator_address;
  }
  static const rdma::RegisteredBuffer& buffer_at(const Lane& lane, bool target) {
    return target ? *lane.target_buffer : *lane.initiator_buffer;
  }
  bool has_source(bool target) const { return target == reads(); }
  bool is_cold(bool target) const { return has_source(target) ? config_.cold_source() : config_.cold_destination(); }
  ColdKind cold_kind(bool target) const {
    return has_source(target) ? cold_source_kind_ : config_.cold_destination_kind;
  }
  rdma::Endpoint& data_source() { return reads() ? *target_ : *initiator_; }
  rdma::Endpoint& data_destination() { return reads() ? *initiator_ : *target_; }
  // Whether the target's program prepares the destination before each transfer, at the initiator's request.
  bool target_prepares_destination() const { return strategy_.asks_target() && !reads(); }
  // Where nothing disturbs, stores take no time and no thread.
  bool target_writes_source() const { return strategy_.asks_target() && reads() && disturbed_; }
  // The thread by which a program stores to its buffers.
  cpu::Execution& storing(rdma::Endpoint& owner) { return &owner == target_.get() ? *target_stores_ : owner.thread(); }
  std::uint64_t source_address(const Lane& lane) const {
    return reads() ? lane.target_address : lane.initiator_address;
  }
  std::uint64_t destination_address(const Lane& lane) const {
    return reads() ? lane.initiator_address : lane.target_address;
  }

  const TransferConfig config_;
  const TransferKind kind_;
  const ColdKind cold_source_kind_;
  const rdma::Strategy strategy_;
  const bool injects_;
  const bool disturbed_;  // pages go without the programs' doing
  const bool beside_others_;
  Injection injection_;
  platform::Cluster& cluster_;
  const sim::Seed seed_;
  std::unique_ptr<rdma::Endpoint> initiator_;
  std::unique_ptr<rdma::Endpoint> target_;
  std::vector<Lane> lanes_;
  ColdPages cold_pages_;
  std::unique_ptr<messages::Initiator> asking_;
  sim::Deque<std::unique_ptr<Running>> running_;         // may have the initiator's turn
  std::unique_ptr<messages::Target> answering_;          // where the strategy wants it, with a slot for each lane
  std::vector<platform::FaultProgress> fault_progress_;  // of the nodes of initiator and target
  cpu::Execution* ends_ = nullptr;                       // the thread that waits for the transfers' ends
  cpu::Execution* target_stores_ = nullptr;
  std::vector<cpu::Execution*> pagers_;  // of initiator and target, where the kernel puts cold pages away
  StartPhase start_phase_;

  std::uint64_t started_ = 0;
  std::uint64_t clean_started_ = 0;
  sim::TaskGroup tasks_;
};

// The kinds write and read, and the kind message.
void check_transfers(const Configuration& configuration, const AddConflict& add);
void check_messages(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_transfers(const Configuration& configuration);
std::vector<Need> needs_of_messages(const Configuration& configuration);
Ignored ignored_by_transfers();
Ignored ignored_by_messages();

}  // namespace faultline::workloads
