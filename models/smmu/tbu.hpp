// SPDX-License-Identifier: Apache-2.0
// A translation buffer unit: micro-TLB, pending misses, and the rules by which bursts pass or wait.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <optional>
#include <tlm>
#include <vector>

#include "models/sim/content.hpp"
#include "models/sim/drain.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/recycling.hpp"
#include "models/smmu/state.hpp"
#include "models/smmu/tlb.hpp"

namespace faultline::smmu {

class Tcu;

// A train at the TBU. Where cells that have not arrived yet may meet another fate than those that have, behind a fault,
// in another page, or when the translations change, they part from it.
struct Transit {
  enum class State : std::uint8_t {
    coming,   // the first cell has not arrived
    waiting,  // at its channel's head or behind it
    missed,
    passed,
    terminated,
  };

  unsigned tbu = 0;
  tlm::tlm_generic_payload* train = nullptr;  // as it came from upstream
  sim::TimeSequence arrivals;
  State state = State::coming;
  bool write = false;
  std::uint32_t stream = 0;
  std::uint32_t beats = 0;  // of a cell
  std::uint64_t va = 0;     // of the first cell
  std::uint64_t order = 0;  // of arrival at the TBU
  Tag tag;                  // that it was looked up with
  sim::Time passed_at{0};
  sim::Time last_use{-1};  // of its entry, as far as the micro-TLB has been told
  bool held_off = false;   // counted as such, while it is missed

  tlm::tlm_generic_payload* request = nullptr;  // to memory: its own, as long as that can be recalled
  bool translated = false;
  std::uint64_t drain_number = 0;
  sim::TimeSequence responses;  // as far as they are known

  std::uint32_t cells() const { return arrivals.size(); }
  bool answered() const { return responses.size() == arrivals.size(); }
};

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
  bool reported = false;     // a fault of its own, to software
  sim::Time begun{0};
  unsigned bank = 0;
  Tag tag;
  std::uint64_t va = 0;  // of the first burst
  std::uint32_t stream = 0;
  FaultKind fault = FaultKind::none;
  Leaf leaf;
  sim::Vector<Transit*> bursts;

  bool is_for(bool by_write, unsigned in_bank, const Tag& owner, std::uint64_t at) const {
    return write == by_write && bank == in_bank && tag == owner && same_page(va, at);
  }
  // Held off by an earlier fault, also while it does not know yet that this was cleared.
  bool waits_for_fsr() const { return phase == Phase::held || (phase == Phase::resuming && !own_fault); }
  FaultReport report(FaultKind kind, unsigned level) const { return {kind, level, va, write, stream}; }
};

class Tbu {
 public:
  Tbu(unsigned index, State& state, Tcu& tcu, sim::Drain& drain);
  Tbu(const Tbu&) = delete;
  Tbu& operator=(const Tbu&) = delete;

  // A train is looked up when its first cell arrives; or some of its cells do not come.
  void accept(tlm::tlm_generic_payload& train);
  // Whose a request to memory is.
  static unsigned index_of(const tlm::tlm_generic_payload& request);
  void answer(tlm::tlm_generic_payload& request, const sim::Answers& answers);

  // The TCU's answers; they take tcu_to_tbu. A stalled miss stays where it is.
  void translated(Miss& miss, const Leaf& leaf);
  void faulted(Miss& miss, FaultKind kind);

  void invalidate(const Invalidation& what);
  // Something has changed that lookups depend on: cells that arrive from now on are looked up anew.
  void reconsider();
  // RESUME of a bank: all its misses that are stalled by a fault of their own.
  void resume(unsigned bank, bool terminate);
  // The bank's fault no longer holds others off.
  void let_go(unsigned bank);

  // What the micro-TLB holds, for observers: no counter counts, and the entry does not become younger.
  std::optional<Leaf> peek(const Tag& tag, std::uint64_t va) const { return micro_tlb_.peek(tag, va); }
  std::uint64_t tlb_changes() const { return micro_tlb_.changes(); }

 private:
  // Short lists: a deque takes memory even if it stays empty, in thousands of nodes.
  struct Channel {
    sim::Vector<Transit*> coming;  // in the order of their cells; several cells may arrive at one instant
    sim::Vector<Transit*> waiting;
  };

  void trains_arrive(std::uint64_t channel);
  void arrive(Transit& transit);
  void answered(std::uint64_t slot);
  void resumed(std::uint64_t slot);

  void admit_waiting();
  bool admit(Transit& transit);
  bool continues_missed_write(const Transit& transit) const;
  bool translate(Transit& transit, unsigned bank_index);
  const Leaf* look_up(const Tag& tag, std::uint64_t va, bool write);
  bool hold_off(Transit& transit, unsigned bank_index);
  void global_fault(Transit& transit, std::uint32_t kind);
  template <typename Joinable>
  Miss* join_or_begin(Transit& transit, unsigned bank_index, Joinable joinable);
  void join(Miss& miss, Transit& transit);
  void ask(Miss& miss, sim::Time when);
  void retry(Miss& miss);

  void finish(Miss& miss, const Leaf& leaf, sim::Time not_before);
  void finish(Miss& miss, FaultKind fault);
  sim::Vector<Transit*> release(Miss& miss);
  void count_bursts(const Miss& miss);
  void tell(const Miss& miss) const;
  void pass(Transit& transit, const Leaf& leaf, sim::Time not_before);
  void bypass(Transit& transit);
  void forward(Transit& transit, std::uint64_t address, std::uint64_t epoch, sim::Time not_before);
  void terminate(Transit& transit, tlm::tlm_response_status status, bool report);

  // How many of the train's cells have arrived.
  std::uint32_t arrived(const Transit& transit) const;
  Transit& new_transit(tlm::tlm_generic_payload& payload);
  void give_up(Transit& transit);
  // What has parted from a train comes before what is behind that, also at the same instant.
  void await(Transit& transit, bool parted);
  // Cells that have not arrived yet part from their train: they are one of their own, looked up when they arrive.
  void split_off_future(Transit& transit);
  // Those beyond the page or block of `span` bytes, a power of two, that its first cell lies in are one of their own.
  void keep_within(Transit& transit, std::uint64_t span);
  // The first `kept` cells stay.
  void split_off(Transit& transit, std::uint32_t kept);
  // The payload of the train's cells from `first` on, which its initiator is told of.
  tlm::tlm_generic_payload& part_train(Transit& transit, std::uint32_t first);
  // The train's last cells do not come.
  void cut(Transit& transit, std::uint32_t cells);
  void respond(Transit& transit, const sim::Answers& answers);
  void use_entries();
  void insert(const Miss& miss);
  void forget();

  const unsigned index_;
  State& state_;
  Tcu& tcu_;
  sim::Drain& drain_;
  const std::array<sim::Port, 2> arrival_ports_;  // reads before writes
  const sim::Port port_;
  Tlb micro_tlb_;
  std::vector<Miss> misses_;
  std::array<Channel, 2> channels_;  // reads, writes
  std::uint64_t held_beats_ = 0;     // of missed writes
  unsigned youngest_write_ = 0;      // slot of the miss that a write last joined
  std::uint64_t arrivals_ = 0;
  std::deque<Transit> transits_;  // all that there ever were
  std::vector<Transit*> idle_;
  std::vector<Transit*> under_way_;  // passed or terminated, and not all over
  std::vector<Transit*> used_;       // hits since the entries' last use was brought up to date
};

}  // namespace faultline::smmu
