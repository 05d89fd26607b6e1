// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/tbu.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/memory/axi.hpp"
#include "models/smmu/tcu.hpp"

namespace faultline::smmu {

using memory::AxiAttributes;
using sim::Time;
using sim::Train;

namespace {

using Payload = tlm::tlm_generic_payload;

Transit& transit_of(Payload& payload) { return *payload.get_extension<Transit>(); }

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

void Tbu::accept(Payload& payload) {
  const Train& train = sim::train_of(payload);
  if (train.times.empty() || !same_page(payload.get_address(), payload.get_address() + train.bytes() - 1)) {
    throw std::logic_error("a train at the SMMU must lie within one page");
  }
  const std::uint32_t beats = (train.cell_bytes + state_.config.beat_bytes - 1) / state_.config.beat_bytes;
  Transit& transit = sim::extension<Transit>(payload);
  transit.tbu = index_;
  transit.write = payload.is_write();
  transit.translated = false;
  transit.stream = stream_id(index_, sim::extension<AxiAttributes>(payload).master_id);
  transit.beats = beats * train.cells();
  transit.va = payload.get_address();
  const Time first = std::max(state_.context.now(), train.times.front());
  state_.context.loop.at<&Tbu::arrived>(first, port_, *this, reinterpret_cast<std::uint64_t>(&payload));
}

void Tbu::arrived(std::uint64_t argument) {
  Payload& payload = *reinterpret_cast<Payload*>(argument);
  Transit& transit = transit_of(payload);
  transit.order = arrivals_++;
  auto& waiting = channels_[transit.write ? 1 : 0].waiting;
  if (!waiting.empty() || !admit(payload)) waiting.push_back(&payload);
}

// A channel is in order: what cannot be admitted keeps all behind it waiting. The two channels take
// turns by age, because they share the misses.
void Tbu::admit_waiting() {
  bool progress = true;
  while (progress) {
    progress = false;
    std::array<Channel*, 2> by_age{&channels_[0], &channels_[1]};
    if (!by_age[0]->waiting.empty() && !by_age[1]->waiting.empty() &&
        transit_of(*by_age[1]->waiting.front()).order < transit_of(*by_age[0]->waiting.front()).order) {
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
bool Tbu::admit(Payload& payload) {
  const Transit& transit = transit_of(payload);
  // Writes pass a missed write only while the buffer holds all the missed beats.
  if (transit.write && held_beats_ > state_.config.write_buffer_beats) {
    if (!continues_missed_write(transit)) return false;
    join(misses_[youngest_write_], payload);
    return true;
  }
  if ((state_.scr0 & reg::scr0::kCLIENTPD) != 0) {
    bypass(payload);
    return true;
  }
  const StreamMapping::Match match = state_.streams.match(transit.stream);
  switch (match.kind) {
    case StreamMapping::Kind::bypass: bypass(payload); return true;
    case StreamMapping::Kind::unmatched:
      if ((state_.scr0 & reg::scr0::kUSFCFG) != 0) {
        global_fault(payload, transit, reg::sgfsr::kUSF);
      } else {
        bypass(payload);
      }
      return true;
    case StreamMapping::Kind::conflict: global_fault(payload, transit, reg::sgfsr::kSMCF); return true;
    case StreamMapping::Kind::fault: global_fault(payload, transit, reg::sgfsr::kICF); return true;
    case StreamMapping::Kind::translate: break;
  }
  return translate(payload, transit, match.bank);
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

bool Tbu::translate(Payload& payload, const Transit& transit, unsigned bank_index) {
  if (bank_index >= state_.banks.size()) {
    global_fault(payload, transit, reg::sgfsr::kUCBF);
    return true;
  }
  const ContextBank& bank = state_.banks[bank_index];
  if (!bank.translates()) {
    bypass(payload);
    return true;
  }
  if (!bank.supported()) {
    global_fault(payload, transit, reg::sgfsr::kICF);
    return true;
  }
  if (bank.holds_off()) return hold_off(payload, transit, bank_index);
  const Leaf* leaf = micro_tlb_.find(bank.tag(), transit.va);
  // An entry that does not allow the access is no answer: faults come from the TCU only.
  if (leaf != nullptr && leaf->allows(transit.write)) {
    const Train& train = sim::train_of(payload);
    const std::uint32_t waited = train.times.count_before(state_.context.now());  // behind a missed write
    state_.counters.merged_misses += waited;
    state_.counters.micro_tlb_hits += train.cells() - waited;
    pass(payload, *leaf, Time{0});
    return true;
  }
  Miss* miss = join_or_begin(payload, transit, bank_index, [](const Miss&) { return true; });
  if (miss == nullptr) return false;
  if (miss->phase == Miss::Phase::idle) {
    ask(*miss, std::max(sim::train_of(payload).times.front() + state_.latency.hit, state_.context.now()));
  }
  return true;
}

// HUPCF = 0 and a fault stands: the fault model applies to everything else of the bank, unrecorded.
bool Tbu::hold_off(Payload& payload, const Transit& transit, unsigned bank_index) {
  const ContextBank& bank = state_.banks[bank_index];
  if (bank.stalls_faults()) {
    // Walks that were under way when the fault came go on, and what is stalled goes with RESUME. What comes
    // now is not looked up, so it meets neither, even on their pages.
    Miss* miss = join_or_begin(payload, transit, bank_index, [](const Miss& m) { return m.waits_for_fsr(); });
    if (miss == nullptr) return false;
    if (miss->phase == Miss::Phase::idle) {
      miss->phase = Miss::Phase::held;
      miss->own_fault = false;
    }
  } else {
    state_.counters.held_off += sim::train_of(payload).cells();
    terminate(payload, tlm::TLM_ADDRESS_ERROR_RESPONSE, bank.reports_errors());
  }
  return true;
}

void Tbu::global_fault(Payload& payload, const Transit& transit, std::uint32_t kind) {
  state_.counters.global_faults += sim::train_of(payload).cells();
  state_.record_global_fault(kind, {FaultKind::none, 0, transit.va, transit.write, transit.stream});
  terminate(payload, tlm::TLM_GENERIC_ERROR_RESPONSE, (state_.scr0 & reg::scr0::kGFRE) != 0);
}

// The pending miss that the train waits for, with the train in it; nullptr when a new one is needed and
// all are taken. A new one is idle: the caller says what becomes of it.
template <typename Joinable>
Miss* Tbu::join_or_begin(Payload& payload, const Transit& transit, unsigned bank_index, Joinable joinable) {
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
  }
  join(*found, payload);
  return found;
}

void Tbu::join(Miss& miss, Payload& payload) {
  const Transit& transit = transit_of(payload);
  miss.bursts.push_back(&payload);
  if (transit.write) {
    held_beats_ += transit.beats;
    youngest_write_ = miss.slot;
  }
  if (state_.banks[miss.bank].holds_off()) state_.counters.held_off += sim::train_of(payload).cells();
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
    micro_tlb_.insert(miss.tag, miss.va, miss.leaf);
    finish(miss, Leaf{miss.leaf}, state_.context.now());
  }
}

void Tbu::invalidate(const Invalidation& what) {
  micro_tlb_.invalidate(what);
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
  for (Payload* payload : release(miss)) pass(*payload, leaf, not_before);
  admit_waiting();
}

void Tbu::finish(Miss& miss, FaultKind fault) {
  const bool report = state_.banks[miss.bank].reports_errors();
  if (miss.asked) count_bursts(miss);
  for (Payload* payload : release(miss)) terminate(*payload, status_of(fault), report);
  admit_waiting();
}

std::vector<Payload*> Tbu::release(Miss& miss) {
  std::vector<Payload*> bursts = std::exchange(miss.bursts, {});
  if (miss.write) {
    for (Payload* payload : bursts) held_beats_ -= transit_of(*payload).beats;
  }
  miss.phase = Miss::Phase::idle;
  return bursts;
}

// All but the one that asked the TCU. Cells that arrive from now on would hit if they came one by one, and are counted
// so; and so are all if the TCU was not asked.
void Tbu::count_bursts(const Miss& miss) {
  std::uint64_t merged = 0;
  for (Payload* payload : miss.bursts) {
    const Train& train = sim::train_of(*payload);
    const std::uint32_t waited = miss.asked ? train.times.count_before(state_.context.now()) : 0;
    merged += waited;
    state_.counters.micro_tlb_hits += train.cells() - waited;
  }
  if (merged > 0) state_.counters.merged_misses += merged - 1;
}

void Tbu::pass(Payload& payload, const Leaf& leaf, Time not_before) {
  Train& train = sim::train_of(payload);
  Transit& transit = transit_of(payload);
  transit.translated = true;
  transit.number = drain_.open();
  state_.counters.translations += train.cells();
  train.times = sim::not_before(train.times.shifted(state_.latency.hit), std::max(not_before, state_.context.now()));
  payload.set_address(leaf.physical(transit.va));
  sim::extension<AxiAttributes>(payload).translation_epoch = leaf.epoch;
  state_.ports.forward(payload);
}

void Tbu::bypass(Payload& payload) {
  Train& train = sim::train_of(payload);
  state_.counters.bypassed += train.cells();
  train.times = sim::not_before(train.times.shifted(state_.latency.hit), state_.context.now());
  sim::extension<AxiAttributes>(payload).translation_epoch = AxiAttributes::kUntranslated;
  state_.ports.forward(payload);
}

void Tbu::terminate(Payload& payload, tlm::tlm_response_status status, bool report) {
  Train& train = sim::train_of(payload);
  state_.counters.terminated += train.cells();
  train.responses = sim::not_before(train.times.shifted(state_.latency.hit), state_.context.now())
                        .shifted(state_.latency.termination);
  if (report) {
    payload.set_response_status(status);
  } else {
    // Read as zero, write ignored.
    if (payload.is_read()) train.content = sim::Content::zeros(train.bytes());
    payload.set_response_status(tlm::TLM_OK_RESPONSE);
  }
  state_.ports.respond(index_, payload);
}

}  // namespace faultline::smmu
