// SPDX-License-Identifier: Apache-2.0
// The steps of a transfer that decide how long it takes.
#pragma once

#include <algorithm>

#include "models/sim/recycling.hpp"
#include "models/sim/trace.hpp"

namespace faultline::workloads {

// A step of the deciding part that decides nothing: its source tries again while a fault of an earlier attempt is
// still being answered.
struct IdleStep {
  sim::StepRecord record;
  sim::Time since;  // when the one before it was over, or the fault was found
};

struct DecidingChain {
  sim::Vector<sim::StepRecord> steps;
  sim::Vector<IdleStep> idle;
};

// Between a fault and its answer the chain is what answers it.
inline void set_idle_steps_aside(DecidingChain& chain) {
  auto& steps = chain.steps;
  const auto of_answer = [](const sim::StepRecord& answered) {
    return [&answered](const sim::StepRecord& r) {
      return r.key.attempt == answered.key.attempt && r.node == answered.node;
    };
  };
  for (std::size_t end = 0; end < steps.size(); ++end) {
    const sim::StepRecord answered = steps[end];
    if (answered.step->mark != sim::Mark::fault_answered) continue;
    const auto belongs = of_answer(answered);
    std::size_t fault = end;
    while (fault > 0 && !(steps[fault].step->mark == sim::Mark::part_faulted && belongs(steps[fault]))) --fault;
    if (steps[fault].step->mark != sim::Mark::part_faulted) continue;
    sim::Time since = steps[fault].at;
    std::size_t kept = fault;
    for (std::size_t at = fault + 1; at < end; ++at) {
      if (steps[at].step->scope != sim::Scope::part || belongs(steps[at])) {
        steps[++kept] = steps[at];
      } else {
        chain.idle.push_back({steps[at], since});
        since = steps[at].at;
      }
    }
    steps.erase(steps.begin() + static_cast<std::ptrdiff_t>(kept) + 1,
                steps.begin() + static_cast<std::ptrdiff_t>(end));
    end = kept + 1;
  }
}

// The steps of the transfer as a whole, and those of the part that was over last (`over`: as its initiator sees it):
// parts run side by side. Where no part is over, or the transfer has `failed`, it is the part with the latest step.
// Steps that are for timelines alone are left out.
template <typename Records>
DecidingChain deciding_chain(const Records& records, sim::Mark over = sim::Mark::part_over, bool failed = false) {
  using sim::Mark;
  using sim::Scope;
  const sim::StepRecord* last = nullptr;
  const sim::StepRecord* heard = nullptr;
  for (const sim::StepRecord& record : records) {
    if (record.step->scope == Scope::part && (heard == nullptr || record.at >= heard->at)) heard = &record;
    if (record.step->mark == over && (last == nullptr || record.at >= last->at)) last = &record;
  }
  if (last == nullptr || failed) last = heard;
  DecidingChain chain;
  for (const sim::StepRecord& record : records) {
    if (record.step->mark == Mark::for_timelines) continue;
    const Scope scope = record.step->scope;
    const bool of_last = scope == Scope::part && last != nullptr && record.key.part == last->key.part;
    if (of_last || scope == Scope::transfer) chain.steps.push_back(record);
  }
  std::stable_sort(chain.steps.begin(), chain.steps.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
  set_idle_steps_aside(chain);
  return chain;
}

}  // namespace faultline::workloads
