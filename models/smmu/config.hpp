// SPDX-License-Identifier: Apache-2.0
// Parameters of the MMU-500 model.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "models/sim/parameters.hpp"
#include "models/sim/time.hpp"

namespace faultline::smmu {

using namespace std::chrono_literals;

// TBUs of ZynqMP: 0 = HPC0 and HPC1, 1 = PCIe and the FPD switch, 2 = LPD, 3 = HP0, 4 = HP1 and HP2,
// 5 = HP3 and FPD-DMA.
inline constexpr unsigned kTbus = 6;
constexpr bool is_programmable_logic_tbu(unsigned tbu) { return tbu == 0 || tbu >= 3; }

// StreamID that the TCU sees: TBU [14:10], master id [9:0].
constexpr std::uint32_t stream_id(unsigned tbu, std::uint32_t master_id) { return tbu << 10 | (master_id & 0x3ff); }

struct SmmuConfig {
  sim::Frequency clock{533'000'000};
  unsigned context_banks = 16;
  unsigned stream_match_groups = 48;

  unsigned micro_tlb_entries = 128;       // of a TBU with programmable-logic ports
  unsigned micro_tlb_entries_other = 32;  // of the other TBUs
  unsigned macro_tlb_entries = 512;
  unsigned macro_tlb_ways = 4;
  // Entries that hold a level's pointer to the next table.
  std::array<unsigned, 3> walk_cache_entries{4, 28, 128};
  unsigned walk_cache_ways = 4;

  unsigned tbu_hit_cycles = 2;
  unsigned tbu_to_tcu_cycles = 8;
  unsigned tcu_to_tbu_cycles = 8;
  unsigned macro_tlb_cycles = 3;
  unsigned walk_cache_cycles = 4;
  unsigned termination_cycles = 2;

  unsigned misses_per_tbu = 8;
  unsigned walk_slots = 16;
  unsigned write_buffer_beats = 16;
  unsigned beat_bytes = 16;

  sim::Time walk_read_path = 80ns;
  sim::Time tlb_sync = 500ns;
  sim::Time dvm_invalidate_latency = 200ns;
  unsigned interrupt_line = 155;       // of the interrupt controller's shared peripheral interrupts
  bool stall_holds_interrupt = false;  // FSR.SS alone keeps the line high

  void declare(sim::ParameterTable& table);

 private:
  void declare_caches(sim::ParameterTable& table);        // TLBs, walk caches
  void declare_cycles(sim::ParameterTable& table);        // what lookups take, and how many go on at a time
  void declare_surroundings(sim::ParameterTable& table);  // ports, memory, TLB maintenance, interrupt
};

}  // namespace faultline::smmu
