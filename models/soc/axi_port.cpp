// SPDX-License-Identifier: Apache-2.0
#include "models/soc/axi_port.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/sim/answers.hpp"

namespace faultline::soc {

using namespace sim;

namespace {

const ProfiledPart kPort{"soc::AxiPort"};

// What the port remembers of a train that passes through.
struct Passage : tlm::tlm_extension<Passage> {
  std::uint64_t train = 0;
  std::uint32_t cells = 0;
  AnswerList<> answers;  // as they came

  tlm::tlm_extension_base* clone() const override { return new Passage(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Passage&>(other); }
};

// Whether the train is new to the port.
bool begins(tlm::tlm_generic_payload& payload) {
  Passage& passage = extension<Passage>(payload);
  const Train& train = train_of(payload);
  if (!is_new(passage, train)) return false;
  passage.cells = train.cells();
  passage.answers = {};
  return true;
}

// Cells that do not come after all.
std::uint32_t cut(tlm::tlm_generic_payload& payload) {
  const std::uint32_t kept = train_of(payload).cells();
  return std::exchange(extension<Passage>(payload).cells, kept) - kept;
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

tlm::tlm_sync_enum AxiPort::forward_read(tlm::tlm_generic_payload& payload, Message& message, sc_core::sc_time& delay) {
  const ProfileScope turn(context_.loop.profile(), kPort);
  Train& train = train_of(payload);
  if (begins(payload)) {
    bytes_read_ += train.bytes();
    train.times = train.times.shifted(config_.read_request_latency);
  } else {
    bytes_read_ -= std::uint64_t{cut(payload)} * train.cell_bytes;
    read_bus_.recall(context_.now(), &payload, void_answers(payload, train.cells()));
    changes_.now();
  }
  return out->nb_transport_fw(payload, message, delay);
}

tlm::tlm_sync_enum AxiPort::forward_write(tlm::tlm_generic_payload& payload, Message& message,
                                          sc_core::sc_time& delay) {
  const ProfileScope turn(context_.loop.profile(), kPort);
  Train& train = train_of(payload);
  if (begins(payload)) {
    bytes_written_ += train.bytes();
    train.times = write_bus_.serve(context_.now(), train.times, burst_time(payload), 0, &payload)
                      .shifted(config_.write_request_latency);
  } else {
    // The cells behind them on the bus are later trains', which their initiator has recalled before.
    const std::uint32_t gone = cut(payload);
    bytes_written_ -= std::uint64_t{gone} * train.cell_bytes;
    void_answers(payload, train.cells());
    write_bus_.recall(context_.now(), &payload, gone);
  }
  return out->nb_transport_fw(payload, message, delay);
}

tlm::tlm_sync_enum AxiPort::backward(tlm::tlm_generic_payload& payload, Message& message, sc_core::sc_time& delay) {
  const ProfileScope turn(context_.loop.profile(), kPort);
  if (const Answers* answers = std::get_if<Answers>(&message)) {
    answer(payload, *answers);
    return tlm::TLM_ACCEPTED;
  }
  part(payload, std::get<Parted>(message).rest);
  return payload.is_write() ? writes->nb_transport_bw(payload, message, delay)
                            : reads->nb_transport_bw(payload, message, delay);
}

void AxiPort::answer(tlm::tlm_generic_payload& payload, const Answers& answers) {
  const std::uint32_t gone = void_answers(payload, answers.from);
  const std::uint32_t cells = answers.instants.size();
  if (cells > 0) {
    extension<Passage>(payload).answers.add(answers);
    if (answers.status != tlm::TLM_OK_RESPONSE) error_responses_ += cells;
  }
  if (payload.is_write()) {
    const TimeSequence back = answers.instants.shifted(config_.write_response_latency);
    return send_back(writes, payload, Answers{answers.from, back, answers.status});
  }
  read_bus_.recall(context_.now(), &payload, gone);
  // A failed read has as many beats as any other (AXI: each beat carries the error).
  TimeSequence back;
  if (cells > 0) {
    back = read_bus_.serve(context_.now(), answers.instants, burst_time(payload), 0, &payload)
               .shifted(config_.read_return_latency);
  }
  send_back(reads, payload, Answers{answers.from, back, answers.status, answers.data});
  tell_changed();
}

void AxiPort::part(tlm::tlm_generic_payload& payload, tlm::tlm_generic_payload& rest) {
  const std::uint32_t cells = train_of(payload).cells();
  extension<Passage>(payload).cells = cells;
  begins(rest);
  if (payload.is_write()) write_bus_.part(context_.now(), &payload, cells, &rest);
}

// Only the first `kept` cells of the train's answer still stand. Returns how many more there were.
std::uint32_t AxiPort::void_answers(tlm::tlm_generic_payload& payload, std::uint32_t kept) {
  Passage& passage = extension<Passage>(payload);
  std::uint32_t voided = 0;
  while (const auto gone = passage.answers.drop_last(kept)) {
    voided += gone->instants.size();
    if (!gone->ok()) error_responses_ -= gone->instants.size();
  }
  return voided;
}

void AxiPort::tell_changed() {
  read_bus_.tell_changed([this](void* owner, const TimeSequence& moved) {
    auto& payload = *static_cast<tlm::tlm_generic_payload*>(owner);
    const auto& answers = extension<Passage>(payload).answers;
    const std::uint32_t from = answers.cells() - moved.size();
    for (const auto& part : answers) {
      if (part.end() <= from) continue;
      const std::uint32_t first = std::max(part.first, from);
      const TimeSequence back = moved.slice(first - from, part.end() - first).shifted(config_.read_return_latency);
      send_back(reads, payload, Answers{first, back, part.status});
    }
  });
}

}  // namespace faultline::soc
