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

#include <array>
#include <deque>
#include <tlm>
#include <vector>

#include "models/interconnect/failures.hpp"
#include "models/interconnect/packet.hpp"
#include "models/interconnect/topology.hpp"
#include "models/sim/context.hpp"
#include "models/sim/time_sequence.hpp"

namespace faultline::interconnect {

// Cells that wait for one output or fill the buffer behind it.
class OutputLoad {
 public:
  // At instants `now` that never go back; the cells' may lie ahead.
  void arriving(const sim::TimeSequence& times, sim::Time now) { note(arriving_, times, now); }
  void freed(const sim::TimeSequence& times, sim::Time now) { note(freeing_, times, now); }
  std::int64_t at(sim::Time now);

 private:
  static std::int64_t take_passed(std::vector<sim::TimeSequence>& times, sim::Time now);
  void note(std::vector<sim::TimeSequence>& ahead, const sim::TimeSequence& times, sim::Time now);

  std::int64_t cells_ = 0;
  std::vector<sim::TimeSequence> arriving_;  // what had not passed yet
  std::vector<sim::TimeSequence> freeing_;
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

  // Cells that leave by this output arrive at these instants; slots behind it come free.
  void arriving(unsigned output, const sim::TimeSequence& times) {
    if (adaptive_) loads_[output].arriving(times, context_.now());
  }
  void freed(unsigned output, const sim::TimeSequence& times) {
    if (adaptive_) loads_[output].freed(times, context_.now());
  }

 private:
  // The blocks whose cells may come mixed: those of a send unit's contexts, and one more.
  static constexpr std::size_t kRecent = 3;
  struct Choice {
    bool made = false;
    sim::BlockKey block;
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
  std::vector<std::deque<tlm::tlm_generic_payload*>> held_;  // by input port
  std::vector<Candidate> candidates_;
};

}  // namespace faultline::interconnect
