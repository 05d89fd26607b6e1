// SPDX-License-Identifier: Apache-2.0
#include "workloads/ranks/message_program.hpp"

#include <fmt/format.h>

#include <optional>

#include "models/platform/endpoints.hpp"
#include "models/sim/units.hpp"
#include "workloads/stream.hpp"
#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {

using messages::Messenger;
using rdma::NoticeKind;
using sim::Task;

namespace {

// How messages of this length go, if the library carries them and they are not eager. (An eager one that finds no slot
// is copied where its buffer cannot be registered.)
std::optional<messages::Large> large_way(const Configuration& configuration) {
  const messages::MessageConfig& config = configuration.messages;
  if (config.way == messages::Way::sockets || config.is_eager(configuration.workload.size)) return std::nullopt;
  return config.way_of_large();
}

// Whether buffers are registered as a whole for them. (A pipeline copies what it cannot register.)
bool by_rendezvous(const Configuration& configuration) {
  const auto way = large_way(configuration);
  return way == messages::Large::rendezvous_read || way == messages::Large::rendezvous_write;
}

// Whether buffers are registered at all, whole or in parts.
bool registers_buffers(const Configuration& configuration) {
  const rdma::Abilities abilities = configuration.strategy.registration->abilities();
  return abilities.prepares_once || abilities.holds_all_added || by_rendezvous(configuration) ||
         large_way(configuration) == messages::Large::pipeline;
}

}  // namespace

// Each rank is source and destination: check_faults_alike().
MessageProgram::MessageProgram(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed,
                               const std::vector<unsigned>& nodes)
    : RankProgram(configuration, cluster, seed, [&] {
        std::vector<Place> places;
        for (const unsigned node : nodes) places.push_back({node, rdma::End::destination});
        return places;
      }()) {
  const unsigned mailbox = configuration.machine.nic->most_waiting_messages();
  std::vector<Messenger*> all;
  for (unsigned number = 0; number < ranks(); ++number) {
    messengers_.push_back(std::make_unique<Messenger>(
        rank(number).endpoint(), Messenger::Place{number, ranks(), mailbox}, configuration.messages, check_buffer));
    messengers_.back()->on_wrong_data = [this] { count_wrong_data(); };
    all.push_back(messengers_.back().get());
  }
  for (Messenger* each : all) each->connect(all);
}

bool MessageProgram::cools() const { return RankProgram::cools() || !registers_buffers(configuration_); }

// No rank ends while another one may still want something of it.
Task<void> MessageProgram::main(Rank& me) {
  Messenger& own = messenger(me);
  if (configuration_.messages.progress == messages::Progress::thread) {
    me.serve_beside("progress", [&own](cpu::Execution& thread) { return own.take_for_ever(thread); });
  }
  co_await talk(me);
  stop_counting(me);
  if (configuration_.messages.way == messages::Way::sockets) co_return;  // by the library nothing was sent
  co_await own.settle(me.thread());
  messages::Collectives last(own, {});
  co_await last.barrier(me.thread());
  co_await own.settle(me.thread());
}

// The experiment has all ranks wait for each other there: nothing that another rank waits for may stay with this one.
Task<void> MessageProgram::counted(Rank& me) {
  co_await messenger(me).settle(me.thread());
  co_await measurement(me);
  count_cpu_time(me);
}

Task<bool> MessageProgram::send(Rank& me, unsigned to, const Memory& memory) {
  const messages::RequestId sent = co_await messenger(me).send(me.thread(), {to, 0}, span(memory));
  const messages::Outcome outcome = co_await messenger(me).wait(me.thread(), sent);
  co_return outcome.ended == messages::Ended::well;
}

Task<bool> MessageProgram::receive(Rank& me, unsigned from, const Memory& memory) {
  const messages::RequestId received = co_await messenger(me).receive(me.thread(), {from, 0}, span(memory));
  const messages::Outcome outcome = co_await messenger(me).wait(me.thread(), received);
  co_return outcome.ended == messages::Ended::well;
}

std::vector<Metric> MessageProgram::own_metrics() const {
  std::vector<Metric> metrics;
  add_metric(metrics, "slot_memory", static_cast<double>(Messenger::bytes_of_slots(ranks(), configuration_.messages)));
  add_cpu_time(metrics);
  return metrics;
}

std::string MessageProgram::waits() const {
  std::string text;
  for (const auto& each : messengers_) {
    const std::string own = each->endpoint().killed() ? "" : each->waits();
    if (!own.empty()) text += (text.empty() ? "" : ", ") + own;
  }
  return text;
}

bool MessageProgram::has_given_up() const {
  return std::ranges::any_of(messengers_, [](const auto& each) { return each->has_given_up(); });
}

void check_messages_of_ranks(const Configuration& configuration, std::size_t ranks, const AddConflict& add) {
  const messages::MessageConfig& config = configuration.messages;
  for (sim::Conflict& each : messages::conflicts(config)) add(each.keys, each.reason, each.instead);
  check_whole_transfers(configuration, add);
  if (config.way == messages::Way::eager && configuration.workload.size > config.slot_bytes) {
    add({"messages.way", "workload.size", "messages.slot_bytes"}, "an eager message lies in one slot",
        "take a greater messages.slot_bytes, or smaller messages");
  }
  const rdma::NicKind& nic = *configuration.machine.nic;
  if (Messenger::credits(static_cast<unsigned>(ranks), nic.most_waiting_messages()) == 0) {
    add({"workload.nodes", "workload.ranks"},
        fmt::format("{} ranks would each have fewer than 4 places in another one's mailbox, which has {}", ranks,
                    nic.most_waiting_messages()),
        fmt::format("take at most {} ranks", nic.most_waiting_messages() / 4 + 1));
  }
  if ((ranks - 1) * config.slots > nic.most_waiting_events()) {
    add({"messages.slots", "workload.nodes", "workload.ranks"},
        fmt::format(
            "{} slots that others may fill at a time would leave more entries in a rank's event queue than the {} "
            "that it has room for",
            (ranks - 1) * config.slots, nic.most_waiting_events()),
        "take fewer slots or ranks, or a longer event queue");
  }
  check_faults_alike(configuration, add);
}

Need need_of_messages(const Configuration& configuration, sim::NodeId node, std::size_t ranks, std::uint64_t buffers) {
  const std::uint64_t kept = Messenger::bytes_of_slots(static_cast<unsigned>(ranks), configuration.messages) +
                             sim::page_end(configuration.machine.nic->bytes_of_notices(NoticeKind::queue, 0));
  const rdma::Strategy& strategy = configuration.strategy;
  const bool registers = strategy.registration->abilities().holds_all_added || by_rendezvous(configuration);
  return {.node = node,
          .bytes = buffers + kept,
          .held = (registers ? buffers : 0) + (strategy.translate->registered ? kept : 0)};
}

std::vector<MetricDoc> metrics_of_messages() {
  return {{"slot_memory", "B", "kinds send-receive and collective: memory of one rank for slots, its own and others'"},
          cpu_per_transfer()};
}

}  // namespace faultline::workloads
