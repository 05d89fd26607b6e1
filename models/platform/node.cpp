// SPDX-License-Identifier: Apache-2.0
#include "models/platform/node.hpp"

namespace faultline::platform {
namespace {

cpu::CpuConfig with_kernel(const Machine& machine) {
  cpu::CpuConfig config = machine.cpu;
  config.kernel = machine.os.kernel;
  return config;
}

network::RouterConfig with_receive_buffer(const Machine& machine) {
  network::RouterConfig config = machine.router;
  config.local_buffer_cells = machine.nic->receive_buffer();
  config.local_rate = {static_cast<std::int64_t>(machine.axi.width) * 8 * machine.axi.pl_clock.hertz};
  return config;
}

}  // namespace

Node::Node(sc_core::sc_module_name name, const Machine& machine, const network::Topology& topology, sim::NodeId id,
           sim::EventLoop& loop, sim::PayloadPool& payloads, sim::Trace& trace, sim::Seed seed)
    : sc_module(name),
      context{id, loop, payloads, statistics, trace, seed, machine.cells_per_train},
      ddr("ddr", machine.ddr, context),
      smmu("smmu", machine.smmu, context, ddr.frames()),
      hpc("hpc", machine.axi, context),
      nic(machine.nic->make(machine.around_nic(), context)),
      router(network::make_router("router", with_receive_buffer(machine), context, topology)),
      bus("bus", context),
      cpu("cpu", with_kernel(machine), context),
      interrupts("interrupts", cpu, context),
      vm(machine.os, context, ddr.frames(), cpu),
      leaks(statistics, vm),
      smmu_driver(machine.smmu_driver, context, cpu, kSmmuBase, machine.smmu.context_banks, machine.os.va_bits,
                  &static_cast<smmu::DvmSink&>(*smmu.dvm.operator->()), machine.smmu.stall_holds_interrupt) {
  nic->start({cpu, vm, ddr, interrupts, smmu, smmu_driver, machine.smmu.interrupt_line});
  nic->wire({hpc, *router, bus, interrupts});
  machine.nic->uses_smmu() ? hpc.out.bind(smmu.upstream[0]) : hpc.out.bind(ddr.port);
  smmu.downstream.bind(ddr.port);
  smmu.walker.bind(ddr.port);
  cpu.memory.bind(ddr.port);

  cpu.mmio.bind(bus.cpu);
  bus.map(kSmmuBase, smmu::reg::kWindowBytes, "smmu").bind(smmu.registers);
  smmu.interrupt.bind(interrupts.lines);

  ddr.on_stale([this](const soc::StaleCell& cell) { leaks.count(cell); });
  vm.add_invalidator(smmu_driver);
}

}  // namespace faultline::platform
