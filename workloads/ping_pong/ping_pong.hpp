// SPDX-License-Identifier: Apache-2.0
// Two ranks that answer each other: one writes to the other, which learns of it as workload.notify says, and does the
// same. A transfer's latency is one way: from the sender's first step until the other rank knows that the data are
// there. Several pairs may play at a time.
#pragma once

#include <vector>

#include "models/sim/random.hpp"
#include "workloads/ranks/places.hpp"
#include "workloads/ranks/rank_program.hpp"

namespace faultline::workloads {

class PingPong : public RankProgram {
 public:
  PingPong(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  std::uint64_t planned() const override { return configuration_.workload.iterations * ranks(); }
  std::vector<Metric> own_metrics() const override;

 private:
  // What a rank has sent last, and what is known of it.
  struct Ball {
    sim::Time begin{0};
    bool cold = false;
    sim::Content content{};
    std::uint64_t transfer = 0;
    bool failed = false;  // so says the sender's NIC: the other rank need not wait for it
    bool taken = true;    // by the other rank, or it knows that nothing will come
    bool arrived = false;
    sim::Time end{0};  // when the other rank went on
    bool sent = true;  // the sender knows how it has ended
  };

  unsigned peer_of(unsigned number) const { return (number + ranks() / 2) % ranks(); }
  sim::Task<void> main(Rank& me) override;
  sim::Task<void> serve(Rank& me, std::uint64_t use);
  sim::Task<void> take(Rank& me);
  // Both ranks know how a transfer has ended, or one of them still does not.
  void finish_if_known(const Rank& sender);
  // That the data of the other rank have come; false: they will not.
  sim::Task<bool> hear(Rank& me);
  sim::Task<bool> learn(Rank& me);
  // Of notify = polled-byte: gives a source content whose last byte the destination does not have.
  sim::Task<void> differ(const Lane& lane);
  std::uint8_t last_byte(const Memory& memory);
  // Who of those that may write to a rank does so next.
  std::uint16_t next_writer(unsigned receiver);

  const Notify notify_;
  std::vector<Lane> lanes_;               // by rank: what it sends from, and where to
  std::vector<Ball> balls_;               // by the rank that sent last
  std::vector<std::uint8_t> last_bytes_;  // by rank: of its destination, when it last looked
  std::vector<std::uint16_t> writers_;    // by receiver: who writes next
  std::vector<sim::RandomStream> drawn_;  // by receiver
};

void check_ping_pong(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_ping_pong(const Configuration& configuration);
double work_of_ping_pong(const Configuration& configuration);
Ignored ignored_by_ping_pong();

}  // namespace faultline::workloads
