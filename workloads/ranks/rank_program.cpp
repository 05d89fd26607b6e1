// SPDX-License-Identifier: Apache-2.0
#include "workloads/ranks/rank_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "workloads/stream.hpp"
#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {

using sim::Task;

RankProgram::RankProgram(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed,
                         const std::vector<Place>& places)
    : Program(places.front().node, cluster.life()),
      configuration_(configuration),
      cluster_(cluster),
      cold_pages_(configuration.workload, configuration.workload.size, seed),
      set_up_(cluster.loop, places.size(),
              [this]() -> Task<void> {
                setup_time_ = now();
                co_await set_up_ends();
              }),
      warmed_up_(cluster.loop, places.size(), [this] { return measurement_begins(cluster_.loop); }),
      unfinished_(places.size()),
      open_(places.size()),
      ended_(cluster.loop),
      counted_(places.size()) {
  for (const Place& place : places) {
    const auto number = static_cast<unsigned>(ranks_.size());
    auto endpoint = open_program(configuration, cluster.node(place.node), place.end == rdma::End::source,
                                 fmt::format("rank {}", number));
    ranks_.push_back(std::make_unique<Rank>(*this, number, std::move(endpoint)));
    start_phases_.emplace_back(configuration.workload.start_spread, seed, number);
  }
  failed_.resize(places.size());
}

Memory RankProgram::allocate(unsigned number, rdma::End end) {
  const TransferConfig& w = configuration_.workload;
  Rank& owner = rank(number);
  const auto known = static_cast<unsigned>(owner.memories_.size());
  const std::uint64_t offset = end == rdma::End::source ? w.source_offset : w.destination_offset;
  return owner.memories_.emplace_back(Memory{number, known, end, owner.endpoint().map_buffer(w.size, offset), w.size});
}

std::vector<PartResult> RankProgram::senders() const {
  std::vector<PartResult> all;
  for (const auto& each : ranks_) {
    all.push_back({fmt::format("rank {}", each->number()), fmt::format("on node {}", each->endpoint().node()), {}});
  }
  return all;
}

bool RankProgram::is_end(sim::NodeId node) const {
  return std::ranges::any_of(ranks_, [node](const auto& each) { return each->endpoint().node() == node; });
}

void RankProgram::start() {
  for (const auto& each : ranks_) tasks_->start(run(*each));
}

// No rank posts to memory that another one has not registered, or that is there no more.
Task<void> RankProgram::run_main(Rank& me) {
  for (const Memory& memory : me.memories_) co_await leave(memory);
  co_await me.set_up(asks());
  me.has_set_up_ = true;
  co_await set_up_.come();
  co_await main(me);
}

// A rank that is killed is waited for no more, wherever it was.
Task<void> RankProgram::run(Rank& me) {
  try {
    co_await run_main(me);
  } catch (const rdma::ProcessKilled&) {
  }
  stop_counting(me);
  co_await left(me);
  if (!me.has_set_up_) set_up_.stay_away(*tasks_);
  if (!me.has_warmed_up_) warmed_up_.stay_away(*tasks_);
  if (--unfinished_ == 0) {
    if (!goes_with_others) measurement_ends(now());
    ended_.notify_all();
  }
  while (unfinished_ > 0 && !me.endpoint().killed()) co_await ended_;
  co_await me.close();
  if (--open_ > 0) co_return;
  teardown_time_ = now() - measured_to_;
  finish_run();
}

std::string RankProgram::waits() const {
  std::string text;
  for (const auto& each : ranks_) {
    if (!each->waits_for_ || each->endpoint().killed()) continue;
    const bool is_dead = ranks_[*each->waits_for_]->endpoint().killed();
    text += fmt::format("{}rank {} waits for rank {}{}", text.empty() ? "" : ", ", each->number(), *each->waits_for_,
                        is_dead ? ", whose process has been killed" : "");
  }
  return text;
}

Task<void> RankProgram::measurement(Rank& me) {
  me.has_warmed_up_ = true;
  co_await warmed_up_.come();
  const sim::Time pause = start_phases_[me.number()].next();
  if (pause > sim::Time{0}) co_await cluster_.loop.delay(pause);
  me.endpoint().keeps_core();
}

Task<void> RankProgram::leave(const Memory& memory) {
  const TransferConfig& w = configuration_.workload;
  const bool cold = memory.end == rdma::End::source ? w.cold_source() : w.cold_destination();
  return cold_pages_.leave(rank(memory.rank).endpoint(), memory.address, cold, ColdKind::never_written);
}

Task<bool> RankProgram::lay_out(const Memory& source, const Memory& destination, std::uint64_t use) {
  const TransferConfig& w = configuration_.workload;
  rdma::Endpoint& from = rank(source.rank).endpoint();
  rdma::Endpoint& to = rank(destination.rank).endpoint();
  if (rank(source.rank).has_ended() || rank(destination.rank).has_ended()) co_return false;  // no memory to lay out
  const bool due = cools() && w.is_due(use);
  if (due) {
    co_await both_settled(from, source.address, to, destination.address, source.bytes);
    co_await leave(source);
    co_await leave(destination);
  }
  co_await renew(source);
  const bool cold = due && w.cold != Cold::none;
  co_return cold;
}

Task<void> RankProgram::renew(const Memory& source) {
  rdma::Endpoint& owner = rank(source.rank).endpoint();
  return owner.vm().store(owner.process(), source.address, source.bytes, next_seed_++);
}

void RankProgram::count_cpu_time(const Rank& me) {
  counted_[me.number()] = true;
  cpu_time_ -= spent_by(me);
  if (counted_ranks_[me.endpoint().node()]++ == 0) cpu_time_ -= interrupts_on(me);
}

void RankProgram::stop_counting(const Rank& me) {
  if (!counted_[me.number()]) return;
  counted_[me.number()] = false;
  cpu_time_ += spent_by(me);
  if (--counted_ranks_[me.endpoint().node()] == 0) cpu_time_ += interrupts_on(me);
}

sim::Time RankProgram::spent_by(const Rank& me) {
  cpu::Cpu& cpu = me.endpoint().cpu();
  cpu.settle();
  return cpu.spent_in(me.endpoint().process().id()) + spent_beside(me);
}

sim::Time RankProgram::interrupts_on(const Rank& me) {
  const cpu::Cpu& cpu = me.endpoint().cpu();
  sim::Time spent{0};
  for (unsigned core = 0; core < cpu.config().cores; ++core) {
    spent += cpu.charged(core, cpu::Work::irq) + cpu.charged(core, cpu::Work::softirq);
  }
  return spent;
}

void RankProgram::add_cpu_time(std::vector<Metric>& metrics) const {
  const std::uint64_t transfers = samples_.size() + failed();
  if (transfers == 0) return;
  add_metric(metrics, "cpu_per_transfer", microseconds(cpu_time_) / static_cast<double>(transfers));
}

sim::Content RankProgram::content_of(const Memory& memory) {
  rdma::Endpoint& owner = rank(memory.rank).endpoint();
  return owner.vm().read(owner.process(), memory.address, static_cast<std::uint32_t>(memory.bytes));
}

Task<void> RankProgram::think() const { co_await cluster_.loop.delay(configuration_.workload.think_time); }

void RankProgram::record(const Rank& me, sim::Time begin, sim::Time end, bool done, bool cold, std::uint64_t bytes) {
  work_done_ += work_of_transfer(bytes);
  if (!measuring_) return;
  if (done) {
    samples_.push_back({begin, end, bytes, me.number(), cold});
  } else {
    ++failed_[me.number()];
  }
}

struct RankProgram::Flying {
  Transfer transfer;
  bool cold;
};

Task<void> RankProgram::put_stream(Rank& me, const std::vector<Lane>& lanes,
                                   std::function<bool(std::uint64_t)> goes_on) {
  sim::Deque<Flying> flying;
  for (std::uint64_t begun = 0; goes_on(begun); ++begun) {
    if (flying.size() == lanes.size()) {
      co_await finish(me, std::move(flying.front()));
      flying.pop_front();
      if (configuration_.workload.think_time > sim::Time{0}) co_await think();
    }
    const Lane& lane = lanes[begun % lanes.size()];
    const bool cold = co_await lay_out(lane.from, lane.to, begun / lanes.size());
    Transfer posted = co_await me.put(lane.from, lane.to);
    flying.push_back({std::move(posted), cold});
  }
  for (; !flying.empty(); flying.pop_front()) co_await finish(me, std::move(flying.front()));
}

Task<void> RankProgram::finish(Rank& me, Flying flying) {
  const rdma::Status status = co_await me.wait(flying.transfer);
  record(me, flying.transfer.begin, flying.transfer.end, status == rdma::Status::done, flying.cold);
}

}  // namespace faultline::workloads
