// SPDX-License-Identifier: Apache-2.0
#include "models/nic/path/path.hpp"

#include <utility>

#include "models/nic/path/axi_writer.hpp"
#include "models/nic/path/block_scheduler.hpp"
#include "models/nic/path/control_writer.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/deferred.hpp"
#include "models/nic/path/event_unit.hpp"
#include "models/nic/path/fault_fifo.hpp"
#include "models/nic/path/injector.hpp"
#include "models/nic/path/mailbox.hpp"
#include "models/nic/path/receive_unit.hpp"
#include "models/nic/path/register_file.hpp"
#include "models/nic/path/send_unit.hpp"
#include "models/nic/path/timer.hpp"

namespace faultline::nic {

namespace {

const sim::ProfiledPart kSendUnit{"nic::SendUnit"};
const sim::ProfiledPart kAxiWriter{"nic::AxiWriter"};
const sim::ProfiledPart kInjector{"nic::Injector"};
const sim::ProfiledPart kReceiveUnit{"nic::ReceiveUnit"};
const sim::ProfiledPart kRegisters{"nic::RegisterFile"};

// That a train has come out of the router.
struct Seen : tlm::tlm_extension<Seen> {
  std::uint64_t train = 0;
  tlm::tlm_extension_base* clone() const override { return new Seen(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Seen&>(other); }
};

class InitiatorPort : public Forward {
 public:
  explicit InitiatorPort(sim::InitiatorSocket<Path>& socket) : socket_(socket) {}
  void tell(tlm::tlm_generic_payload& payload, const sim::Cells& cells) override {
    sim::send_on(socket_, payload, cells);
  }

 private:
  sim::InitiatorSocket<Path>& socket_;
};

// What comes back for an initiator of memory accesses.
void deliver(auto& initiator, tlm::tlm_generic_payload& payload, const sim::Message& message) {
  if (const auto* answers = std::get_if<sim::Answers>(&message)) {
    initiator.answered(payload, *answers);
  } else {
    initiator.parted(payload, std::get<sim::Parted>(message).rest);
  }
}

// What the target of a block has said against it.
struct Stop {
  sim::PartKey key;
  std::uint64_t word = 0;
};

class TargetPort : public SlotReturn {
 public:
  explicit TargetPort(sim::TargetSocket<Path>& socket) : socket_(socket) {}
  void tell(tlm::tlm_generic_payload& payload, const sim::Answers& slots) override {
    sim::send_back(socket_, payload, slots);
  }

 private:
  sim::TargetSocket<Path>& socket_;
};

}  // namespace

// In order of construction: each part knows those above it. Their event ports are taken in this order, too.
struct Path::Parts {
  Parts(Path& path, const sim::Context& c)
      : config(path.config_),
        context(c),
        counters(context.statistics),
        read_port(path.reads),
        write_port(path.writes),
        network_port(path.net_out),
        slot_return(path.net_in),
        acknowledgements(context.loop, *this),
        stops(context.loop, *this),
        stop_losses(context.seed, "dma.stop_loss", context.node),
        timer(config.block_timeout, context),
        faults(config, context, counters),
        injector(config, network_port, context),
        writer(config.neighbours.outstanding_writes, write_port, context),
        control_writer(config, writer, timer, counters, context),
        send(config, read_port, injector, counters, context),
        events(config, control_writer, counters, context),
        receive(config, slot_return, writer, injector, faults, events, counters, context),
        mailbox(config, injector, control_writer, counters, context) {
    const auto update = [this, &path] {
      const bool high = events.is_high() || (config.interrupts_on_fault && faults.size() > 0);
      if (std::exchange(is_high, high) != high && path.interrupt.size() > 0) {
        path.interrupt->set_level(config.interrupt_line, high);
      }
    };
    events.on_interrupt = update;
    if (config.interrupts_on_fault) faults.on_change = update;
  }

  void acknowledge(const sim::PartKey& key) { scheduler->acknowledge(key); }
  void stop(const Stop& stop);

  const PathConfig& config;
  sim::Context context;
  Counters counters;
  InitiatorPort read_port;
  InitiatorPort write_port;
  InitiatorPort network_port;
  TargetPort slot_return;
  Deferred<sim::PartKey, Parts, &Parts::acknowledge> acknowledgements;  // on their way to the scoreboard
  // On their way to the send unit. Before its events and the injector's: nothing goes at the instant of a stop.
  Deferred<Stop, Parts, &Parts::stop> stops;
  sim::RandomStream stop_losses;  // its name is older than the parameter's, and decides what is drawn
  Timer timer;
  FaultFifo faults;
  Injector injector;
  AxiWriter writer;
  ControlWriter control_writer;
  SendUnit send;
  EventUnit events;
  ReceiveUnit receive;
  Mailbox mailbox;
  BlockScheduler* scheduler = nullptr;
  std::unique_ptr<RegisterFile> registers;
  bool is_high = false;  // the interrupt
};

void Path::Parts::stop(const Stop& stop) {
  if (stop_losses.chance(config.stop_loss)) {
    ++counters.stops_lost;
    return;
  }
  const std::uint64_t unsent = send.cut_short(stop.key);
  if (unsent == 0) ++counters.stops_late;
  counters.stopped_bytes += unsent;
  scheduler->refused(stop.key, stop.word);
}

Path::Path(sc_core::sc_module_name name, const PathConfig& config, const sim::Context& context)
    : sc_module(name),
      reads("reads"),
      writes("writes"),
      net_out("net_out"),
      net_in("net_in"),
      registers("registers"),
      interrupt("interrupt"),
      config_(config),
      parts_(std::make_unique<Parts>(*this, context)) {
  reads.register_nb_transport_bw(this, &Path::read_response);
  writes.register_nb_transport_bw(this, &Path::write_response);
  net_out.register_nb_transport_bw(this, &Path::slots_freed);
  net_in.register_nb_transport_fw(this, &Path::cells_arrived);
  registers.register_b_transport(this, &Path::access_register);
}

BlockScheduler::Hardware Path::hardware() {
  Parts& p = *parts_;
  return {config_, p.send, p.receive, p.mailbox, p.faults, p.control_writer, p.timer, p.counters, p.context};
}

void Path::connect(BlockScheduler& scheduler, OwnRegisters* own) {
  Parts& p = *parts_;
  p.scheduler = &scheduler;
  p.registers = std::make_unique<RegisterFile>(config_, scheduler, p.mailbox, p.faults, p.events, own);
}

Path::Depths Path::depths() const { return {parts_->scheduler->posted(), parts_->faults.size()}; }

void Path::observe_faults(std::function<void(const FaultRecord&)> observer) {
  parts_->faults.on_log = std::move(observer);
}

void Path::watch_events(std::uint32_t pdid, sim::Signal& counted) { parts_->events.watch(pdid, counted); }

std::uint64_t Path::event_counter(std::uint32_t pdid, unsigned index) const {
  return parts_->events.counter(pdid, index).value_or(0);
}

std::uint64_t Path::event_counter_mask() const { return EventUnit::mask(config_); }

void Path::settle() {
  parts_->send.settle_resent();
  parts_->writer.settle_losses();
}

Path::~Path() = default;

tlm::tlm_sync_enum Path::read_response(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kSendUnit);
  deliver(parts_->send, payload, message);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Path::write_response(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kAxiWriter);
  deliver(parts_->writer, payload, message);
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Path::slots_freed(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kInjector);
  parts_->injector.answered(payload, std::get<sim::Answers>(message));
  return tlm::TLM_ACCEPTED;
}

tlm::tlm_sync_enum Path::cells_arrived(tlm::tlm_generic_payload& payload, sim::Message&, sc_core::sc_time&) {
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
    parts_->stops.at(arrival + config_.clock.cycles(config_.receive_pipeline), {header.key, header.words[0]});
  } else {
    parts_->mailbox.receive(header, train.cell_bytes, arrival);
  }
  parts_->slot_return.tell(payload, {0, train.times});
  return tlm::TLM_ACCEPTED;
}

void Path::access_register(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
  const sim::ProfileScope turn(parts_->context.loop.profile(), kRegisters);
  parts_->registers->access(payload);
}

}  // namespace faultline::nic
