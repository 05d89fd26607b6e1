// SPDX-License-Identifier: Apache-2.0
// Traffic of the whole cluster: every node writes to others, as the pattern says. Each node has two programs: one
// sends, one owns the memory that the others write to. Every transfer is checked end to end.
#pragma once

#include <memory>
#include <vector>

#include "models/messages/target.hpp"
#include "models/platform/cluster.hpp"
#include "models/rdma/endpoint.hpp"
#include "workloads/configuration.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/ignored_settings.hpp"
#include "workloads/needs.hpp"
#include "workloads/program.hpp"
#include "workloads/stream.hpp"

namespace faultline::workloads {

enum class PatternKind {
  all_to_all,   // every node writes to the others in turn
  ring,         // every node writes to the next one
  permutation,  // every node writes to one other and is written to by one
};

// Who writes to whom. In each round every node has one target and is the target of one.
class Pattern {
 public:
  // `peers`: rounds of all_to_all, 0 for as many as there are others.
  Pattern(PatternKind kind, unsigned nodes, unsigned peers, sim::Seed seed);

  unsigned rounds() const { return targets_.empty() ? static_cast<unsigned>(distances_.size()) : 1; }
  unsigned target(unsigned node, unsigned round) const;
  unsigned source(unsigned node, unsigned round) const;  // whose target the node is

 private:
  unsigned nodes_;
  std::vector<unsigned> distances_;  // by round: how much higher the target's number is, modulo the number of nodes
  std::vector<unsigned> targets_;    // of a permutation, by node
};

class Patterns : public Program {
 public:
  Patterns(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed, PatternKind kind);

  void start() override;
  std::uint64_t planned() const override;
  std::vector<PartResult> senders() const override;
  bool is_end(sim::NodeId) const override { return true; }

 private:
  // A program and its one buffer, which holds a slot for each transfer that may use it at a time.
  struct Party {
    std::unique_ptr<rdma::Endpoint> endpoint;
    std::uint64_t buffer = 0;
    std::uint64_t bytes = 0;
    std::vector<rdma::RegisteredBuffer> registered;  // the buffer, or each slot
    std::unique_ptr<messages::Target> answering;     // of a receiver, where each slot is registered
  };

  Party open(unsigned node, bool sends);
  void serve(unsigned node);
  std::uint64_t slot_bytes(bool sends) const;
  // `measured`: the transfers that are, or those before them.
  std::unique_ptr<Stream> stream(unsigned node, unsigned round, bool measured);
  sim::Task<void> run();
  sim::Task<void> set_up_receiver(unsigned node) { return set_up(receivers_[node], false); }
  sim::Task<void> set_up_sender(unsigned node) { return set_up(senders_[node], true); }
  sim::Task<void> set_up(Party& party, bool sends);
  sim::Task<void> warm_up(unsigned node);
  sim::Task<void> send(unsigned node);
  using Part = sim::Task<void> (Patterns::*)(unsigned node);
  // Starts the part of every node, and tells all_ended_ when the last one has ended.
  void start_everywhere(Part part);
  sim::Task<void> counted(Part part, unsigned node);

  sim::Context& clock() { return cluster_.node(0).context; }

  const Configuration configuration_;
  platform::Cluster& cluster_;
  const Pattern pattern_;
  const sim::Seed seed_;
  std::vector<Party> senders_;  // by node
  std::vector<Party> receivers_;
  unsigned unfinished_ = 0;  // parts that have not ended
  sim::Signal all_ended_;
  sim::TaskGroup tasks_;
};

void check_pattern(const Configuration& configuration, PatternKind kind, const AddConflict& add);
double work_of_pattern(const Configuration& configuration, PatternKind kind);
std::vector<Need> needs_of_pattern(const Configuration& configuration, PatternKind kind);
Ignored ignored_by_pattern(PatternKind kind);

}  // namespace faultline::workloads
