// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/tbu.hpp"

#include <algorithm>
#include <utility>

#include "models/soc/axi.hpp"

namespace faultline::smmu {

using sim::Time;
using soc::AxiAttributes;

Tbu::Tbu(unsigned index, State& state, Tcu& tcu, sim::Drain& drain)
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
    state_.tell_fault(FaultKind::none, bank_index, bank.tag(), transit.va, transit.write, false);
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
    found->reported = false;
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
