// SPDX-License-Identifier: Apache-2.0
// A miss of the micro-TLB, from the question to the TCU on: the answer, stalls and RESUME, and what becomes of its
// bursts.
#include <utility>

#include "models/smmu/tbu.hpp"
#include "models/smmu/tcu.hpp"
#include "models/smmu/tracks.hpp"

namespace faultline::smmu {

using sim::Time;

namespace {

tlm::tlm_response_status status_of(FaultKind fault) {
  switch (fault) {
    case FaultKind::permission: return tlm::TLM_COMMAND_ERROR_RESPONSE;
    case FaultKind::external: return tlm::TLM_GENERIC_ERROR_RESPONSE;
    default: return tlm::TLM_ADDRESS_ERROR_RESPONSE;
  }
}

}  // namespace

void Tbu::ask(Miss& miss, Time when) {
  miss.phase = Miss::Phase::requested;
  // What asks again, after RESUME or maintenance, is the same miss.
  if (!miss.asked) ++state_.counters.micro_tlb_misses;
  miss.asked = true;
  tcu_.request(miss, when);
}

void Tbu::translated(Miss& miss, const Leaf& leaf) {
  miss.phase = Miss::Phase::returning;
  miss.fault = FaultKind::none;
  miss.leaf = leaf;
  state_.context.loop.at<&Tbu::answered>(state_.context.now() + state_.latency.to_tbu, port_, *this, miss.slot);
}

void Tbu::faulted(Miss& miss, FaultKind kind) {
  miss.phase = Miss::Phase::returning;
  miss.fault = kind;
  state_.context.loop.at<&Tbu::answered>(state_.context.now() + state_.latency.to_tbu, port_, *this, miss.slot);
}

void Tbu::answered(std::uint64_t slot) {
  Miss& miss = misses_[slot];
  if (miss.fault != FaultKind::none) {
    finish(miss, miss.fault);
  } else if (miss.invalidated) {
    // The translation went while it was on its way: it must not be used, nor kept.
    miss.invalidated = false;
    ++state_.counters.walk_restarts;
    ask(miss, state_.context.now());
  } else {
    insert(miss);
    finish(miss, Leaf{miss.leaf}, state_.context.now());
  }
}

void Tbu::invalidate(const Invalidation& what) {
  use_entries();
  micro_tlb_.invalidate(what);
  reconsider();
  for (Miss& miss : misses_) {
    if (miss.phase == Miss::Phase::returning && miss.fault == FaultKind::none &&
        what.matches(miss.tag, miss.va, miss.leaf.level)) {
      miss.invalidated = true;
    }
  }
}

void Tbu::resume(unsigned bank, bool terminate) {
  for (Miss& miss : misses_) {
    if (miss.phase != Miss::Phase::stalled || miss.bank != bank) continue;
    ++state_.counters.resumes;
    state_.tell_stalls();
    miss.phase = Miss::Phase::resuming;
    miss.own_fault = true;
    miss.terminate = terminate;
    state_.context.loop.at<&Tbu::resumed>(state_.context.now() + state_.latency.to_tbu, port_, *this, miss.slot);
  }
}

void Tbu::let_go(unsigned bank) {
  for (Miss& miss : misses_) {
    if (miss.phase != Miss::Phase::held || miss.bank != bank) continue;
    miss.phase = Miss::Phase::resuming;
    miss.own_fault = false;
    state_.context.loop.at<&Tbu::resumed>(state_.context.now() + state_.latency.to_tbu, port_, *this, miss.slot);
  }
}

void Tbu::resumed(std::uint64_t slot) {
  Miss& miss = misses_[slot];
  const ContextBank& bank = state_.banks[miss.bank];
  if (miss.own_fault) {
    if (miss.terminate) {
      finish(miss, miss.fault);
    } else {
      retry(miss);
    }
  } else if (!bank.holds_off()) {
    retry(miss);
  } else if (bank.stalls_faults()) {
    miss.phase = Miss::Phase::held;  // the next fault came first
  } else {
    state_.tell_fault(FaultKind::none, miss.bank, miss.tag, miss.va, miss.write, false);
    finish(miss, FaultKind::translation);
  }
}

void Tbu::retry(Miss& miss) {
  const Time looked_up = state_.context.now() + state_.latency.hit;
  miss.tag = state_.banks[miss.bank].tag();
  miss.fault = FaultKind::none;
  const Leaf* leaf = look_up(miss.tag, miss.va, miss.write);
  if (leaf == nullptr) return ask(miss, looked_up);
  finish(miss, Leaf{*leaf}, looked_up);
}

void Tbu::finish(Miss& miss, const Leaf& leaf, Time not_before) {
  count_bursts(miss);
  const Tag tag = miss.tag;
  for (Transit* transit : release(miss)) {
    transit->tag = tag;
    pass(*transit, leaf, not_before);
  }
  admit_waiting();
}

void Tbu::finish(Miss& miss, FaultKind fault) {
  const bool report = state_.banks[miss.bank].reports_errors();
  for (std::size_t i = 0; i < miss.bursts.size(); ++i) split_off_future(*miss.bursts[i]);
  if (miss.asked) count_bursts(miss);
  for (Transit* transit : release(miss)) terminate(*transit, status_of(fault), report);
  admit_waiting();
}

sim::Vector<Transit*> Tbu::release(Miss& miss) {
  sim::Vector<Transit*> bursts = std::exchange(miss.bursts, {});
  for (Transit* transit : bursts) {
    if (miss.write) held_beats_ -= std::uint64_t{transit->cells()} * transit->beats;
    // Cells that arrive from now on do not meet the miss.
    if (std::exchange(transit->held_off, false)) {
      state_.counters.held_off -= transit->cells() - arrived(*transit);
    }
  }
  miss.phase = Miss::Phase::idle;
  tell(miss);
  return bursts;
}

// To timelines.
void Tbu::tell(const Miss& miss) const {
  const char* name = miss.write ? "write misses" : "read misses";
  if (miss.fault != FaultKind::none) name = miss.write ? "write misses, fault" : "read misses, fault";
  state_.context.slice(track::kTbu, index_, miss.begun, state_.context.now(), name, "SMMU");
}

// All but the one that asked the TCU. Cells that arrive from now on would hit if they came one by one, and are counted
// so; and so are all if the TCU was not asked.
void Tbu::count_bursts(const Miss& miss) {
  std::uint64_t merged = 0;
  for (const Transit* transit : miss.bursts) {
    const std::uint32_t waited = miss.asked ? arrived(*transit) : 0;
    merged += waited;
    state_.counters.micro_tlb_hits += transit->cells() - waited;
  }
  if (merged > 0) state_.counters.merged_misses += merged - 1;
}

}  // namespace faultline::smmu
