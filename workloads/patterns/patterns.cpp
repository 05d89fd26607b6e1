// SPDX-License-Identifier: Apache-2.0
#include "workloads/patterns/patterns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "models/sim/random.hpp"
#include "workloads/start_phase.hpp"

namespace faultline::workloads {
namespace {

using sim::Task;

// `count` of the numbers 1 to `largest`, ascending: all of them, or a sample.
std::vector<unsigned> draw_distances(unsigned count, unsigned largest, sim::Seed seed) {
  std::vector<unsigned> all(largest);
  std::iota(all.begin(), all.end(), 1u);
  if (count == largest) return all;
  sim::RandomStream random(seed, "distances of all_to_all");
  for (unsigned i = 0; i < count; ++i) std::swap(all[i], all[i + random.below(largest - i)]);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

// One cycle through all (Sattolo's algorithm): nobody is its own target.
std::vector<unsigned> draw_cycle(unsigned nodes, sim::Seed seed) {
  std::vector<unsigned> targets(nodes);
  std::iota(targets.begin(), targets.end(), 0u);
  sim::RandomStream random(seed, "targets of permutation");
  for (unsigned i = nodes - 1; i > 0; --i) std::swap(targets[i], targets[random.below(i)]);
  return targets;
}

}  // namespace

Pattern::Pattern(PatternKind kind, unsigned nodes, unsigned peers, sim::Seed seed) : nodes_(nodes) {
  if (kind == PatternKind::all_to_all) distances_ = draw_distances(peers == 0 ? nodes - 1 : peers, nodes - 1, seed);
  if (kind == PatternKind::ring) distances_ = {1};
  if (kind == PatternKind::permutation) targets_ = draw_cycle(nodes, seed);
}

unsigned Pattern::source(unsigned node, unsigned round) const {
  if (targets_.empty()) return (node + nodes_ - distances_[round]) % nodes_;
  return static_cast<unsigned>(std::ranges::find(targets_, node) - targets_.begin());
}

unsigned Pattern::target(unsigned node, unsigned round) const {
  return targets_.empty() ? (node + distances_[round]) % nodes_ : targets_[node];
}

Patterns::Patterns(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed, PatternKind kind)
    : Program(0, cluster.life()),
      configuration_(configuration),
      cluster_(cluster),
      pattern_(kind, cluster.size(), configuration.workload.peers, seed),
      seed_(seed),
      all_ended_(clock().loop) {
  for (unsigned node = 0; node < cluster.size(); ++node) {
    senders_.push_back(open(node, true));
    receivers_.push_back(open(node, false));
  }
  failed_.resize(cluster.size());
}

std::uint64_t Patterns::slot_bytes(bool sends) const {
  const TransferConfig& w = configuration_.workload;
  const std::uint64_t bytes = sim::page_end((sends ? w.source_offset : w.destination_offset) + w.size);
  // Pages of the pool are dropped as a whole, so that no two transfers share one.
  const bool pool = w.memory.backing == rdma::Backing::hugetlb;
  return pool ? os::huge_page_end(bytes) : bytes;
}

Patterns::Party Patterns::open(unsigned node, bool sends) {
  const TransferConfig& w = configuration_.workload;
  const std::uint64_t slots = w.window * (sends ? 1 : pattern_.rounds());
  const std::uint64_t offset = sends ? w.source_offset : w.destination_offset;
  Party party;
  party.bytes = slots * slot_bytes(sends) - offset;
  party.endpoint = open_program(configuration_, cluster_.node(node), sends);
  party.buffer = party.endpoint->map_buffer(party.bytes, offset);
  if (!configuration_.strategy.serves_at_target()) {
    party.registered.push_back(party.endpoint->buffer(party.buffer, party.bytes));
    return party;
  }
  for (std::uint64_t slot = 0; slot < slots; ++slot) {
    party.registered.push_back(party.endpoint->buffer(party.buffer + slot * slot_bytes(sends), w.size));
  }
  return party;
}

// The program on the node prepares the slots for those that write to them.
void Patterns::serve(unsigned node) {
  const unsigned window = configuration_.workload.window;
  Party& receiver = receivers_[node];
  receiver.answering = std::make_unique<messages::Target>(*receiver.endpoint, configuration_.strategy, check_buffer);
  for (unsigned round = 0; round < pattern_.rounds(); ++round) {
    const unsigned sender = pattern_.source(node, round);
    for (unsigned lane = 0; lane < window; ++lane) {
      receiver.answering->add(
          {receiver.registered[std::size_t{round} * window + lane], true, senders_[sender].endpoint.get()});
    }
  }
  tasks_.start(receiver.answering->serve());
}

// Made when its turn comes: all of them at once would be as many as the square of the number of nodes.
std::unique_ptr<Stream> Patterns::stream(unsigned node, unsigned round, bool measured) {
  const TransferConfig& w = configuration_.workload;
  Flow flow;
  flow.from = node;
  flow.to = pattern_.target(node, round);
  flow.size = w.size;
  flow.source_offset = w.source_offset;
  flow.destination_offset = w.destination_offset;
  static_cast<ColdConfig&>(flow) = w;
  if (measured) static_cast<ArrivalConfig&>(flow) = w;
  flow.transfers = static_cast<unsigned>(measured ? w.iterations : w.warmup);
  flow.window = w.window;
  const Party& from = senders_[node];
  const Party& to = receivers_[flow.to];
  const std::uint64_t streams = std::uint64_t{cluster_.size()} * pattern_.rounds();
  const std::uint64_t number = std::uint64_t{node} * pattern_.rounds() + round;
  auto made = std::make_unique<Stream>(flow, configuration_.strategy, cluster_.node(node).context, *from.endpoint,
                                       *to.endpoint, measured ? number : streams + number, seed_);
  for (unsigned lane = 0; lane < w.window; ++lane) {
    // In each round a node hears from one other, which writes to the slots of that round.
    const std::uint64_t slot = std::uint64_t{round} * w.window + lane;
    made->add_lane({from.buffer + lane * slot_bytes(true), to.buffer + slot * slot_bytes(false),
                    from.registered[std::min<std::size_t>(lane, from.registered.size() - 1)], slot});
  }
  return made;
}

std::vector<PartResult> Patterns::senders() const {
  std::vector<PartResult> all;
  for (unsigned node = 0; node < cluster_.size(); ++node) all.push_back({fmt::format("node {}", node), "", {}});
  return all;
}

std::uint64_t Patterns::planned() const {
  return std::uint64_t{cluster_.size()} * pattern_.rounds() * configuration_.workload.iterations;
}

void Patterns::start() { tasks_.start(run()); }

Task<void> Patterns::run() {
  start_everywhere(&Patterns::set_up_receiver);
  start_everywhere(&Patterns::set_up_sender);
  while (unfinished_ > 0) co_await all_ended_;
  setup_time_ = clock().now();
  co_await set_up_ends();
  for (unsigned node = 0; configuration_.strategy.serves_at_target() && node < cluster_.size(); ++node) serve(node);
  start_everywhere(&Patterns::warm_up);
  while (unfinished_ > 0) co_await all_ended_;
  co_await measurement_begins(cluster_.loop);
  start_everywhere(&Patterns::send);
  while (unfinished_ > 0) co_await all_ended_;
  measurement_ends(clock().now());
  finish_run();
}

void Patterns::start_everywhere(Part part) {
  unfinished_ += cluster_.size();
  for (unsigned node = 0; node < cluster_.size(); ++node) tasks_.start(counted(part, node));
}

Task<void> Patterns::counted(Part part, unsigned node) {
  co_await (this->*part)(node);
  if (--unfinished_ == 0) all_ended_.notify_all();
}

// The program's memory as its life left it, and what the strategy does about it.
Task<void> Patterns::set_up(Party& party, bool sends) {
  const TransferConfig& w = configuration_.workload;
  co_await leave(*party.endpoint, party.buffer, party.bytes, sends ? w.cold_source() : w.cold_destination());
  co_await party.endpoint->open();
  for (const rdma::RegisteredBuffer& buffer : party.registered) {
    check_buffer(co_await buffer.add(party.endpoint->thread()), "setting up", party.endpoint->vm());
  }
}

// What TLBs, walk caches and allocators hold when somebody measures.
Task<void> Patterns::warm_up(unsigned node) {
  if (configuration_.workload.warmup == 0) co_return;
  std::vector<Sample> samples;
  std::uint64_t failed = 0;
  for (unsigned round = 0; round < pattern_.rounds(); ++round) {
    const std::unique_ptr<Stream> transfers = stream(node, round, false);
    co_await transfers->run({samples, failed, other_data_errors_, work_done_});
  }
}

Task<void> Patterns::send(unsigned node) {
  const sim::Time pause = StartPhase(configuration_.workload.start_spread, seed_, node).next();
  if (pause > sim::Time{0}) co_await clock().loop.delay(pause);
  for (unsigned round = 0; round < pattern_.rounds(); ++round) {
    const std::unique_ptr<Stream> transfers = stream(node, round, true);
    co_await transfers->run({samples_, failed_[node], data_errors_, work_done_, node});
  }
}

}  // namespace faultline::workloads
