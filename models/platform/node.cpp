// SPDX-License-Identifier: Apache-2.0
#include "models/platform/node.hpp"

namespace faultline::platform {
namespace {

// The parts know of their neighbours' buffers, and of the one clock of the programmable logic, only what
// they are told here.
exanest::EngineConfig with_neighbours(const Machine& machine) {
  exanest::EngineConfig config = machine.engine;
  config.clock = machine.axi.pl_clock;
  config.neighbours.outstanding_reads = machine.axi.outstanding_reads;
  config.neighbours.outstanding_writes = machine.axi.outstanding_writes;
  config.neighbours.router_cells = machine.router.injection_cells;
  return config;
}

cpu::CpuConfig with_kernel(const Machine& machine) {
  cpu::CpuConfig config = machine.cpu;
  config.kernel = machine.os.kernel;
  return config;
}

network::RouterConfig with_receive_buffer(const Machine& machine) {
  network::RouterConfig config = machine.router;
  config.local_buffer_cells = machine.engine.receive_buffer;
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
      engine("engine", with_neighbours(machine), context),
      router(network::make_router("router", with_receive_buffer(machine), context, topology)),
      bus("bus", context),
      cpu("cpu", with_kernel(machine), context),
      interrupts("interrupts", cpu, context),
      vm(machine.os, context, ddr.frames(), cpu),
      smmu_driver(machine.smmu_driver, context, cpu, kSmmuBase, machine.smmu.context_banks, machine.os.va_bits,
                  &static_cast<smmu::DvmSink&>(*smmu.dvm.operator->()), machine.smmu.stall_holds_interrupt),
      fault_log(context, vm),
      faults(machine.driver, context, cpu, interrupts, machine.smmu.interrupt_line, smmu_driver, fault_log,
             kEngineBase + exanest::reg::kChannelStride * machine.engine.channels),
      events(machine.driver, context, cpu, interrupts, machine.engine.interrupt_line,
             kEngineBase + exanest::reg::kChannelStride * machine.engine.channels),
      channels(machine.engine.channels) {
  engine.reads.bind(hpc.reads);
  engine.writes.bind(hpc.writes);
  hpc.out.bind(smmu.upstream[0]);
  smmu.downstream.bind(ddr.port);
  smmu.walker.bind(ddr.port);
  cpu.memory.bind(ddr.port);

  engine.net_out.bind(router->in[network::kLocalPort]);
  router->out[network::kLocalPort].bind(engine.net_in);

  cpu.mmio.bind(bus.cpu);
  bus.map(kSmmuBase, smmu::reg::kWindowBytes, "smmu").bind(smmu.registers);
  bus.map(kEngineBase, engine.register_bytes(), "engine").bind(engine.registers);
  smmu.interrupt.bind(interrupts.lines);
  engine.interrupt.bind(interrupts.lines);

  vm.add_invalidator(smmu_driver);
  smmu.observe_faults(fault_log);
  engine.observe_faults([this](const exanest::FaultRecord& record) { fault_log.block_stopped(record); });
}

}  // namespace faultline::platform
