// SPDX-License-Identifier: Apache-2.0
// A program of ranks that send each other messages: each has a library for them (models/messages/messenger.hpp).
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/messages/collectives.hpp"
#include "models/messages/messenger.hpp"
#include "workloads/ranks/places.hpp"
#include "workloads/ranks/rank_program.hpp"

namespace faultline::workloads {

class MessageProgram : public RankProgram {
 public:
  ~MessageProgram() override { end_ranks(); }  // a rank may have the turn in its library
  std::vector<Metric> own_metrics() const override;
  std::string waits() const override;
  bool has_given_up() const override;

 protected:
  MessageProgram(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed,
                 const std::vector<unsigned>& nodes);

  messages::Messenger& messenger(const Rank& me) { return *messengers_.at(me.number()); }
  static messages::Span span(const Memory& memory) { return {memory.address, memory.bytes}; }
  // No strategy keeps pages that nobody registers.
  bool cools() const final;
  // What ranks say to each other, once all memory is registered; measurement() within it.
  virtual sim::Task<void> talk(Rank& me) = 0;
  // Its CPU time is counted from here on.
  sim::Task<void> counted(Rank& me);
  // Sends or receives, and waits for the end. False: it has failed.
  sim::Task<bool> send(Rank& me, unsigned to, const Memory& memory);
  sim::Task<bool> receive(Rank& me, unsigned from, const Memory& memory);

 private:
  bool asks() const final { return false; }
  sim::Task<void> main(Rank& me) final;

  std::vector<std::unique_ptr<messages::Messenger>> messengers_;  // by rank
};

// Of such a program, on these nodes: what is to be checked of its messages, and the memory that a rank has for them.
void check_messages_of_ranks(const Configuration& configuration, std::size_t ranks, const AddConflict& add);
// `buffers`: bytes of the pages of a rank's buffers.
Need need_of_messages(const Configuration& configuration, sim::NodeId node, std::size_t ranks, std::uint64_t buffers);
std::vector<MetricDoc> metrics_of_messages();

}  // namespace faultline::workloads
