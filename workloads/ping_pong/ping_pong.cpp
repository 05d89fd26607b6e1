// SPDX-License-Identifier: Apache-2.0
#include "workloads/ping_pong/ping_pong.hpp"

#include <algorithm>

#include "models/platform/endpoints.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {

using rdma::End;
using rdma::NoticeKind;
using sim::Task;

namespace {

// What a message says of the put before it.
enum Outcome : std::uint64_t { kArrived, kFailed };

// Words of a rank, one for each process that may write to it.
unsigned words_of(const TransferConfig& w) { return std::max(w.peers, 1u); }

std::uint64_t bytes_of_notices(const TransferConfig& w, const platform::Machine& machine) {
  return machine.nic->bytes_of_notices(awaited_by(w.notify).kind, words_of(w));
}

}  // namespace

PingPong::PingPong(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : RankProgram(configuration, cluster, seed,
                  [&] {
                    std::vector<Place> places;
                    for (const unsigned node : nodes_of_pairs(configuration.workload)) {
                      places.push_back({node, End::destination});
                    }
                    return places;
                  }()),
      notify_(configuration.workload.notify) {
  for (unsigned number = 0; number < ranks(); ++number) {
    const Memory from = allocate(number, End::source);
    lanes_.push_back({from, allocate(peer_of(number), End::destination)});
    drawn_.emplace_back(seed, "ping_pong.writers", number);
    if (notify_ != Notify::message) {
      rank(number).endpoint().expect(awaited_by(notify_).kind, words_of(configuration.workload));
    }
  }
  balls_.resize(ranks());
  last_bytes_.resize(ranks());
  writers_.resize(ranks());
  for (unsigned number = 0; number < ranks(); ++number) writers_[number] = next_writer(number);
  if (awaited_by(notify_).kind == NoticeKind::none || !configuration.program_name.empty()) return;
  breakdown_.follow_to_targets();  // of several programs there is no breakdown
  cluster.steps().listen(breakdown_);
}

std::vector<Metric> PingPong::own_metrics() const {
  std::vector<Metric> metrics;
  const TransferConfig& w = configuration_.workload;
  add_metric(metrics, "notice_memory", static_cast<double>(bytes_of_notices(w, configuration_.machine)));
  add_cpu_time(metrics);
  return metrics;
}

Task<void> PingPong::main(Rank& me) {
  const TransferConfig& w = configuration_.workload;
  const bool begins = me.number() < ranks() / 2;
  for (std::uint64_t i = 0; i < w.warmup + w.iterations; ++i) {
    if (i == w.warmup) {
      co_await measurement(me);
      count_cpu_time(me);
    }
    if (!begins) co_await take(me);
    if (begins && w.think_time > sim::Time{0}) co_await think();
    co_await serve(me, i < w.warmup ? i : i - w.warmup);
    if (begins) co_await take(me);
  }
}

Task<void> PingPong::serve(Rank& me, std::uint64_t use) {
  const unsigned peer = peer_of(me.number());
  const Lane& lane = lanes_[me.number()];
  Ball& ball = balls_[me.number()];
  const bool cold = co_await lay_out(lane.from, lane.to, use);
  if (notify_ == Notify::polled_byte) co_await differ(lane);
  ball = {.begin = now(), .cold = cold, .taken = false, .sent = false};
  if (notify_ != Notify::message) ball.content = content_of(lane.from);
  const NoticeKind kind = awaited_by(notify_).kind;
  const std::uint16_t index = kind == NoticeKind::word ? writers_[peer] : std::uint16_t{0};
  Transfer sent = co_await me.put(lane.from, lane.to, {kind, index});
  ball.transfer = sent.posted.transfer;
  ball.failed = co_await me.wait(sent) != rdma::Status::done;
  ball.sent = true;
  if (notify_ == Notify::message) {
    co_await me.tell(peer, ball.failed ? kFailed : kArrived);
  } else {
    if (ball.failed && !ball.taken) rank(peer).endpoint().nothing_will_come();
    finish_if_known(me);
  }
}

Task<void> PingPong::take(Rank& me) {
  const unsigned peer = peer_of(me.number());
  const bool arrived = co_await hear(me);
  Ball& ball = balls_[peer];
  ball.taken = true;
  ball.arrived = arrived;
  ball.end = now();
  // The writer itself looks whether all has come only when its NIC says so.
  if (arrived && notify_ != Notify::message && !(content_of(lanes_[peer].to) == ball.content)) count_wrong_data();
  finish_if_known(rank(peer));
}

// A write that its target has learned of may have failed for its sender, whose NIC was never told that it is there.
void PingPong::finish_if_known(const Rank& sender) {
  const Ball& ball = balls_[sender.number()];
  if (!ball.taken || !ball.sent) return;
  const bool done = ball.arrived && !ball.failed;
  breakdown_.finish_at_target(ball.transfer, ball.begin, ball.end, done && measuring_);
  record(sender, ball.begin, ball.end, done, ball.cold);
}

Task<bool> PingPong::hear(Rank& me) {
  if (notify_ == Notify::message) {
    const std::uint64_t outcome = co_await me.hear(peer_of(me.number()));
    co_return outcome == kArrived;
  }
  const Ball& ball = balls_[peer_of(me.number())];
  bool learned = false;
  // A write that failed for its sender may be placed, and told of, later: that is none of this game's.
  do {
    learned = co_await learn(me);
  } while (ball.taken || !(learned || ball.failed));
  if (notify_ == Notify::polled_byte) last_bytes_[me.number()] = last_byte(lanes_[peer_of(me.number())].to);
  writers_[me.number()] = next_writer(me.number());
  co_return learned;
}

Task<bool> PingPong::learn(Rank& me) {
  const unsigned peer = peer_of(me.number());
  if (notify_ == Notify::polled_byte) {
    const bool came = co_await me.poll_last_byte(peer, lanes_[peer].to, last_bytes_[me.number()]);
    co_return came;
  }
  rdma::Awaited awaited = awaited_by(notify_);
  if (awaited.kind == NoticeKind::word) awaited.index = writers_[me.number()];
  const auto index = co_await me.learn(peer, awaited);
  co_return index.has_value();
}

std::uint8_t PingPong::last_byte(const Memory& memory) {
  return content_of(memory).byte(static_cast<std::uint32_t>(memory.bytes - 1));
}

Task<void> PingPong::differ(const Lane& lane) {
  while (last_byte(lane.from) == last_byte(lane.to)) co_await renew(lane.from);
}

std::uint16_t PingPong::next_writer(unsigned receiver) {
  return static_cast<std::uint16_t>(drawn_[receiver].below(words_of(configuration_.workload)));
}

namespace {

void check_notices(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  const rdma::NoticeKind kind = awaited_by(w.notify).kind;
  if (w.peers > 0 && kind != NoticeKind::word) {
    add({"workload.peers", "workload.notify"}, "only a rank that polls words has one of each process that may write",
        "take workload.notify = \"word\", or leave workload.peers at its default");
  }
  if (w.notify != Notify::polled_byte) return;
  if (!configuration.machine.nic->is_placed_in_order(w.source_offset, w.destination_offset, w.size)) {
    add({"workload.notify", "workload.size", "workload.source_offset", "workload.destination_offset"},
        "the NIC places cells and blocks in any order, so that the last byte may be there before others: a polled byte "
        "says that all is there only of a write of one cell, up to 256 B within one page",
        "take smaller writes, or workload.notify = \"word\": a word that is written when all is placed");
  }
  if (w.cold != Cold::none) {
    add({"workload.notify", "workload.cold"},
        "a rank that polls its destination uses the page, so that it is not absent; and of a source whose page is "
        "absent "
        "zeros come, which change no byte",
        "take another workload.notify, or no cold end");
  }
}

// The device has them in a table of its own only if they are pinned or locked there.
std::uint64_t locked_for_notices(const Configuration& configuration) {
  if (!configuration.strategy.translate->registered) return 0;
  return sim::page_end(bytes_of_notices(configuration.workload, configuration.machine));
}

}  // namespace

void check_ping_pong(const Configuration& configuration, const AddConflict& add) {
  check_pairs(configuration, add);
  check_whole_transfers(configuration, add);
  check_notices(configuration, add);
  check_faults_alike(configuration, add);
}

std::vector<Need> needs_of_ping_pong(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const std::uint64_t buffers = 2 * buffer_bytes(w);
  // A rank that learns of the write by a message does so when its sender has let go of its buffer.
  const bool holds_both =
      configuration.strategy.registration->abilities().holds_all_added || w.notify != Notify::message;
  std::vector<Need> needs;
  for (const unsigned node : nodes_of_pairs(w)) {
    needs.push_back({.node = node,
                     .bytes = buffers + bytes_of_notices(w, configuration.machine),
                     .held = (holds_both ? buffers : buffers / 2) + locked_for_notices(configuration)});
  }
  return needs;
}

double work_of_ping_pong(const Configuration& configuration) {
  return work_of_iterations(configuration) * static_cast<double>(nodes_of_pairs(configuration.workload).size());
}

Ignored ignored_by_ping_pong() {
  return ignored_by_ranks() + Ignored{{"workload.window", "a rank answers before it is written to again"}};
}

}  // namespace faultline::workloads
