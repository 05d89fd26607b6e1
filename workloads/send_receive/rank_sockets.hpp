// SPDX-License-Identifier: Apache-2.0
// The sockets by which pairs of ranks talk: each rank has one, and its node's kernel an end of the NIC for it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/messages/socket.hpp"
#include "models/platform/cluster.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/gathering.hpp"
#include "workloads/needs.hpp"
#include "workloads/ranks/rank.hpp"

namespace faultline::workloads {

class RankSockets {
 public:
  // Rank i of the first half is connected with rank i of the second. Throws sim::RunFailure where a node has no memory
  // or channel left.
  RankSockets(const Configuration& configuration, platform::Cluster& cluster, const std::vector<Rank*>& ranks);

  // By each rank, before it sends or receives: the kernel's end opens, and all come. `tasks` runs the kernel's threads.
  sim::Task<void> open(const Rank& me, sim::TaskGroup& tasks);
  // By each rank, when it sends and receives no more, or was killed: all come, but for those that were killed, whom
  // nobody waits for; and the kernel's end closes.
  sim::Task<void> leave(const Rank& me, sim::TaskGroup& tasks);
  messages::Socket& of(const Rank& me) { return *ends_.at(me.number())->socket; }
  // Who waits in a call of a socket, for a person; empty: nobody.
  std::string waits() const;
  // CPU time of the kernel's thread.
  sim::Time spent(const Rank& me);

 private:
  struct End {
    std::unique_ptr<rdma::Endpoint> kernel;
    std::unique_ptr<messages::Socket> socket;
    std::unique_ptr<sim::Signal> ended;
    bool has_come = false;  // to the others
    bool serves = false;
  };
  static sim::Task<void> serve(End& end);

  std::vector<std::unique_ptr<End>> ends_;  // by rank
  Gathering opened_;
  Gathering done_;
};

// What the kernel needs for one of them.
Need need_of_socket(const Configuration& configuration, sim::NodeId node);
void check_sockets(const Configuration& configuration, const AddConflict& add);

}  // namespace faultline::workloads
