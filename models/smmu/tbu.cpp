// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/tbu.hpp"

#include <algorithm>
#include <boost/container/small_vector.hpp>
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

void Tbu::part_arrives(std::uint64_t argument) {
  Part& part = *reinterpret_cast<Part*>(argument);
  if (part.arrivals.empty()) {  // all were recalled
    give_up(part);
    return;
  }
  part.order = arrivals_++;
  part.state = Part::State::waiting;
  auto& waiting = channels_[part.write ? 1 : 0].waiting;
  if (!waiting.empty() || !admit(part)) waiting.push_back(&part);
}

void Tbu::reconsider() {
  for (Miss& miss : misses_) {
    const std::size_t bursts = miss.bursts.size();
    for (std::size_t i = 0; i < bursts; ++i) split_off_future(*miss.bursts[i]);
  }
  for (Part* part : under_way_) split_off_future(*part);
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
      channel->waiting.pop_front();
      progress = true;
      break;
    }
  }
}

// True when the train needs no place at the channel's head any more.
bool Tbu::admit(Part& part) {
  // Writes pass a missed write only while the buffer holds all the missed beats.
  if (part.write && held_beats_ > state_.config.write_buffer_beats) {
    if (!continues_missed_write(part)) return false;
    join(misses_[youngest_write_], part);
    return true;
  }
  if ((state_.scr0 & reg::scr0::kCLIENTPD) != 0) {
    bypass(part);
    return true;
  }
  const StreamMapping::Match match = state_.streams.match(part.stream);
  switch (match.kind) {
    case StreamMapping::Kind::bypass: bypass(part); return true;
    case StreamMapping::Kind::unmatched:
      if ((state_.scr0 & reg::scr0::kUSFCFG) != 0) {
        global_fault(part, reg::sgfsr::kUSF);
      } else {
        bypass(part);
      }
      return true;
    case StreamMapping::Kind::conflict: global_fault(part, reg::sgfsr::kSMCF); return true;
    case StreamMapping::Kind::fault: global_fault(part, reg::sgfsr::kICF); return true;
    case StreamMapping::Kind::translate: break;
  }
  return translate(part, match.bank);
}

// What goes on where the youngest missed write ended shares its miss, though it must wait outside of the
// buffer, when a lookup now would ask the same question. All others stand until the buffer holds the rest.
bool Tbu::continues_missed_write(const Part& part) const {
  const Miss& miss = misses_[youngest_write_];
  if (miss.phase == Miss::Phase::idle || (state_.scr0 & reg::scr0::kCLIENTPD) != 0) return false;
  const StreamMapping::Match match = state_.streams.match(part.stream);
  const ContextBank& bank = state_.banks[miss.bank];
  if (match.kind != StreamMapping::Kind::translate || !bank.translates() || !bank.supported()) return false;
  if (!miss.is_for(true, match.bank, bank.tag(), part.va)) return false;
  return !bank.holds_off() || (bank.stalls_faults() && miss.waits_for_fsr());
}

bool Tbu::translate(Part& part, unsigned bank_index) {
  if (bank_index >= state_.banks.size()) {
    global_fault(part, reg::sgfsr::kUCBF);
    return true;
  }
  const ContextBank& bank = state_.banks[bank_index];
  if (!bank.translates()) {
    bypass(part);
    return true;
  }
  if (!bank.supported()) {
    global_fault(part, reg::sgfsr::kICF);
    return true;
  }
  if (bank.holds_off()) return hold_off(part, bank_index);
  const Leaf* leaf = micro_tlb_.find(bank.tag(), part.va);
  // An entry that does not allow the access is no answer: faults come from the TCU only.
  if (leaf != nullptr && leaf->allows(part.write)) {
    const std::uint32_t waited = arrived(part);  // behind a missed write
    state_.counters.merged_misses += waited;
    state_.counters.micro_tlb_hits += part.cells() - waited;
    part.tag = bank.tag();
    pass(part, *leaf, Time{0});
    return true;
  }
  Miss* miss = join_or_begin(part, bank_index, [](const Miss&) { return true; });
  if (miss == nullptr) return false;
  if (miss->phase == Miss::Phase::idle) {
    ask(*miss, std::max(part.arrivals.front() + state_.latency.hit, state_.context.now()));
  }
  return true;
}

// HUPCF = 0 and a fault stands: the fault model applies to everything else of the bank, unrecorded.
bool Tbu::hold_off(Part& part, unsigned bank_index) {
  const ContextBank& bank = state_.banks[bank_index];
  if (bank.stalls_faults()) {
    // Walks that were under way when the fault came go on, and what is stalled goes with RESUME. What comes
    // now is not looked up, so it meets neither, even on their pages.
    Miss* miss = join_or_begin(part, bank_index, [](const Miss& m) { return m.waits_for_fsr(); });
    if (miss == nullptr) return false;
    if (miss->phase == Miss::Phase::idle) {
      miss->phase = Miss::Phase::held;
      miss->own_fault = false;
    }
  } else {
    split_off_future(part);
    state_.counters.held_off += part.cells();
    terminate(part, tlm::TLM_ADDRESS_ERROR_RESPONSE, bank.reports_errors());
  }
  return true;
}

void Tbu::global_fault(Part& part, std::uint32_t kind) {
  split_off_future(part);
  state_.counters.global_faults += part.cells();
  state_.record_global_fault(kind, {FaultKind::none, 0, part.va, part.write, part.stream});
  terminate(part, tlm::TLM_GENERIC_ERROR_RESPONSE, (state_.scr0 & reg::scr0::kGFRE) != 0);
}

// The pending miss that the train waits for, with the train in it; nullptr when a new one is needed and
// all are taken. A new one is idle: the caller says what becomes of it.
template <typename Joinable>
Miss* Tbu::join_or_begin(Part& part, unsigned bank_index, Joinable joinable) {
  const Tag tag = state_.banks[bank_index].tag();
  Miss* idle = nullptr;
  Miss* found = nullptr;
  for (Miss& miss : misses_) {
    if (miss.phase == Miss::Phase::idle) {
      if (idle == nullptr) idle = &miss;
    } else if (miss.is_for(part.write, bank_index, tag, part.va) && joinable(miss)) {
      found = &miss;
      break;
    }
  }
  if (found == nullptr) {
    if (idle == nullptr) return nullptr;
    found = idle;
    found->write = part.write;
    found->invalidated = false;
    found->bank = bank_index;
    found->tag = tag;
    found->va = part.va;
    found->stream = part.stream;
    found->fault = FaultKind::none;
    found->asked = false;
  }
  join(*found, part);
  return found;
}

void Tbu::join(Miss& miss, Part& part) {
  miss.bursts.push_back(&part);
  part.state = Part::State::missed;
  if (part.write) {
    held_beats_ += std::uint64_t{part.cells()} * part.beats;
    youngest_write_ = miss.slot;
  }
  part.held_off = state_.banks[miss.bank].holds_off();
  if (part.held_off) state_.counters.held_off += part.cells();
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
  const Leaf* leaf = micro_tlb_.find(miss.tag, miss.va);
  if (leaf == nullptr || !leaf->allows(miss.write)) return ask(miss, looked_up);
  finish(miss, Leaf{*leaf}, looked_up);
}

void Tbu::finish(Miss& miss, const Leaf& leaf, Time not_before) {
  count_bursts(miss);
  const Tag tag = miss.tag;
  for (Part* part : release(miss)) {
    part->tag = tag;
    pass(*part, leaf, not_before);
  }
  admit_waiting();
}

void Tbu::finish(Miss& miss, FaultKind fault) {
  const bool report = state_.banks[miss.bank].reports_errors();
  for (std::size_t i = 0; i < miss.bursts.size(); ++i) split_off_future(*miss.bursts[i]);
  if (miss.asked) count_bursts(miss);
  for (Part* part : release(miss)) terminate(*part, status_of(fault), report);
  admit_waiting();
}

std::vector<Part*> Tbu::release(Miss& miss) {
  std::vector<Part*> bursts = std::exchange(miss.bursts, {});
  for (Part* part : bursts) {
    if (miss.write) held_beats_ -= std::uint64_t{part->cells()} * part->beats;
    // Cells that arrive from now on do not meet the miss.
    if (std::exchange(part->held_off, false)) {
      state_.counters.held_off -= part->cells() - arrived(*part);
    }
  }
  miss.phase = Miss::Phase::idle;
  return bursts;
}

// All but the one that asked the TCU. Cells that arrive from now on would hit if they came one by one, and are counted
// so; and so are all if the TCU was not asked.
void Tbu::count_bursts(const Miss& miss) {
  std::uint64_t merged = 0;
  for (const Part* part : miss.bursts) {
    const std::uint32_t waited = miss.asked ? arrived(*part) : 0;
    merged += waited;
    state_.counters.micro_tlb_hits += part->cells() - waited;
  }
  if (merged > 0) state_.counters.merged_misses += merged - 1;
}

void Tbu::pass(Part& part, const Leaf& leaf, Time not_before) {
  part.translated = true;
  part.passed_at = state_.context.now();
  part.drain_number = drain_.open(state_.context.now());
  state_.counters.translations += part.cells();
  if (part.cells() > 1 || !used_.empty()) used_.push_back(&part);
  forward(part, leaf.physical(part.va), leaf.epoch, not_before);
}

void Tbu::bypass(Part& part) {
  state_.counters.bypassed += part.cells();
  forward(part, part.va, AxiAttributes::kUntranslated, Time{0});
}

// Cells that arrive one by one use their entry one by one. Those of trains are caught up with before it matters, in
// the order of their last use; at one instant what had waited comes first, then reads that arrive, then writes.
void Tbu::use_entries() {
  std::erase_if(used_, [](const Part* part) { return part->arrivals.empty(); });
  struct Use {
    Time at;
    int kind;
    std::size_t number;  // of equals the part that passed first
    auto operator<=>(const Use&) const = default;
  };
  boost::container::small_vector<Use, 16> uses;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    Part* part = used_[i];
    const std::uint32_t cells = arrived(*part);
    const Time arrival = cells == 0 ? Time{0} : part->arrivals.at(cells - 1);
    const Use use = arrival < part->passed_at ? Use{part->passed_at, 0, i} : Use{arrival, part->write ? 2 : 1, i};
    if (use.at != std::exchange(part->last_use, use.at)) uses.push_back(use);
  }
  std::sort(uses.begin(), uses.end());
  for (const Use& use : uses) micro_tlb_.find(used_[use.number]->tag, used_[use.number]->va);
  std::erase_if(used_, [this](const Part* part) { return arrived(*part) == part->cells(); });
}

// A new entry may take the place of one that cells under way were to use.
void Tbu::insert(const Miss& miss) {
  use_entries();
  micro_tlb_.insert(miss.tag, miss.va, miss.leaf);
  for (Part* part : under_way_) {
    if (part->translated && !micro_tlb_.holds(part->tag, part->va)) split_off_future(*part);
  }
}

}  // namespace faultline::smmu
