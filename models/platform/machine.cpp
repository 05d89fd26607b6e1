// SPDX-License-Identifier: Apache-2.0
#include "models/platform/machine.hpp"

#include <fmt/format.h>

#include <bit>

#include "models/sim/units.hpp"

namespace faultline::platform {

void Machine::declare(sim::ParameterTable& table) {
  shape.declare(table);
  router.declare(table);
  failures.declare(table);
  axi.declare(table);
  ddr.declare(table);
  cpu.declare(table);
  smmu.declare(table);
  nic.declare(table);
  os.declare(table);
  smmu_driver.declare(table);
  const auto group = table.group("simulation");
  table.add_count(
      "cells_per_train", cells_per_train, {1u, 256u},
      {"longest run of 256 B cells simulated as one; results are always those of 1, host time is not: 16 (a "
       "4 KiB page) suits small pages, 64 (a 16 KiB block) huge ones",
       "",
       {}});
}

namespace {

std::vector<sim::Conflict> network_conflicts(const Machine& machine) {
  std::vector<sim::Conflict> found = network::conflicts(machine.shape);
  if (!found.empty()) return found;
  const auto topology = network::make_topology(machine.shape);
  found = network::conflicts(machine.failures, *topology);
  const unsigned channels = topology->virtual_channels_needed();
  if (machine.router.virtual_channels < channels) {
    std::vector<std::string> keys{"network.virtual_channels", "network.topology"};
    if (machine.shape.has_detours()) {
      const bool adaptive = machine.shape.routing == network::Routing::adaptive;
      keys.emplace_back(adaptive ? "network.routing" : "network.reroute");
    }
    found.push_back(
        {std::move(keys),
         fmt::format("packets on this network could wait for each other for ever with fewer than {} virtual "
                     "channels",
                     channels),
         fmt::format("set network.virtual_channels to {}", channels)});
  }
  return found;
}

}  // namespace

std::vector<sim::Conflict> conflicts(const Machine& machine) {
  std::vector<sim::Conflict> found;
  const auto add = [&](std::vector<std::string> keys, std::string reason, std::string instead) {
    found.push_back({std::move(keys), std::move(reason), std::move(instead)});
  };
  if (machine.os.kernel_reserved >= machine.ddr.size) {
    add({"os.kernel_reserved", "ddr.size"},
        fmt::format("the kernel's {} leave nothing of the node's {} of memory",
                    sim::format_bytes(machine.os.kernel_reserved), sim::format_bytes(machine.ddr.size)),
        "raise ddr.size, or lower os.kernel_reserved");
  }
  const auto need_whole_pages = [&](const char* key, std::uint64_t bytes) {
    if (bytes % sim::kPageBytes != 0) {
      add({key}, fmt::format("{} are no whole number of pages of 4 KiB", sim::format_bytes(bytes)),
          "take a multiple of 4 KiB");
    }
  };
  need_whole_pages("ddr.size", machine.ddr.size);
  need_whole_pages("os.kernel_reserved", machine.os.kernel_reserved);
  if (machine.cpu.interrupt_core >= machine.cpu.cores) {
    add({"cpu.interrupt_core", "cpu.cores"},
        fmt::format("interrupts go to core {}, and there are cores 0 to {}", machine.cpu.interrupt_core,
                    machine.cpu.cores - 1),
        "let them go to one of these, or give nodes more cores");
  }
  for (sim::Conflict& conflict : machine.nic->conflicts(machine.around_nic())) found.push_back(std::move(conflict));
  if (machine.os.tlb_shootdown == os::TlbShootdown::interrupt &&
      machine.smmu_driver.tlb_maintenance == mmu500::TlbMaintenance::dvm) {
    add({"smmu_driver.tlb_maintenance", "os.tlb_shootdown"},
        "cores that interrupt each other broadcast nothing that the SMMU could hear",
        "let the driver write registers (smmu_driver.tlb_maintenance = mmio), or let cores broadcast (os.tlb_shootdown "
        "= "
        "broadcast)");
  }
  const auto need_power_of_two = [&](const char* key, std::uint64_t bytes) {
    if (std::has_single_bit(bytes)) return;
    add({key}, fmt::format("a bus of {} B: the width is a power of two", bytes),
        fmt::format("take {} B or {} B", std::bit_floor(bytes), std::bit_ceil(bytes)));
  };
  need_power_of_two("axi.width", machine.axi.width);
  need_power_of_two("smmu.beat_bytes", machine.smmu.beat_bytes);
  const auto need_whole_sets = [&](const std::string& entries_key, unsigned entries, const char* ways_key,
                                   unsigned ways) {
    // With more ways than entries it is fully associative.
    if (ways >= entries || entries % ways == 0) return;
    add({ways_key, entries_key}, fmt::format("{} entries are no whole number of sets of {} ways", entries, ways),
        fmt::format("take entries that {} divides, or other ways", ways));
  };
  const smmu::SmmuConfig& smmu = machine.smmu;
  need_whole_sets("smmu.macro_tlb_entries", smmu.macro_tlb_entries, "smmu.macro_tlb_ways", smmu.macro_tlb_ways);
  for (std::size_t level = 0; level < smmu.walk_cache_entries.size(); ++level) {
    need_whole_sets(fmt::format("smmu.walk_cache_entries_level{}", level), smmu.walk_cache_entries[level],
                    "smmu.walk_cache_ways", smmu.walk_cache_ways);
  }
  for (sim::Conflict& conflict : network_conflicts(machine)) found.push_back(std::move(conflict));
  return found;
}

}  // namespace faultline::platform
