// SPDX-License-Identifier: Apache-2.0
// One MPSoC: its parts, wired, and the kernel that runs on it.
//
//   cores --mmio--> bus --> SMMU registers, NIC registers
//   NIC --reads, writes--> HPC port --> SMMU (TBU 0) --> DDR <-- walker, cores
//   NIC --net_out, net_in--> router --> other nodes
//   SMMU, NIC --lines--> interrupt controller --> cores
//
// A NIC that has an MMU of its own (NicKind::uses_smmu) is not behind the SMMU: its port leads to the DDR.
#pragma once

#include <memory>

#include "models/cpu/cpu.hpp"
#include "models/cpu/interrupt_controller.hpp"
#include "models/drivers/mmu500/smmu_driver.hpp"
#include "models/network/router.hpp"
#include "models/os/vm/vm.hpp"
#include "models/platform/leaks.hpp"
#include "models/platform/machine.hpp"
#include "models/sim/context.hpp"
#include "models/smmu/smmu.hpp"
#include "models/soc/axi_port.hpp"
#include "models/soc/ddr.hpp"
#include "models/soc/mmio_bus.hpp"

namespace faultline::platform {

// Where the cores see the SMMU, as in UG1085's address map.
inline constexpr std::uint64_t kSmmuBase = 0xfd80'0000;

class Node : public sc_core::sc_module {
 public:
  Node(sc_core::sc_module_name name, const Machine& machine, const network::Topology& topology, sim::NodeId id,
       sim::EventLoop& loop, sim::PayloadPool& payloads, sim::Trace& trace, sim::Seed seed);
  ~Node() override { nic->stop(); }

  sim::NodeId id() const { return context.node; }
  // Throws std::logic_error when the books of the kernel, or of the NIC's software, do not agree. `changing`: the
  // cluster is not at rest.
  void audit(bool changing) {
    vm.audit(changing);
    nic->audit();
  }
  // Brings the statistics up to the present instant: CPU time and cells are counted when a piece of work, or a train,
  // is over.
  void settle() {
    cpu.settle();
    nic->settle();
  }

  sim::Statistics statistics;
  sim::Context context;

  soc::DdrController ddr;
  smmu::Smmu smmu;
  soc::AxiPort hpc;
  std::unique_ptr<rdma::Nic> nic;
  std::unique_ptr<network::Router> router;
  soc::MmioBus bus;
  cpu::Cpu cpu;
  cpu::InterruptController interrupts;

  os::Vm vm;
  Leaks leaks;
  mmu500::SmmuDriver smmu_driver;
  unsigned endpoints = 0;  // how many programs have opened the NIC
};

}  // namespace faultline::platform
