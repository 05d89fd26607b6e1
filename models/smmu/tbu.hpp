// SPDX-License-Identifier: Apache-2.0
// A translation buffer unit: micro-TLB, pending misses, and the rules by which bursts pass or wait.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <tlm>
#include <vector>

#include "models/sim/payload.hpp"
#include "models/smmu/drain.hpp"
#include "models/smmu/state.hpp"
#include "models/smmu/tlb.hpp"

namespace faultline::smmu {

class Tcu;

// A page that one channel of a TBU waits for, and its bursts. Reads and writes never share a miss, so
// all its bursts need the same permission.
struct Miss {
  enum class Phase : std::uint8_t {
    idle,
    requested,  // the TCU works on it
    returning,  // the answer is on its way to the TBU
    stalled,    // faulted, waits for RESUME
    held,       // waits until an earlier fault of the bank is cleared (HUPCF = 0)
    resuming,   // RESUME or the clearing is on its way to the TBU
  };

  unsigned tbu = 0;
  unsigned slot = 0;
  Phase phase = Phase::idle;
  bool write = false;
  bool invalidated = false;  // by TLB maintenance, since the TCU answered
  bool terminate = false;    // what RESUME said
  bool own_fault = false;    // resuming after a fault of its own, not a held one
  bool asked = false;        // the TCU, at least once
  unsigned bank = 0;
  Tag tag;
  std::uint64_t va = 0;  // of the first burst
  std::uint32_t stream = 0;
  FaultKind fault = FaultKind::none;
  Leaf leaf;
  std::vector<tlm::tlm_generic_payload*> bursts;

  bool is_for(bool by_write, unsigned in_bank, const Tag& owner, std::uint64_t at) const {
    return write == by_write && bank == in_bank && tag == owner && same_page(va, at);
  }
  // Held off by an earlier fault, also while it does not know yet that this was cleared.
  bool waits_for_fsr() const { return phase == Phase::held || (phase == Phase::resuming && !own_fault); }
  FaultReport report(FaultKind kind, unsigned level) const { return {kind, level, va, write, stream}; }
};

// What the SMMU remembers about a train that passes through.
struct Transit : tlm::tlm_extension<Transit> {
  unsigned tbu = 0;
  bool write = false;
  bool translated = false;
  std::uint32_t stream = 0;
  std::uint32_t beats = 0;
  std::uint64_t va = 0;
  std::uint64_t order = 0;   // of arrival at the TBU
  std::uint64_t number = 0;  // with Drain

  tlm::tlm_extension_base* clone() const override { return new Transit(*this); }
  void copy_from(const tlm::tlm_extension_base& other) override { *this = static_cast<const Transit&>(other); }
};

class Tbu {
 public:
  Tbu(unsigned index, State& state, Tcu& tcu, Drain& drain);
  Tbu(const Tbu&) = delete;
  Tbu& operator=(const Tbu&) = delete;

  // BEGIN_REQ. The train is looked up when its first cell arrives.
  void accept(tlm::tlm_generic_payload& payload);

  // The TCU's answers; they take tcu_to_tbu. A stalled miss stays where it is.
  void translated(Miss& miss, const Leaf& leaf);
  void faulted(Miss& miss, FaultKind kind);

  void invalidate(const Invalidation& what);
  // RESUME of a bank: all its misses that are stalled by a fault of their own.
  void resume(unsigned bank, bool terminate);
  // The bank's fault no longer holds others off.
  void let_go(unsigned bank);

 private:
  struct Channel {
    std::deque<tlm::tlm_generic_payload*> waiting;
  };

  void arrived(std::uint64_t payload);
  void answered(std::uint64_t slot);
  void resumed(std::uint64_t slot);

  void admit_waiting();
  bool admit(tlm::tlm_generic_payload& payload);
  bool continues_missed_write(const Transit& transit) const;
  bool translate(tlm::tlm_generic_payload& payload, const Transit& transit, unsigned bank_index);
  bool hold_off(tlm::tlm_generic_payload& payload, const Transit& transit, unsigned bank_index);
  void global_fault(tlm::tlm_generic_payload& payload, const Transit& transit, std::uint32_t kind);
  template <typename Joinable>
  Miss* join_or_begin(tlm::tlm_generic_payload& payload, const Transit& transit, unsigned bank_index,
                      Joinable joinable);
  void join(Miss& miss, tlm::tlm_generic_payload& payload);
  void ask(Miss& miss, sim::Time when);
  void retry(Miss& miss);

  void finish(Miss& miss, const Leaf& leaf, sim::Time not_before);
  void finish(Miss& miss, FaultKind fault);
  std::vector<tlm::tlm_generic_payload*> release(Miss& miss);
  void count_bursts(const Miss& miss);
  void pass(tlm::tlm_generic_payload& payload, const Leaf& leaf, sim::Time not_before);
  void bypass(tlm::tlm_generic_payload& payload);
  void terminate(tlm::tlm_generic_payload& payload, tlm::tlm_response_status status, bool report);

  const unsigned index_;
  State& state_;
  Tcu& tcu_;
  Drain& drain_;
  const sim::Port port_;
  Tlb micro_tlb_;
  std::vector<Miss> misses_;
  std::array<Channel, 2> channels_;  // reads, writes
  std::uint64_t held_beats_ = 0;     // of missed writes
  unsigned youngest_write_ = 0;      // slot of the miss that a write last joined
  std::uint64_t arrivals_ = 0;
};

}  // namespace faultline::smmu
