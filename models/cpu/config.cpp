// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/config.hpp"

#include "models/cpu/execution.hpp"

namespace faultline::cpu {

using sim::Frequency;
using sim::Standing;

void CpuConfig::declare(sim::ParameterTable& table) {
  sched.declare(table);
  const auto group = table.group("cpu");
  table.add_count("cores", cores, {1, kMostCores}, {"application cores", "UG1085: 4 Cortex-A53", Standing::published});
  table.add_frequency("clock", clock, sim::kAnyClock,
                      {"of the application cores; software costs are stated at cpu.stated_clock and scale with this",
                       "ZynqMP device tree (1.2 GHz); INFN's ExaNeSt papers say 1.5 GHz", Standing::published});
  table.add_frequency(
      "stated_clock", stated_clock, sim::kAnyClock,
      {"clock of the cores that software costs are stated for: those of the kernel, drivers, libraries and "
       "programs, context switch, interrupt entry and tasklet delay included",
       "", Standing::setting});
  table.add_fraction("jitter", jitter, {0.0, 1.0},
                     {"each piece of software takes up to this share longer or shorter, drawn from the seed; its mean "
                      "stays. 0: exactly its cost, so that one transfer at a time shows one phase of blocks and faults",
                      "", Standing::setting});
  table.add_time("context_switch", context_switch, sim::kAnyTime,
                 {"another thread, or the first after idling, gets a core (system time)",
                  "assumed, below TI AM62Px lmbench's 9.4 us with 128 KB working sets", Standing::assumed});
  table.add_count("interrupt_core", interrupt_core, {0, kMostCores - 1},
                  {"core that takes all interrupts; must be below cpu.cores",
                   "Linux's default without irqbalance",
                   Standing::assumed,
                   {"0", "3"}});
  table.add_time("irq_to_handler", irq_to_handler, sim::kAnyTime,
                 {"from taking an interrupt to the handler's first instruction (irq time)",
                  "GIC-400 and Linux's entry path take 1 to 5 us; fitted with the rest of the fault path to the 38 us "
                  "that a small transfer's fault takes (PART, TPDS 2022)",
                  Standing::fitted,
                  {"1 us", "5 us"}});
  table.add_time("tasklet_delay", tasklet_delay, sim::kAnyTime,
                 {"from the end of interrupt work to a tasklet's first instruction (softirq time)",
                  "0.5 to 4 us; fitted with the rest of the fault path, as cpu.irq_to_handler",
                  Standing::fitted,
                  {"500 ns", "4 us"}});
  table.add_time("ipi_send", ipi_send, sim::kAnyTime,
                 {"asking another core for something by interrupt, each: system time of who asks",
                  "assumed: a write to the interrupt controller, and a barrier before it",
                  Standing::assumed,
                  {"50 ns", "500 ns"}});
  table.add_time("ipi_to_handler", ipi_to_handler, sim::kAnyTime,
                 {"from another core's interrupt to the first instruction of what it asks for (irq time)",
                  "assumed, below cpu.irq_to_handler: no device stands behind the interrupt, and its handler calls the "
                  "function itself",
                  Standing::assumed,
                  {"300 ns", "4 us"}});
  table.add_time("poll_latency", poll_latency, sim::kAnyTime,
                 {"from a device's store to the end of the polling load that sees it",
                  "assumed: an A53 load from DDR",
                  Standing::assumed,
                  {"110 ns", "200 ns"}});
  // Not 0: a driver that polls a register would do so for ever in no time.
  table.add_time("mmio_read", mmio_read, {1ns, 10s},
                 {"core waits for a device register's value",
                  "assumed: 200 to 500 ns over the switches and a bridge to programmable logic at 150 MHz",
                  Standing::assumed,
                  {"200 ns", "500 ns"}});
  table.add_time("mmio_write", mmio_write, sim::kAnyTime,
                 {"core is busy with a posted device register write",
                  "assumed: 30 to 80 ns",
                  Standing::assumed,
                  {"30 ns", "80 ns"}});
}

}  // namespace faultline::cpu
