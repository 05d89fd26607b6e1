// SPDX-License-Identifier: Apache-2.0
#include "models/soc/axi_port.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/sim/recycling.hpp"
#include "models/sim/transport.hpp"

namespace faultline::soc {

using namespace sim;

namespace {

const ProfiledPart kPort{"soc::AxiPort"};

// What the port remembers of a train that passes through.
struct Passage : tlm::tlm_extension<Passage> {
  struct Answer {
    std::uint32_t cells;
    bool error;
  };
  std::uint32_t cells = 0;
  std::uint32_t answered = 0;
  sim::SmallVector<Answer, 2> answers;  // as they were announced

  tlm::tlm_extension_base* clone() const override { return new Passage(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Passage&>(other); }
};

void remember(tlm::tlm_generic_payload& payload) {
  Passage& passage = extension<Passage>(payload);
  passage.cells = train_of(payload).cells();
  passage.answered = 0;
  passage.answers.clear();
}

// Bytes that do not come after all.
std::uint64_t cut(tlm::tlm_generic_payload& payload) {
  Passage& passage = extension<Passage>(payload);
  const Train& train = train_of(payload);
  const std::uint32_t gone = passage.cells - train.cells();
  passage.cells = train.cells();
  return std::uint64_t{gone} * train.cell_bytes;
}

}  // namespace

void AxiPortConfig::declare(ParameterTable& table) {
  const auto group = table.group("axi");
  table.add_frequency("pl_clock", pl_clock, kAnyClock,
                      {"clock of the programmable logic at the port",
                       "ExaNeSt prototype, recalled as 150 MHz",
                       Standing::assumed,
                       {"150 MHz", "200 MHz"}});
  table.add_bytes(
      "width", width, {1, 128},
      {"data bus, bytes a beat", "UG1085: S_AXI_HPC is 32, 64 or 128 bits wide", Standing::published, {"4 B", "16 B"}});
  table.add_count("outstanding_reads", outstanding_reads, {1, 65536},
                  {"read bursts on their way",
                   "UG1085: AFI accepts 8 commands with 8 IDs, issues at most 16",
                   Standing::published,
                   {"1", "16"}});
  table.add_count("outstanding_writes", outstanding_writes, {1, 65536},
                  {"write bursts on their way",
                   "UG1085: AFI accepts 8 commands with 8 IDs, issues at most 16",
                   Standing::published,
                   {"1", "16"}});
  const std::string read = "assumed: share of 300 ns from an idle HPC read to its first beat (plausible 200-450 ns)";
  const std::string write = "assumed: share of 250 ns from the last write beat to its response (plausible 150-400 ns)";
  table.add_time("read_request_latency", read_request_latency, kAnyTime,
                 {"read command, port to TBU", read, Standing::assumed, {"67 ns", "150 ns"}});
  table.add_time(
      "read_return_latency", read_return_latency, kAnyTime,
      {"read data, coherent interconnect to the programmable logic", read, Standing::assumed, {"64 ns", "144 ns"}});
  table.add_time("write_request_latency", write_request_latency, kAnyTime,
                 {"last write beat, port to TBU", write, Standing::assumed, {"45 ns", "120 ns"}});
  table.add_time("write_response_latency", write_response_latency, kAnyTime,
                 {"write response, coherent interconnect to the programmable logic",
                  write,
                  Standing::assumed,
                  {"43 ns", "114 ns"}});
}

AxiPort::AxiPort(sc_core::sc_module_name name, const AxiPortConfig& config, const Context& context)
    : sc_module(name),
      reads("reads"),
      writes("writes"),
      out("out"),
      config_(config),
      context_(context),
      changes_(context.loop, *this),
      bytes_read_(context.statistics.counter("axi.bytes_read", "B", "data of read bursts through the PS port")),
      bytes_written_(context.statistics.counter("axi.bytes_written", "B", "data of write bursts through the PS port")),
      error_responses_(context.statistics.counter("axi.error_responses", "count", "cells answered with an error")) {
  reads.register_nb_transport_fw(this, &AxiPort::forward_read);
  writes.register_nb_transport_fw(this, &AxiPort::forward_write);
  out.register_nb_transport_bw(this, &AxiPort::backward);
}

Time AxiPort::burst_time(const tlm::tlm_generic_payload& payload) const {
  const Train& train = *payload.get_extension<Train>();
  if (train.cells() > 1 && train.cell_bytes % config_.width != 0) {
    throw std::logic_error("cells of a train at the AXI port must be whole beats");
  }
  return config_.burst_time(payload.get_address(), train.cell_bytes);
}

tlm::tlm_sync_enum AxiPort::forward_read(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                         sc_core::sc_time& delay) {
  const ProfileScope turn(context_.loop.profile(), kPort);
  Train& train = train_of(payload);
  if (phase == tlm::BEGIN_REQ) {
    remember(payload);
    bytes_read_ += train.bytes();
    train.times = train.times.shifted(config_.read_request_latency);
  } else {
    bytes_read_ -= cut(payload);
    recall_data(payload, train.cells());
    changes_.now();
  }
  return out->nb_transport_fw(payload, phase, delay);
}

tlm::tlm_sync_enum AxiPort::forward_write(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                          sc_core::sc_time& delay) {
  const ProfileScope turn(context_.loop.profile(), kPort);
  Train& train = train_of(payload);
  if (phase == tlm::BEGIN_REQ) {
    remember(payload);
    bytes_written_ += train.bytes();
    train.times = write_bus_.serve(context_.now(), train.times, burst_time(payload), 0, &payload)
                      .shifted(config_.write_request_latency);
  } else {
    // The cells behind them on the bus are later trains', which their initiator has recalled before.
    const std::uint64_t gone = cut(payload);
    bytes_written_ -= gone;
    void_answers(payload, train.cells());
    write_bus_.recall(context_.now(), &payload, static_cast<std::uint32_t>(gone / train.cell_bytes));
  }
  return out->nb_transport_fw(payload, phase, delay);
}

tlm::tlm_sync_enum AxiPort::backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
  const ProfileScope turn(context_.loop.profile(), kPort);
  Train& train = train_of(payload);
  Passage& passage = extension<Passage>(payload);
  if (phase == TRAIN_PARTED) {
    part(payload);
    return payload.is_write() ? writes->nb_transport_bw(payload, phase, delay)
                              : reads->nb_transport_bw(payload, phase, delay);
  }
  const bool begins = phase == tlm::BEGIN_RESP;
  if (begins) {
    const std::uint32_t cells = train.responses.size();
    passage.answered += cells;
    passage.answers.push_back({cells, payload.is_response_error()});
    if (payload.is_response_error()) error_responses_ += cells;
  }
  if (payload.is_write()) {
    if (begins) {
      train.responses = train.responses.shifted(config_.write_response_latency);
    } else {
      void_answers(payload, passage.answered - train.recalled);
    }
    return writes->nb_transport_bw(payload, phase, delay);
  }
  if (begins) {
    // A failed read has as many beats as any other (AXI: each beat carries the error).
    train.responses = read_bus_.serve(context_.now(), train.responses, burst_time(payload), 0, &payload)
                          .shifted(config_.read_return_latency);
    reads->nb_transport_bw(payload, phase, delay);
  } else {
    reads->nb_transport_bw(payload, phase, delay);
    recall_data(payload, passage.answered - train.recalled);
  }
  tell_changed();
  return tlm::TLM_ACCEPTED;
}

void AxiPort::part(tlm::tlm_generic_payload& payload) {
  const Train& train = train_of(payload);
  extension<Passage>(payload).cells = train.cells();
  remember(*train.rest);
  if (payload.is_write()) write_bus_.part(context_.now(), &payload, train.cells(), train.rest);
}

// Only the first `kept` cells of the train's answer still stand. Returns how many more there were.
std::uint32_t AxiPort::void_answers(tlm::tlm_generic_payload& payload, std::uint32_t kept) {
  Passage& passage = extension<Passage>(payload);
  const std::uint32_t voided = passage.answered - std::min(kept, passage.answered);
  for (std::uint32_t left = voided; left > 0;) {
    Passage::Answer& last = passage.answers.back();
    const std::uint32_t gone = std::min(left, last.cells);
    if (last.error) error_responses_ -= gone;
    left -= gone;
    last.cells -= gone;
    if (last.cells == 0) passage.answers.pop_back();
  }
  passage.answered -= voided;
  return voided;
}

void AxiPort::recall_data(tlm::tlm_generic_payload& payload, std::uint32_t kept) {
  const std::uint32_t voided = void_answers(payload, kept);
  if (voided > 0) read_bus_.recall(context_.now(), &payload, voided);
}

void AxiPort::tell_changed() {
  read_bus_.tell_changed([this](void* owner, const TimeSequence& moved) {
    auto& payload = *static_cast<tlm::tlm_generic_payload*>(owner);
    Train& train = train_of(payload);
    train.recalled = moved.size();
    send_back(reads, payload, RESPONSES_RECALLED);
    train.responses = moved.shifted(config_.read_return_latency);
    send_back(reads, payload, tlm::BEGIN_RESP);
  });
}

}  // namespace faultline::soc
