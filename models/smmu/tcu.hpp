// SPDX-License-Identifier: Apache-2.0
// The translation control unit: macro TLB, walk caches, the walker and the fault records.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <tlm>
#include <vector>

#include "models/memory/frame_store.hpp"
#include "models/sim/recycling.hpp"
#include "models/smmu/state.hpp"
#include "models/smmu/tbu.hpp"
#include "models/smmu/tlb.hpp"

namespace faultline::smmu {

class Tcu {
 public:
  Tcu(State& state, const memory::FrameStore& truth);
  Tcu(const Tcu&) = delete;
  Tcu& operator=(const Tcu&) = delete;
  // In order of their index, once, before the simulation.
  void add(Tbu& tbu) { tbus_.push_back(&tbu); }

  // The TBU sends a miss at `when`; the answer goes to Tbu::translated or Tbu::faulted, or the miss stalls.
  void request(Miss& miss, sim::Time when);
  void descriptor_answer(tlm::tlm_generic_payload& payload, const sim::Answers& answers);
  void invalidate(const Invalidation& what);

  // What the macro TLB holds, for observers: no counter counts, and the entry does not become younger.
  std::optional<Leaf> peek(const Tag& tag, std::uint64_t va) const { return macro_tlb_.peek(tag, va); }
  std::uint64_t tlb_changes() const { return macro_tlb_.changes(); }

 private:
  // One walk. Several misses (of other TBUs, or of the other channel) may wait for it.
  struct Walk {
    bool busy = false;
    bool restart = false;              // the table that it reads may have gone
    std::array<bool, 4> leaf_stale{};  // by level: what the present read returns may have gone
    unsigned bank = 0;
    Tag tag;
    std::uint64_t va = 0;
    unsigned level = 0;
    unsigned pointer_level = 0;  // of the descriptor that points to `table`; at the root, of the table itself
    std::uint64_t table = 0;
    std::uint64_t descriptor = 0;
    std::uint64_t epoch = 0;
    sim::Time begun{0};
    bool refused = false;  // it could not be read
    sim::Time answer_at{0};
    tlm::tlm_generic_payload* read = nullptr;
    sim::Vector<Miss*> misses;

    bool serves(const Miss& miss) const;
  };

  void looked_up(std::uint64_t miss);
  void walk_or_wait(Miss& miss);
  void begin(std::size_t slot, Miss& miss);
  void begin_again(std::size_t slot);
  void start_reading(std::uint64_t slot);
  void read_descriptor(Walk& walk);
  void descriptor_read(std::uint64_t slot);
  void end(std::size_t slot, FaultKind fault, const Leaf& leaf);
  void record_fault(Miss& miss, FaultKind fault, unsigned level);
  void tell_walks() const;

  State& state_;
  const memory::FrameStore& truth_;
  const sim::Port port_;
  std::vector<Tbu*> tbus_;
  Tlb macro_tlb_;
  WalkCache walk_cache_;
  std::vector<Walk> walks_;
  sim::Deque<Miss*> waiting_;  // for a walk slot
};

}  // namespace faultline::smmu
