// SPDX-License-Identifier: Apache-2.0
#include "workloads/send_receive/send_receive.hpp"

#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {

using rdma::End;
using sim::Task;

SendReceive::SendReceive(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : MessageProgram(configuration, cluster, seed, nodes_of_pairs(configuration.workload)), balls_(ranks()) {
  for (unsigned number = 0; number < ranks(); ++number) {
    const Memory from = allocate(number, End::source);
    lanes_.push_back({from, allocate(peer_of(number), End::destination)});
  }
  if (configuration.messages.way != messages::Way::sockets) return;
  std::vector<Rank*> all;
  for (unsigned number = 0; number < ranks(); ++number) all.push_back(&rank(number));
  sockets_ = std::make_unique<RankSockets>(configuration, cluster, all);
}

Task<void> SendReceive::talk(Rank& me) {
  if (sockets_) co_await sockets_->open(me, tasks_);
  co_await play(me);
}

Task<void> SendReceive::left(Rank& me) {
  if (sockets_) co_await sockets_->leave(me, tasks_);
}

Task<void> SendReceive::play(Rank& me) {
  const TransferConfig& w = configuration_.workload;
  const bool begins = me.number() < ranks() / 2;
  for (std::uint64_t i = 0; i < w.warmup + w.iterations; ++i) {
    if (i == w.warmup) co_await counted(me);
    if (!begins) co_await take(me);
    if (begins && w.think_time > sim::Time{0}) co_await think();
    co_await serve(me, i < w.warmup ? i : i - w.warmup);
    if (begins) co_await take(me);
  }
}

Task<void> SendReceive::serve(Rank& me, std::uint64_t use) {
  const Lane& lane = lanes_[me.number()];
  const bool cold = co_await lay_out(lane.from, lane.to, use);
  me.endpoint().keeps_core();
  balls_[me.number()] = {now(), cold};
  co_await send_by(me, lane.from);
  if (measuring_) sending_ += now() - balls_[me.number()].begin;
}

Task<bool> SendReceive::send_by(Rank& me, const Memory& memory) {
  if (sockets_) return sockets_->of(me).write(me.thread(), span(memory));
  return send(me, peer_of(me.number()), memory);
}

// What a socket has brought is compared here; messages are by themselves.
Task<bool> SendReceive::receive_by(Rank& me, const Memory& memory) {
  const unsigned peer = peer_of(me.number());
  if (!sockets_) co_return co_await receive(me, peer, memory);
  const bool came = co_await sockets_->of(me).read(me.thread(), span(memory));
  if (came && !(content_of(memory) == content_of(lanes_[peer].from))) count_wrong_data();
  co_return came;
}

Task<void> SendReceive::take(Rank& me) {
  const unsigned peer = peer_of(me.number());
  const bool arrived = co_await receive_by(me, lanes_[peer].to);
  record(rank(peer), balls_[peer].begin, now(), arrived, balls_[peer].cold);
}

std::vector<Metric> SendReceive::own_metrics() const {
  std::vector<Metric> metrics = MessageProgram::own_metrics();
  const std::uint64_t transfers = samples_.size() + failed();
  if (transfers > 0) add_metric(metrics, "send_mean", microseconds(sending_) / static_cast<double>(transfers));
  return metrics;
}

std::vector<MetricDoc> metrics_of_send_receive() {
  std::vector<MetricDoc> metrics = metrics_of_messages();
  metrics.push_back(
      {"send_mean", "us",
       "kind send-receive: mean time until the sender may use its memory again: of an eager message until it "
       "is copied, of a rendezvous until its data are there"});
  return metrics;
}

void check_send_receive(const Configuration& configuration, const AddConflict& add) {
  check_pairs(configuration, add);
  check_messages_of_ranks(configuration, nodes_of_pairs(configuration.workload).size(), add);
  if (configuration.messages.way != messages::Way::sockets) return;
  check_sockets(configuration, add);
  if (configuration.messages.progress == messages::Progress::thread) {
    add({"messages.progress", "messages.way"},
        "a thread of the library would poll for nothing: what goes through sockets is the kernels'",
        at_default("messages.progress"));
  }
}

std::vector<Need> needs_of_send_receive(const Configuration& configuration) {
  const std::vector<unsigned> nodes = nodes_of_pairs(configuration.workload);
  std::vector<Need> needs;
  for (const unsigned node : nodes) {
    needs.push_back(need_of_messages(configuration, node, nodes.size(), 2 * buffer_bytes(configuration.workload)));
    if (configuration.messages.way == messages::Way::sockets) {
      needs.push_back(need_of_socket(configuration, node));
    }
  }
  return needs;
}

double work_of_send_receive(const Configuration& configuration) {
  return work_of_iterations(configuration) * static_cast<double>(nodes_of_pairs(configuration.workload).size());
}

Ignored ignored_by_send_receive() {
  return ignored_by_unnotified_ranks() + Ignored{{"workload.window", "a rank answers before it is sent to again"}};
}

}  // namespace faultline::workloads
