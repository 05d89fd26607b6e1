// SPDX-License-Identifier: Apache-2.0
#include "models/trace/perfetto_timeline.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "models/trace/resend_text.hpp"

namespace faultline::trace {

using sim::Mark;
using sim::Phase;
using sim::Scope;
using sim::Shape;
using sim::Slice;
using sim::StepRecord;
using sim::Track;

namespace {

constexpr Time kBetweenSamples{1'000'000};  // 1 us

// Of the limit, what is kept for the ends of transfers that have begun.
constexpr std::uint64_t kReserve = 8;
// For what is said at the end.
constexpr std::uint64_t kLastWords = 4096;

// Of the tracks of a node, from top to bottom. Each kind of tracks has 100 numbers from its rank on.
enum Rank : std::uint32_t { kStepsRank = 1, kTracksRank = 100, kLevelsRank = 10'000, kGaugesRank = 100'000 };

// Transfer ids are a node's number and a count of its own. A part's flow is told from its transfer's by the top bit.
std::uint64_t flow_of(std::uint64_t transfer) { return transfer; }
std::uint64_t flow_of(std::uint64_t transfer, std::uint32_t part) {
  // Mixed, so that no two parts of a trace share one but by an accident of 1 in 2^63.
  std::uint64_t mixed = (transfer * 0x9e37'79b9'7f4a'7c15) ^ (std::uint64_t{part} + 1) * 0xd6e8'feb8'6659'fd93;
  mixed ^= mixed >> 32;
  mixed *= 0xd6e8'feb8'6659'fd93;
  return (mixed ^ mixed >> 32) | std::uint64_t{1} << 63;
}

std::uint32_t rank_of(std::uint32_t group, const Track& track) {
  return group + 100 * track.kind->rank + std::min<std::uint32_t>(track.number, 99);
}

template <typename Number>
std::string name_of(const Track& track, const Number& number) {
  return fmt::format(fmt::runtime(track.kind->name), number);
}

}  // namespace

PerfettoTimeline::PerfettoTimeline(PerfettoFile& file, TraceFilter filter, const sim::EventLoop& loop,
                                   const sim::TransferLife& life, unsigned nodes, LinkName link)
    : file_(file), filter_(std::move(filter)), loop_(loop), life_(life), nodes_(nodes), link_(std::move(link)) {}

void PerfettoTimeline::add_gauge(sim::NodeId id, const std::string& name, Unit unit,
                                 std::function<std::uint64_t()> value) {
  node_[id].gauges.push_back({name, unit, std::move(value), {}});
}

PerfettoTimeline::Node& PerfettoTimeline::node(sim::NodeId id) {
  Node& found = node_[id];
  if (found.process == 0) {
    found.process = file_.process(id + 1, fmt::format("{} {}", id < nodes_ ? "node" : "router", id));
  }
  return found;
}

PerfettoTimeline::Lanes& PerfettoTimeline::lanes(const Track& track) {
  const auto [found, is_new] = lanes_.try_emplace(track);
  Lanes& made = found->second;
  if (!is_new) return made;
  made.parent = node(track.node).process;
  made.name =
      track.kind->shape == Shape::link ? name_of(track, link_(track.node, track.number)) : name_of(track, track.number);
  made.rank = rank_of(kTracksRank, track);
  return made;
}

PerfettoTimeline::Lanes& PerfettoTimeline::step_lanes(sim::NodeId id, sim::Worker worker) {
  const auto [found, is_new] = step_lanes_.try_emplace({id, worker->name});
  if (is_new) {
    Node& of = node(id);
    if (of.steps == 0) of.steps = file_.track(of.process, "steps of transfers", kStepsRank);
    found->second = {of.steps, std::string(worker->name), worker->rank, {}};
  }
  return found->second;
}

// The first track of them that is free from `begin` on.
Uuid PerfettoTimeline::lane(Lanes& of, Time begin, Time end) {
  for (Lane& lane : of.lanes) {
    if (lane.end > begin) continue;
    lane.end = end;
    return lane.uuid;
  }
  of.lanes.push_back({file_.track(of.parent, of.name, of.rank), end});
  return of.lanes.back().uuid;
}

bool PerfettoTimeline::is_wanted(sim::NodeId id, Time begin, Time end) {
  return filter_.has_node(id) && filter_.has_time(begin, end);
}

// Whether more may be written: of what has begun a while longer than of anything new.
bool PerfettoTimeline::has_room(bool begun) {
  const std::uint64_t most = begun ? filter_.limit - std::min(filter_.limit, kLastWords)
                                   : filter_.limit - filter_.limit / kReserve - std::min(filter_.limit / 2, kLastWords);
  if (file_.bytes() < most) return true;
  if (cut_ < Time{0}) cut_ = loop_.now();
  return false;
}

void PerfettoTimeline::write(Lanes& to, Time begin, Time end, std::string_view name, std::string_view category,
                             const Flows& flows, const sim::PartKey& key, std::uint64_t number) {
  ++slices_;
  const Uuid track = lane(to, begin, end);
  if (number == 0) return file_.slice(track, begin, end, name, category, flows, {});
  file_.slice(track, begin, end, name, category, flows,
              {{"transfer", number}, {life_.part, key.part}, {"attempt", key.attempt}});
}

// Counted from 1 in the order in which they are first heard of. An id is a node's number and a count of its own.
std::uint32_t PerfettoTimeline::number_of(std::uint64_t transfer) {
  auto& of_node = numbers_[static_cast<sim::NodeId>(transfer >> 32)];
  const std::size_t count = transfer & UINT32_MAX;
  if (count >= of_node.size()) of_node.resize(std::max(count + 1, of_node.size() * 2));
  std::uint32_t& number = of_node[count];
  if (number != 0) return number;
  number = ++last_number_;
  transfers_[transfer].number = number;
  if (!filter_.has_transfer(number)) return number;
  if (beyond_ == 0 && !has_room(false)) beyond_ = number;
  if (has_begun_in_time(number)) ++recorded_transfers_;
  return number;
}

void PerfettoTimeline::on_step(const StepRecord& reported) {
  StepRecord record = reported;
  record.step = life_.own(record.step);
  const Scope scope = record.step->scope;
  const Mark mark = record.step->mark;
  if (record.key.transfer != 0) {
    number_of(record.key.transfer);
    // What comes later than its completion leads nowhere.
    const auto found = transfers_.find(record.key.transfer);
    if (found == transfers_.end()) return;
    add(record, found->second);
    if (mark == Mark::transfer_over) transfers_.erase(found);
  } else if (scope == Scope::sender || scope == Scope::receiver) {
    message_step(record);
  } else if (mark != Mark::told_as_fault && is_wanted(record.node, record.at, record.at) && has_room(false)) {
    file_.instant(node(record.node).process, record.at, record.step->name);
  }
  sample(record.node);
}

// A fast NIC begins before the program's library knows the number of the transfer that it has posted.
void PerfettoTimeline::add(const StepRecord& record, Transfer& of) {
  constexpr std::size_t kPosted = 1;
  const std::size_t position = life_.position(record.step);
  const bool is_of_whole = record.step->scope == Scope::transfer;
  const bool is_early = !of.early.empty() || (of.last == Time{0} && is_of_whole);
  if (position > kPosted && is_early) {
    of.early.push_back(record);
    return;
  }
  is_of_whole ? transfer_step(record, of) : part_step(record, of);
  if (position != kPosted) return;
  for (const StepRecord& early : std::exchange(of.early, {})) add(early, of);
}

// In place of the step, of which it says more.
void PerfettoTimeline::on_fault(const sim::PageFault& fault) {
  if (!is_wanted(fault.node, fault.at, fault.at) || !has_room(false)) return;
  file_.instant(node(fault.node).process, fault.at, fault.step->name,
                {Argument::address("address", fault.address),
                 {"process", fault.process},
                 {"access", std::string_view(fault.write ? "write" : "read")},
                 {"cause", fault.cause},
                 {"page", fault.state},
                 {"by", fault.by},
                 {"injected", std::uint64_t{fault.injected}}});
}

void PerfettoTimeline::transfer_step(const StepRecord& record, Transfer& of) {
  const std::uint64_t flow = flow_of(record.key.transfer);
  const std::span<const std::uint64_t> flows(&flow, 1);
  const bool last = record.step->mark == Mark::transfer_over;
  const bool is_told = record.step->mark == Mark::target_notified;
  step_slice(record, of, is_told ? of.placed : of.last, record.step->phase.label,
             last ? Flows{{}, flows} : Flows{flows, {}});
  if (is_told) return;  // beside what goes on at the source
  of.last = record.at;
  of.turned_to = record.at;
}

void PerfettoTimeline::part_step(const StepRecord& record, Transfer& of) {
  Part& part = of.parts[record.key.part];
  const bool first = part.last == Time{0};
  const bool over = record.step->mark == Mark::part_over;
  const Phase& phase = record.step->phase;
  const bool is_written =
      part.step != sim::Step() && (part.step->mark == Mark::for_timelines || part.step->mark == Mark::part_placed);
  const bool is_rest = is_written && !phase.rest.empty();
  const std::array<std::uint64_t, 2> flows{flow_of(record.key.transfer), flow_of(record.key.transfer, record.key.part)};
  const std::span<const std::uint64_t> all(flows);
  Flows through{all.last(1), {}};
  if (first) through.passing = all;
  if (over) through = {all.first(1), all.last(1)};
  if (part.done) through = {};  // what comes late leads nowhere
  step_slice(record, of, first ? of.turned_to : part.last, is_rest ? phase.rest : phase.label, through);
  part.last = record.at;
  part.step = record.step;
  if (record.step->mark == Mark::part_begins) of.turned_to = record.at;
  if (record.step->mark == Mark::part_placed) of.placed = std::max(of.placed, record.at);
  if (over) {
    part.done = true;
    of.last = std::max(of.last, record.at);
    of.turned_to = record.at;
  }
}

void PerfettoTimeline::step_slice(const StepRecord& record, const Transfer& of, Time since, std::string_view label,
                                  const Flows& flows) {
  const Time begin = std::min(since, record.at);
  if (label.empty() || !filter_.has_transfer(of.number) || !is_wanted(record.node, begin, record.at)) return;
  if (!has_begun_in_time(of.number) || !has_room(true)) {
    ++left_out_;
    return;
  }
  const sim::Worker worker = record.step->phase.worker;
  const std::string again = resend_text(record.key.attempt);
  Lanes& to = step_lanes(record.node, worker);
  if (again.empty()) return write(to, begin, record.at, label, worker->name, flows, record.key, of.number);
  write(to, begin, record.at, std::string(label) + again, worker->name, flows, record.key, of.number);
}

// Steps of a message that follow each other on one node; who sent what has arrived is not in them.
void PerfettoTimeline::message_step(const StepRecord& record) {
  StepRecord& before = messages_[{record.node, record.step->scope}];
  const bool follows = before.step != sim::Step() && before.at <= record.at &&
                       life_.position(before.step) + 1 == life_.position(record.step);
  const Phase& phase = record.step->phase;
  if (!phase.label.empty() && follows && is_wanted(record.node, before.at, record.at)) {
    if (has_room(false)) {
      write(step_lanes(record.node, phase.worker), before.at, record.at, phase.label, phase.worker->name, {},
            record.key, 0);
    } else {
      ++left_out_;
    }
  }
  before = record;
}

void PerfettoTimeline::on_slice(const Slice& slice) {
  if (!is_wanted(slice.track.node, slice.begin, slice.end)) return;
  if (slice.track.kind->shape != Shape::thread) {
    write_slice(slice);
    sample(slice.track.node);
    return;
  }
  // Told of piece by piece; a thread that goes on is one slice.
  const auto held =
      std::find_if(held_.begin(), held_.end(), [&](const Held& h) { return h.slice.track == slice.track; });
  if (held == held_.end()) {
    held_.push_back({slice, std::string(slice.name), std::string(slice.category)});
    return;
  }
  if (held->slice.end == slice.begin && held->name == slice.name && held->category == slice.category) {
    held->slice.end = slice.end;
    return;
  }
  write_held(*held);
  *held = {slice, std::string(slice.name), std::string(slice.category)};
}

void PerfettoTimeline::write_slice(const Slice& slice) {
  const std::uint32_t number = slice.key.transfer == 0 ? 0 : number_of(slice.key.transfer);
  if (number != 0 && !filter_.has_transfer(number)) return;
  if (!has_room(false)) {
    ++left_out_;
    return;
  }
  write(lanes(slice.track), slice.begin, slice.end, slice.name, slice.category, {}, slice.key, number);
}

void PerfettoTimeline::on_level(Time at, const Track& track, std::uint64_t level) {
  if (track.kind->shape == Shape::wire || !is_wanted(track.node, at, at)) return;  // these are slices
  Level& of = levels_[track];
  // Named when it first appears.
  const std::string name = of.uuid == 0 ? name_of(track, track.number).append(track.kind->level) : "";
  set(of, track.node, name, Unit::count, rank_of(kLevelsRank, track), at, level);
}

void PerfettoTimeline::on_link(const Slice& plan, const void* train) {
  if (!filter_.has_node(plan.track.node)) return;
  LinkPlans& of = links_[plan.track];
  write_links(plan.track, of);
  of.announce(plan, train, loop_.now());
  sample(plan.track.node);
}

void PerfettoTimeline::write_links(const Track& track, LinkPlans& plans) {
  plans.over(loop_.now(), [&](const LinkPlans::Plan& plan) {
    if (filter_.has_time(plan.begin, plan.end)) {
      write_slice({track, plan.begin, plan.end, plan.name, "link", plan.key});
    }
  });
}

void PerfettoTimeline::set(Level& level, sim::NodeId id, const std::string& name, Unit unit, std::uint32_t rank,
                           Time at, std::uint64_t value) {
  if (level.uuid != 0 && level.last == value) return;
  if (!has_room(false)) return;
  if (level.uuid == 0) level.uuid = file_.counter(node(id).process, name, unit, rank);
  level.last = value;
  file_.value(level.uuid, at, value);
}

void PerfettoTimeline::sample(sim::NodeId id) {
  const Time now = loop_.now();
  if (!is_wanted(id, now, now)) return;
  Node& of = node_[id];
  if (of.sampled >= Time{0} && now < of.sampled + kBetweenSamples) return;
  of.sampled = now;
  std::uint32_t rank = kGaugesRank;
  for (Gauge& gauge : of.gauges) set(gauge.level, id, gauge.name, gauge.unit, rank++, now, gauge.value());
}

void PerfettoTimeline::write_held(Held& held) {
  held.slice.name = held.name;
  held.slice.category = held.category;
  write_slice(held.slice);
}

void PerfettoTimeline::finish() {
  for (Held& held : held_) write_held(held);
  held_.clear();
  for (auto& [track, plans] : links_) write_links(track, plans);
  if (cut_ < Time{0}) return;
  const Uuid track = file_.track(0, "Faultline: what is not in this trace", 0);
  file_.instant(
      track, cut_,
      fmt::format("limit of {} B: from here on {} slices, and counters, are left out", filter_.limit, left_out_));
}

}  // namespace faultline::trace
