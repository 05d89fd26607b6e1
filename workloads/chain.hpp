// SPDX-License-Identifier: Apache-2.0
// Of the steps of a transfer those that decide how long it takes.
#pragma once

#include <algorithm>

#include "models/sim/recycling.hpp"
#include "models/sim/trace.hpp"

namespace faultline::workloads {

// Steps of the whole transfer, and of the part that was over last: parts live side by side. Where none is over, of the
// part that was heard of last. What timelines alone are told is left out.
template <typename Records>
sim::Vector<sim::StepRecord> deciding_chain(const Records& records) {
  using sim::Mark;
  using sim::Scope;
  const sim::StepRecord* last = nullptr;
  const sim::StepRecord* heard = nullptr;
  for (const sim::StepRecord& record : records) {
    if (record.step->scope == Scope::part && (heard == nullptr || record.at >= heard->at)) heard = &record;
    if (record.step->mark == Mark::part_over && (last == nullptr || record.at >= last->at)) last = &record;
  }
  if (last == nullptr) last = heard;
  sim::Vector<sim::StepRecord> chain;
  for (const sim::StepRecord& record : records) {
    if (record.step->mark == Mark::for_timelines) continue;
    const Scope scope = record.step->scope;
    const bool of_last = scope == Scope::part && last != nullptr && record.key.part == last->key.part;
    if (of_last || scope == Scope::transfer) chain.push_back(record);
  }
  std::stable_sort(chain.begin(), chain.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  return chain;
}

}  // namespace faultline::workloads
