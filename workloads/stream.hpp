// SPDX-License-Identifier: Apache-2.0
// The transfers of one flow, one after the other or several at a time, each checked end to end.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "models/platform/node.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/sim/content.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "workloads/cold_pages.hpp"
#include "workloads/configuration.hpp"
#include "workloads/flows/flow.hpp"
#include "workloads/moving_transfer.hpp"
#include "workloads/paced.hpp"
#include "workloads/program.hpp"

namespace faultline::workloads {

class Stream : private Paced {
 public:
  // A buffer at each end, used by one transfer at a time, and what is done about it around each. `slot`: its number
  // among those that the program at the other end prepares for others (messages::Target).
  struct Lane {
    std::uint64_t from_address = 0;
    std::uint64_t to_address = 0;
    rdma::RegisteredBuffer from_buffer;
    std::uint64_t slot = 0;
  };
  // What came of the transfers.
  struct Tally {
    std::vector<Sample>& samples;
    std::uint64_t& failed;
    std::uint64_t& data_errors;
    double& work_done;
    std::uint32_t sender = 0;  // of a Sample
  };
  // Content, arrivals and absent pages of the transfers of different streams differ: `number` tells them apart.
  Stream(const Flow& flow, const rdma::Strategy& strategy, const sim::Context& clock, rdma::Endpoint& from,
         rdma::Endpoint& to, std::uint64_t number, sim::Seed seed);

  const Flow& flow() const { return flow_; }
  // Before the first transfer, one for each that may be under way at a time.
  void add_lane(Lane lane) { lanes_.push_back(lane); }
  // Leaves the buffers as the flow says.
  sim::Task<void> make_cold();
  // All transfers.
  sim::Task<void> run(Tally tally);

 private:
  struct Running : MovingTransfer {
    using MovingTransfer::MovingTransfer;
    const Lane* lane = nullptr;
    sim::Time arrived{0};
    sim::Time begin{0};
    bool cold = false;
  };
  // Of the open loop, too.
  sim::Task<void> begin_next(sim::Time arrived) override;
  sim::Task<void> finish_oldest() override;
  sim::Task<void> run_closed_loop();
  sim::Task<void> make_cold(const Lane& lane);
  rdma::Endpoint& source() const { return flow_.reads() ? to_ : from_; }
  rdma::Endpoint& destination() const { return flow_.reads() ? from_ : to_; }
  std::uint64_t source_address(const Lane& lane) const { return flow_.reads() ? lane.to_address : lane.from_address; }
  std::uint64_t destination_address(const Lane& lane) const {
    return flow_.reads() ? lane.from_address : lane.to_address;
  }

  const Flow flow_;
  const rdma::Strategy& strategy_;
  const sim::Context& clock_;
  rdma::Endpoint& from_;
  rdma::Endpoint& to_;
  messages::Initiator asking_;
  const sim::Seed seed_;
  const std::uint64_t number_;
  ColdPages cold_pages_;
  cpu::Execution* ends_;  // the thread that waits for the transfers' ends
  Tally* tally_ = nullptr;
  std::uint64_t begun_ = 0;
  std::uint64_t next_seed_;  // of the content that is sent next
  std::vector<Lane> lanes_;
  sim::Deque<std::unique_ptr<Running>> running_;
};

// A program on the node. `has_source`: it owns the data's source, else the destination. Named by its number there if it
// has no other name.
std::unique_ptr<rdma::Endpoint> open_program(const Configuration& configuration, platform::Node& node, bool has_source,
                                             std::string name = "");

// Ends when no page of either buffer is in motion. While one is waited for, the kernel may take up the other again.
sim::Task<void> both_settled(rdma::Endpoint& one, std::uint64_t address, rdma::Endpoint& other,
                             std::uint64_t other_address, std::uint64_t bytes);

// What the kernel is still doing to a page is waited for in looks: 10 s at most.
inline constexpr sim::Time kBetweenLooks = std::chrono::microseconds(100);
inline constexpr int kLooks = 100'000;

// Has all pages of a buffer in memory. Takes no time, unless the kernel is still reading one of them: then waits, for
// kLooks at most. Throws sim::RunFailure as check_buffer() does.
sim::Task<void> make_present(rdma::Endpoint& endpoint, os::Range buffer);
// Leaves the pages of a buffer present, as make_present() does, or absent: as the program's life has left them.
sim::Task<void> leave(rdma::Endpoint& endpoint, std::uint64_t address, std::uint64_t bytes, bool cold);

// Throws sim::RunFailure, naming the parameters that decide such an error: `what` the program did to a buffer.
void check_buffer(os::Error error, std::string_view what, const os::Vm& vm);

}  // namespace faultline::workloads
