// SPDX-License-Identifier: Apache-2.0
// The programs of a run. They begin to measure at the same instant, and the run ends with the last of those that end by
// themselves.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "models/platform/cluster.hpp"
#include "workloads/configuration.hpp"
#include "workloads/gathering.hpp"
#include "workloads/program.hpp"

namespace faultline::workloads {

class Programs {
 public:
  struct One {
    std::string name;  // empty: the only one, of a run that names none
    Configuration configuration;
    std::unique_ptr<Program> program;
  };

  // One for each that the configuration names; without any the one that `workload.*` and `strategy.*` say.
  Programs(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed);
  Programs(const Programs&) = delete;
  Programs& operator=(const Programs&) = delete;

  void start();

  const std::vector<One>& all() const { return all_; }
  const Program& only() const { return *all_.front().program; }  // where there is one
  bool finished() const { return unfinished_ == 0; }
  // Sums over the programs that end by themselves.
  std::uint64_t planned() const;
  std::uint64_t measured() const;  // of these, ended well
  double work_done() const;
  sim::Time measured_from() const { return measured_from_; }
  sim::Time measured_to() const { return measured_to_; }
  // Whether measured transfers of any program begin or end at a node.
  bool is_end(sim::NodeId node) const;

  // Called when the first measured transfer is about to begin, so that counters can be read; when the last one has
  // ended; and when all programs have. Whoever wants no more may stop the cluster's loop then. What the programs leave
  // behind (a timeout, a late fault) is over only when nothing is left to happen.
  std::function<void()> on_measurement_begins;
  std::function<void()> on_measurement_ends;
  std::function<void()> on_finished;

 private:
  sim::Task<void> measurement_begins();
  void measurement_ended();
  void program_finished();

  sim::EventLoop& loop_;
  std::vector<One> all_;
  std::size_t measuring_ = 0;   // of those that end by themselves
  std::size_t unfinished_ = 0;  // the same
  std::unique_ptr<Gathering> set_up_;
  std::unique_ptr<Gathering> ready_;
  sim::Time measured_from_{0};
  sim::Time measured_to_{0};
};

// If nothing is left to happen and programs are not finished: throws sim::RunFailure if the model has lost what they
// wait for, as hardware does after its retries, and std::logic_error if not, because it is a bug of ours then.
void check_not_stuck(const platform::Cluster& cluster, const Programs& programs);

// Throws std::logic_error when a node's memory manager has lost a frame, a pin or a lock, or counts them wrong: a bug
// of ours. `changing`: the cluster is not at rest.
void check_books(platform::Cluster& cluster, bool changing);

// From now on, while events run: calls `heartbeat`, if there is one, a few times a second, and check_books(); and
// `look`, if there is one, every few thousand events. All look between events and change nothing; together they take a
// hundredth of the time at most, without `at_each_event`.
void watch_run(platform::Cluster& cluster, std::function<void(const Totals&)> heartbeat,
               std::function<void()> look = {}, std::function<void()> at_each_event = {});

}  // namespace faultline::workloads
