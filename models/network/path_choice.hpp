// SPDX-License-Identifier: Apache-2.0
// Which path a packet takes: chosen once for each block, where it enters the network, so that its cells stay in
// order. Control packets (acknowledgements, messages) keep to the fixed path, because their order matters to
// software.
//
// Adaptive: of the candidates of the topology the one with the least load times hops, the first of equals (on a
// dragonfly this is UGAL-L of Kim et al., ISCA 2008). The load of an output is the number of cells that have
// arrived here and leave by it, and whose slots at the neighbour are not free again: those that wait and those that
// fill the next buffer. It is taken from the instants of the cells alone, so that it does not depend on when trains
// were announced.
//
// Rerouting: a packet that would meet a failure that is known takes the first offered path that does not. Control
// packets are rerouted too; around that change their order is not kept.
#pragma once

#include <algorithm>
#include <array>
#include <tlm>
#include <vector>

#include "models/network/failures.hpp"
#include "models/network/packet.hpp"
#include "models/network/topology.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::network {

// Cells that wait for one output or fill the buffer behind it.
class OutputLoad {
 public:
  using Train = const tlm::tlm_generic_payload*;
  // At instants `now` that never go back; the cells' may lie ahead.
  void arriving(Train train, const sim::TimeSequence& times, sim::Time now) { note(arriving_, train, times, now); }
  void freed(Train train, const sim::TimeSequence& times, sim::Time now) { note(freeing_, train, times, now); }
  // The last of what was told of the train, which lies ahead, does not happen.
  void not_arriving(Train train, std::uint32_t cells) { strike(arriving_, train, cells); }
  void not_freed(Train train, std::uint32_t cells) { strike(freeing_, train, cells); }
  std::int64_t at(sim::Time now);

 private:
  struct Ahead {
    Train train;
    sim::TimeSequence times;
  };
  static std::int64_t take_passed(std::vector<Ahead>& all, sim::Time now);
  void note(std::vector<Ahead>& all, Train train, const sim::TimeSequence& times, sim::Time now);
  static void strike(std::vector<Ahead>& all, Train train, std::uint32_t cells);

  std::int64_t cells_ = 0;
  std::vector<Ahead> arriving_;  // what had not passed yet
  std::vector<Ahead> freeing_;
};

// Of one router.
class PathChooser {
 public:
  // `failures` may be nullptr. Both must outlive the chooser.
  PathChooser(const Topology& topology, const FailureSchedule* failures, const sim::Context& context);

  // Sets the path of a packet that comes in at this port, if this is the place to choose it.
  void choose(unsigned port, PacketHeader& header);

  // Whether what comes in here is to be looked at only when its head is there: a choice by load needs the load of
  // that instant.
  bool waits_for_head(unsigned port) const {
    return adaptive_ && port != kLocalPort && topology_.is_entry(here_, port);
  }
  void hold(unsigned port, tlm::tlm_generic_payload& payload) { held_[port].push_back(&payload); }
  tlm::tlm_generic_payload& take_held(unsigned port);
  bool holds(unsigned port, const tlm::tlm_generic_payload& payload) const {
    return adaptive_ && std::find(held_[port].begin(), held_[port].end(), &payload) != held_[port].end();
  }

  // What the load of this output is to be told, if anybody asks for it.
  template <typename Tell>
  void note(unsigned output, Tell tell) {
    if (adaptive_) tell(loads_[output]);
  }

 private:
  // The blocks whose cells may come mixed: those of a send unit's contexts, and one more.
  static constexpr std::size_t kRecent = 3;
  struct Choice {
    bool made = false;
    sim::PartKey block;
    Path path = kFixedPath;
  };
  struct Recent {
    std::array<Choice, kRecent> choices;
    std::size_t next = 0;
  };

  Path least_loaded(NodeId destination);
  Path round_failures(NodeId destination, Path preferred) const;
  bool is_usable(NodeId destination, Path path) const;

  const Topology& topology_;
  const FailureSchedule* failures_;  // those to avoid, or nullptr
  const sim::Context& context_;
  RouterId here_;
  bool adaptive_;
  sim::RandomStream draws_;
  std::vector<Recent> recent_;                               // by input port
  std::vector<OutputLoad> loads_;                            // by output port
  std::vector<sim::Deque<tlm::tlm_generic_payload*>> held_;  // by input port
  std::vector<Candidate> candidates_;
};

}  // namespace faultline::network
