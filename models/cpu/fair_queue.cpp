// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/fair_queue.hpp"

#include <stdexcept>

#include "models/cpu/cfs.hpp"
#include "models/cpu/eevdf.hpp"

namespace faultline::cpu {

std::unique_ptr<FairQueue> FairQueue::make(const SchedConfig& config, const SchedRules& rules) {
  if (config.policy == SchedPolicy::eevdf) return std::make_unique<Eevdf>(config);
  return std::make_unique<Cfs>(config, rules.slice_floor);
}

void FairQueue::add(Execution& thread, Arrival how) {
  place(thread.entity, how);
  threads_.push_back(&thread);
}

void FairQueue::remove(Execution& thread) {
  before_removal(thread.entity);
  if (std::erase(threads_, &thread) != 1) throw std::logic_error("thread " + thread.name() + " is not in this queue");
  if (current_ == &thread) current_ = nullptr;
  after_removal();
}

Execution& FairQueue::pick() {
  Execution& next = choose();
  const bool again = current_ == &next;
  if (!again) {
    put_back();
    current_ = &next;
    next.entity.ran = sim::Time{0};
  }
  chosen(next.entity, again);
  return next;
}

void FairQueue::put_back() {
  if (current_ == nullptr) return;
  std::erase(threads_, current_);
  threads_.push_back(current_);
  current_ = nullptr;
}

// The remainder is kept, so that it does not matter in how many pieces time is charged.
void FairQueue::charge(sim::Time elapsed) {
  SchedEntity& entity = current_->entity;
  entity.ran += elapsed;
  const std::int64_t weighted = elapsed.count() * 1024 + entity.remainder;
  entity.vruntime += sim::Time{weighted / entity.weight};
  entity.remainder = weighted % entity.weight;
  advanced(entity);
}

}  // namespace faultline::cpu
