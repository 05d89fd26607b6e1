// SPDX-License-Identifier: Apache-2.0
// One MPSoC: its parts, wired, and the kernel that runs on it.
//
//   cores --mmio--> bus --> SMMU registers, DMA engine registers
//   DMA engine --reads, writes--> HPC port --> SMMU (TBU 0) --> DDR <-- walker, cores
//   DMA engine --net_out, net_in--> router --> other nodes
//   SMMU, DMA engine --lines--> interrupt controller --> cores
#pragma once

#include <memory>

#include "models/cpu/cpu.hpp"
#include "models/cpu/interrupt_controller.hpp"
#include "models/drivers/exanest/channels.hpp"
#include "models/drivers/exanest/event_service.hpp"
#include "models/drivers/exanest/fault_service.hpp"
#include "models/drivers/exanest/steps.hpp"
#include "models/drivers/mmu500/smmu_driver.hpp"
#include "models/network/router.hpp"
#include "models/nic/exanest/engine.hpp"
#include "models/os/vm/vm.hpp"
#include "models/platform/machine.hpp"
#include "models/sim/context.hpp"
#include "models/smmu/smmu.hpp"
#include "models/soc/axi_port.hpp"
#include "models/soc/ddr.hpp"
#include "models/soc/mmio_bus.hpp"

namespace faultline::platform {

// Where the cores see the devices: the SMMU as in UG1085's address map, the engine at the start of the
// programmable logic's window on M_AXI_HPM0_FPD.
inline constexpr std::uint64_t kSmmuBase = 0xfd80'0000;
inline constexpr std::uint64_t kEngineBase = 0xa000'0000;

class Node : public sc_core::sc_module {
 public:
  Node(sc_core::sc_module_name name, const Machine& machine, const network::Topology& topology, sim::NodeId id,
       sim::EventLoop& loop, sim::PayloadPool& payloads, sim::Trace& trace, sim::Seed seed);

  sim::NodeId id() const { return context.node; }
  // What the NIC and its software tell of transfers.
  static const sim::TransferLife& life() { return exanest::kTransferLife; }
  // Throws std::logic_error when the books of the kernel, or of the fault service, do not agree. `changing`: the
  // cluster is not at rest.
  void audit(bool changing) {
    vm.audit(changing);
    faults.audit();
  }
  // Brings the statistics up to the present instant: CPU time and cells are counted when a piece of work, or a train,
  // is over.
  void settle() {
    cpu.settle();
    engine.settle();
  }

  sim::Statistics statistics;
  sim::Context context;

  soc::DdrController ddr;
  smmu::Smmu smmu;
  soc::AxiPort hpc;
  exanest::Engine engine;
  std::unique_ptr<network::Router> router;
  soc::MmioBus bus;
  cpu::Cpu cpu;
  cpu::InterruptController interrupts;

  os::Vm vm;
  mmu500::SmmuDriver smmu_driver;
  exanest::FaultLog fault_log;
  exanest::FaultService faults;
  exanest::EventService events;
  exanest::Channels channels;
  unsigned endpoints = 0;  // how many programs have opened the NIC
};

}  // namespace faultline::platform
