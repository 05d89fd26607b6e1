// SPDX-License-Identifier: Apache-2.0
// An input-buffered router with virtual cut-through, and the links that leave it. A cell is a packet
// of its own: payload and a fixed overhead.
//
// Instants at the sockets (train.times) are those of a cell's last byte: at in[0] the NI has the whole
// cell; at any other input the link has delivered it; at the target of out[0] the NI has received it.
// Answers' instants are those from which the sender may use the slot: across a link the credit's
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
// An output serves the inputs that hold a ready cell for it in turn, one cell each. There are two routers, which do
// the same at the same instants: one for trains (train_router.hpp) and a plain one for cells that go each by itself
// (cell_router.hpp), with which the other is compared. They have what stands here in common, and decide apart.
//
// While a link is dead (failures.hpp) its output needs no credits, and cells that would start on it are
// lost, at the link's rate, and counted in network.lost_cells. Their slots in the input queue come free
// as if they had been sent.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <systemc>
#include <vector>

#include "models/network/failures.hpp"
#include "models/network/packet.hpp"
#include "models/network/path_choice.hpp"
#include "models/network/topology.hpp"
#include "models/sim/context.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/transport.hpp"

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

class Router : public sc_core::sc_module {
 public:
  // Optional, because nothing is bound to port 0 of a router without an MPSoC.
  using Out = tlm_utils::simple_initiator_socket_tagged_optional<Router, sim::kBusBits, sim::DataPath>;
  using In = tlm_utils::passthrough_target_socket_tagged_optional<Router, sim::kBusBits, sim::DataPath>;

  // By port. Port 0 is the local NI, whose packets need `destination` and `kind` in the PacketHeader. It
  // has one injection queue of injection_cells slots for data and one for everything else; the NI keeps
  // the bound itself (sim::IssueQueue). Packets of one source,
  // destination and queue arrive in order. A destination that does not exist loses the packet, which
  // is counted in network.undeliverable_cells.
  sc_core::sc_vector<Out> out;
  sc_core::sc_vector<In> in;

  unsigned ports() const { return static_cast<unsigned>(links_.size()); }
  // For how long the port has sent, up to now.
  sim::Time busy(unsigned port) const {
    // What is decided on counts already.
    return sim::Time{static_cast<std::int64_t>(links_[port].busy->value())} - work_left(port);
  }
  // Cells sent through all ports but the local one.
  std::uint64_t cells_on_links() const;

 protected:
  // Port 0 has a queue for data and one for the rest, so that a short message of the mailbox need not
  // wait behind the pages of the DMA engine: these are two units of the NI.
  static constexpr unsigned kLocalQueues = 2;

  // Both directions of a port, in one cache line of the host.
  struct alignas(64) Link {
    sim::Time latency;    // either way; port 0: none
    sim::Time full_cell;  // of a cell of kCellBytes
    unsigned first_queue;
    unsigned queues;
    sim::Counter* cells;
    sim::Counter* bytes;
    sim::Counter* busy;
    tlm::tlm_fw_transport_if<sim::DataPath>* forward = nullptr;  // what the sockets are bound to
    tlm::tlm_bw_transport_if<sim::DataPath>* backward = nullptr;
  };
  // How a packet that comes in crosses the router.
  struct Way {
    unsigned queue;
    unsigned output;
    unsigned channel;    // virtual, behind the output
    sim::Time arriving;  // time of a cell on the input
    sim::Time service;   // on the output
    sim::Time to_ready;  // from a cell's arrival in the queue until its head may leave; may be negative
  };

  Router(sc_core::sc_module_name name, const RouterConfig& config, const sim::Context& context,
         const Topology& topology);

  // A train comes in, of which a reference is kept until release(). At the instant of its head where a path is chosen
  // by load.
  virtual void accept(unsigned port, tlm::tlm_generic_payload& payload, sim::Train& train, PacketHeader& header) = 0;
  // Of a train that was accepted, cells from this one on are elsewhere, or more come, or they do not.
  virtual void change(unsigned port, tlm::tlm_generic_payload& payload, sim::Train& train, std::uint32_t from) = 0;
  // When slots behind the port come free, of a train that has left.
  virtual void slots(unsigned port, tlm::tlm_generic_payload& payload, const sim::Answers& slots) = 0;
  // How long the port has still to send of what is counted as sent.
  virtual sim::Time work_left(unsigned port) const = 0;

  Outages outages(unsigned port) const;
  std::vector<std::uint32_t> slots_behind(unsigned port) const;  // by virtual channel
  // Chooses the packet's path, if this is the place for it.
  Way way_of(unsigned port, const tlm::tlm_generic_payload& payload, const sim::Train& train, PacketHeader& header);
  void count(unsigned port, std::int64_t cells, std::uint32_t cell_bytes, sim::Time service);
  // To timelines: when the link is busy with the train.
  void tell_timelines(unsigned port, const PacketHeader& header, sim::Time begin, sim::Time end,
                      const void* train) const;

  sim::Port event_port_;
  sim::Counter& undeliverable_;
  sim::Counter& lost_;
  RouterConfig config_;
  // What each cell needs, and what routers decide with, come last and lie together.
  sim::Context context_;
  const Topology& topology_;
  std::vector<Link> links_;             // by port
  std::unique_ptr<PathChooser> paths_;  // nullptr: every packet takes its fixed path

 private:
  void end_of_elaboration() override;
  tlm::tlm_sync_enum on_forward(int port, tlm::tlm_generic_payload& payload, sim::Message& message,
                                sc_core::sc_time& delay);
  tlm::tlm_sync_enum on_backward(int port, tlm::tlm_generic_payload& payload, sim::Message& message,
                                 sc_core::sc_time& delay);
  void add_port(unsigned port);
  sim::BitRate rate_of(unsigned port) const;
  sim::Time cell_time(unsigned port, std::uint32_t cell_bytes) const {
    return cell_bytes == sim::kCellBytes ? links_[port].full_cell : config_.cell_time(rate_of(port), cell_bytes);
  }
  void drop(unsigned port, tlm::tlm_generic_payload& payload, bool begins);
  void accept_held(std::uint64_t port);
};

// The router of context.node, with the ports that the topology gives it: the plain one where trains have one cell.
std::unique_ptr<Router> make_router(const std::string& name, const RouterConfig& config, const sim::Context& context,
                                    const Topology& topology);

// Binds both directions of a link.
void connect(Router& a, unsigned a_port, Router& b, unsigned b_port);

}  // namespace faultline::network
