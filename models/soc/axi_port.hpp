// SPDX-License-Identifier: Apache-2.0
// An S_AXI_HPC port of the processing system with its AFI: the way from the programmable logic through
// the SMMU to memory.
#pragma once

#include <cstdint>
#include <systemc>

#include "models/sim/context.hpp"
#include "models/sim/parameters.hpp"
#include "models/sim/train_server.hpp"
#include "models/sim/transport.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::soc {

using namespace std::chrono_literals;

struct AxiPortConfig {
  sim::Frequency pl_clock{150'000'000};
  std::uint64_t width = 16;  // bytes a beat
  // Bursts that the initiator may have on their way. The initiator keeps the bound itself (sim::IssueQueue), for
  // each direction: a slot is free again at the burst's response.
  unsigned outstanding_reads = 8;
  unsigned outstanding_writes = 8;
  // An idle read that hits the TLB brings its first beat after about 300 ns and a write is answered
  // 250 ns after its last beat, of which the memory takes 100 ns and the TBU 4 ns.
  sim::Time read_request_latency = 100ns;
  sim::Time read_return_latency = 96ns;
  sim::Time write_request_latency = 75ns;
  sim::Time write_response_latency = 71ns;

  void declare(sim::ParameterTable& table);
  // Time on the data bus of one burst: AXI transfers whole beats of aligned bytes.
  sim::Time burst_time(std::uint64_t address, std::uint32_t bytes) const {
    return pl_clock.cycles(
        sim::divide_up(static_cast<std::int64_t>(address % width + bytes), static_cast<std::int64_t>(width)));
  }
};

// Payloads pass through: the port replaces train.times (at `out`: when the request, for a write with
// its last beat, reaches the TBU) and the answers' instants (at `reads` and `writes`: when the last data beat
// or the write response is back). Status, content and addresses are left as they are. Each data bus serves cells in
// the order in which they come. Of cells of fewer than 256 B each is a train of its own.
class AxiPort : public sc_core::sc_module {
 public:
  AxiPort(sc_core::sc_module_name name, const AxiPortConfig& config, const sim::Context& context);

  sim::TargetSocket<AxiPort> reads;   // one initiator, e.g. the send unit
  sim::TargetSocket<AxiPort> writes;  // one initiator, e.g. the receive unit
  sim::InitiatorSocket<AxiPort> out;  // to the TBU

  const AxiPortConfig& config() const { return config_; }
  // For how long each data bus has moved beats, up to now.
  sim::Time reads_busy() const { return read_bus_.busy(context_.now()); }
  sim::Time writes_busy() const { return write_bus_.busy(context_.now()); }

 private:
  tlm::tlm_sync_enum forward_read(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay);
  tlm::tlm_sync_enum forward_write(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay);
  tlm::tlm_sync_enum backward(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay);
  void answer(tlm::tlm_generic_payload& payload, const sim::Answers& answers);
  void part(tlm::tlm_generic_payload& payload, tlm::tlm_generic_payload& rest);
  std::uint32_t void_answers(tlm::tlm_generic_payload& payload, std::uint32_t kept);
  // Reads whose data the bus now moves at other instants than was announced.
  void tell_changed();
  sim::Time burst_time(const tlm::tlm_generic_payload& payload) const;

  AxiPortConfig config_;
  const sim::Context& context_;
  sim::TrainServer read_bus_;
  sim::TrainServer write_bus_;
  sim::Wakeup<AxiPort, &AxiPort::tell_changed> changes_;
  sim::Counter& bytes_read_;
  sim::Counter& bytes_written_;
  sim::Counter& error_responses_;
};

}  // namespace faultline::soc
