// SPDX-License-Identifier: Apache-2.0
// The steps of a transfer that decide how long it takes.
#pragma once

#include <algorithm>

#include "models/sim/recycling.hpp"
#include "models/sim/trace.hpp"

namespace faultline::workloads {

// The steps of the transfer as a whole, and those of the part that was over last (`over`: as its initiator sees it):
// parts run side by side. Where no part is over, it is the part with the latest step. Steps that are for timelines
// alone are left out.
template <typename Records>
sim::Vector<sim::StepRecord> deciding_chain(const Records& records, sim::Mark over = sim::Mark::part_over) {
  using sim::Mark;
  using sim::Scope;
  const sim::StepRecord* last = nullptr;
  const sim::StepRecord* heard = nullptr;
  for (const sim::StepRecord& record : records) {
    if (record.step->scope == Scope::part && (heard == nullptr || record.at >= heard->at)) heard = &record;
    if (record.step->mark == over && (last == nullptr || record.at >= last->at)) last = &record;
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
