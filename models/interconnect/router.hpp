// SPDX-License-Identifier: Apache-2.0
// An input-buffered router with virtual cut-through, and the links that leave it. A cell is a packet
// of its own: payload and a fixed overhead.
//
// Instants at the sockets (train.times) are those of a cell's last byte: at in[0] the NI has the whole
// cell; at any other input the link has delivered it; at the target of out[0] the NI has received it.
// Instants in train.freed are those from which the sender may use the slot: across a link the credit's
// way back (one link latency) is already in them; at port 0 there is none.
//
// A cell that arrives by link takes router_latency, one that the NI injects takes injection_latency; then
// its head may leave while its tail still comes in, but it never leaves faster than it comes. The NI's
// datapath takes a cell in only when the NI has all of it, one after the other. With s the time of a cell
// on the output,
//   arrival(i) = at port 0: max(handed over(i), arrival(i-1)) + time of the cell at local_rate
//   ready(i) = arrival(i) + router_latency or injection_latency - min(s, time of the cell on the input)
//   leaves(i) = max(ready(i), leaves(i-1), credit(i)) + s
//
// An output serves the inputs that hold a ready cell for it in turn, one cell each. When only one input
// competes, as many cells of its train as have known credits and start before the next known competitor
// are announced at once. When a competitor becomes known later, the cells that have not started when it is
// ready are taken back: so every cell leaves when it would if each were decided on by itself.
//
// While a link is dead (failures.hpp) its output needs no credits, and cells that would start on it are
// lost, at the link's rate, and counted in network.lost_cells. Their slots in the input queue come free
// as if they had been sent.
#pragma once

#include <tlm_utils/passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <deque>
#include <memory>
#include <systemc>
#include <vector>

#include "models/interconnect/failures.hpp"
#include "models/interconnect/packet.hpp"
#include "models/interconnect/path_choice.hpp"
#include "models/interconnect/topology.hpp"
#include "models/sim/context.hpp"
#include "models/sim/credit_pool.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/train_server.hpp"

namespace faultline::interconnect {

using namespace std::chrono_literals;

// What of a line's bit rate carries data.
enum class LineCoding { none, b64_66, b8_10 };

struct RouterConfig {
  sim::BitRate internal_rate{16'000'000'000};
  LineCoding internal_coding = LineCoding::none;
  sim::BitRate external_rate{10'000'000'000};
  sim::Time link_latency = 120ns;
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
  // Of the links between MPSoCs of a QFDB, without the coding's share.
  sim::BitRate internal_data_rate() const;
  sim::Time cell_time(sim::BitRate rate, std::uint32_t cell_bytes) const {
    return rate.time_for(cell_bytes + overhead);
  }
};

class Router : public sc_core::sc_module {
 public:
  // Optional, because nothing is bound to port 0 of a router without an MPSoC.
  using Out = tlm_utils::simple_initiator_socket_tagged_optional<Router>;
  using In = tlm_utils::passthrough_target_socket_tagged_optional<Router>;

  // The router of context.node, with the ports that the topology gives it.
  Router(sc_core::sc_module_name name, const RouterConfig& config, const sim::Context& context,
         const Topology& topology);

  // By port. Port 0 is the local NI, whose packets need `destination` and `kind` in the PacketHeader. It
  // has one injection queue of injection_cells slots for data and one for everything else; an NI that
  // keeps a single CreditPool of injection_cells for both never overfills either. Packets of one source,
  // destination and queue arrive in order. A destination that does not exist loses the packet, which
  // is counted in network.undeliverable_cells.
  sc_core::sc_vector<Out> out;
  sc_core::sc_vector<In> in;

  // Cells sent through all ports but the local one.
  std::uint64_t cells_on_links() const;

 private:
  static constexpr unsigned kNowhere = UINT32_MAX;

  // A train, or what is left of it, in an input queue.
  struct Held {
    tlm::tlm_generic_payload* payload;
    sim::TimeSequence ready;  // of the cells still here: when their heads may leave
    std::uint32_t sent;       // cells that have left
    Route route;
    sim::Time service;  // of one cell at the output
  };
  struct InputQueue {
    unsigned port;
    std::uint32_t cells = 0;     // held
    sim::Time free{0};           // departure of the last cell that was announced
    sim::TrainServer injection;  // port 0: the NI's datapath into this queue
    std::deque<Held> trains;
    unsigned leaves_by = kNowhere;  // the first of them
  };
  // A train at an output's link.
  struct Sent {
    tlm::tlm_generic_payload* payload;
    sim::TimeSequence freed;  // slots that it used, as far as is known
  };
  // The cells that an output announced last.
  struct Run {
    std::size_t queue = 0;
    Held held{};  // ready: of the run's cells
    sim::TimeSequence departures;
    sim::TimeSequence credits;
    bool lost = false;  // on a dead link, without credits
  };
  struct Output {
    sim::BitRate rate;
    sim::Time latency;
    std::vector<sim::CreditPool> credits;  // by virtual channel
    sim::Time free{0};
    sim::Time decision = sim::kNever;  // instant of the pending event
    Outages outages;
    std::size_t served = 0;          // queue that was served last
    std::vector<std::size_t> heads;  // queues whose first train leaves here, in order
    Run run;
    std::deque<Sent> sent;  // those whose slots are not all free; the run's is the last
    sim::Counter* cells;
    sim::Counter* bytes;
    sim::Counter* busy;
  };

  tlm::tlm_sync_enum on_arrival(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                sc_core::sc_time& delay);
  tlm::tlm_sync_enum on_slots_freed(int port, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                    sc_core::sc_time& delay);
  void start_of_simulation() override;
  void add_port(unsigned port, const Topology& topology);
  std::size_t queue_of(unsigned port, const PacketHeader& header) const;
  void drop(unsigned port, tlm::tlm_generic_payload& payload);
  // At the instant of the head where a path is chosen by load.
  void accept(unsigned port, tlm::tlm_generic_payload& payload);
  void accept_held(std::uint64_t port);
  void recall(unsigned port, tlm::tlm_generic_payload& payload);
  Sent& sent(Output& output, const tlm::tlm_generic_payload& payload);
  void forget(Output& output);
  // To be called when the queue's first train may be another one.
  void head_changed(std::size_t queue);
  // The instant from which the queue's first cell could start at the output that it leaves by; kNever while unknown.
  sim::Time eligible_at(const InputQueue& queue) const;
  void schedule(unsigned output);
  void plan_decision(unsigned output);
  void wake(std::uint64_t output) { schedule(static_cast<unsigned>(output)); }
  void decide(std::uint64_t output);
  // Sends up to `most` cells of the queue's first train that start before `until`, and at least one.
  void commit(std::size_t queue, unsigned output, std::uint32_t most, sim::Time until);
  // Takes back what has been announced at this output but for the run's first `kept` cells.
  void cut(unsigned output, std::uint32_t kept);
  // Takes back what starts when a competitor is ready.
  void yield_to_competitors(unsigned output);
  void send(const Run& run, unsigned output);
  // The last cells of what was sent last.
  void recall_sent(std::uint32_t gone, unsigned output);
  void count(Output& output, const Run& run, std::int64_t cells);
  sim::Time link_latency(unsigned port) const { return port == kLocalPort ? sim::Time{0} : config_.link_latency; }

  RouterConfig config_;
  sim::Context context_;
  const Topology& topology_;
  sim::Port event_port_;
  std::vector<InputQueue> queues_;
  std::vector<std::size_t> first_queue_;  // by port
  std::vector<Output> outputs_;
  tlm::tlm_generic_payload* recalling_ = nullptr;
  sim::Counter& undeliverable_;
  sim::Counter& lost_;
  std::unique_ptr<PathChooser> paths_;  // nullptr: every packet takes its fixed path
};

// Binds both directions of a link.
void connect(Router& a, unsigned a_port, Router& b, unsigned b_port);

}  // namespace faultline::interconnect
