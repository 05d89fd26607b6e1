// SPDX-License-Identifier: Apache-2.0
// A router for trains of many cells (docs/trains.md). What its switch decides is announced: over a link all cells of a
// train in one payload, as they are decided on; at port 0 a payload for each decision. A train that nothing known can
// meet crosses an idle network without an event until the router of its destination.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "models/network/router.hpp"
#include "models/network/switch.hpp"
#include "models/sim/train_server.hpp"

namespace faultline::network {

class TrainRouter final : public Router, Switch::Owner {
 public:
  TrainRouter(sc_core::sc_module_name name, const RouterConfig& config, const sim::Context& context,
              const Topology& topology);

 private:
  // A train that goes out, until its slots are free.
  struct Departed : tlm::tlm_extension<Departed> {
    tlm::tlm_generic_payload* payload = nullptr;
    sim::Train* train = nullptr;  // the payload's
    unsigned channel = 0;
    std::uint32_t first = 0;  // its first cell in the train that came in
    sim::TimeSequence freed;

    tlm::tlm_extension_base* clone() const override { return new Departed(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Departed&>(other); }
  };
  // A train that came in, until it has left.
  struct Passage : tlm::tlm_extension<Passage>, Switch::Transit {
    tlm::tlm_generic_payload* payload = nullptr;
    const sim::Train* train = nullptr;  // the payload's
    // Carries the last cells that are announced; nullptr: no more. At port 0 it may be gone when all have left.
    Departed* outgoing = nullptr;
    unsigned port = 0;
    std::uint32_t known = 0;        // cells
    std::uint32_t told = 0;         // departures that are announced
    std::uint32_t slots_told = 0;   // of these, to where the train comes from
    bool gone = false;              // let go of
    sim::TimeSequence handed_over;  // port 0: arrivals behind the NI's datapath
    std::uint64_t injection = 0;    // port 0: its number in the queue

    tlm::tlm_extension_base* clone() const override { return new Passage(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Passage&>(other); }
  };
  // What the NI sent by one of port 0's queues, when it has left.
  struct Injected {
    sim::TimeSequence sent;
    sim::TimeSequence departures;
    bool gone = false;
  };
  void accept(unsigned port, tlm::tlm_generic_payload& payload, sim::Train& train, PacketHeader& header) override;
  void change(unsigned port, tlm::tlm_generic_payload& payload, sim::Train& train, std::uint32_t from) override;
  void slots(unsigned port, tlm::tlm_generic_payload& payload, const sim::Answers& slots) override;
  sim::Time work_left(unsigned port) const override { return switch_.work_left(port); }
  void decided(Switch::Transit& transit, std::uint32_t from) override;
  void left(Switch::Transit& transit) override { let_go(static_cast<Passage&>(transit)); }
  // If the train has left altogether. Throws std::logic_error if the NI sent any of its cells without a free slot.
  void let_go(Passage& passage);
  void check_slots(const Passage& passage);
  // Whether more of its cells may leave than are announced.
  static bool is_open(const Passage& passage);
  void announce(Passage& passage, std::uint32_t from);
  void announce_to_node(Passage& passage, std::uint32_t from);
  void recall(Passage& passage, std::uint32_t from);
  std::uint32_t cut(Passage& passage, std::uint32_t from);
  void send(Passage& passage, std::uint32_t from);
  void close(Passage& passage);
  void lose(Passage& passage, std::uint32_t from);
  Departed& new_payload(Passage& passage, std::uint32_t first);
  void forget();
  void void_slots(unsigned port, Departed& departed, std::uint32_t kept);
  void tell_slots(Passage& passage, std::uint32_t from);
  // As far as it is announced.
  void tell_timelines(const Passage& passage) const;

  Switch switch_;
  std::vector<Departed*> given_;                              // to the node, until their slots are free
  std::array<sim::TrainServer, kLocalQueues> datapaths_;      // the NI's, into port 0's queues
  std::array<sim::Deque<Injected>, kLocalQueues> injected_;   // by them, until those before them have left
  std::array<std::uint64_t, kLocalQueues> first_injected_{};  // number of the first of these
  std::array<sim::TimeSequence, kLocalQueues> slots_reused_;  // when the last injection_cells of them came free
};

}  // namespace faultline::network
