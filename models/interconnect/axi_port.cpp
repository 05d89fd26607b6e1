// SPDX-License-Identifier: Apache-2.0
#include "models/interconnect/axi_port.hpp"

#include <algorithm>

namespace faultline::interconnect {

using namespace sim;

void AxiPortConfig::declare(ParameterTable& table) {
  const auto group = table.group("axi");
  table.add_frequency(
      "pl_clock", pl_clock, {{50'000'000}, {400'000'000}},
      {"clock of the programmable logic at the port", "ExaNeSt prototype, recalled as 150 MHz", Standing::assumed});
  table.add_bytes("width", width, {4, 16},
                  {"data bus, bytes a beat", "UG1085: S_AXI_HPC is 32, 64 or 128 bits wide", Standing::published});
  table.add_count("outstanding_reads", outstanding_reads, {1, 16},
                  {"read bursts on their way", "UG1085: AFI accepts 8 commands with 8 IDs, issues at most 16",
                   Standing::published});
  table.add_count("outstanding_writes", outstanding_writes, {1, 16},
                  {"write bursts on their way", "UG1085: AFI accepts 8 commands with 8 IDs, issues at most 16",
                   Standing::published});
  const std::string read = "assumed: share of 300 ns from an idle HPC read to its first beat (plausible 200-450 ns)";
  const std::string write = "assumed: share of 250 ns from the last write beat to its response (plausible 150-400 ns)";
  table.add_time("read_request_latency", read_request_latency, {0ns, 1us},
                 {"read command, port to TBU", read, Standing::assumed});
  table.add_time("read_return_latency", read_return_latency, {0ns, 1us},
                 {"read data, coherent interconnect to the programmable logic", read, Standing::assumed});
  table.add_time("write_request_latency", write_request_latency, {0ns, 1us},
                 {"last write beat, port to TBU", write, Standing::assumed});
  table.add_time("write_response_latency", write_response_latency, {0ns, 1us},
                 {"write response, coherent interconnect to the programmable logic", write, Standing::assumed});
}

AxiPort::AxiPort(sc_core::sc_module_name name, const AxiPortConfig& config, const Context& context)
    : sc_module(name),
      reads("reads"),
      writes("writes"),
      out("out"),
      config_(config),
      bytes_read_(context.statistics.counter("axi.bytes_read", "B", "data of read bursts through the PS port")),
      bytes_written_(context.statistics.counter("axi.bytes_written", "B", "data of write bursts through the PS port")),
      error_responses_(context.statistics.counter("axi.error_responses", "count", "trains answered with an error")),
      out_of_order_(context.statistics.counter("axi.cells_out_of_order", "count",
                                               "cells that waited for some that came later, whose train was "
                                               "announced before")) {
  reads.register_nb_transport_fw(this, &AxiPort::forward_read);
  writes.register_nb_transport_fw(this, &AxiPort::forward_write);
  out.register_nb_transport_bw(this, &AxiPort::backward);
}

TimeSequence AxiPort::stream(Bus& bus, const TimeSequence& arrivals, const tlm::tlm_generic_payload& payload,
                             std::uint32_t cell_bytes) {
  out_of_order_ += arrivals.count_before(bus.last_arrival);
  bus.last_arrival = std::max(bus.last_arrival, arrivals.back());
  const std::uint64_t address = payload.get_address();
  if (cell_bytes % config_.width == 0) return bus.server.serve(arrivals, config_.burst_time(address, cell_bytes));
  // Cells of odd length differ in how many beats they touch.
  TimeSequence done;
  for (std::uint32_t i = 0; i < arrivals.size(); ++i) {
    done.append(
        bus.server.serve(arrivals.at(i), config_.burst_time(address + std::uint64_t{i} * cell_bytes, cell_bytes)));
  }
  return done;
}

tlm::tlm_sync_enum AxiPort::forward_read(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                         sc_core::sc_time& delay) {
  Train& train = train_of(payload);
  bytes_read_ += train.bytes();
  train.times = train.times.shifted(config_.read_request_latency);
  return out->nb_transport_fw(payload, phase, delay);
}

tlm::tlm_sync_enum AxiPort::forward_write(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                          sc_core::sc_time& delay) {
  Train& train = train_of(payload);
  bytes_written_ += train.bytes();
  train.times = stream(write_bus_, train.times, payload, train.cell_bytes).shifted(config_.write_request_latency);
  return out->nb_transport_fw(payload, phase, delay);
}

tlm::tlm_sync_enum AxiPort::backward(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                     sc_core::sc_time& delay) {
  Train& train = train_of(payload);
  if (payload.is_response_error()) ++error_responses_;
  if (payload.is_write()) {
    train.responses = train.responses.shifted(config_.write_response_latency);
    return writes->nb_transport_bw(payload, phase, delay);
  }
  // A failed read has as many beats as any other (AXI: each beat carries the error).
  train.responses = stream(read_bus_, train.responses, payload, train.cell_bytes).shifted(config_.read_return_latency);
  return reads->nb_transport_bw(payload, phase, delay);
}

}  // namespace faultline::interconnect
