// SPDX-License-Identifier: Apache-2.0
#include "workloads/story/telling.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "models/os/tracks.hpp"
#include "models/os/vm/fault_reason.hpp"
#include "models/os/vm/told_call.hpp"
#include "models/sim/units.hpp"
#include "models/trace/resend_text.hpp"
#include "workloads/chain.hpp"
#include "workloads/transfer_metrics.hpp"

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
  constexpr auto kWork =
      std::to_array<std::pair<std::string_view, std::string_view>>({{os::ToldCall::kPageFault, "handles a page fault"},
                                                                    {"fill the", "fills the"},
                                                                    {"empty the", "empties the"},
                                                                    {os::ToldCall::kReclaim, "reclaims memory"}});
  for (const auto& [begin, sentence] : kWork) {
    if (name.starts_with(begin)) return fmt::format("{}{}", sentence, name.substr(begin.size()));
  }
  return "executes " + name;
}

bool is_wait(const StoryRecorder::Slice& slice) { return slice.name.starts_with(os::ToldCall::kWait); }
std::string waited_for(const StoryRecorder::Slice& slice) { return slice.name.substr(os::ToldCall::kWait.size()); }

// Of the kernel, for the process that has the buffer.
bool is_call_for(const WatchedBuffer& buffer, const StoryRecorder::Slice& slice) {
  return slice.track.kind == sim::TrackKind(os::track::kCalls) && slice.track.node == buffer.node &&
         slice.category.starts_with(os::ToldCall::category_of(buffer.process));
}

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

std::string label_of(const sim::Step& step) {
  if (!step->phase.label.empty()) return std::string(step->phase.label);
  std::string words(step->name);
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
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
        return deciding_chain(own, Mark::part_over, recorder.outcome() == StoryRecorder::Outcome::failed);
      }()),
      began_(begins()) {}

bool Telling::answers_stall(const StepRecord& record) {
  if (record.key.transfer != 0) return false;
  return record.step->scope == Scope::part || record.step->mark == Mark::stall_over;
}

// Answers to stalled accesses name no transfer, and several may be under way on a node. Faults are handled in the order
// in which they come, each with the same steps, so the n-th step of a kind follows the n-th of the kind before it. Who
// works at one cannot work at another: a step begins no sooner than its worker's last one was over.
std::vector<Time> Telling::begins() const {
  std::vector<Time> begins;
  const StepRecord* message = nullptr;
  std::map<std::pair<sim::NodeId, std::size_t>, std::vector<Time>> answers;  // by the step's place in the life
  std::map<std::pair<sim::NodeId, std::string>, Time> worked;                // until when
  for (const StepRecord& record : recorder_.steps()) {
    begins.push_back(record.at);
    const Scope scope = record.step->scope;
    if (scope == Scope::sender || scope == Scope::receiver) {
      if (message != nullptr && life_.position(message->step) + 1 == life_.position(record.step))
        begins.back() = message->at;
      message = &record;
    } else if (answers_stall(record)) {
      const std::size_t position = life_.position(record.step);
      std::vector<Time>& own = answers[{record.node, position}];
      begins.back() = fault_before(record);
      for (std::size_t before = 0; before < position; ++before) {
        const auto found = answers.find({record.node, before});
        if (found != answers.end() && found->second.size() > own.size()) begins.back() = found->second[own.size()];
      }
      own.push_back(record.at);
      const Time until = worked[{record.node, who_of(record.step)}];
      begins.back() = std::min(std::max(begins.back(), until), record.at);
    }
    if (scope == Scope::part) worked[{record.node, who_of(record.step)}] = record.at;
  }
  return begins;
}

// When the last access before `record` faulted on its node; record.at if none did.
Time Telling::fault_before(const StepRecord& record) const {
  Time at = record.at;
  for (const StoryRecorder::Fault& fault : recorder_.faults()) {
    if (fault.node == record.node && fault.at <= record.at) at = fault.at;
  }
  return at;
}

const StepRecord* Telling::deciding_part() const {
  const auto step =
      std::find_if(chain().begin(), chain().end(), [](const auto& r) { return r.step->scope == Scope::part; });
  return step == chain().end() ? nullptr : &*step;
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
  const sim::Vector<StepRecord>& steps = chain();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    // Two faults of a block that are handled together.
    if (i > 0 && steps[i - 1].step == steps[i].step && steps[i - 1].at == steps[i].at) continue;
    // One that was over later than it decides is told when it was.
    const bool is_cut = std::ranges::any_of(chain_.idle, [&](const IdleStep& idle) {
      return idle.record.step == steps[i].step && idle.record.key == steps[i].key;
    });
    if (is_cut) continue;
    told.push_back(told_since(steps[i], i > 0 ? steps[i - 1].at : steps[i].at));
  }
  for (const IdleStep& idle : chain_.idle) told.push_back(told_since(idle.record, idle.since));
}

Told Telling::told_since(const StepRecord& record, Time since) const {
  const sim::Phase& phase = record.step->phase;
  Told one{.at = record.at, .node = record.node, .who = who_of(record.step), .text = std::string(record.step->told)};
  one.attempt = record.key.attempt;
  if (record.at == since || phase.label.empty()) return one;
  one.took = record.at - since;
  one.label = std::string(phase.label) + trace::resend_text(record.key.attempt);
  one.cost = life_.parameters(phase);
  return one;
}

void Telling::tell_messages(std::vector<Told>& told) const {
  for (const StepRecord& record : recorder_.steps()) {
    if (record.step->scope == Scope::sender || record.step->scope == Scope::receiver) told.push_back(told_of(record));
  }
}

// Interrupts, answers to stalled accesses and RESUME, at each node from its first fault on.
void Telling::tell_node_steps(std::vector<Told>& told) const {
  std::set<std::tuple<sim::NodeId, std::size_t, Time>> known;  // faults that are handled together share their steps
  for (const StepRecord& record : recorder_.steps()) {
    const bool of_node = record.step->scope == Scope::node && record.step->mark != Mark::told_as_fault;
    if (!of_node && !answers_stall(record)) continue;
    const bool after_fault = std::any_of(recorder_.faults().begin(), recorder_.faults().end(), [&](const auto& fault) {
      return fault.node == record.node && fault.at <= record.at;
    });
    if (after_fault && known.insert({record.node, life_.position(record.step), record.at}).second)
      told.push_back(told_of(record));
  }
}

Told Telling::told_of(const StepRecord& record) const {
  Told one{.at = record.at, .node = record.node, .who = who_of(record.step), .text = std::string(record.step->told)};
  one.took = record.at - began(record);
  if (one.took == Time{0}) return one;
  one.label = std::string(record.step->phase.label);
  one.cost = life_.parameters(record.step->phase);
  return one;
}

// Calls of the kernel for the two processes. What a thread meets within a call is told with the call.
void Telling::tell_calls(std::vector<Told>& told) const {
  for (const WatchedBuffer& buffer : recorder_.pages().buffers()) {
    const std::size_t process = os::ToldCall::category_of(buffer.process).size();
    std::map<std::string, std::vector<const StoryRecorder::Slice*>> calls;  // by thread
    for (const auto& slice : recorder_.slices()) {
      if (is_call_for(buffer, slice)) calls[slice.category.substr(process)].push_back(&slice);
    }
    for (auto& [thread, own] : calls) tell_calls_of(thread, own, buffer, told);
  }
}

void Telling::tell_calls_of(const std::string& thread, std::vector<const StoryRecorder::Slice*>& calls,
                            const WatchedBuffer& buffer, std::vector<Told>& told) {
  // The longest first where several begin together.
  std::stable_sort(calls.begin(), calls.end(), [](const auto* a, const auto* b) {
    return std::tuple(a->begin, b->end) < std::tuple(b->begin, a->end);
  });
  for (std::size_t i = 0; i < calls.size();) {
    const auto* outer = calls[i];
    std::size_t faults = 0;
    Time reclaim{0};
    std::map<std::string, Time> waits;
    for (++i; i < calls.size() && calls[i]->end <= outer->end; ++i) {
      if (is_wait(*calls[i])) {
        waits[waited_for(*calls[i])] += calls[i]->end - calls[i]->begin;
      } else if (calls[i]->name.starts_with(os::ToldCall::kPageFault)) {
        ++faults;
      } else if (calls[i]->name == os::ToldCall::kReclaim) {
        reclaim += calls[i]->end - calls[i]->begin;
      }
    }
    std::string text =
        is_wait(*outer)
            ? fmt::format("The kernel has the thread '{}' wait for {}.", thread, waited_for(*outer))
            : fmt::format("The kernel {} for '{}'{}.", kernel_does(outer->name), buffer.name,
                          faults == 0 ? "" : fmt::format(", with {} page fault{}", faults, faults == 1 ? "" : "s"));
    const auto add = [&](Time time, const std::string& doing) {
      if (time > Time{0}) text += fmt::format(" For {:.3f} us of this time it {}.", microseconds(time), doing);
    };
    add(reclaim, "reclaims memory");
    for (const auto& [what, time] : waits) add(time, "waits for " + what);
    told.push_back({.at = outer->end,
                    .took = outer->end - outer->begin,
                    .node = buffer.node,
                    .who = "kernel",
                    .text = std::move(text)});
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
  const char* mmu = recorder_.pages().mmu();
  for (const StoryRecorder::Fault& fault : recorder_.faults()) {
    const WatchedBuffer* buffer = buffer_at(fault.node, fault.process, fault.address);
    const std::string where =
        buffer == nullptr ? ", which is in no buffer of this transfer,"
                          : fmt::format(", page {} of the {},",
                                        (sim::page_begin(fault.address) - sim::page_begin(buffer->address)) / os::kPage,
                                        buffer->source ? "source" : "destination");
    std::string text = fmt::format(
        "PAGE FAULT of the device. The {} may not let a {} at {:#x}{} through: {}. Cause: {} ({}).", mmu,
        fault.write ? "write" : "read", fault.address, where, fault.state, fault.cause, meaning_of(fault.cause));
    if (fault.by != os::to_string(os::Taker::nobody)) text += fmt::format(" Taken by: {}.", fault.by);
    if (fault.injected) text += " The experiment has injected that.";
    told.push_back(
        {.at = fault.at, .node = fault.node, .who = mmu, .text = std::move(text), .is_fault = buffer != nullptr});
  }
}

// Begin and end of the longest call of the kernel for the buffer's process that covers `at`; {at, at} if none does.
std::pair<Time, Time> Telling::call_around(const WatchedBuffer& buffer, Time at) const {
  std::pair<Time, Time> around{at, at};
  for (const StoryRecorder::Slice& slice : recorder_.slices()) {
    const bool covers = slice.begin <= around.first && slice.end >= around.second;
    if (covers && is_call_for(buffer, slice)) around = {slice.begin, slice.end};
  }
  return around;
}

// What changed in the page tables. Pages that changed alike in one call of the kernel, or else at one instant, share a
// sentence. A page that makes the
// same change again begins a new sentence.
void Telling::tell_pages(std::vector<Told>& told) const {
  struct Fate {
    std::vector<std::uint32_t> pages;
    Time first;
    Time last;
  };
  using Kind = std::tuple<std::pair<Time, Time>, bool, std::string_view, std::string, std::string, std::string>;
  std::map<Kind, std::vector<Fate>> fates;
  const auto& buffers = recorder_.pages().buffers();
  const auto buffer_of = [&](bool source) {
    return std::find_if(buffers.begin(), buffers.end(), [&](const WatchedBuffer& b) { return b.source == source; });
  };
  for (const WatchedChange& change : recorder_.pages().changes()) {
    const WatchedKey& key = recorder_.pages().keys()[change.key];
    if (!key.page || (key.name != "entry" && key.name != "pins" && key.name != "VM_LOCKED")) continue;
    auto& alike = fates[{call_around(*buffer_of(key.source), change.at), key.source, key.name, change.from, change.to,
                         change.by}];
    const auto lacks_it = [&](const Fate& fate) {
      return std::find(fate.pages.begin(), fate.pages.end(), *key.page) == fate.pages.end();
    };
    auto fate = std::find_if(alike.begin(), alike.end(), lacks_it);
    if (fate == alike.end()) fate = alike.insert(fate, {{}, change.at, change.at});
    fate->pages.push_back(*key.page);
    fate->last = change.at;
  }
  for (const auto& [kind, alike] : fates) {
    const auto& [call, source, name, from, to, by] = kind;
    for (const Fate& fate : alike) {
      told.push_back({.at = fate.last,
                      .took = fate.last - fate.first,
                      .node = buffer_of(source)->node,
                      .who = "page table",
                      .text = fmt::format("Page{} {} of the {}: {}{} -> {}{}.", fate.pages.size() == 1 ? "" : "s",
                                          ranges_text(fate.pages), source ? "source" : "destination",
                                          name == "entry" ? "" : fmt::format("{} ", name), from, to,
                                          by.empty() ? "" : fmt::format(" (by {})", by))});
    }
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
  std::string text =
      fmt::format("Beside {} {}, which decides the time, {} other{} {} on the way: ", life_.part, own->key.part,
                  parts.size(), parts.size() == 1 ? "" : "s", parts.size() == 1 ? "was" : "were");
  // Of a stalled access nobody knows the part.
  if (faulted > 0 || stalls().empty())
    text += fmt::format("{} met a fault, ", faulted == 0 ? "none" : std::to_string(faulted));
  if (lost > 0) text += fmt::format("{} timed out, ", lost);
  text += open > 0 ? fmt::format("{} did not arrive.", open) : "all have arrived by now.";
  told.push_back(
      {.at = open > 0 ? recorder_.end() : last, .node = own->node, .who = who_of(own->step), .text = std::move(text)});
}

}  // namespace faultline::workloads
