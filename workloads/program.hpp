// SPDX-License-Identifier: Apache-2.0
// A program of a run: what its processes do is a kind of workload (kinds.hpp), and what is measured of it is here.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "models/sim/task.hpp"
#include "models/sim/time.hpp"
#include "workloads/breakdown.hpp"
#include "workloads/configuration.hpp"
#include "workloads/experiment_point.hpp"

namespace faultline::workloads {

// What was measured of one transfer.
struct Sample {
  sim::Time begin;  // in an open loop: its arrival
  sim::Time end;
  std::uint64_t bytes;
  std::uint32_t sender = 0;  // number of its flow, or the node that sends in a pattern
  bool cold = false;         // pages of its buffers were made absent just before
  sim::Time queued{0};       // of an open loop: from its arrival until the program began it
  sim::Time latency() const { return end - begin; }
};

class Program {
 public:
  // Steps on the node `data_source` are the source's, all others the destination's.
  Program(sim::NodeId data_source, const sim::TransferLife& life) : breakdown_(data_source, life) {}
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;
  virtual ~Program() = default;

  // Runs warm-up and measured transfers, then calls on_finished.
  virtual void start() = 0;
  // Of a program that measures as long as others do: they have ended. It need not end at once.
  void others_have_ended(sim::Time now) {
    others_ended_ = true;
    measuring_ = false;
    measured_to_ = now;
  }

  // Transfers that are measured in all, if nothing comes between.
  virtual std::uint64_t planned() const = 0;
  // Of the kind `kernel-cost`: what the program prints, in us.
  virtual std::optional<double> kernel_cost() const { return std::nullopt; }
  // Of this kind alone: those of WorkloadKind::metrics.
  virtual std::vector<Metric> own_metrics() const { return {}; }
  // What was injected; nullptr: nothing was to be.
  virtual const Injection* injection() const { return nullptr; }
  bool finished() const { return finished_; }
  // Of warm-up and measured transfers that have ended, by any status: as of work_of().
  double work_done() const { return work_done_; }
  const std::vector<Sample>& samples() const { return samples_; }
  sim::Time setup_time() const { return setup_time_; }
  sim::Time teardown_time() const { return teardown_time_; }
  sim::Time measured_from() const { return measured_from_; }
  sim::Time measured_to() const { return measured_to_; }
  // Drawn pauses between the first measured transfer's begin and the last one's end, with no transfer under way.
  sim::Time paused() const { return paused_; }
  // Measured transfers that ended with an error completion; they are not among the samples. By sender, and all.
  const std::vector<std::uint64_t>& failed_by_sender() const { return failed_; }
  std::uint64_t failed() const { return std::accumulate(failed_.begin(), failed_.end(), std::uint64_t{0}); }
  // What each sender is, where there are several: a part without metrics.
  virtual std::vector<PartResult> senders() const { return {}; }
  // Of a program whose processes wait for each other for ever: who for whom. Empty: none does.
  virtual std::string waits() const { return ""; }
  // Whether a NIC has given up something that such a process waits for.
  virtual bool has_given_up() const { return false; }
  // Whether measured transfers begin or end at a node. Nothing else uses the network.
  virtual bool is_end(sim::NodeId node) const = 0;
  // Transfers whose data arrived wrong: measured ones, and the others (warm-up, clean).
  std::uint64_t data_errors() const { return data_errors_; }
  std::uint64_t other_data_errors() const { return other_data_errors_; }
  std::uint64_t clean_bytes() const { return clean_bytes_; }
  std::uint64_t clean_failed() const { return clean_failed_; }
  const Breakdown& breakdown() const { return breakdown_; }
  // End when all programs of the run have come so far: none warms up while another one is set up, and all measure from
  // the same instant on.
  std::function<sim::Task<void>()> all_set_up;
  std::function<sim::Task<void>()> all_ready;
  bool goes_with_others = false;  // WorkloadKind's
  std::function<void()> on_measurement_ends;
  std::function<void()> on_finished;

 protected:
  // Before the first transfer.
  sim::Task<void> set_up_ends() {
    if (all_set_up) co_await all_set_up();
  }
  // Before the first measured transfer.
  sim::Task<void> measurement_begins(const sim::EventLoop& loop) {
    if (all_ready) co_await all_ready();
    measured_from_ = loop.now();
    measuring_ = true;
  }
  void measurement_ends(sim::Time now) {
    measured_to_ = now;
    measuring_ = false;
    if (on_measurement_ends) on_measurement_ends();
  }
  void finish_run() {
    finished_ = true;
    if (on_finished) on_finished();
  }

  Breakdown breakdown_;
  bool finished_ = false;
  bool measuring_ = false;
  bool others_ended_ = false;
  double work_done_ = 0;
  std::vector<Sample> samples_;
  sim::Time setup_time_{0};
  sim::Time teardown_time_{0};
  sim::Time measured_from_{0};
  sim::Time measured_to_{0};
  sim::Time paused_{0};
  std::vector<std::uint64_t> failed_ = std::vector<std::uint64_t>(1);  // by sender
  std::uint64_t data_errors_ = 0;
  std::uint64_t other_data_errors_ = 0;
  std::uint64_t clean_bytes_ = 0;
  std::uint64_t clean_failed_ = 0;
};

}  // namespace faultline::workloads
