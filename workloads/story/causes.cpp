// SPDX-License-Identifier: Apache-2.0
// A recorded transfer's time by cause.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "workloads/story/telling.hpp"

namespace faultline::workloads {

using sim::Mark;
using sim::Scope;
using sim::StepRecord;
using sim::Time;

namespace {

constexpr const char* kAnswering = "answering faults: ";
constexpr const char* kStalled = "accesses stalled in the SMMU";

// How much of the time between two instants lies in the intervals.
Time overlap(const std::vector<std::pair<Time, Time>>& intervals, Time from, Time to) {
  Time all{0};
  for (const auto& [first, last] : intervals) all += std::max(Time{0}, std::min(last, to) - std::max(first, from));
  return all;
}

// The element of that name, which is appended with time 0 where there is none.
template <typename Named>
Named& at_name(std::vector<Named>& all, std::string Named::*name, const std::string& wanted) {
  const auto known = std::find_if(all.begin(), all.end(), [&](const Named& each) { return each.*name == wanted; });
  return known != all.end() ? *known : all.emplace_back(Named{wanted, Time{0}});
}

// Intervals that overlap or touch become one.
std::vector<std::pair<Time, Time>> merged(std::vector<std::pair<Time, Time>> intervals) {
  std::sort(intervals.begin(), intervals.end());
  std::vector<std::pair<Time, Time>> apart;
  for (const auto& [from, to] : intervals) {
    if (!apart.empty() && apart.back().second >= from) {
      apart.back().second = std::max(apart.back().second, to);
    } else {
      apart.emplace_back(from, to);
    }
  }
  return apart;
}

}  // namespace

Telling::Intervals Telling::stalls() const {
  Intervals stalls;
  for (const StoryRecorder::Fault& fault : recorder_.faults()) {
    if (buffer_at(fault.node, fault.process, fault.address) == nullptr) continue;
    const auto over = std::find_if(recorder_.steps().begin(), recorder_.steps().end(), [&](const StepRecord& r) {
      return r.node == fault.node && r.at >= fault.at && r.step->mark == Mark::stall_over;
    });
    if (over != recorder_.steps().end()) stalls.emplace_back(fault.at, over->at);
  }
  return merged(std::move(stalls));
}

// When other parts than the deciding one were between a fault and the next attempt, or the end of the story.
Telling::Intervals Telling::faults_of_others() const {
  std::map<std::uint32_t, Time> open;
  Intervals all;
  for (const StepRecord& record : recorder_.steps()) {
    if (!is_other_part(record)) continue;
    if (record.step->mark == Mark::part_faulted) open.try_emplace(record.key.part, record.at);
    const bool again = record.step->mark == Mark::part_begins || record.step->mark == Mark::part_over;
    if (const auto found = open.find(record.key.part); again && found != open.end()) {
      all.emplace_back(found->second, record.at);
      open.erase(found);
    }
  }
  for (const auto& [part, since] : open) all.emplace_back(since, recorder_.end());
  return merged(std::move(all));
}

// Adds the part of the time between two steps in which an access stood still, by who was answering; returns it.
Time Telling::add_stalls(Time from, Time to,
                         const std::function<void(const std::string&, Time, const std::string&)>& add) const {
  Time all{0};
  for (const auto& [first, last] : stalls()) {
    Time at = std::max(first, from);
    const Time end = std::min(last, to);
    if (end <= at) continue;
    all += end - at;
    for (const StepRecord& record : recorder_.steps()) {
      if (!answers_stall(record) || record.at <= at || began(record) >= end) continue;
      const Time over = std::min(record.at, end);
      const Time begun = std::max(began(record), at);
      add(kStalled, begun - at, "");
      add(fmt::format("{}{}", kAnswering, who_of(record.step)), over - begun, label_of(record.step));
      at = over;
    }
    add(kStalled, end - at, "");
  }
  return all;
}

std::vector<CauseOfTime> Telling::causes() const {
  std::vector<CauseOfTime> causes;
  const auto add = [&](const std::string& cause, Time time, const std::string& step = "") {
    if (time <= Time{0}) return;
    CauseOfTime& to = at_name(causes, &CauseOfTime::cause, cause);
    to.time += time;
    if (!step.empty()) at_name(to.steps, &std::pair<std::string, Time>::first, step).second += time;
  };
  const sim::TransferBegin& begin = recorder_.begin();
  add("wait for a buffer, since the transfer's arrival", begin.at - begin.arrived);
  if (chain().empty()) {
    const bool message = begin.initiator.address == 0;
    add(message ? "a small message" : "preparing the buffers before the post", recorder_.end() - begin.at);
    return causes;
  }
  add("preparing the buffers before the post", chain().front().at - begin.at);
  const Intervals others = faults_of_others();
  std::uint32_t last_attempt = 0;
  for (const StepRecord& record : chain()) last_attempt = std::max(last_attempt, record.key.attempt);
  const StepRecord* fault = nullptr;  // that is being answered
  for (std::size_t i = 1; i < chain().size(); ++i) {
    const StepRecord& record = chain()[i];
    const Mark mark = record.step->mark;
    if (mark == Mark::part_faulted) fault = &record;
    // Cells that were on their way go on.
    const bool answers = fault != nullptr && record.step->scope == Scope::part && mark != Mark::part_begins &&
                         life_.position(record.step) >= life_.position(fault->step);
    const Time from = chain()[i - 1].at;
    Time time = record.at - from;
    if (mark == Mark::part_lost) {
      add("waiting for a timeout", time);
    } else if (answers) {
      add(fmt::format("{}{}", kAnswering, who_of(record.step)), time, label_of(record.step));
    } else {
      const bool in_vain = record.step->scope == Scope::part && record.key.attempt < last_attempt;
      time -= add_stalls(from, record.at, add);
      const Time beside = std::min(time, overlap(others, from, record.at));
      add(in_vain ? "attempts that came to nothing" : "the transfer itself", time - beside);
      add(fmt::format("the transfer, while faults of other {}s are answered", life_.part), beside);
    }
    if (mark == Mark::part_begins || mark == Mark::part_lost) fault = nullptr;
  }
  const bool ended =
      recorder_.outcome() == StoryRecorder::Outcome::done || recorder_.outcome() == StoryRecorder::Outcome::failed;
  add(ended ? "releasing the buffers after the return" : "nothing that was heard of",
      recorder_.end() - chain().back().at);
  return causes;
}

}  // namespace faultline::workloads
