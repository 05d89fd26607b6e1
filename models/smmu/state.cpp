// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/state.hpp"

#include <algorithm>
#include <stdexcept>

namespace faultline::smmu {

Counters::Counters(sim::Statistics& s)
    : translations(s.counter("smmu.translations", "count", "bursts translated and passed on")),
      bypassed(s.counter("smmu.bypassed", "count", "bursts passed on without translation")),
      micro_tlb_hits(s.counter("smmu.micro_tlb_hits", "count", "bursts that found their page in the TBU")),
      micro_tlb_misses(s.counter("smmu.micro_tlb_misses", "count", "bursts that made the TBU ask the TCU")),
      merged_misses(s.counter("smmu.merged_misses", "count", "bursts that waited for or behind another burst's miss")),
      macro_tlb_hits(s.counter("smmu.macro_tlb_hits", "count", "misses answered by the macro TLB")),
      walks(s.counter("smmu.walks", "count", "table walks")),
      walk_reads(s.counter("smmu.walk_reads", "count", "descriptors read by walks")),
      walk_time(s.counter("smmu.walk_time", "ps", "sum of the walks' durations")),
      walk_restarts(s.counter("smmu.walk_restarts", "count", "walks begun again because of TLB maintenance")),
      translation_faults(s.counter("smmu.translation_faults", "count", "translation faults")),
      access_flag_faults(s.counter("smmu.access_flag_faults", "count", "access-flag faults")),
      permission_faults(s.counter("smmu.permission_faults", "count", "permission faults")),
      external_faults(s.counter("smmu.external_faults", "count", "walks whose read of a descriptor was refused")),
      global_faults(s.counter("smmu.global_faults", "count", "bursts of streams that are not set up")),
      multi(s.counter("smmu.multi", "count", "context faults that found a record standing and only set MULTI")),
      terminated(s.counter("smmu.terminated", "count", "bursts terminated")),
      held_off(s.counter("smmu.held_off", "count", "bursts terminated or held for an earlier fault, HUPCF = 0")),
      stalls(s.counter("smmu.stalls", "count", "misses stalled by a fault of their own")),
      resumes(s.counter("smmu.resumes", "count", "stalled misses retried or terminated by RESUME")),
      tlb_invalidations(s.counter("smmu.tlb_invalidations", "count", "TLB maintenance operations")),
      tlb_syncs(s.counter("smmu.tlb_syncs", "count", "TLBSYNC operations")),
      register_errors(s.counter("smmu.register_errors", "count",
                                "accesses to registers that are not there, or cannot be read or written")) {}

sim::Counter& Counters::of(FaultKind kind) {
  switch (kind) {
    case FaultKind::translation: return translation_faults;
    case FaultKind::access_flag: return access_flag_faults;
    case FaultKind::permission: return permission_faults;
    case FaultKind::external: return external_faults;
    case FaultKind::none: break;
  }
  throw std::logic_error("no fault to count");
}

Latencies::Latencies(const SmmuConfig& config)
    : hit(config.clock.cycles(config.tbu_hit_cycles)),
      to_tcu(config.clock.cycles(config.tbu_to_tcu_cycles)),
      to_tbu(config.clock.cycles(config.tcu_to_tbu_cycles)),
      macro_tlb(config.clock.cycles(config.macro_tlb_cycles)),
      walk_cache(config.clock.cycles(config.walk_cache_cycles)),
      walk_read_path(config.walk_read_path),
      termination(config.clock.cycles(config.termination_cycles)) {}

State::State(const SmmuConfig& smmu_config, const sim::Context& node, Ports& sockets)
    : config(smmu_config),
      latency(smmu_config),
      context(node),
      ports(sockets),
      counters(node.statistics),
      streams(smmu_config.stream_match_groups),
      banks(smmu_config.context_banks) {}

void State::record_global_fault(std::uint32_t kind, const FaultReport& report) {
  if (sgfsr != 0) {
    sgfsr |= reg::sgfsr::kMULTI;
  } else {
    sgfsr = kind;
    sgfar = report.va;
    sgfsynr0 = report.write ? reg::sgfsynr0::kWNR : 0;
    sgfsynr1 = report.stream;
  }
  update_interrupt();
}

void State::update_interrupt() {
  const bool global = sgfsr != 0 && (scr0 & reg::scr0::kGFIE) != 0;
  const bool high = global || std::any_of(banks.begin(), banks.end(), [this](const ContextBank& bank) {
                      return bank.interrupts(config.stall_holds_interrupt);
                    });
  if (high == interrupt_high_) return;
  interrupt_high_ = high;
  if (interrupt != nullptr) interrupt->set_level(config.interrupt_line, high);
}

}  // namespace faultline::smmu
