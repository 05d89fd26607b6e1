// SPDX-License-Identifier: Apache-2.0
// The data path of a NIC: send unit, receive unit, mailbox, and the units that tell processes of what has come. A NIC
// is such a path and a scheduler of blocks (BlockScheduler), and registers of its own (OwnRegisters) if it has any.
// Software sees registers.hpp through `registers`; memory is reached through the two AXI sockets, the other NICs
// through the two network sockets.
#pragma once

#include <tlm_utils/simple_target_socket.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <systemc>
#include <tlm>

#include "models/cpu/interrupt_sink.hpp"
#include "models/nic/path/block_scheduler.hpp"
#include "models/nic/path/config.hpp"
#include "models/nic/path/event_source.hpp"
#include "models/nic/path/registers.hpp"
#include "models/sim/context.hpp"
#include "models/sim/transport.hpp"

namespace faultline::nic {

class OwnRegisters;

class Path : public sc_core::sc_module, public EventSource {
 public:
  sim::InitiatorSocket<Path> reads;                 // AXI reads, to AxiPort.reads
  sim::InitiatorSocket<Path> writes;                // AXI writes, to AxiPort.writes
  sim::InitiatorSocket<Path> net_out;               // cells into the router's port 0
  sim::TargetSocket<Path> net_in;                   // cells out of the router's port 0
  tlm_utils::simple_target_socket<Path> registers;  // MMIO: b_transport of aligned 8-byte words
  // PathConfig::interrupt_line, level: high while a process that waits for a notice is to be woken
  // (PathConfig::interrupts_on_fault: or a fault record waits).
  sc_core::sc_port<cpu::InterruptSink, 1, sc_core::SC_ZERO_OR_MORE_BOUND> interrupt;

  ~Path() override;

  // What waits here now.
  struct Depths {
    std::size_t transfers;      // posted, and not notified
    std::size_t fault_records;  // in the fault FIFO
  };
  Depths depths() const;
  // Called when a block has met an error response, before its record is in the FIFO, or lost.
  void observe_faults(std::function<void(const FaultRecord&)> observer);
  void watch_events(std::uint32_t pdid, sim::Signal& counted) override;
  std::uint64_t event_counter(std::uint32_t pdid, unsigned index) const override;
  std::uint64_t event_counter_mask() const override;
  // Counts the cells that were sent again, dropped or refused by now; else a train counts with its last cell.
  void settle();

  // Bytes of the register window: one page for each channel and the privileged page.
  std::uint64_t register_bytes() const { return reg::kChannelStride * (config_.channels + std::uint64_t{1}); }

 protected:
  // `config` outlives the path. Whoever derives constructs a scheduler of the hardware, and connects it.
  Path(sc_core::sc_module_name name, const PathConfig& config, const sim::Context& context);
  BlockScheduler::Hardware hardware();
  void connect(BlockScheduler& scheduler, OwnRegisters* registers = nullptr);

 private:
  struct Parts;

  tlm::tlm_sync_enum read_response(tlm::tlm_generic_payload&, sim::Message&, sc_core::sc_time&);
  tlm::tlm_sync_enum write_response(tlm::tlm_generic_payload&, sim::Message&, sc_core::sc_time&);
  tlm::tlm_sync_enum slots_freed(tlm::tlm_generic_payload&, sim::Message&, sc_core::sc_time&);
  tlm::tlm_sync_enum cells_arrived(tlm::tlm_generic_payload&, sim::Message&, sc_core::sc_time&);
  void access_register(tlm::tlm_generic_payload&, sc_core::sc_time&);

  const PathConfig& config_;
  std::unique_ptr<Parts> parts_;
};

}  // namespace faultline::nic
