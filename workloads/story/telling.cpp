// SPDX-License-Identifier: Apache-2.0
#include "workloads/story/telling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

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

std::string_view meaning_of(std::string_view cause) {
  for (const os::FaultCauseDoc& doc : os::kFaultCauseDocs) {
    if (cause == doc.name) return doc.description;
  }
  return "";
}

// What the kernel does is named as a call ("mlock of 2 pages ...") or as work ("page fault of 1 page ...").
std::string kernel_does(const std::string& name) {
  constexpr auto kWork = std::to_array<std::pair<std::string_view, std::string_view>>(
      {{"page fault", "handles a page fault"}, {"fill the", "fills the"}, {"empty the", "empties the"}});
  for (const auto& [begin, sentence] : kWork) {
    if (name.starts_with(begin)) return fmt::format("{}{}", sentence, name.substr(begin.size()));
  }
  return "executes " + name;
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

std::string Telling::who_of(const sim::Step& step) {
  const sim::Worker worker = step->phase.worker;
  return worker == sim::Worker() ? "" : std::string(worker->name);
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

const StepRecord* Telling::deciding_part() const {
  const auto step =
      std::find_if(chain_.begin(), chain_.end(), [](const auto& r) { return r.step->scope == Scope::part; });
  return step == chain_.end() ? nullptr : &*step;
}

bool Telling::is_other_part(const StepRecord& record) const {
  const StepRecord* own = deciding_part();
  return own != nullptr && record.key.transfer != 0 && record.step->scope == Scope::part &&
         record.key.part != own->key.part;
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

// Interrupts, answers to stalled accesses and RESUME, at each node from its first fault on.
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

// Calls of the kernel for the two processes. A call within a longer one is told with the longer one.
void Telling::tell_calls(std::vector<Told>& told) const {
  for (const WatchedBuffer& buffer : recorder_.pages().buffers()) {
    const std::string category = fmt::format("process {}", buffer.process);
    std::vector<const StoryRecorder::Slice*> calls;
    for (const auto& slice : recorder_.slices()) {
      if (is_call(slice) && slice.track.node == buffer.node && slice.category == category) calls.push_back(&slice);
    }
    // The longest first where several begin together.
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
                      .text = fmt::format("The kernel {} for '{}'{}.", kernel_does(outer->name), buffer.name, with)});
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

// What changed in the page tables between two steps. Pages that changed alike share a sentence.
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

// What happened to the parts that were over before the deciding one, in one sentence.
void Telling::tell_other_parts(std::vector<Told>& told) const {
  struct Part {
    bool faulted = false;
    bool lost = false;
    Time over{-1};
  };
  std::map<std::uint32_t, Part> parts;
  for (const StepRecord& record : recorder_.steps()) {
    if (!is_other_part(record)) continue;
    Part& part = parts[record.key.part];
    part.faulted = part.faulted || record.step->mark == Mark::part_faulted;
    part.lost = part.lost || record.step->mark == Mark::part_lost;
    if (record.step->mark == Mark::part_over) part.over = record.at;
  }
  if (parts.empty()) return;
  const StepRecord* own = deciding_part();
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

}  // namespace faultline::workloads
