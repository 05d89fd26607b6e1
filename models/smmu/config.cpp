// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/config.hpp"

#include "models/smmu/registers.hpp"

namespace faultline::smmu {

using sim::Standing;

namespace {

std::string as_gem5(const std::string& range) { return "assumed: " + range + "; gem5's SMMU model has the same"; }

}  // namespace

void SmmuConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("smmu");
  declare_caches(table);
  declare_cycles(table);
  declare_surroundings(table);
}

void SmmuConfig::declare_caches(sim::ParameterTable& table) {
  const std::string agilex = "Intel Agilex 7 HPS, an MMU-500 beside a Cortex-A53";
  table.add_frequency("clock", clock, sim::kAnyClock,
                      {"clock of TBUs and TCU",
                       "assumed: the FPD's main switch runs at 533 MHz",
                       Standing::assumed,
                       {"266.5 MHz", "1 GHz"}});
  table.add_count("context_banks", context_banks, {1, reg::kMaxContextBanks},
                  {"context banks, at most a page each in the second half of the register window",
                   "IDR1 of ZynqMP's SMMU, 0x30000F10", Standing::published});
  // The register map has no room for more.
  table.add_count("stream_match_groups", stream_match_groups, {1, 128},
                  {"pairs of SMR and S2CR", "IDR0 of ZynqMP's SMMU, 0xFC013E30", Standing::published});
  table.add_count(
      "micro_tlb_entries", micro_tlb_entries, sim::kAnyEntries,
      {"micro-TLB entries of a TBU with programmable-logic ports", agilex, Standing::assumed, {"16", "128"}});
  table.add_count("micro_tlb_entries_other", micro_tlb_entries_other, sim::kAnyEntries,
                  {"micro-TLB entries of the other TBUs", agilex, Standing::assumed});
  table.add_count("macro_tlb_entries", macro_tlb_entries, sim::kAnyEntries,
                  {"macro TLB entries in the TCU", agilex, Standing::assumed, {"256", "2048"}});
  table.add_count("macro_tlb_ways", macro_tlb_ways, sim::kAnyEntries,
                  {"associativity of the macro TLB; from the number of entries on it is fully associative",
                   as_gem5("2 to 8"),
                   Standing::assumed,
                   {"2", "8"}});
  const std::array<std::string, 3> walk_cache_sources{
      as_gem5("1 to 16"), as_gem5("4 to 64"),
      "assumed: 64 to 512; 128 tables of level 3 map 256 MiB; gem5's SMMU model has 348"};
  const std::array<std::vector<std::string>, 3> walk_cache_plausible{{{"1", "16"}, {"4", "64"}, {"64", "512"}}};
  for (unsigned level = 0; level < walk_cache_entries.size(); ++level) {
    table.add_count("walk_cache_entries_level" + std::to_string(level), walk_cache_entries[level],
                    {0, sim::kAnyEntries.high},
                    {"walk-cache entries for level " + std::to_string(level) + " table descriptors",
                     walk_cache_sources[level], Standing::assumed, walk_cache_plausible[level]});
  }
  table.add_count("walk_cache_ways", walk_cache_ways, sim::kAnyEntries,
                  {"associativity of the walk caches", "Arm DDI 0517: 4 ways", Standing::published});
}

void SmmuConfig::declare_cycles(sim::ParameterTable& table) {
  table.add_count(
      "tbu_hit_cycles", tbu_hit_cycles, sim::kAnyCycles,
      {"TBU latency of a micro-TLB hit", "Arm DDI 0517: 2, or 3 with register slices", Standing::published});
  table.add_count("tbu_to_tcu_cycles", tbu_to_tcu_cycles, sim::kAnyCycles,
                  {"TBU to TCU", as_gem5("4 to 16"), Standing::assumed, {"4", "16"}});
  table.add_count("tcu_to_tbu_cycles", tcu_to_tbu_cycles, sim::kAnyCycles,
                  {"TCU to TBU", as_gem5("4 to 16"), Standing::assumed, {"4", "16"}});
  table.add_count("macro_tlb_cycles", macro_tlb_cycles, sim::kAnyCycles,
                  {"macro TLB lookup", as_gem5("2 to 6"), Standing::assumed, {"2", "6"}});
  table.add_count("walk_cache_cycles", walk_cache_cycles, sim::kAnyCycles,
                  {"walk-cache lookup", as_gem5("2 to 8"), Standing::assumed, {"2", "8"}});
  table.add_count("termination_cycles", termination_cycles, sim::kAnyCycles,
                  {"TBU latency of the response to a terminated burst",
                   "assumed: 1 to 4; the hit latency again",
                   Standing::assumed,
                   {"1", "4"}});
  // Each burst looks through all of them.
  table.add_count("misses_per_tbu", misses_per_tbu, {1, 4096},
                  {"pages that may miss in a TBU at a time", "Arm DDI 0517: 8 parallel walks", Standing::published});
  table.add_count("walk_slots", walk_slots, {1, 65536},
                  {"parallel walks in the TCU", as_gem5("8 to 64"), Standing::assumed, {"8", "64"}});
  table.add_count("write_buffer_beats", write_buffer_beats, {0, 1 << 20},
                  {"beats of missed writes that a TBU holds so that later writes may pass",
                   "Arm DDI 0517 for the rule; the depth is " + as_gem5("0 to 64"),
                   Standing::assumed,
                   {"0", "64"}});
}

void SmmuConfig::declare_surroundings(sim::ParameterTable& table) {
  table.add_count("beat_bytes", beat_bytes, {1, 128},
                  {"bytes a beat of the TBUs' ports", "UG1085: 128 bit", Standing::published, {"4", "16"}});
  table.add_time("walk_read_path", walk_read_path, sim::kAnyTime,
                 {"a walker's descriptor read besides the memory's own latency: the way there and back",
                  "assumed: 120 to 300 ns a read with ddr.latency, not through the CCI and its caches",
                  Standing::assumed,
                  {"20 ns", "200 ns"}});
  table.add_time("tlb_sync", tlb_sync, sim::kAnyTime,
                 {"least time from TLBSYNC to completion",
                  "assumed: 0.1 to 2 us; from the TCU to a TBU and back is 30 ns, 128 sets of the macro TLB at a cycle "
                  "each are 240 ns",
                  Standing::assumed,
                  {"100 ns", "2 us"}});
  table.add_time("dvm_invalidate_latency", dvm_invalidate_latency, sim::kAnyTime,
                 {"a CPU's broadcast TLBI to its effect",
                  "assumed: 0.1 to 0.5 us over the CCI, as a device register's access",
                  Standing::assumed,
                  {"100 ns", "500 ns"}});
  // The interrupt controller's shared lines (GIC).
  table.add_count("interrupt_line", interrupt_line, {0, 1019},
                  {"interrupt line of all faults", "Linux device tree of ZynqMP: SPI 155", Standing::published});
  table.add_flag(
      "stall_holds_interrupt", stall_holds_interrupt,
      {"the line stays high while a stalled transaction waits for RESUME, so that a driver must clear CFIE meanwhile",
       "assumed off; SMMUv2 leaves it to the implementation", Standing::assumed});
}

}  // namespace faultline::smmu
