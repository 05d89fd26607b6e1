// SPDX-License-Identifier: Apache-2.0
// What the parts of the MMU-500 share: configuration, registers, counters and their ways out.
#pragma once

#include <cstdint>
#include <tlm>
#include <vector>

#include "models/cpu/interrupt_sink.hpp"
#include "models/sim/context.hpp"
#include "models/smmu/config.hpp"
#include "models/smmu/context_bank.hpp"
#include "models/smmu/stream_mapping.hpp"
#include "models/smmu/tracks.hpp"

namespace faultline::smmu {

// Bursts are cells, so these do not depend on the length of trains.
struct Counters {
  explicit Counters(sim::Statistics& statistics);

  sim::Counter& translations;
  sim::Counter& bypassed;
  sim::Counter& micro_tlb_hits;
  sim::Counter& micro_tlb_misses;
  sim::Counter& merged_misses;
  sim::Counter& macro_tlb_hits;
  sim::Counter& walks;
  sim::Counter& walk_reads;
  sim::Counter& walk_time;
  sim::Counter& walk_restarts;
  sim::Counter& translation_faults;
  sim::Counter& access_flag_faults;
  sim::Counter& permission_faults;
  sim::Counter& external_faults;
  sim::Counter& global_faults;
  sim::Counter& multi;
  sim::Counter& terminated;
  sim::Counter& held_off;
  sim::Counter& stalls;
  sim::Counter& resumes;
  sim::Counter& tlb_invalidations;
  sim::Counter& tlb_syncs;
  sim::Counter& register_errors;

  sim::Counter& of(FaultKind kind);
};

// Stage latencies, each rounded up to whole picoseconds on its own.
struct Latencies {
  explicit Latencies(const SmmuConfig& config);
  sim::Time hit;
  sim::Time to_tcu;
  sim::Time to_tbu;
  sim::Time macro_tlb;
  sim::Time walk_cache;
  sim::Time walk_read_path;
  sim::Time termination;
};

// The sockets, as the parts see them.
class Ports {
 public:
  virtual void forward(tlm::tlm_generic_payload& request) = 0;
  // The request's cells from this one on do not go.
  virtual void recall(tlm::tlm_generic_payload& request, std::uint32_t from) = 0;
  // Whose train it is.
  virtual void tell(unsigned tbu, tlm::tlm_generic_payload& train, const sim::Message& message) = 0;
  virtual void read_descriptor(tlm::tlm_generic_payload& request) = 0;

 protected:
  ~Ports() = default;
};

struct State {
  State(const SmmuConfig& smmu_config, const sim::Context& node, Ports& sockets);

  const SmmuConfig config;
  const Latencies latency;
  const sim::Context& context;
  Ports& ports;
  Counters counters;

  StreamMapping streams;
  std::vector<ContextBank> banks;
  std::uint32_t scr0 = reg::scr0::kReset;
  std::uint32_t scr1 = 0;
  std::uint32_t scr2 = 0;
  std::uint32_t sacr = reg::kSACRReset;
  std::uint64_t sgfar = 0;
  std::uint32_t sgfsr = 0;
  std::uint32_t sgfsynr0 = 0;
  std::uint32_t sgfsynr1 = 0;

  void record_global_fault(std::uint32_t kind, const FaultReport& report);
  // Drives the interrupt line to what the fault registers say now.
  void update_interrupt();
  // To timelines: how many accesses wait for RESUME.
  void tell_stalls() const { context.level(track::kStalls, counters.stalls.value() - counters.resumes.value()); }
  cpu::InterruptSink* interrupt = nullptr;
  FaultObserver* fault_observer = nullptr;
  // To the observer; kind none: for another one's fault.
  void tell_fault(FaultKind kind, unsigned bank, const Tag& tag, std::uint64_t va, bool write, bool again) const {
    if (fault_observer == nullptr) return;
    fault_observer->access_faulted({kind, tag.asid, banks[bank].table(), va, write, again});
  }

 private:
  bool interrupt_high_ = false;
};

}  // namespace faultline::smmu
