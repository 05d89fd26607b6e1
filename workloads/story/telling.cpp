// SPDX-License-Identifier: Apache-2.0
#include "workloads/story/telling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "models/os/tracks.hpp"
#include "models/os/vm/fault_reason.hpp"
#include "models/sim/units.hpp"
#include "models/trace/resend_text.hpp"
#include "workloads/chain.hpp"

namespace faultline::workloads {

using sim::Mark;
using sim::Scope;
using sim::StepRecord;
using sim::Time;

namespace {

constexpr const char* kAnswering = "answering faults: ";
constexpr const char* kStalled = "accesses stalled in the SMMU";

std::string who_of(const sim::Step& step) {
  const sim::Worker worker = step->phase.worker;
  return worker == sim::Worker() ? "" : std::string(worker->name);
}

std::string_view meaning_of(std::string_view cause) {
  for (const os::FaultCauseDoc& doc : os::kFaultCauseDocs) {
    if (cause == doc.name) return doc.description;
  }
  return "";
}

// Of the time from one instant to another that within the intervals.
Time overlap(const std::vector<std::pair<Time, Time>>& intervals, Time from, Time to) {
  Time all{0};
  for (const auto& [first, last] : intervals) all += std::max(Time{0}, std::min(last, to) - std::max(first, from));
  return all;
}

bool is_call(const StoryRecorder::Slice& slice) { return slice.track.kind == sim::TrackKind(os::track::kCalls); }

}  // namespace

std::string ranges_text(std::vector<std::uint32_t> numbers) {
  std::sort(numbers.begin(), numbers.end());
  numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
  std::string text;
  for (std::size_t i = 0; i < numbers.size();) {
    std::size_t last = i;
    while (last + 1 < numbers.size() && numbers[last + 1] == numbers[last] + 1) ++last;
    text += text.empty() ? "" : ", ";
    text += last == i ? fmt::format("{}", numbers[i]) : fmt::format("{}-{}", numbers[i], numbers[last]);
    i = last + 1;
  }
  return text;
}

Telling::Telling(const StoryRecorder& recorder, const sim::TransferLife& life)
    : recorder_(recorder),
      life_(life),
      chain_([&] {
        sim::Vector<StepRecord> own;
        for (const StepRecord& record : recorder.steps()) {
          if (record.key.transfer != 0) own.push_back(record);
        }
        return deciding_chain(own);
      }()),
      began_(begins()) {}

bool Telling::answers_stall(const StepRecord& record) {
  if (record.key.transfer != 0) return false;
  return record.step->scope == Scope::part || record.step->mark == Mark::stall_over;
}

std::vector<Time> Telling::begins() const {
  std::vector<Time> begins;
  const StepRecord* message = nullptr;
  std::map<sim::NodeId, const StepRecord*> answer;
  for (const StepRecord& record : recorder_.steps()) {
    begins.push_back(record.at);
    const Scope scope = record.step->scope;
    if (scope == Scope::sender || scope == Scope::receiver) {
      if (message != nullptr && life_.position(message->step) + 1 == life_.position(record.step))
        begins.back() = message->at;
      message = &record;
    } else if (answers_stall(record)) {
      const StepRecord*& before = answer[record.node];
      const bool over = record.step->mark == Mark::stall_over;
      if (before != nullptr && (over || life_.position(before->step) < life_.position(record.step))) {
        begins.back() = before->at;
      } else {
        for (const StoryRecorder::Fault& fault : recorder_.faults()) {
          if (fault.node == record.node && fault.at <= record.at) begins.back() = fault.at;
        }
      }
      before = over ? nullptr : &record;
    }
  }
  return begins;
}

std::vector<Told> Telling::told() const {
  std::vector<Told> told;
  tell_messages(told);
  tell_faults(told);
  tell_pages(told);
  tell_calls(told);
  tell_node_steps(told);
  tell_chain(told);
  tell_other_parts(told);
  std::stable_sort(told.begin(), told.end(), [](const Told& a, const Told& b) { return a.at < b.at; });
  return told;
}

void Telling::tell_chain(std::vector<Told>& told) const {
  for (std::size_t i = 0; i < chain_.size(); ++i) {
    const StepRecord& record = chain_[i];
    const sim::Phase& phase = record.step->phase;
    Told& one = told.emplace_back();
    one = {.at = record.at, .node = record.node, .who = who_of(record.step), .text = std::string(record.step->told)};
    one.attempt = record.key.attempt;
    if (i == 0 || phase.label.empty()) continue;
    one.took = record.at - chain_[i - 1].at;
    one.label = std::string(phase.label) + trace::resend_text(record.key.attempt);
    one.cost = phase.parameters;
  }
}

void Telling::tell_messages(std::vector<Told>& told) const {
  for (const StepRecord& record : recorder_.steps()) {
    if (record.step->scope == Scope::sender || record.step->scope == Scope::receiver) told.push_back(told_of(record));
  }
}

// Interrupts, answers to stalled accesses and RESUME, of the nodes at which an access has faulted, from then on.
void Telling::tell_node_steps(std::vector<Told>& told) const {
  for (const StepRecord& record : recorder_.steps()) {
    const bool of_node = record.step->scope == Scope::node && record.step->mark != Mark::told_as_fault;
    if (!of_node && !answers_stall(record)) continue;
    const bool after_fault = std::any_of(recorder_.faults().begin(), recorder_.faults().end(), [&](const auto& fault) {
      return fault.node == record.node && fault.at <= record.at;
    });
    if (after_fault) told.push_back(told_of(record));
  }
}

Told Telling::told_of(const StepRecord& record) const {
  Told one{.at = record.at, .node = record.node, .who = who_of(record.step), .text = std::string(record.step->told)};
  one.took = record.at - began(record);
  if (one.took == Time{0}) return one;
  one.label = std::string(record.step->phase.label);
  one.cost = record.step->phase.parameters;
  return one;
}

// Of the two processes; a call within another one is a part of that.
void Telling::tell_calls(std::vector<Told>& told) const {
  for (const WatchedBuffer& buffer : recorder_.pages().buffers()) {
    const std::string category = fmt::format("process {}", buffer.process);
    std::vector<const StoryRecorder::Slice*> calls;
    for (const auto& slice : recorder_.slices()) {
      if (is_call(slice) && slice.track.node == buffer.node && slice.category == category) calls.push_back(&slice);
    }
    // Of those that begin together the longest first.
    std::stable_sort(calls.begin(), calls.end(), [](const auto* a, const auto* b) {
      return std::tuple(a->begin, b->end) < std::tuple(b->begin, a->end);
    });
    for (std::size_t i = 0; i < calls.size();) {
      const auto* outer = calls[i];
      std::size_t next = i + 1;
      while (next < calls.size() && calls[next]->end <= outer->end) ++next;
      const std::size_t inner = next - i - 1;
      const std::string with = inner == 0 ? "" : fmt::format(", with {} page fault{}", inner, inner == 1 ? "" : "s");
      told.push_back({.at = outer->end,
                      .took = outer->end - outer->begin,
                      .node = buffer.node,
                      .who = "kernel",
                      .text = fmt::format("The kernel executes {} for '{}'{}.", outer->name, buffer.name, with)});
      i = next;
    }
  }
}

const WatchedBuffer* Telling::buffer_at(sim::NodeId node, std::uint32_t process, std::uint64_t address) const {
  for (const WatchedBuffer& buffer : recorder_.pages().buffers()) {
    const bool inside = address >= sim::page_begin(buffer.address) && address < buffer.address + buffer.bytes;
    if (buffer.node == node && buffer.process == process && inside) return &buffer;
  }
  return nullptr;
}

void Telling::tell_faults(std::vector<Told>& told) const {
  for (const StoryRecorder::Fault& fault : recorder_.faults()) {
    const WatchedBuffer* buffer = buffer_at(fault.node, fault.process, fault.address);
    const std::string where =
        buffer == nullptr ? ""
                          : fmt::format(", page {} of the {},",
                                        (sim::page_begin(fault.address) - sim::page_begin(buffer->address)) / os::kPage,
                                        buffer->source ? "source" : "destination");
    std::string text = fmt::format(
        "PAGE FAULT of the device. The SMMU may not let a {} at {:#x}{} through: {}. Cause: {} ({}).",
        fault.write ? "write" : "read", fault.address, where, fault.state, fault.cause, meaning_of(fault.cause));
    if (fault.by != os::to_string(os::Taker::nobody)) text += fmt::format(" Taken by: {}.", fault.by);
    if (fault.injected) text += " The experiment has injected that.";
    told.push_back({.at = fault.at, .node = fault.node, .who = "SMMU", .text = std::move(text), .is_fault = true});
  }
}

// What becomes of pages between one step and the next, pages of one fate in one sentence.
void Telling::tell_pages(std::vector<Told>& told) const {
  using Fate = std::tuple<std::size_t, bool, std::string_view, std::string, std::string, std::string>;
  std::map<Fate, std::pair<std::vector<std::uint32_t>, Time>> fates;
  for (const WatchedChange& change : recorder_.pages().changes()) {
    const WatchedKey& key = recorder_.pages().keys()[change.key];
    if (!key.page || (key.name != "entry" && key.name != "pins" && key.name != "VM_LOCKED")) continue;
    const auto next = std::find_if(chain_.begin(), chain_.end(), [&](const auto& r) { return r.at >= change.at; });
    auto& [pages, last] = fates[{static_cast<std::size_t>(next - chain_.begin()), key.source, key.name, change.from,
                                 change.to, change.by}];
    pages.push_back(*key.page);
    last = change.at;
  }
  for (const auto& [fate, where] : fates) {
    const auto& [interval, source, name, from, to, by] = fate;
    const auto& [pages, last] = where;
    const auto buffer =
        std::find_if(recorder_.pages().buffers().begin(), recorder_.pages().buffers().end(),
                     [&, &at_source = source](const WatchedBuffer& b) { return b.source == at_source; });
    told.push_back(
        {.at = last,
         .node = buffer->node,
         .who = "page table",
         .text = fmt::format("Page{} {} of the {}: {}{} -> {}{}.", pages.size() == 1 ? "" : "s", ranges_text(pages),
                             source ? "source" : "destination", name == "entry" ? "" : fmt::format("{} ", name), from,
                             to, by.empty() ? "" : fmt::format(" (by {})", by))});
  }
}

// What happens to parts beside the one that decides the time, in a sentence.
void Telling::tell_other_parts(std::vector<Told>& told) const {
  struct Part {
    bool faulted = false;
    bool lost = false;
    Time over{-1};
  };
  std::map<std::uint32_t, Part> parts;
  const auto own =
      std::find_if(chain_.begin(), chain_.end(), [](const auto& r) { return r.step->scope == Scope::part; });
  for (const StepRecord& record : recorder_.steps()) {
    if (record.key.transfer == 0 || record.step->scope != Scope::part) continue;
    if (own != chain_.end() && record.key.part == own->key.part) continue;
    Part& part = parts[record.key.part];
    part.faulted = part.faulted || record.step->mark == Mark::part_faulted;
    part.lost = part.lost || record.step->mark == Mark::part_lost;
    if (record.step->mark == Mark::part_over) part.over = record.at;
  }
  if (parts.empty() || own == chain_.end()) return;
  const auto count = [&](auto what) {
    return std::count_if(parts.begin(), parts.end(), [&](const auto& p) { return what(p.second); });
  };
  const auto faulted = count([](const Part& p) { return p.faulted; });
  const auto lost = count([](const Part& p) { return p.lost; });
  const auto open = count([](const Part& p) { return p.over < Time{0}; });
  Time last{0};
  for (const auto& [number, part] : parts) last = std::max(last, part.over);
  std::string text = fmt::format("Beside {} {}, which decides the time, {} other{} {} on the way: {} met a fault",
                                 life_.part, own->key.part, parts.size(), parts.size() == 1 ? "" : "s",
                                 parts.size() == 1 ? "was" : "were", faulted == 0 ? "none" : std::to_string(faulted));
  if (lost > 0) text += fmt::format(", {} timed out", lost);
  text += open > 0 ? fmt::format(", {} did not arrive.", open) : ", all have arrived by now.";
  told.push_back(
      {.at = open > 0 ? recorder_.end() : last, .node = own->node, .who = who_of(own->step), .text = std::move(text)});
}

Telling::Intervals Telling::stalls() const {
  Intervals stalls;
  for (const StoryRecorder::Fault& fault : recorder_.faults()) {
    if (buffer_at(fault.node, fault.process, fault.address) == nullptr) continue;
    const auto over = std::find_if(recorder_.steps().begin(), recorder_.steps().end(), [&](const StepRecord& r) {
      return r.node == fault.node && r.at >= fault.at && r.step->mark == Mark::stall_over;
    });
    if (over == recorder_.steps().end()) continue;
    if (!stalls.empty() && stalls.back().second >= fault.at) {
      stalls.back().second = std::max(stalls.back().second, over->at);
    } else {
      stalls.emplace_back(fault.at, over->at);
    }
  }
  return stalls;
}

// From a fault of a part beside the one that decides the time until the part is sent again, or the end; one after the
// other.
Telling::Intervals Telling::faults_of_others() const {
  const auto own =
      std::find_if(chain_.begin(), chain_.end(), [](const auto& r) { return r.step->scope == Scope::part; });
  std::map<std::uint32_t, Time> open;
  Intervals all;
  for (const StepRecord& record : recorder_.steps()) {
    const bool of_other = record.key.transfer != 0 && record.step->scope == Scope::part && own != chain_.end() &&
                          record.key.part != own->key.part;
    if (!of_other) continue;
    if (record.step->mark == Mark::part_faulted) open.try_emplace(record.key.part, record.at);
    const bool again = record.step->mark == Mark::part_begins || record.step->mark == Mark::part_over;
    if (const auto found = open.find(record.key.part); again && found != open.end()) {
      all.emplace_back(found->second, record.at);
      open.erase(found);
    }
  }
  for (const auto& [part, since] : open) all.emplace_back(since, recorder_.end());
  std::sort(all.begin(), all.end());
  Intervals apart;
  for (const auto& [from, to] : all) {
    if (!apart.empty() && apart.back().second >= from) {
      apart.back().second = std::max(apart.back().second, to);
    } else {
      apart.emplace_back(from, to);
    }
  }
  return apart;
}

// Of the time between two steps that in which an access stood still, by who was at its answer.
Time Telling::add_stalls(Time from, Time to, const std::function<void(const std::string&, Time)>& add) const {
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
      add(kStalled, begun - at);
      add(fmt::format("{}{}", kAnswering, who_of(record.step)), over - begun);
      at = over;
    }
    add(kStalled, end - at);
  }
  return all;
}

std::vector<CauseOfTime> Telling::causes() const {
  std::vector<CauseOfTime> causes;
  const auto add = [&](const std::string& cause, Time time) {
    if (time <= Time{0}) return;
    const auto known = std::find_if(causes.begin(), causes.end(), [&](const auto& c) { return c.cause == cause; });
    if (known == causes.end()) {
      causes.push_back({cause, time});
    } else {
      known->time += time;
    }
  };
  const sim::TransferBegin& begin = recorder_.begin();
  add("wait for a buffer, since the transfer's arrival", begin.at - begin.arrived);
  if (chain_.empty()) {
    add("a small message", recorder_.end() - begin.at);
    return causes;
  }
  add("preparing the buffers before the post", chain_.front().at - begin.at);
  const Intervals others = faults_of_others();
  std::uint32_t last_attempt = 0;
  for (const StepRecord& record : chain_) last_attempt = std::max(last_attempt, record.key.attempt);
  bool answers = false;  // what is done is for a fault
  for (std::size_t i = 1; i < chain_.size(); ++i) {
    const StepRecord& record = chain_[i];
    const Mark mark = record.step->mark;
    if (mark == Mark::part_faulted) answers = true;
    const Time from = chain_[i - 1].at;
    Time time = record.at - from;
    if (mark == Mark::part_lost) {
      add("waiting for a timeout", time);
      answers = true;
    } else if (answers && mark != Mark::part_begins) {
      add(fmt::format("{}{}", kAnswering, who_of(record.step)), time);
    } else {
      const bool in_vain = record.step->scope == Scope::part && record.key.attempt < last_attempt;
      time -= add_stalls(from, record.at, add);
      const Time beside = std::min(time, overlap(others, from, record.at));
      add(in_vain ? "attempts that came to nothing" : "the transfer itself", time - beside);
      add(fmt::format("the transfer, while faults of other {}s are answered", life_.part), beside);
    }
    if (mark == Mark::part_begins) answers = false;
  }
  const bool ended =
      recorder_.outcome() == StoryRecorder::Outcome::done || recorder_.outcome() == StoryRecorder::Outcome::failed;
  add(ended ? "releasing the buffers after the return" : "nothing that was heard of",
      recorder_.end() - chain_.back().at);
  return causes;
}

}  // namespace faultline::workloads
