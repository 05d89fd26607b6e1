// SPDX-License-Identifier: Apache-2.0
// The steps of a transfer that decide how long it takes.
#pragma once

#include <algorithm>
#include <optional>
#include <utility>

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

// Where what answers one fault stands in a chain.
struct AnsweredFault {
  std::size_t fault;              // the step that has found it
  sim::Time until = sim::kNever;  // when it was answered, or an attempt was through without that
};

// Of the fault that the driver of its node has taken by this step; nothing: the chain does not have it.
inline std::optional<AnsweredFault> answered_fault(const sim::Vector<sim::StepRecord>& steps, std::size_t taken,
                                                   sim::Mark over) {
  const sim::StepRecord& own = steps[taken];
  AnsweredFault found{taken};
  while (found.fault > 0 && !(steps[found.fault].step->mark == sim::Mark::part_faulted &&
                              steps[found.fault].key == own.key && steps[found.fault].node == own.node)) {
    --found.fault;
  }
  if (steps[found.fault].step->mark != sim::Mark::part_faulted) return std::nullopt;
  std::optional<sim::Time> latest;  // of each later attempt, its last step so far
  std::uint32_t attempt = own.key.attempt;
  for (std::size_t at = taken; at < steps.size(); ++at) {
    const sim::StepRecord& step = steps[at];
    if (step.step->scope != sim::Scope::part) continue;
    if (step.step->mark == sim::Mark::fault_answered && step.key == own.key && step.node == own.node) {
      found.until = step.at;
      return found;
    }
    if (step.key.attempt == own.key.attempt) continue;
    // The page was there before its own answer: another one has brought it.
    if (step.step->mark == over && latest && step.key.attempt == attempt) {
      found.until = *latest;
      return found;
    }
    latest = step.at;
    attempt = step.key.attempt;
  }
  return found;
}

// Between a fault and its answer the chain is what answers it. Where an attempt is through before the answer is over,
// what is left of the answer decides nothing.
inline void set_idle_steps_aside(DecidingChain& chain, sim::Mark over) {
  for (std::size_t taken = 0; taken < chain.steps.size(); ++taken) {
    if (chain.steps[taken].step->mark != sim::Mark::fault_taken) continue;
    const auto found = answered_fault(chain.steps, taken, over);
    if (!found || found->until == sim::kNever) continue;
    const sim::StepRecord own = chain.steps[taken];
    const sim::Vector<sim::StepRecord> steps = std::exchange(chain.steps, {});
    sim::Time since = steps[found->fault].at;
    bool is_cut = false;
    for (std::size_t at = 0; at < steps.size(); ++at) {
      const sim::StepRecord& step = steps[at];
      const bool is_own = step.key == own.key && step.node == own.node;
      const bool concerns = at > found->fault && step.step->scope == sim::Scope::part;
      if (concerns && is_own && step.at > found->until) {
        if (!std::exchange(is_cut, true)) {
          chain.steps.push_back(step);
          chain.steps.back().at = found->until;
        }
        chain.idle.push_back({step, since});
      } else if (concerns && !is_own && step.at <= found->until) {
        chain.idle.push_back({step, since});
        since = step.at;
      } else {
        chain.steps.push_back(step);
      }
    }
    std::stable_sort(chain.steps.begin(), chain.steps.end(), [](const auto& a, const auto& b) { return a.at < b.at; });
    const auto again = std::ranges::find_if(chain.steps, [&](const sim::StepRecord& step) {
      return step.step == own.step && step.key == own.key && step.node == own.node;
    });
    taken = again == chain.steps.end() ? found->fault : static_cast<std::size_t>(again - chain.steps.begin());
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
  set_idle_steps_aside(chain, over);
  return chain;
}

}  // namespace faultline::workloads
