// SPDX-License-Identifier: Apache-2.0
// A few of a cluster's levels as signals in a VCD file, by SystemC's sc_trace: for labs that look at waves.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <queue>
#include <string>
#include <systemc>
#include <utility>
#include <vector>

#include "models/sim/event_loop.hpp"
#include "models/sim/trace.hpp"
#include "models/trace/link_plans.hpp"
#include "models/trace/trace_filter.hpp"

namespace faultline::trace {

// Signals take their values at the instant of the change, and of several at one instant the last. They add events to
// SystemC's kernel, not to the models' loop.
class VcdSignals : public sc_core::sc_module, public sim::Timeline {
 public:
  // `file` ends in ".vcd" and is made or replaced. The filter's nodes, window and limit count.
  VcdSignals(sc_core::sc_module_name name, const std::string& file, TraceFilter filter, const sim::EventLoop& loop);
  ~VcdSignals() override;

  // Before the simulation starts. Of a link: whether it is busy; of a wire: whether it is high; else a number.
  void add(const sim::Track& track, const std::string& name);

  void on_step(const sim::StepRecord&) override {}
  void on_slice(const sim::Slice&) override {}
  void on_level(sim::Time at, const sim::Track& track, std::uint64_t level) override;
  void on_link(const sim::Slice& plan, const void* train) override;

  // Closes the file. Why it ends early, if it does.
  std::string finish();
  std::size_t signals() const { return signals_.size(); }
  std::uint64_t changes() const { return changes_; }
  // When the limit was reached and signals stopped; negative: never.
  sim::Time cut() const { return cut_; }

 private:
  struct Signal {
    std::uint32_t now = 0;  // as of the last change
    bool narrow = false;    // one bit
    unsigned shown = 0;     // what is traced
    bool shown_bit = false;
    LinkPlans plans;  // of a link
  };

  void close();
  void show();
  void show(Signal& signal);
  void look_at(sim::Time when, Signal& link);
  void wake_for(sim::Time when);

  struct Change {
    sim::Time when;
    std::uint64_t sequence;
    Signal* signal;
    bool is_link;  // and its value is found out then
    std::uint32_t value;
    bool operator>(const Change& b) const { return std::pair(when, sequence) > std::pair(b.when, b.sequence); }
  };

  const std::string path_;
  const TraceFilter filter_;
  const sim::EventLoop& loop_;
  sc_core::sc_trace_file* file_;
  sc_core::sc_event wake_;
  std::map<sim::Track, Signal> signals_;
  std::priority_queue<Change, std::vector<Change>, std::greater<>> pending_;
  std::uint64_t sequence_ = 0;
  std::uint64_t changes_ = 0;
  std::uint64_t bytes_ = 0;  // of the file, at most
  bool begun_ = false;       // the window
  sim::Time cut_{-1};
};

}  // namespace faultline::trace
