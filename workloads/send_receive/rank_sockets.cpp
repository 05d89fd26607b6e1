// SPDX-License-Identifier: Apache-2.0
#include "workloads/send_receive/rank_sockets.hpp"

#include <fmt/format.h>

#include "models/platform/endpoints.hpp"
#include "workloads/stream.hpp"

namespace faultline::workloads {

using messages::Socket;
using sim::Task;

namespace {

// What a kernel has of its own memory is present, and nobody takes it.
rdma::Strategy of_kernel(const Configuration& configuration) {
  rdma::Strategy strategy;
  strategy.registration = "ideal";
  if (!configuration.machine.nic->uses_smmu()) {
    strategy.translate = configuration.strategy.translate;
    strategy.on_source_fault = configuration.strategy.on_source_fault;
    strategy.on_destination_fault = configuration.strategy.on_destination_fault;
  }
  return strategy;
}

}  // namespace

RankSockets::RankSockets(const Configuration& configuration, platform::Cluster& cluster,
                         const std::vector<Rank*>& ranks)
    : opened_(cluster.loop, ranks.size()), done_(cluster.loop, ranks.size()) {
  const rdma::Strategy strategy = of_kernel(configuration);
  for (const Rank* rank : ranks) {
    End& end = *ends_.emplace_back(std::make_unique<End>());
    end.kernel = platform::open_endpoint(cluster.node(rank->endpoint().node()), strategy, {},
                                         fmt::format("kernel of rank {}", rank->number()), rdma::End::destination);
    end.socket = std::make_unique<Socket>(rank->endpoint(), *end.kernel, configuration.socket, check_buffer);
    end.ended = std::make_unique<sim::Signal>(cluster.loop);
  }
  const std::size_t half = ranks.size() / 2;
  for (std::size_t i = 0; i < half; ++i) Socket::connect(*ends_[i]->socket, *ends_[half + i]->socket);
}

Task<void> RankSockets::serve(End& end) {
  end.serves = true;
  try {
    co_await end.socket->serve(end.kernel->thread());
  } catch (const rdma::ProcessKilled&) {
  }
  end.serves = false;
  end.ended->notify_all();
}

Task<void> RankSockets::open(const Rank& me, sim::TaskGroup& tasks) {
  End& end = *ends_[me.number()];
  co_await end.kernel->open();
  tasks.start(serve(end));
  end.has_come = true;
  co_await opened_.come();
}

Task<void> RankSockets::leave(const Rank& me, sim::TaskGroup& tasks) {
  End& end = *ends_[me.number()];
  if (!end.has_come) opened_.stay_away(tasks);
  if (me.endpoint().killed()) {
    done_.stay_away(tasks);
  } else {
    co_await done_.come();
  }
  end.kernel->kill();
  while (end.serves) co_await *end.ended;
  co_await end.kernel->close(end.kernel->cpu().new_thread("exit"));
}

std::string RankSockets::waits() const {
  std::string text;
  for (std::size_t rank = 0; rank < ends_.size(); ++rank) {
    const std::string_view what = ends_[rank]->socket->waits();
    if (what.empty()) continue;
    text += fmt::format("{}rank {} waits {} (a socket)", text.empty() ? "" : ", ", rank, what);
  }
  return text;
}

sim::Time RankSockets::spent(const Rank& me) {
  rdma::Endpoint& kernel = *ends_[me.number()]->kernel;
  return kernel.cpu().spent_in(kernel.process().id());
}

Need need_of_socket(const Configuration& configuration, sim::NodeId node) {
  return {.node = node,
          .bytes = Socket::bytes_of_segments(configuration.socket) +
                   sim::page_end(configuration.machine.nic->bytes_of_notices(rdma::NoticeKind::queue, 0))};
}

// Each segment and each acknowledgement is a transfer of the NIC's, and an entry of the queue.
void check_sockets(const Configuration& configuration, const AddConflict& add) {
  const unsigned window = configuration.socket.window;
  check_queue(window + 1, {"socket.window"}, configuration.machine, add);
  const unsigned places = configuration.machine.nic->most_waiting_events();
  if (2 * window <= places) return;
  add({"socket.window"},
      fmt::format("{} segments and as many acknowledgements may wait for the kernel, and its event queue holds {}",
                  window, places),
      "take a smaller window, or a longer event queue");
}

}  // namespace faultline::workloads
