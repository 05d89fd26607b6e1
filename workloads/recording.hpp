// SPDX-License-Identifier: Apache-2.0
// Records a run in the files that its user asked for.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/platform/cluster.hpp"
#include "models/trace/perfetto_timeline.hpp"
#include "models/trace/vcd_signals.hpp"

namespace faultline::workloads {

class Recording {
 public:
  // Before the cluster boots, because signals are made known to SystemC while it elaborates. Throws std::runtime_error
  // when a file cannot be written.
  Recording(const trace::TraceRequest& request, const platform::Machine& machine, platform::Cluster& cluster);
  ~Recording();
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;

  // Nothing is recorded from now on. What was, for people: a line.
  std::string finish();
  // Nothing had to be left out for the limit's sake.
  bool is_whole() const;

 private:
  void begin_timeline();
  void begin_signals(const platform::Machine& machine);
  std::string finish_timeline();
  std::string finish_signals();
  std::string not_written(const std::string& file, const std::string& why);
  std::string what_is_not_there() const;

  const trace::TraceRequest request_;
  platform::Cluster& cluster_;
  std::unique_ptr<trace::PerfettoFile> file_;
  std::unique_ptr<trace::PerfettoTimeline> timeline_;
  std::unique_ptr<trace::VcdSignals> signals_;
  bool failed_ = false;  // to write them
};

}  // namespace faultline::workloads
