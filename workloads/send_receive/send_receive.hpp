// SPDX-License-Identifier: Apache-2.0
// Two ranks that answer each other by messages: one sends, the other one receives, and then the other way round. A
// transfer's latency is one way: from the call that sends until the other rank has the message in its memory. Several
// pairs may play at a time.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "workloads/ranks/message_program.hpp"
#include "workloads/send_receive/rank_sockets.hpp"

namespace faultline::workloads {

class SendReceive : public MessageProgram {
 public:
  SendReceive(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);

  std::uint64_t planned() const override { return configuration_.workload.iterations * ranks(); }
  std::vector<Metric> own_metrics() const override;
  std::string waits() const override { return sockets_ ? sockets_->waits() : MessageProgram::waits(); }

 private:
  unsigned peer_of(unsigned number) const { return (number + ranks() / 2) % ranks(); }
  sim::Task<void> talk(Rank& me) override;
  void killed(Rank& victim) override {
    if (sockets_) sockets_->of(victim).break_off();
  }
  sim::Task<void> left(Rank& me) override;
  sim::Time spent_beside(const Rank& me) override { return sockets_ ? sockets_->spent(me) : sim::Time{0}; }
  sim::Task<void> play(Rank& me);
  sim::Task<void> serve(Rank& me, std::uint64_t use);
  sim::Task<void> take(Rank& me);

  // By the library's messages, or through sockets, until it has ended; false: it has failed.
  sim::Task<bool> send_by(Rank& me, const Memory& memory);
  sim::Task<bool> receive_by(Rank& me, const Memory& memory);

  struct Ball {
    sim::Time begin{0};
    bool cold = false;
  };
  std::unique_ptr<RankSockets> sockets_;  // where messages go through them
  sim::TaskGroup tasks_;
  std::vector<Lane> lanes_;  // by rank: what it sends from, and where the other one receives
  sim::Time sending_{0};     // in calls that send, while it is measured
  std::vector<Ball> balls_;  // by the rank that sent last
};

void check_send_receive(const Configuration& configuration, const AddConflict& add);
std::vector<Need> needs_of_send_receive(const Configuration& configuration);
std::vector<MetricDoc> metrics_of_send_receive();
double work_of_send_receive(const Configuration& configuration);
Ignored ignored_by_send_receive();

}  // namespace faultline::workloads
