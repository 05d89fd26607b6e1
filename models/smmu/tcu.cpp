// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/tcu.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "models/smmu/steps.hpp"
#include "models/smmu/tracks.hpp"
#include "models/soc/axi.hpp"

namespace faultline::smmu {

using sim::Time;
using sim::Train;
using soc::AxiAttributes;

namespace {

constexpr std::uint32_t kDescriptorBytes = 8;

Leaf leaf_of(std::uint64_t descriptor, unsigned level, std::uint64_t epoch) {
  Leaf leaf;
  leaf.output = descriptor & descriptor::kAddressMask & ~(level_bytes(level) - 1);
  leaf.epoch = epoch;
  leaf.level = static_cast<std::uint8_t>(level);
  leaf.user = (descriptor & descriptor::kUser) != 0;
  leaf.writable = (descriptor & descriptor::kReadOnly) == 0;
  return leaf;
}

}  // namespace

bool Tcu::Walk::serves(const Miss& miss) const {
  return busy && miss.bank == bank && miss.tag == tag && same_page(miss.va, va);
}

Tcu::Tcu(State& state, const memory::FrameStore& truth)
    : state_(state),
      truth_(truth),
      port_(state.context.loop.new_port()),
      macro_tlb_(state.config.macro_tlb_entries, state.config.macro_tlb_ways),
      walk_cache_(state.config.walk_cache_entries, state.config.walk_cache_ways),
      walks_(state.config.walk_slots) {}

void Tcu::request(Miss& miss, Time when) {
  state_.context.loop.at<&Tcu::looked_up>(when + state_.latency.to_tcu + state_.latency.macro_tlb, port_, *this,
                                          reinterpret_cast<std::uint64_t>(&miss));
}

void Tcu::looked_up(std::uint64_t argument) {
  Miss& miss = *reinterpret_cast<Miss*>(argument);
  const Leaf* leaf = macro_tlb_.find(miss.tag, miss.va);
  // As in the TBU, an entry without the permission is no answer: the walk decides.
  if (leaf != nullptr && leaf->allows(miss.write)) {
    ++state_.counters.macro_tlb_hits;
    tbus_[miss.tbu]->translated(miss, *leaf);
  } else {
    walk_or_wait(miss);
  }
}

void Tcu::walk_or_wait(Miss& miss) {
  for (Walk& walk : walks_) {
    if (!walk.serves(miss)) continue;
    walk.misses.push_back(&miss);
    return;
  }
  const auto idle = std::find_if(walks_.begin(), walks_.end(), [](const Walk& w) { return !w.busy; });
  if (idle == walks_.end()) {
    waiting_.push_back(&miss);
  } else {
    begin(static_cast<std::size_t>(idle - walks_.begin()), miss);
  }
}

void Tcu::begin(std::size_t slot, Miss& miss) {
  ++state_.counters.walks;
  Walk& walk = walks_[slot];
  walk.busy = true;
  walk.bank = miss.bank;
  walk.tag = miss.tag;
  walk.va = miss.va;
  walk.begun = state_.context.now();
  walk.misses.push_back(&miss);
  tell_walks();
  begin_again(slot);
  // Those that came for the same page while all slots were taken need no walk of their own.
  sim::erase_if(waiting_, [&walk](Miss* other) {
    if (!walk.serves(*other)) return false;
    walk.misses.push_back(other);
    return true;
  });
}

void Tcu::begin_again(std::size_t slot) {
  state_.context.loop.at<&Tcu::start_reading>(state_.context.now() + state_.latency.walk_cache, port_, *this, slot);
}

void Tcu::start_reading(std::uint64_t slot) {
  Walk& walk = walks_[slot];
  walk.restart = false;  // it holds no pointer yet
  const ContextBank& bank = state_.banks[walk.bank];
  const unsigned bits = bank.va_bits();
  if (bits == 0 || walk.va >> bits != 0) {
    end(slot, FaultKind::translation, Leaf{.level = 0});
    return;
  }
  const WalkCache::Start start = walk_cache_.find(walk.tag, walk.va, {start_level(bits), bank.table()});
  walk.level = start.level;
  walk.pointer_level = start.level == start_level(bits) ? start.level : start.level - 1;
  walk.table = start.table;
  read_descriptor(walk);
}

void Tcu::read_descriptor(Walk& walk) {
  ++state_.counters.walk_reads;
  // Maintenance before this read cannot concern what it returns.
  walk.leaf_stale = {};
  tlm::tlm_generic_payload& payload = state_.context.payloads.acquire();
  payload.set_command(tlm::TLM_READ_COMMAND);
  payload.set_address(walk.table + level_index(walk.va, walk.level) * kDescriptorBytes);
  payload.set_data_length(kDescriptorBytes);
  payload.set_streaming_width(kDescriptorBytes);
  Train& train = sim::train_of(payload);
  train.times = sim::TimeSequence::single(state_.context.now());
  train.cell_bytes = kDescriptorBytes;
  AxiAttributes& attributes = sim::extension<AxiAttributes>(payload);
  attributes = {};
  walk.read = &payload;
  state_.ports.read_descriptor(payload);
}

void Tcu::descriptor_answer(tlm::tlm_generic_payload& payload, const sim::Answers& answers) {
  const auto found = std::find_if(walks_.begin(), walks_.end(), [&](const Walk& w) { return w.read == &payload; });
  if (found == walks_.end()) throw std::logic_error("answer to a descriptor read that nobody made");
  Walk& walk = *found;
  walk.answer_at = sim::kNever;
  if (answers.instants.empty()) return;
  walk.refused = answers.status != tlm::TLM_OK_RESPONSE;
  if (!answers.data.empty()) {
    // Memory was read just now, so the truth of this instant is what the descriptor tells.
    walk.descriptor = answers.data.word(0);
    walk.epoch = truth_.epoch_of(payload.get_address());
  }
  walk.answer_at = answers.instants.back() + state_.latency.walk_read_path;
  const auto slot = static_cast<std::size_t>(found - walks_.begin());
  state_.context.loop.at<&Tcu::descriptor_read>(walk.answer_at, port_, *this, slot);
}

void Tcu::descriptor_read(std::uint64_t slot) {
  Walk& walk = walks_[slot];
  if (walk.read == nullptr || walk.answer_at != state_.context.now()) return;  // it was put off
  std::exchange(walk.read, nullptr)->release();
  if (walk.restart) {
    ++state_.counters.walk_restarts;
    begin_again(slot);
    return;
  }
  Leaf nowhere{.level = static_cast<std::uint8_t>(walk.level)};
  const bool valid = (walk.descriptor & descriptor::kValid) != 0;
  const bool table_or_page = (walk.descriptor & descriptor::kTableOrPage) != 0;
  if (walk.refused) {
    end(slot, FaultKind::external, nowhere);
  } else if (!valid || (walk.level == 3 && !table_or_page) || (walk.level == 0 && !table_or_page)) {
    end(slot, FaultKind::translation, nowhere);
  } else if (walk.level < 3 && table_or_page) {
    walk.table = walk.descriptor & descriptor::kAddressMask;
    walk_cache_.insert(walk.tag, walk.va, walk.level, walk.table);
    walk.pointer_level = walk.level++;
    read_descriptor(walk);
  } else if (walk.leaf_stale[walk.level]) {
    ++state_.counters.walk_restarts;
    begin_again(slot);
  } else if ((walk.descriptor & descriptor::kAccessed) == 0 && state_.banks[walk.bank].faults_on_access_flag()) {
    end(slot, FaultKind::access_flag, nowhere);
  } else {
    end(slot, FaultKind::none, leaf_of(walk.descriptor, walk.level, walk.epoch));
  }
}

void Tcu::end(std::size_t slot, FaultKind fault, const Leaf& leaf) {
  Walk& walk = walks_[slot];
  state_.counters.walk_time += static_cast<std::uint64_t>((state_.context.now() - walk.begun).count());
  const sim::Vector<Miss*> misses = std::exchange(walk.misses, {});
  walk.busy = false;
  tell_walks();
  state_.context.slice(track::kWalker, static_cast<std::uint32_t>(slot), walk.begun, state_.context.now(),
                       fault == FaultKind::none ? "walk" : "walk, fault", "SMMU");
  bool good = false;
  for (Miss* miss : misses) {
    if (fault != FaultKind::none) {
      record_fault(*miss, fault, leaf.level);
    } else if (!leaf.allows(miss->write)) {
      record_fault(*miss, FaultKind::permission, leaf.level);
    } else {
      good = true;
      tbus_[miss->tbu]->translated(*miss, leaf);
    }
  }
  // Only what has let somebody through is worth keeping; a fault is found anew each time.
  if (good) macro_tlb_.insert(walk.tag, walk.va, leaf);
  if (waiting_.empty()) return;
  Miss& next = *waiting_.front();
  waiting_.pop_front();
  begin(slot, next);
}

void Tcu::tell_walks() const {
  if (!state_.context.trace.records()) return;
  const auto busy = std::count_if(walks_.begin(), walks_.end(), [](const Walk& w) { return w.busy; });
  state_.context.level(track::kWalks, static_cast<std::uint64_t>(busy));
}

void Tcu::record_fault(Miss& miss, FaultKind fault, unsigned level) {
  ContextBank& bank = state_.banks[miss.bank];
  ++state_.counters.of(fault);
  state_.context.report(step::kAccessFaulted, {});
  const bool recorded = bank.record(miss.report(fault, level));
  if (!recorded) ++state_.counters.multi;
  state_.tell_fault(fault, miss.bank, miss.tag, miss.va, miss.write, miss.reported);
  miss.reported = miss.reported || recorded;
  if (bank.holds_off()) {
    for (Tbu* tbu : tbus_) tbu->reconsider();
  }
  // An external abort has nothing that software could repair, so it never stalls.
  if (bank.stalls_faults() && fault != FaultKind::external) {
    ++state_.counters.stalls;
    state_.tell_stalls();
    bank.stalled();
    miss.fault = fault;
    miss.phase = Miss::Phase::stalled;
  } else {
    tbus_[miss.tbu]->faulted(miss, fault);
  }
  state_.update_interrupt();
}

void Tcu::invalidate(const Invalidation& what) {
  macro_tlb_.invalidate(what);
  walk_cache_.invalidate(what);
  for (Walk& walk : walks_) {
    if (!walk.busy) continue;
    for (unsigned level = 1; level <= 3; ++level) {
      if (what.matches(walk.tag, walk.va, level)) walk.leaf_stale[level] = true;
    }
    // The table that it reads may be freed when the descriptor that points there is concerned: begin again
    // rather than go on from what has gone. All that this descriptor covers shares the table.
    if (!what.last_level_only && what.matches(walk.tag, walk.va, walk.pointer_level)) walk.restart = true;
  }
}

}  // namespace faultline::smmu
