// SPDX-License-Identifier: Apache-2.0
// An input-buffered router with virtual cut-through, and the links that leave it. A cell is a packet
// of its own: payload and a fixed overhead.
//
// Instants at the sockets (train.times) are those of a cell's last byte: at in[0] the NI has the whole
// cell; at any other input the link has delivered it; at the target of out[0] the NI has received it.
// Instants in train.freed are those from which the sender may use the slot: across a link the credit's
// way back (one latency of that link) is already in them; at port 0 there is none.
//
// A cell that arrives by link takes router_latency, one that the NI injects takes injection_latency; then
// its head may leave while its tail still comes in, but it never leaves faster than it comes. The NI's
// datapath takes a cell in only when the NI has all of it, one after the other. With s the time of a cell
// on the output,
//   arrival(i) = at port 0: max(handed over(i), arrival(i-1)) + time of the cell at local_rate
//   ready(i) = arrival(i) + router_latency or injection_latency - min(s, time of the cell on the input)
//   leaves(i) = max(ready(i), leaves(i-1), credit(i)) + s
//
// An output serves the inputs that hold a ready cell for it in turn, one cell each (switch.hpp). What is decided is
// announced: over a link all cells of a train in one payload, as they are decided on; at port 0 a payload for each
// decision. A train that nothing known can meet crosses an idle network without an event until the router of its
// destination. So every cell leaves when it would if each were decided on by itself.
//
// While a link is dead (failures.hpp) its output needs no credits, and cells that would start on it are
// lost, at the link's rate, and counted in network.lost_cells. Their slots in the input queue come free
// as if they had been sent.
#pragma once

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <array>
#include <cstdint>
#include <memory>
#include <systemc>
#include <vector>

#include "models/network/failures.hpp"
#include "models/network/packet.hpp"
#include "models/network/path_choice.hpp"
#include "models/network/switch.hpp"
#include "models/network/topology.hpp"
#include "models/sim/context.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/train_server.hpp"

namespace faultline::network {

using namespace std::chrono_literals;

// What of a line's bit rate carries data.
enum class LineCoding { none, b64_66, b8_10 };

struct RouterConfig {
  sim::BitRate internal_rate{16'000'000'000};
  LineCoding internal_coding = LineCoding::none;
  sim::Time internal_latency = 120ns;
  sim::BitRate external_rate{10'000'000'000};
  LineCoding external_coding = LineCoding::none;
  sim::Time external_latency = 186ns;
  sim::Time router_latency = 145ns;
  sim::Time injection_latency = 145ns;
  std::uint64_t overhead = 32;    // bytes of header and footer a cell
  unsigned buffer_cells = 64;     // slots of each link's input queues
  unsigned injection_cells = 64;  // slots of each of port 0's input queues
  unsigned virtual_channels = 2;  // of each link
  // The NI's datapath, in and out of port 0, and the slots of its receive queue, that out[0] sends to. Not
  // parameters of the network: whoever wires it derives them from the NI's configuration.
  sim::BitRate local_rate{19'200'000'000};
  unsigned local_buffer_cells = 32;
  // Of the whole network; nullptr: nothing fails.
  const FailureSchedule* failures = nullptr;

  // Declares every field but those three.
  void declare(sim::ParameterTable& table);
  // Of the links between MPSoCs of a QFDB, and of those between QFDBs, without the coding's share.
  sim::BitRate internal_data_rate() const;
  sim::BitRate external_data_rate() const;
  sim::Time cell_time(sim::BitRate rate, std::uint32_t cell_bytes) const {
    return rate.time_for(cell_bytes + overhead);
  }
};

class Router : public sc_core::sc_module, Switch::Owner {
 public:
  // Optional, because nothing is bound to port 0 of a router without an MPSoC.
  using Out = tlm_utils::simple_initiator_socket_tagged_optional<Router>;
  using In = tlm_utils::passthrough_target_socket_tagged_optional<Router>;

  // The router of context.node, with the ports that the topology gives it.
  Router(sc_core::sc_module_name name, const RouterConfig& config, const sim::Context& context,
         const Topology& topology);

  // By port. Port 0 is the local NI, whose packets need `destination` and `kind` in the PacketHeader. It
  // has one injection queue of injection_cells slots for data and one for everything else; the NI keeps
  // the bound itself (sim::IssueQueue). Packets of one source,
  // destination and queue arrive in order. A destination that does not exist loses the packet, which
  // is counted in network.undeliverable_cells.
  sc_core::sc_vector<Out> out;
  sc_core::sc_vector<In> in;

  unsigned ports() const { return static_cast<unsigned>(outputs_.size()); }
  // For how long the port has sent, up to now.
  sim::Time busy(unsigned port) const;
  // Cells sent through all ports but the local one.
  std::uint64_t cells_on_links() const;

 private:
  // Port 0 has a queue for data and one for the rest, so that a short message of the mailbox need not
  // wait behind the pages of the DMA engine: these are two units of the NI.
  static constexpr unsigned kLocalQueues = 2;

  // A train that came in, until it has left.
  struct Passage : tlm::tlm_extension<Passage>, Switch::Transit {
    tlm::tlm_generic_payload* payload = nullptr;
    unsigned port = 0;
    bool gone = false;              // let go of
    sim::TimeSequence handed_over;  // port 0: arrivals behind the NI's datapath
    std::uint64_t injection = 0;    // port 0: its number in the queue
    std::uint32_t known = 0;        // cells
    std::uint32_t told = 0;         // departures that are announced
    std::uint32_t slots_told = 0;   // of these, to where the train comes from
    // Carries the last cells that are announced; nullptr: no more. At port 0 it may be gone when all have left.
    tlm::tlm_generic_payload* outgoing = nullptr;

    tlm::tlm_extension_base* clone() const override { return new Passage(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Passage&>(other); }
  };
  // A train that goes out, until its slots are free.
  struct Departed : tlm::tlm_extension<Departed> {
    std::uint32_t first = 0;  // its first cell in the train that came in
    sim::TimeSequence freed;

    tlm::tlm_extension_base* clone() const override { return new Departed(*this); }
    void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Departed&>(other); }
  };
  // What the NI sent by one of port 0's queues, when it has left.
  struct Injected {
    sim::TimeSequence sent;
    sim::TimeSequence departures;
    bool gone = false;
  };
  struct Output {
    sim::BitRate rate;
    sim::Time latency;                            // of the link, either way; port 0: none
    sim::Time full_cell;                          // service of a cell of kCellBytes
    std::vector<tlm::tlm_generic_payload*> sent;  // port 0: those whose slots are not all free
    sim::Counter* cells;
    sim::Counter* bytes;
    sim::Counter* busy;
    tlm::tlm_fw_transport_if<>* forward = nullptr;  // what the sockets are bound to
    tlm::tlm_bw_transport_if<>* backward = nullptr;
  };
  void end_of_elaboration() override;
  tlm::tlm_sync_enum on_arrival(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
  tlm::tlm_sync_enum on_slots_freed(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                    sc_core::sc_time& delay);
  void add_port(unsigned port, const Topology& topology);
  sim::Time cell_time(unsigned port, std::uint32_t cell_bytes) const {
    const Output& output = outputs_[port];
    return cell_bytes == sim::kCellBytes ? output.full_cell : config_.cell_time(output.rate, cell_bytes);
  }
  unsigned queue_of(unsigned port, const PacketHeader& header) const;
  void drop(unsigned port, tlm::tlm_generic_payload& payload);
  // At the instant of the head where a path is chosen by load.
  void accept(unsigned port, tlm::tlm_generic_payload& payload);
  void accept_held(std::uint64_t port);
  void rearrive(unsigned port, tlm::tlm_generic_payload& payload, std::uint32_t from);
  void decided(Switch::Transit& transit, std::uint32_t from) override;
  void left(Switch::Transit& transit) override { let_go(static_cast<Passage&>(transit)); }
  // If the train has left altogether. Throws std::logic_error if the NI sent any of its cells without a free slot.
  void let_go(Passage& passage);
  void end(Passage& passage);
  void check_slots(const Passage& passage);
  bool is_single(const Passage& passage) const;
  void pass_on(Passage& passage);
  // Whether more of its cells may leave than are announced.
  static bool is_open(const Passage& passage);
  void announce(Passage& passage, std::uint32_t from);
  void announce_to_node(Passage& passage, std::uint32_t from);
  void recall(Passage& passage, std::uint32_t from);
  void cut(Passage& passage, std::uint32_t from);
  void send(Passage& passage, const tlm::tlm_phase& phase);
  void close(Passage& passage);
  void lose(Passage& passage, std::uint32_t from);
  tlm::tlm_generic_payload& new_payload(Passage& passage, std::uint32_t first);
  void forget(Output& output);
  void count(const Passage& passage, std::int64_t cells);
  void void_slots(unsigned port, tlm::tlm_generic_payload& payload, std::uint32_t kept);
  void tell_slots(Passage& passage, std::uint32_t from);
  // To timelines: when the link is busy with the train, as far as it is announced.
  void tell_timelines(const Passage& passage) const;

  RouterConfig config_;
  sim::Context context_;
  const Topology& topology_;
  sim::Port event_port_;
  std::vector<unsigned> first_queue_;  // by port
  std::vector<Output> outputs_;
  Switch switch_;
  std::array<sim::TrainServer, kLocalQueues> datapaths_;      // the NI's, into port 0's queues
  std::array<sim::Deque<Injected>, kLocalQueues> injected_;   // by them, until those before them have left
  std::array<std::uint64_t, kLocalQueues> first_injected_{};  // number of the first of these
  std::array<sim::TimeSequence, kLocalQueues> slots_reused_;  // when the last injection_cells of them came free
  sim::Counter& undeliverable_;
  sim::Counter& lost_;
  std::unique_ptr<PathChooser> paths_;  // nullptr: every packet takes its fixed path
};

// Binds both directions of a link.
void connect(Router& a, unsigned a_port, Router& b, unsigned b_port);

}  // namespace faultline::network
