// SPDX-License-Identifier: Apache-2.0
// The entries of a TBU's micro-TLB: how trains use them as their cells would one by one, and what a new one changes for
// trains that are under way.
#include <algorithm>
#include <utility>

#include "models/smmu/tbu.hpp"

namespace faultline::smmu {

using sim::Time;

// An entry that does not allow the access is no answer: faults come from the TCU only. It has been used all the same.
const Leaf* Tbu::look_up(const Tag& tag, std::uint64_t va, bool write) {
  const Leaf* leaf = micro_tlb_.find(tag, va);
  if (leaf == nullptr || leaf->allows(write)) return leaf;
  use_entries();
  micro_tlb_.find(tag, va);
  return nullptr;
}

// Cells that arrive one by one use their entry one by one. Those of trains are caught up with before it matters, in
// the order of their last use; at one instant what had waited comes first, then reads that arrive, then writes.
void Tbu::use_entries() {
  std::erase_if(used_, [](const Transit* transit) { return transit->arrivals.empty(); });
  struct Use {
    Time at;
    int kind;
    std::size_t number;  // of equals the train that passed first
    auto operator<=>(const Use&) const = default;
  };
  sim::SmallVector<Use, 16> uses;
  for (std::size_t i = 0; i < used_.size(); ++i) {
    Transit* transit = used_[i];
    const std::uint32_t cells = arrived(*transit);
    const Time arrival = cells == 0 ? Time{0} : transit->arrivals.at(cells - 1);
    const Use use =
        arrival < transit->passed_at ? Use{transit->passed_at, 0, i} : Use{arrival, transit->write ? 2 : 1, i};
    if (use.at != std::exchange(transit->last_use, use.at)) uses.push_back(use);
  }
  std::sort(uses.begin(), uses.end());
  for (const Use& use : uses) micro_tlb_.find(used_[use.number]->tag, used_[use.number]->va);
  std::erase_if(used_, [this](const Transit* transit) { return arrived(*transit) == transit->cells(); });
}

// A new entry may take the place of one that cells under way were to use. It answers what comes from now on to pages
// that others wait for: on the other channel, or other pages of a block. And an entry for a page within a block that
// cells under way use is theirs, too.
void Tbu::insert(const Miss& miss) {
  use_entries();
  const std::optional<TlbKey> replaced = micro_tlb_.insert(miss.tag, miss.va, miss.leaf);
  const TlbKey inserted = TlbKey::of(miss.tag, miss.va, miss.leaf.level);
  for (const Miss& other : misses_) {
    if (&other == &miss || other.phase == Miss::Phase::idle || !inserted.covers(other.tag, other.va)) continue;
    for (std::size_t i = 0; i < other.bursts.size(); ++i) split_off_future(*other.bursts[i]);
  }
  if (!replaced && !micro_tlb_.has_blocks()) return;
  for (Transit* transit : under_way_) {
    if (!transit->translated) continue;
    const std::uint64_t bytes = std::uint64_t{transit->cells()} * sim::train_of(*transit->train).cell_bytes;
    const bool lost = replaced && replaced->covers(transit->tag, transit->va);
    if (lost || inserted.meets(transit->tag, transit->va, bytes)) split_off_future(*transit);
  }
}

}  // namespace faultline::smmu
