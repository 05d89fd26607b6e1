// SPDX-License-Identifier: Apache-2.0
// A program of several ranks: each is a process on some node, and runs main(). A kind of workload derives from it, says
// where its ranks are, what memory they have and what main() does; rank.hpp has the calls.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/platform/cluster.hpp"
#include "workloads/cold_pages.hpp"
#include "workloads/configuration.hpp"
#include "workloads/gathering.hpp"
#include "workloads/program.hpp"
#include "workloads/ranks/rank.hpp"
#include "workloads/start_phase.hpp"

namespace faultline::workloads {

class RankProgram : public Program {
 public:
  void start() override;
  std::vector<PartResult> senders() const override;
  bool is_end(sim::NodeId node) const override;
  std::string waits() const override;

  // For ranks.
  unsigned ranks() const { return static_cast<unsigned>(ranks_.size()); }
  Rank& rank(unsigned number) { return *ranks_.at(number); }
  const rdma::Strategy& strategy() const { return configuration_.strategy; }
  sim::Time now() const { return cluster_.loop.now(); }
  void run_beside(sim::Task<void> task) { tasks_->start(std::move(task)); }
  // The rank's process is killed: its code goes on nowhere, and the kernel ends it. Nobody else is told. Of a rank that
  // has ended there is no process any more.
  void kill(Rank& victim) {
    if (victim.has_ended()) return;
    victim.endpoint().kill();
    killed(victim);
    ended_.notify_all();
  }
  void count_wrong_data() { ++(measuring_ ? data_errors_ : other_data_errors_); }

 protected:
  // Where a rank is, and which end of its transfers' data it has: that decides what its faults meet.
  struct Place {
    sim::NodeId node;
    rdma::End end;
  };
  RankProgram(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed,
              const std::vector<Place>& places);

  // A buffer of a rank, of workload.size, before start(): present or absent as workload.cold says of that end.
  Memory allocate(unsigned rank, rdma::End end);
  // Whether ranks ask each other to prepare memory for put() and get(), by small messages that no one else takes.
  virtual bool asks() const { return true; }
  // What a rank does once all memory is registered. It calls measurement() between the transfers that are not measured
  // and those that are.
  virtual sim::Task<void> main(Rank& me) = 0;
  // All ranks of all programs go on from here at the same instant, each after a pause that is drawn
  // (workload.start_spread).
  sim::Task<void> measurement(Rank& me);
  // Before the use of this number of two buffers: the pages of both are as workload.cold says, and the source has
  // content that nobody has sent before. No part of any latency. True: pages are absent.
  sim::Task<bool> lay_out(const Memory& source, const Memory& destination, std::uint64_t use);
  // Whether pages that a transfer has made present are absent again when they are due.
  virtual bool cools() const { return workloads::cools(configuration_.strategy); }
  // The pages of one buffer as workload.cold says, where they are due.
  sim::Task<void> leave(const Memory& memory);
  // New content in a source, that nobody has sent before. Takes no time.
  sim::Task<void> renew(const Memory& source);
  // A transfer of the rank has ended, or has failed: of workload.size bytes, or of so many.
  void record(const Rank& me, sim::Time begin, sim::Time end, bool done, bool cold) {
    record(me, begin, end, done, cold, configuration_.workload.size);
  }
  void record(const Rank& me, sim::Time begin, sim::Time end, bool done, bool cold, std::uint64_t bytes);

  // Ends what ranks do, wherever it waits: for the destructor of a kind with members that main() uses until it is over.
  void end_ranks() { tasks_.reset(); }

  // A rank has just been killed, whatever it does at present.
  virtual void killed(Rank&) {}
  // main() of the rank has ended, or is left because the rank was killed. Its process is still there.
  virtual sim::Task<void> left(Rank&) { co_return; }

  sim::Content content_of(const Memory& memory);

  // CPU time that ranks' processes spend, polling included, and the interrupts on their nodes: of a rank from its first
  // call until the second one, or until its main() has ended, or it was killed; of a node's interrupts as long as any
  // of its ranks is counted.
  void count_cpu_time(const Rank& me);
  void stop_counting(const Rank& me);
  // cpu_per_transfer, where transfers were measured.
  void add_cpu_time(std::vector<Metric>& metrics) const;
  // What is spent for a rank beside its process's time.
  virtual sim::Time spent_beside(const Rank&) { return sim::Time{0}; }

  // workload.think_time.
  sim::Task<void> think() const;

  // A rank's buffer, and another rank's that is filled from it by one put after the other.
  struct Lane {
    Memory from;
    Memory to;
  };
  // Puts by each lane in turn, until goes_on(number of those begun) is false; as many are under way as there are lanes.
  sim::Task<void> put_stream(Rank& me, const std::vector<Lane>& lanes, std::function<bool(std::uint64_t)> goes_on);

  const Configuration configuration_;

 private:
  struct Flying;
  sim::Task<void> run(Rank& me);
  sim::Task<void> run_main(Rank& me);
  sim::Task<void> finish(Rank& me, Flying flying);
  sim::Time spent_by(const Rank& me);
  sim::Time interrupts_on(const Rank& me);

  platform::Cluster& cluster_;
  std::vector<std::unique_ptr<Rank>> ranks_;
  std::vector<StartPhase> start_phases_;  // by rank
  ColdPages cold_pages_;
  std::uint64_t next_seed_ = 1;
  Gathering set_up_;
  Gathering warmed_up_;
  std::size_t unfinished_;                         // ranks that are in main()
  std::size_t open_;                               // whose process has not ended
  sim::Signal ended_;                              // main() of the last rank, or a rank has been killed
  std::vector<bool> counted_;                      // by rank: its CPU time is
  std::map<sim::NodeId, unsigned> counted_ranks_;  // of a node
  sim::Time cpu_time_{0};                          // of what was counted; of what still is, less what was before
  std::optional<sim::TaskGroup> tasks_{std::in_place};
};

// Of kinds whose ranks count what they spend.
inline MetricDoc cpu_per_transfer() {
  return {"cpu_per_transfer", "us",
          "kinds ping-pong, send-receive and collective: CPU time of all ranks' processes for each measured transfer, "
          "polling included, and of the interrupts on their nodes"};
}

}  // namespace faultline::workloads
