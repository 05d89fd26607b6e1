// SPDX-License-Identifier: Apache-2.0
// A run as a Perfetto trace: a process a node, a track a part, a slice for all that a part does and for each step of
// each part of each transfer, arrows from a transfer's post to its completion, counters of memory and queues.
//
// Arrows: one flow runs through the steps of a whole transfer, each part's first step, the last one of each part, and
// the completion; a second one through each part's steps from its first to the one that ends it, whatever happens to it
// between. Slices that overlap on one track are spread over tracks of the same name, which Perfetto shows as one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/sim/event_loop.hpp"
#include "models/sim/trace.hpp"
#include "models/trace/link_plans.hpp"
#include "models/trace/perfetto_file.hpp"
#include "models/trace/trace_filter.hpp"

namespace faultline::trace {

class PerfettoTimeline : public sim::Timeline {
 public:
  // Where a link leads, for the names of tracks: "node 1".
  using LinkName = std::function<std::string(sim::NodeId router, std::uint32_t port)>;

  // `life`, which must outlive the timeline, is that of the nodes' NIC: the order of a message's steps, and the name of
  // a transfer's parts.
  PerfettoTimeline(PerfettoFile& file, TraceFilter filter, const sim::EventLoop& loop, const sim::TransferLife& life,
                   unsigned nodes, LinkName link);

  // A level of a node that nobody reports: looked at whenever something is recorded of the node, once a microsecond.
  void add_gauge(sim::NodeId node, const std::string& name, Unit unit, std::function<std::uint64_t()> value);

  void on_step(const sim::StepRecord& record) override;
  void on_slice(const sim::Slice& slice) override;
  void on_level(Time at, const sim::Track& track, std::uint64_t level) override;
  void on_link(const sim::Slice& plan, const void* train) override;
  void on_fault(const sim::PageFault& fault) override;

  // Writes what is held back, and what was left out. Nothing may come after it.
  void finish();
  struct Summary {
    std::uint64_t bytes = 0;
    std::uint64_t slices = 0;
    std::uint64_t transfers = 0;  // in the trace
    std::uint64_t left_out = 0;   // slices, for the limit's sake
    Time cut{-1};                 // when the first one was; negative: never
  };
  Summary summary() const { return {file_.bytes(), slices_, recorded_transfers_, left_out_, cut_}; }

 private:
  struct Lane {
    Uuid uuid;
    Time end;  // of its last slice
  };
  struct Lanes {
    Uuid parent;
    std::string name;
    std::uint32_t rank;
    std::vector<Lane> lanes;
  };
  struct Level {
    Uuid uuid = 0;
    std::uint64_t last = 0;
  };
  struct Gauge {
    std::string name;
    Unit unit;
    std::function<std::uint64_t()> value;
    Level level;
  };
  struct Node {
    Uuid process = 0;
    Uuid steps = 0;
    Time sampled{-1};
    std::vector<Gauge> gauges;
  };
  struct Part {
    Time last{0};
    sim::Step step{};
    bool done = false;
  };
  struct Transfer {
    std::uint32_t number = 0;
    Time last{0};                        // step of the whole transfer
    Time placed{0};                      // what the target has of it so far
    Time turned_to{0};                   // the NIC had last something to do with it
    std::vector<sim::StepRecord> early;  // steps that came before its post was told
    std::unordered_map<std::uint32_t, Part> parts;
  };
  // A slice that the next one may lengthen.
  struct Held {
    sim::Slice slice;
    std::string name;
    std::string category;
  };

  Node& node(sim::NodeId id);
  Lanes& lanes(const sim::Track& track);
  Lanes& step_lanes(sim::NodeId node, sim::Worker worker);
  Uuid lane(Lanes& lanes, Time begin, Time end);
  std::uint32_t number_of(std::uint64_t transfer);
  bool has_begun_in_time(std::uint32_t number) const { return beyond_ == 0 || number < beyond_; }
  bool is_wanted(sim::NodeId node, Time begin, Time end);
  bool has_room(bool of_transfer);
  void sample(sim::NodeId id);
  void set(Level& level, sim::NodeId node, const std::string& name, Unit unit, std::uint32_t rank, Time at,
           std::uint64_t value);
  void part_step(const sim::StepRecord& record, Transfer& of);
  void add(const sim::StepRecord& record, Transfer& of);
  void transfer_step(const sim::StepRecord& record, Transfer& of);
  void message_step(const sim::StepRecord& record);
  void step_slice(const sim::StepRecord& record, const Transfer& of, Time since, std::string_view label,
                  const Flows& flows);
  void write(Lanes& lanes, Time begin, Time end, std::string_view name, std::string_view category, const Flows& flows,
             const sim::PartKey& key, std::uint64_t number);
  void write_slice(const sim::Slice& slice);
  void write_links(const sim::Track& track, LinkPlans& plans);
  void write_held(Held& held);

  PerfettoFile& file_;
  const TraceFilter filter_;
  const sim::EventLoop& loop_;
  const sim::TransferLife& life_;
  const unsigned nodes_;
  const LinkName link_;
  std::unordered_map<sim::NodeId, Node> node_;
  std::map<sim::Track, Lanes> lanes_;
  std::map<std::pair<sim::NodeId, std::string_view>, Lanes> step_lanes_;  // by the worker's name
  std::map<sim::Track, Level> levels_;
  std::unordered_map<std::uint64_t, Transfer> transfers_;                // that have not ended
  std::unordered_map<sim::NodeId, std::vector<std::uint32_t>> numbers_;  // of all, by the two halves of their ids
  std::uint32_t last_number_ = 0;
  std::uint32_t beyond_ = 0;  // the first transfer that there was no room for; 0: none
  std::map<std::pair<sim::NodeId, sim::Scope>, sim::StepRecord> messages_;  // last step
  std::vector<Held> held_;  // of each thread's track, in the order of their appearance
  std::map<sim::Track, LinkPlans> links_;
  std::uint64_t slices_ = 0;
  std::uint64_t recorded_transfers_ = 0;
  std::uint64_t left_out_ = 0;
  Time cut_{-1};
};

}  // namespace faultline::trace
