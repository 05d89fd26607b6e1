// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/tbu.hpp"

#include <algorithm>
#include <utility>

#include "models/memory/axi.hpp"
#include "models/smmu/tcu.hpp"

namespace faultline::smmu {

using memory::AxiAttributes;
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

Tbu::Tbu(unsigned index, State& state, Tcu& tcu, Drain& drain)
    : index_(index),
      state_(state),
      tcu_(tcu),
      drain_(drain),
      arrival_ports_{state.context.loop.new_arrival_port(), state.context.loop.new_arrival_port()},
      port_(state.context.loop.new_port()),
      micro_tlb_(
          is_programmable_logic_tbu(index) ? state.config.micro_tlb_entries : state.config.micro_tlb_entries_other,
          is_programmable_logic_tbu(index) ? state.config.micro_tlb_entries : state.config.micro_tlb_entries_other),
      misses_(state.config.misses_per_tbu) {
  for (unsigned slot = 0; slot < misses_.size(); ++slot) {
    misses_[slot].tbu = index;
    misses_[slot].slot = slot;
  }
}

void Tbu::trains_arrive(std::uint64_t channel) {
  auto& coming = channels_[channel].coming;
  while (!coming.empty()) {
    Transit& transit = *coming.front();
    const bool recalled = transit.arrivals.empty();  // all of it
    if (!recalled && transit.arrivals.front() > state_.context.now()) return;
    coming.erase(coming.begin());
    if (recalled) {
      give_up(transit);
    } else {
      arrive(transit);
    }
  }
}

void Tbu::arrive(Transit& transit) {
  transit.order = arrivals_++;
  transit.state = Transit::State::waiting;
  auto& waiting = channels_[transit.write ? 1 : 0].waiting;
  if (waiting.empty() && admit(transit)) return;
  keep_within(transit, sim::kPageBytes);
  waiting.push_back(&transit);
}

void Tbu::reconsider() {
  for (Miss& miss : misses_) {
    const std::size_t bursts = miss.bursts.size();
    for (std::size_t i = 0; i < bursts; ++i) split_off_future(*miss.bursts[i]);
  }
  for (Transit* transit : under_way_) split_off_future(*transit);
}

// A channel is in order: what cannot be admitted keeps all behind it waiting. The two channels take
// turns by age, because they share the misses.
void Tbu::admit_waiting() {
  bool progress = true;
  while (progress) {
    progress = false;
    std::array<Channel*, 2> by_age{&channels_[0], &channels_[1]};
    if (!by_age[0]->waiting.empty() && !by_age[1]->waiting.empty() &&
        by_age[1]->waiting.front()->order < by_age[0]->waiting.front()->order) {
      std::swap(by_age[0], by_age[1]);
    }
    for (Channel* channel : by_age) {
      if (channel->waiting.empty() || !admit(*channel->waiting.front())) continue;
      channel->waiting.erase(channel->waiting.begin());
      progress = true;
      break;
    }
  }
}

// True when the train needs no place at the channel's head any more.
bool Tbu::admit(Transit& transit) {
  // Writes pass a missed write only while the buffer holds all the missed beats.
  if (transit.write && held_beats_ > state_.config.write_buffer_beats) {
    if (!continues_missed_write(transit)) return false;
    keep_within(transit, sim::kPageBytes);
    join(misses_[youngest_write_], transit);
    return true;
  }
  if ((state_.scr0 & reg::scr0::kCLIENTPD) != 0) {
    bypass(transit);
    return true;
  }
  const StreamMapping::Match match = state_.streams.match(transit.stream);
  switch (match.kind) {
    case StreamMapping::Kind::bypass: bypass(transit); return true;
    case StreamMapping::Kind::unmatched:
      if ((state_.scr0 & reg::scr0::kUSFCFG) != 0) {
        global_fault(transit, reg::sgfsr::kUSF);
      } else {
        bypass(transit);
      }
      return true;
    case StreamMapping::Kind::conflict: global_fault(transit, reg::sgfsr::kSMCF); return true;
    case StreamMapping::Kind::fault: global_fault(transit, reg::sgfsr::kICF); return true;
    case StreamMapping::Kind::translate: break;
  }
  return translate(transit, match.bank);
}

// What goes on where the youngest missed write ended shares its miss, though it must wait outside of the
// buffer, when a lookup now would ask the same question. All others stand until the buffer holds the rest.
bool Tbu::continues_missed_write(const Transit& transit) const {
  const Miss& miss = misses_[youngest_write_];
  if (miss.phase == Miss::Phase::idle || (state_.scr0 & reg::scr0::kCLIENTPD) != 0) return false;
  const StreamMapping::Match match = state_.streams.match(transit.stream);
  const ContextBank& bank = state_.banks[miss.bank];
  if (match.kind != StreamMapping::Kind::translate || !bank.translates() || !bank.supported()) return false;
  if (!miss.is_for(true, match.bank, bank.tag(), transit.va)) return false;
  return !bank.holds_off() || (bank.stalls_faults() && miss.waits_for_fsr());
}

bool Tbu::translate(Transit& transit, unsigned bank_index) {
  if (bank_index >= state_.banks.size()) {
    global_fault(transit, reg::sgfsr::kUCBF);
    return true;
  }
  const ContextBank& bank = state_.banks[bank_index];
  if (!bank.translates()) {
    bypass(transit);
    return true;
  }
  if (!bank.supported()) {
    global_fault(transit, reg::sgfsr::kICF);
    return true;
  }
  if (bank.holds_off()) return hold_off(transit, bank_index);
  const Leaf* leaf = look_up(bank.tag(), transit.va, transit.write);
  if (leaf != nullptr) {
    keep_within(transit, micro_tlb_.span(bank.tag(), transit.va, *leaf));
    const std::uint32_t waited = arrived(transit);  // behind a missed write
    state_.counters.merged_misses += waited;
    state_.counters.micro_tlb_hits += transit.cells() - waited;
    transit.tag = bank.tag();
    pass(transit, *leaf, Time{0});
    return true;
  }
  Miss* miss = join_or_begin(transit, bank_index, [](const Miss&) { return true; });
  if (miss == nullptr) return false;
  if (miss->phase == Miss::Phase::idle) {
    ask(*miss, std::max(transit.arrivals.front() + state_.latency.hit, state_.context.now()));
  }
  return true;
}

// HUPCF = 0 and a fault stands: the fault model applies to everything else of the bank, unrecorded.
bool Tbu::hold_off(Transit& transit, unsigned bank_index) {
  const ContextBank& bank = state_.banks[bank_index];
  if (bank.stalls_faults()) {
    // Walks that were under way when the fault came go on, and what is stalled goes with RESUME. What comes
    // now is not looked up, so it meets neither, even on their pages.
    Miss* miss = join_or_begin(transit, bank_index, [](const Miss& m) { return m.waits_for_fsr(); });
    if (miss == nullptr) return false;
    if (miss->phase == Miss::Phase::idle) {
      miss->phase = Miss::Phase::held;
      miss->own_fault = false;
    }
  } else {
    split_off_future(transit);
    state_.counters.held_off += transit.cells();
    terminate(transit, tlm::TLM_ADDRESS_ERROR_RESPONSE, bank.reports_errors());
  }
  return true;
}

void Tbu::global_fault(Transit& transit, std::uint32_t kind) {
  split_off_future(transit);
  state_.counters.global_faults += transit.cells();
  state_.record_global_fault(kind, {FaultKind::none, 0, transit.va, transit.write, transit.stream});
  terminate(transit, tlm::TLM_GENERIC_ERROR_RESPONSE, (state_.scr0 & reg::scr0::kGFRE) != 0);
}

// The pending miss that the train waits for, with the train in it; nullptr when a new one is needed and
// all are taken. A new one is idle: the caller says what becomes of it.
template <typename Joinable>
Miss* Tbu::join_or_begin(Transit& transit, unsigned bank_index, Joinable joinable) {
  const Tag tag = state_.banks[bank_index].tag();
  Miss* idle = nullptr;
  Miss* found = nullptr;
  for (Miss& miss : misses_) {
    if (miss.phase == Miss::Phase::idle) {
      if (idle == nullptr) idle = &miss;
    } else if (miss.is_for(transit.write, bank_index, tag, transit.va) && joinable(miss)) {
      found = &miss;
      break;
    }
  }
  if (found == nullptr) {
    if (idle == nullptr) return nullptr;
    found = idle;
    found->write = transit.write;
    found->invalidated = false;
    found->bank = bank_index;
    found->tag = tag;
    found->va = transit.va;
    found->stream = transit.stream;
    found->fault = FaultKind::none;
    found->asked = false;
    found->begun = state_.context.now();
  }
  keep_within(transit, sim::kPageBytes);
  join(*found, transit);
  return found;
}

void Tbu::join(Miss& miss, Transit& transit) {
  miss.bursts.push_back(&transit);
  transit.state = Transit::State::missed;
  if (transit.write) {
    held_beats_ += std::uint64_t{transit.cells()} * transit.beats;
    youngest_write_ = miss.slot;
  }
  transit.held_off = state_.banks[miss.bank].holds_off();
  if (transit.held_off) state_.counters.held_off += transit.cells();
}

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
  state_.context.slice(sim::Part::smmu_tbu, index_, miss.begun, state_.context.now(), name, "SMMU");
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

void Tbu::pass(Transit& transit, const Leaf& leaf, Time not_before) {
  transit.translated = true;
  transit.passed_at = state_.context.now();
  transit.drain_number = drain_.open(state_.context.now());
  state_.counters.translations += transit.cells();
  if (transit.cells() > 1 || !used_.empty()) used_.push_back(&transit);
  forward(transit, leaf.physical(transit.va), leaf.epoch, not_before);
}

void Tbu::bypass(Transit& transit) {
  keep_within(transit, sim::kPageBytes);  // memory may end behind any page
  state_.counters.bypassed += transit.cells();
  forward(transit, transit.va, AxiAttributes::kUntranslated, Time{0});
}

}  // namespace faultline::smmu
