// SPDX-License-Identifier: Apache-2.0
#include "models/platform/machine.hpp"

#include <fmt/format.h>

#include "models/sim/units.hpp"

namespace faultline::platform {

void Machine::declare(sim::ParameterTable& table) {
  shape.declare(table);
  router.declare(table);
  axi.declare(table);
  ddr.declare(table);
  cpu.declare(table);
  smmu.declare(table);
  dma.declare(table);
  os.declare(table);
  kernel.declare(table);
  library.declare(table);
  const auto group = table.group("simulation");
  table.add_count("cells_per_train", cells_per_train, {1u, 16u},
                  {"longest run of 256 B cells simulated as one; 1 is cell by cell", "16 cells are a 4 KiB page", {}});
}

std::vector<sim::Conflict> conflicts(const Machine& machine) {
  std::vector<sim::Conflict> found;
  const auto add = [&](std::vector<std::string> keys, std::string reason) {
    found.push_back({std::move(keys), std::move(reason)});
  };
  if (machine.os.kernel_reserved >= machine.ddr.size) {
    add({"os.kernel_reserved", "ddr.size"},
        fmt::format("the kernel's {} leave nothing of the node's {} of memory",
                    sim::format_bytes(machine.os.kernel_reserved), sim::format_bytes(machine.ddr.size)));
  }
  if (machine.cpu.interrupt_core >= machine.cpu.cores) {
    add({"cpu.interrupt_core", "cpu.cores"}, fmt::format("interrupts go to core {}, and there are cores 0 to {}",
                                                         machine.cpu.interrupt_core, machine.cpu.cores - 1));
  }
  const unsigned channels = interconnect::Topology(machine.shape).virtual_channels_needed();
  if (machine.router.virtual_channels < channels) {
    add({"network.virtual_channels", "cluster.x"},
        fmt::format("rings of three and more QFDBs need {} virtual channels, or they can deadlock", channels));
  }
  return found;
}

}  // namespace faultline::platform
