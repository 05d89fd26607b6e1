// SPDX-License-Identifier: Apache-2.0
#include "models/nic/exanest/engine.hpp"

#include "models/nic/exanest/axi_writer.hpp"
#include "models/nic/exanest/block_scheduler.hpp"
#include "models/nic/exanest/control_writer.hpp"
#include "models/nic/exanest/counters.hpp"
#include "models/nic/exanest/deferred.hpp"
#include "models/nic/exanest/event_unit.hpp"
#include "models/nic/exanest/fault_fifo.hpp"
#include "models/nic/exanest/injector.hpp"
#include "models/nic/exanest/mailbox.hpp"
#include "models/nic/exanest/receive_unit.hpp"
#include "models/nic/exanest/register_file.hpp"
#include "models/nic/exanest/send_unit.hpp"
#include "models/nic/exanest/timer.hpp"

namespace faultline::exanest {

namespace {

const sim::ProfiledPart kSendUnit{"exanest::SendUnit"};
const sim::ProfiledPart kAxiWriter{"exanest::AxiWriter"};
const sim::ProfiledPart kInjector{"exanest::Injector"};
const sim::ProfiledPart kReceiveUnit{"exanest::ReceiveUnit"};
const sim::ProfiledPart kRegisters{"exanest::RegisterFile"};

// That a train has come out of the router.
struct Seen : tlm::tlm_extension<Seen> {
  std::uint64_t train = 0;
  tlm::tlm_extension_base* clone() const override { return new Seen(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Seen&>(other); }
};

class InitiatorPort : public Forward {
 public:
  explicit InitiatorPort(sim::InitiatorSocket<Engine>& socket) : socket_(socket) {}
  void tell(tlm::tlm_generic_payload& payload, const sim::Cells& cells) override {
    sim::send_on(socket_, payload, cells);
  }

 private:
  sim::InitiatorSocket<Engine>& socket_;
};

// What comes back for an initiator of memory accesses.
void deliver(auto& initiator, tlm::tlm_generic_payload& payload, const sim::Message& message) {
  if (const auto* answers = std::get_if<sim::Answers>(&message)) {
    initiator.answered(payload, *answers);
  } else {
    initiator.parted(payload, std::get<sim::Parted>(message).rest);
  }
}

class TargetPort : public SlotReturn {
 public:
  explicit TargetPort(sim::TargetSocket<Engine>& socket) : socket_(socket) {}
  void tell(tlm::tlm_generic_payload& payload, const sim::Answers& slots) override {
    sim::send_back(socket_, payload, slots);
  }

 private:
  sim::TargetSocket<Engine>& socket_;
};

}  // namespace

// In order of construction: each part knows those above it. Their event ports are taken in this order, too.
struct Engine::Parts {
  Parts(Engine& engine, const sim::Context& c)
      : context(c),
        counters(context.statistics),
        read_port(engine.reads),
        write_port(engine.writes),
        network_port(engine.net_out),
        slot_return(engine.net_in),
        r5("r5", engine.config_.r5, context),
        acknowledgements(context.loop, *this),
        stops(context.loop, *this),
        stop_losses(context.seed, "dma.stop_loss", context.node),
        stop_loss(engine.config_.stop_loss),
        timer(engine.config_.block_timeout, context),
        faults(engine.config_, context, counters),
        injector(engine.config_, network_port, context),
        writer(engine.config_.neighbours.outstanding_writes, write_port, context),
        control_writer(engine.config_, writer, timer, counters, context),
        send(engine.config_, read_port, injector, counters, context),
        events(engine.config_, control_writer, counters, context),
        receive(engine.config_, slot_return, writer, injector, faults, events, counters, context),
        mailbox(engine.config_, injector, control_writer, counters, context),
        scheduler(engine.config_, r5, {send, mailbox, faults, control_writer, timer}, counters, context),
        registers(engine.config_, scheduler, mailbox, faults, events) {
    events.on_interrupt = [&engine](bool high) {
      if (engine.interrupt.size() > 0) engine.interrupt->set_level(engine.config_.interrupt_line, high);
    };
  }

  void acknowledge(const sim::PartKey& key) { scheduler.acknowledge(key); }
  void stop(const sim::PartKey& key);

  sim::Context context;
  Counters counters;
  InitiatorPort read_port;
  InitiatorPort write_port;
  InitiatorPort network_port;
  TargetPort slot_return;
  cpu::R5Core r5;
  Deferred<sim::PartKey, Parts, &Parts::acknowledge> acknowledgements;  // on their way to the scoreboard
  // On their way to the send unit. Before its events and the injector's: nothing goes at the instant of a stop.
  Deferred<sim::PartKey, Parts, &Parts::stop> stops;
  sim::RandomStream stop_losses;  // its name is older than the parameter's, and decides what is drawn
  double stop_loss;
  Timer timer;
  FaultFifo faults;
  Injector injector;
  AxiWriter writer;
  ControlWriter control_writer;
  SendUnit send;
  EventUnit events;
  ReceiveUnit receive;
  Mailbox mailbox;
  BlockScheduler scheduler;
  RegisterFile registers;
};

void Engine::Parts::stop(const sim::PartKey& key) {
  if (stop_losses.chance(stop_loss)) {
    ++counters.stops_lost;
    return;
  }
  const std::uint64_t unsent = send.cut_short(key);
  if (unsent == 0) ++counters.stops_late;
  counters.stopped_bytes += unsent;
}

Engine::Engine(sc_core::sc_module_name name, const EngineConfig& config, const sim::Context& context)
    : sc_module(name),
      reads("reads"),
      writes("writes"),
      net_out("net_out"),
      net_in("net_in"),
      registers("registers"),
      interrupt("interrupt"),
      config_(config),
      parts_(std::make_unique<Parts>(*this, context)) {
  reads.register_nb_transport_bw(this, &Engine::read_response);
  writes.register_nb_transport_bw(this, &Engine::write_response);
  net_out.register_nb_transport_bw(this, &Engine::slots_freed);
  net_in.register_nb_transport_fw(this, &Engine::cells_arrived);
  registers.register_b_transport(this, &Engine::access_register);
}

Engine::Depths Engine::depths() const { return {parts_->scheduler.posted(), parts_->faults.size()}; }

void Engine::observe_faults(std::function<void(const FaultRecord&)> observer) {
  parts_->faults.on_log = std::move(observer);
}

void Engine::watch_events(std::uint32_t pdid, sim::Signal& counted) { parts_->events.watch(pdid, counted); }

std::uint64_t Engine::event_counter(std::uint32_t pdid, unsigned index) const {
  return parts_->events.counter(pdid, index).value_or(0);
}

std::uint64_t Engine::event_counter_mask() const { return EventUnit::mask(config_); }

sim::Time Engine::firmware_busy() const { return parts_->r5.busy(); }

void Engine::settle() {
  parts_->send.settle_resent();
  parts_->writer.settle_losses();
}

Engine::~Engine() = default;

tlm::tlm_sync_enum Engine::read_response(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kSendUnit);
  deliver(parts_->send, payload, message);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Engine::write_response(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kAxiWriter);
  deliver(parts_->writer, payload, message);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Engine::slots_freed(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kInjector);
  parts_->injector.answered(payload, std::get<sim::Answers>(message));
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Engine::cells_arrived(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kReceiveUnit);
  const auto& header = sim::extension<network::PacketHeader>(payload);
  const sim::Train& train = sim::train_of(payload);
  const bool is_new = sim::is_new(sim::extension<Seen>(payload), train);
  if (header.kind == network::PacketKind::data) {
    is_new ? parts_->receive.receive(payload) : parts_->receive.recall(payload);
    return tlm::TLM_ACCEPTED;
  }
  if (!is_new) return tlm::TLM_ACCEPTED;
  // Control cells leave the receive buffer at once, for the scoreboard, the send unit or the mailbox.
  const Time arrival = train.times.front();
  if (header.kind == network::PacketKind::acknowledge) {
    parts_->acknowledgements.at(arrival + config_.clock.cycles(config_.receive_pipeline), header.key);
  } else if (header.kind == network::PacketKind::stop) {
    parts_->stops.at(arrival + config_.clock.cycles(config_.receive_pipeline), header.key);
  } else {
    parts_->mailbox.receive(header, train.cell_bytes, arrival);
  }
  parts_->slot_return.tell(payload, {0, train.times});
  return tlm::TLM_ACCEPTED;
}

void Engine::access_register(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kRegisters);
  parts_->registers.access(payload);
}

}  // namespace faultline::exanest
