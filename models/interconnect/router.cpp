// SPDX-License-Identifier: Apache-2.0
#include "models/interconnect/router.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "models/sim/transport.hpp"

namespace faultline::interconnect {

using namespace sim;

namespace {

// Port 0 has a queue for data and one for the rest, so that a short message of the mailbox need not
// wait behind the pages of the DMA engine: these are two units of the NI.
constexpr unsigned kLocalQueues = 2;

const ProfiledPart kRouter{"interconnect::Router"};

}  // namespace

Router::Router(sc_core::sc_module_name name, const RouterConfig& config, const Context& context,
               const Topology& topology)
    : sc_module(name),
      out("out", topology.ports(context.node)),
      in("in", topology.ports(context.node)),
      config_(config),
      context_(context),
      topology_(topology),
      event_port_(context.loop.new_port()),
      undeliverable_(context.statistics.counter("network.undeliverable_cells", "count",
                                                "cells sent to a node that does not exist, dropped")),
      lost_(context.statistics.counter("network.lost_cells", "count", "cells that were to cross a failed link")) {
  const unsigned ports = topology.ports(context.node);
  outputs_.reserve(ports);
  queues_.reserve(kLocalQueues + std::size_t{ports - 1} * config.virtual_channels);
  for (unsigned port = 0; port < ports; ++port) add_port(port, topology);
  if (topology.shape().has_detours()) paths_ = std::make_unique<PathChooser>(topology, config.failures, context_);
}

// What waits for slots behind a link when it fails need not wait any longer.
void Router::start_of_simulation() {
  for (unsigned port = 0; port < outputs_.size(); ++port) {
    for (const Time from : outputs_[port].outages.beginnings()) {
      context_.loop.at<&Router::wake>(from, event_port_, *this, port);
    }
  }
}

void Router::add_port(unsigned port, const Topology& topology) {
  const bool local = port == kLocalPort;
  const BitRate link_rate =
      topology.is_external(context_.node, port) ? config_.external_rate : config_.internal_data_rate();
  const auto counter = [&](const char* what, const char* unit, const char* description) {
    return &context_.statistics.counter(fmt::format("network.port{}.{}", port, what), unit, description);
  };
  Output& output = outputs_.emplace_back();
  output.rate = local ? config_.local_rate : link_rate;
  output.latency = link_latency(port);
  if (config_.failures != nullptr) output.outages = config_.failures->outages(context_.node, port);
  if (local) {
    output.credits.emplace_back(config_.local_buffer_cells);
  } else {
    output.credits.assign(config_.virtual_channels, CreditPool(config_.buffer_cells));
  }
  output.cells = counter("cells", "count", "cells sent through this port (port 0: to the node)");
  output.bytes = counter("bytes", "B", "bytes sent through this port, with packet overhead");
  output.busy = counter("busy", "ps", "time for which this port was sending");

  first_queue_.push_back(queues_.size());
  const unsigned queues = local ? kLocalQueues : config_.virtual_channels;
  for (unsigned i = 0; i < queues; ++i) queues_.emplace_back().port = port;

  in[port].register_nb_transport_fw(this, &Router::on_arrival, static_cast<int>(port));
  out[port].register_nb_transport_bw(this, &Router::on_slots_freed, static_cast<int>(port));
}

std::uint64_t Router::cells_on_links() const {
  std::uint64_t sum = 0;
  for (std::size_t port = kLocalPort + 1; port < outputs_.size(); ++port) sum += outputs_[port].cells->value();
  return sum;
}

std::size_t Router::queue_of(unsigned port, const PacketHeader& header) const {
  const unsigned index = port == kLocalPort ? (header.kind == PacketKind::data ? 0U : 1U) : header.virtual_channel;
  return first_queue_[port] + index;
}

tlm::tlm_sync_enum Router::on_arrival(int tag, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                      sc_core::sc_time&) {
  const ProfileScope turn(context_.loop.profile(), kRouter);
  const auto port = static_cast<unsigned>(tag);
  if (extension<PacketHeader>(payload).destination >= topology_.nodes()) {
    drop(port, payload);
  } else if (phase == CELLS_RECALLED) {
    recall(port, payload);
  } else if (paths_ && paths_->waits_for_head(port)) {
    const Train& train = train_of(payload);
    paths_->hold(port, payload);
    context_.loop.at<&Router::accept_held>(
        train.times.front() - config_.cell_time(outputs_[port].rate, train.cell_bytes), event_port_, *this, port);
  } else {
    accept(port, payload);
  }
  return tlm::TLM_ACCEPTED;
}

void Router::accept_held(std::uint64_t port) {
  const auto from = static_cast<unsigned>(port);
  accept(from, paths_->take_held(from));
}

void Router::accept(unsigned port, tlm::tlm_generic_payload& payload) {
  const Train& train = train_of(payload);
  PacketHeader& header = extension<PacketHeader>(payload);
  if (paths_) paths_->choose(port, header);
  Route route = topology_.route(context_.node, header.destination, header.path);
  route.virtual_channel = std::min(route.virtual_channel, config_.virtual_channels - 1);
  const std::size_t index = queue_of(port, header);
  InputQueue& queue = queues_[index];
  queue.cells += train.cells();
  const unsigned slots = port == kLocalPort ? config_.injection_cells : config_.buffer_cells;
  if (queue.cells > slots) throw std::logic_error("cell sent to a router without a free slot");

  const Time service = config_.cell_time(outputs_[route.port].rate, train.cell_bytes);
  const Time arriving = config_.cell_time(outputs_[port].rate, train.cell_bytes);
  const Time head_start = std::min(service, arriving);
  TimeSequence ready = port == kLocalPort ? queue.injection.serve(context_.now(), train.times, arriving, 0, &payload)
                                                .shifted(config_.injection_latency - head_start)
                                          : train.times.shifted(config_.router_latency - head_start);
  if (paths_) paths_->note(route.port, [&](auto& load) { load.arriving(&payload, train.times, context_.now()); });
  queue.trains.push_back({&payload, std::move(ready), 0, route, service});
  if (queue.trains.size() > 1) return;
  head_changed(index);
  schedule(route.port);
}

// The cells are the last of their queue, or of a run that takes them from it.
void Router::recall(unsigned port, tlm::tlm_generic_payload& payload) {
  if (paths_ && paths_->holds(port, payload)) return;  // its cells have not been looked at
  const std::size_t index = queue_of(port, extension<PacketHeader>(payload));
  InputQueue& queue = queues_[index];
  const auto waiting = [&] {
    return !queue.trains.empty() && queue.trains.back().payload == &payload ? queue.trains.back().ready.size() : 0U;
  };
  const auto running = std::find_if(outputs_.begin(), outputs_.end(), [&](const Output& o) {
    return o.free > context_.now() && !o.run.departures.empty() && o.run.held.payload == &payload;
  });
  const std::uint32_t run_begin = running == outputs_.end() ? 0 : running->run.held.sent;
  const std::uint32_t run_cells = running == outputs_.end() ? 0 : running->run.departures.size();
  const std::uint32_t cells = train_of(payload).cells();
  const std::uint32_t before = waiting() > 0 ? queue.trains.back().sent + waiting() : run_begin + run_cells;
  const std::uint32_t gone = before - cells;
  if (gone > waiting()) {
    recalling_ = &payload;
    cut(static_cast<unsigned>(running - outputs_.begin()), run_cells - (gone - waiting()));
    recalling_ = nullptr;
  }
  Held& held = queue.trains.back();
  const unsigned output = held.route.port;
  if (paths_) paths_->note(output, [&](auto& load) { load.not_arriving(&payload, gone); });
  held.ready.drop_back(gone);
  if (held.ready.empty()) queue.trains.pop_back();
  head_changed(index);
  queue.cells -= gone;
  if (port == kLocalPort) queue.injection.recall(context_.now(), &payload, gone);
  plan_decision(output);
}

void Router::drop(unsigned port, tlm::tlm_generic_payload& payload) {
  Train& train = train_of(payload);
  const bool again = train.freed.size() > train.cells();  // CELLS_RECALLED: fewer than were counted
  undeliverable_ += train.cells();
  if (again) {
    undeliverable_ -= train.freed.size();
    train.freed.drop_back(train.freed.size() - train.cells());
    return;
  }
  train.freed = train.times.shifted(link_latency(port));
  send_back(in[port], payload, SLOTS_FREED);
}

Router::Sent& Router::sent(Output& output, const tlm::tlm_generic_payload& payload) {
  return *std::find_if(output.sent.begin(), output.sent.end(), [&](const Sent& s) { return s.payload == &payload; });
}

tlm::tlm_sync_enum Router::on_slots_freed(int tag, tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase,
                                          sc_core::sc_time&) {
  const ProfileScope turn(context_.loop.profile(), kRouter);
  const auto port = static_cast<unsigned>(tag);
  const Train& train = train_of(payload);
  Output& output = outputs_[port];
  CreditPool& pool = output.credits[extension<PacketHeader>(payload).virtual_channel];
  Sent& to = sent(output, payload);
  if (phase == SLOTS_FREED) {
    to.freed.append(train.freed);
    pool.give(train.freed);
    if (paths_) paths_->note(port, [&](auto& load) { load.freed(&payload, train.freed, context_.now()); });
  } else {
    const TimeSequence gone = to.freed.suffix(to.freed.size() - train.recalled);
    to.freed.drop_back(gone.size());
    pool.withdraw(gone);
    if (paths_) paths_->note(port, [&](auto& load) { load.not_freed(&payload, gone.size()); });
    if (pool.owed() != kNever) cut(port, std::max(output.run.credits.count_before(pool.owed()), 1U));
  }
  schedule(port);
  return tlm::TLM_ACCEPTED;
}

void Router::forget(Output& output) {
  while (!output.sent.empty()) {
    const Sent& oldest = output.sent.front();
    if (oldest.freed.size() < train_of(*oldest.payload).cells() || oldest.freed.back() > context_.now()) return;
    oldest.payload->release();
    output.sent.pop_front();
  }
}

void Router::head_changed(std::size_t index) {
  InputQueue& queue = queues_[index];
  const unsigned leaves_by = queue.trains.empty() ? kNowhere : queue.trains.front().route.port;
  if (leaves_by == queue.leaves_by) return;
  if (queue.leaves_by != kNowhere) std::erase(outputs_[queue.leaves_by].heads, index);
  queue.leaves_by = leaves_by;
  if (leaves_by == kNowhere) return;
  std::vector<std::size_t>& heads = outputs_[leaves_by].heads;
  heads.insert(std::lower_bound(heads.begin(), heads.end(), index), index);
}

Time Router::eligible_at(const InputQueue& queue) const {
  const Held& train = queue.trains.front();
  const Output& output = outputs_[train.route.port];
  const Time ready = std::max(train.ready.front(), queue.free);
  if (output.outages.cover(context_.now())) return ready;
  const Time credit = output.credits[train.route.virtual_channel].next();
  return credit == kNever ? kNever : std::max(ready, credit);
}

void Router::schedule(unsigned index) {
  yield_to_competitors(index);
  plan_decision(index);
}

// One pending event an output, at the instant of its next decision. An event that was overtaken by an
// earlier one finds another instant there and does nothing.
void Router::plan_decision(unsigned index) {
  Output& output = outputs_[index];
  Time first = kNever;
  for (const std::size_t queue : output.heads) first = std::min(first, eligible_at(queues_[queue]));
  if (first == kNever) return;
  const Time when = std::max({first, output.free, context_.now()});
  if (when >= output.decision) return;
  output.decision = when;
  context_.loop.at<&Router::decide>(when, event_port_, *this, index);
}

void Router::decide(std::uint64_t index) {
  const auto port = static_cast<unsigned>(index);
  Output& output = outputs_[port];
  const Time now = context_.now();
  if (output.decision != now) return;
  output.decision = kNever;
  if (output.free > now) return schedule(port);

  // In turn, from the queue after the one that was served last.
  std::size_t winner = queues_.size();
  std::size_t competitors = 0;
  Time next_competitor = kNever;
  const auto& heads = output.heads;
  auto next = std::upper_bound(heads.begin(), heads.end(), output.served);
  for (std::size_t i = 0; i < heads.size(); ++i, ++next) {
    if (next == heads.end()) next = heads.begin();
    const std::size_t queue = *next;
    const Time eligible = eligible_at(queues_[queue]);
    if (eligible > now) {
      next_competitor = std::min(next_competitor, eligible);
    } else if (++competitors == 1) {
      winner = queue;
    }
  }
  if (competitors == 0) return schedule(port);
  commit(winner, port, competitors > 1 ? 1 : UINT32_MAX, std::min(next_competitor, output.outages.next_change(now)));
}

void Router::commit(std::size_t index, unsigned port, std::uint32_t most, Time until) {
  InputQueue& queue = queues_[index];
  Output& output = outputs_[port];
  Held& train = queue.trains.front();
  CreditPool& pool = output.credits[train.route.virtual_channel];
  Run& run = output.run;
  run.lost = output.outages.cover(context_.now());
  const std::uint32_t possible = std::min({most, train.ready.size(), run.lost ? UINT32_MAX : pool.known()});
  TimeSequence able = train.ready.prefix(possible);
  if (!run.lost) able = later_of(able, pool.peek(possible));
  run.departures = serve_in_order(able, std::max(queue.free, output.free), train.service);
  // A cell starts before `until` when it departs before `until` + service.
  if (until != kNever) {
    const std::uint32_t in_time = std::max(run.departures.count_before(until + train.service), 1U);
    run.departures.drop_back(possible - in_time);
  }
  const std::uint32_t cells = run.departures.size();

  run.queue = index;
  run.held = {train.payload, train.ready.prefix(cells), train.sent, train.route, train.service};
  run.credits = run.lost ? TimeSequence{} : pool.take(cells);
  queue.free = output.free = run.departures.back();
  queue.cells -= cells;
  output.served = index;
  train.ready.drop_front(cells);
  train.sent += cells;
  if (train.ready.empty()) {
    queue.trains.pop_front();
    head_changed(index);
  }
  count(output, run, cells);
  if (!run.lost) {
    send(run, port);
  } else if (paths_) {
    paths_->note(port, [&](auto& load) { load.freed(run.held.payload, run.departures, context_.now()); });
  }

  Train& freed = train_of(*run.held.payload);
  freed.freed = run.departures.shifted(link_latency(queue.port));
  send_back(in[queue.port], *run.held.payload, SLOTS_FREED);

  schedule(port);
  if (!queue.trains.empty() && queue.trains.front().route.port != port) schedule(queue.trains.front().route.port);
}

// A cell that starts when another queue's is ready would not have been chosen: that queue's turn comes first.
void Router::yield_to_competitors(unsigned index) {
  const Output& output = outputs_[index];
  const Run& run = output.run;
  const std::uint32_t cells = run.departures.size();
  const Time soonest = context_.now() + Time{1};
  if (cells < 2 || run.departures.back() - run.held.service < soonest) return;
  std::uint32_t kept = cells;
  for (const std::size_t competitor : output.heads) {
    if (competitor == run.queue) continue;
    const InputQueue& queue = queues_[competitor];
    const Held& train = queue.trains.front();
    const auto cells_before = [&](Time start) {
      return run.departures.count_before(std::max(start, soonest) + run.held.service);
    };
    std::uint32_t before = cells_before(std::max(train.ready.front(), queue.free));
    if (before >= kept) continue;
    // It takes the credit that the run's cell would have used; or another channel's, when there is one.
    if (train.route.virtual_channel != run.held.route.virtual_channel) {
      const Time eligible = eligible_at(queue);
      if (eligible == kNever) continue;
      before = cells_before(eligible);
    }
    kept = std::min(kept, before);
  }
  if (kept < cells) cut(index, kept);
}

void Router::cut(unsigned port, std::uint32_t kept) {
  Output& output = outputs_[port];
  Run& run = output.run;
  InputQueue& queue = queues_[run.queue];
  const std::uint32_t gone = run.departures.size() - kept;
  if (gone == 0) return;
  if (run.lost) {
    if (paths_) paths_->note(port, [&](auto& load) { load.not_freed(run.held.payload, gone); });
  } else {
    CreditPool& pool = output.credits[run.held.route.virtual_channel];
    pool.give_back(run.credits.suffix(kept));
    Sent& to = output.sent.back();
    if (to.freed.size() > kept) {
      const std::uint32_t withdrawn = to.freed.size() - kept;
      pool.withdraw(to.freed.suffix(kept));
      if (paths_) paths_->note(port, [&](auto& load) { load.not_freed(to.payload, withdrawn); });
      to.freed.drop_back(withdrawn);
    }
    run.credits.drop_back(gone);
  }
  count(output, run, -static_cast<std::int64_t>(gone));

  // Back to the head of the queue.
  Held rest = run.held;
  rest.ready = run.held.ready.suffix(kept);
  rest.sent += kept;
  if (!queue.trains.empty() && queue.trains.front().payload == rest.payload) {
    rest.ready.append(queue.trains.front().ready);
    queue.trains.pop_front();
  }
  queue.trains.push_front(std::move(rest));
  head_changed(run.queue);
  queue.cells += gone;
  run.departures.drop_back(gone);
  run.held.ready.drop_back(gone);
  queue.free = output.free = run.departures.back();
  output.decision = kNever;

  if (!run.lost) recall_sent(gone, port);
  if (run.held.payload == recalling_) return;  // whoever recalls the cells knows what becomes of their slots
  train_of(*run.held.payload).recalled = gone;
  send_back(in[queue.port], *run.held.payload, SLOTS_RECALLED);
}

void Router::count(Output& output, const Run& run, std::int64_t cells) {
  const std::uint32_t cell_bytes = train_of(*run.held.payload).cell_bytes;
  // Two's complement: what is taken back is subtracted.
  if (run.lost) {
    lost_ += static_cast<std::uint64_t>(cells);
    return;
  }
  *output.cells += static_cast<std::uint64_t>(cells);
  *output.bytes += static_cast<std::uint64_t>(cells * (cell_bytes + static_cast<std::int64_t>(config_.overhead)));
  *output.busy += static_cast<std::uint64_t>((run.held.service * cells).count());
}

void Router::send(const Run& run, unsigned port) {
  Output& output = outputs_[port];
  forget(output);
  const std::uint32_t cells = run.departures.size();
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  const Train& whole = train_of(*run.held.payload);
  const std::uint32_t offset = run.held.sent * whole.cell_bytes;

  Train& train = train_of(payload);
  train.times = run.departures.shifted(output.latency);
  train.cell_bytes = whole.cell_bytes;
  if (!whole.content.empty()) train.content = whole.content.slice(offset, cells * whole.cell_bytes);
  PacketHeader& header = extension<PacketHeader>(payload);
  header = extension<PacketHeader>(*run.held.payload);
  header.address += offset;
  header.block_offset += offset;
  header.virtual_channel = static_cast<std::uint8_t>(run.held.route.virtual_channel);
  payload.set_command(tlm::TLM_WRITE_COMMAND);
  payload.set_address(run.held.payload->get_address() + offset);
  payload.set_data_length(train.bytes());
  output.sent.push_back({&payload, {}});
  send_on(out[port], payload);
}

void Router::recall_sent(std::uint32_t gone, unsigned port) {
  tlm::tlm_generic_payload& payload = *outputs_[port].sent.back().payload;
  Train& train = train_of(payload);
  train.times.drop_back(gone);
  if (!train.content.empty()) train.content = train.content.slice(0, train.bytes());
  send_on(out[port], payload, CELLS_RECALLED);
}

void connect(Router& a, unsigned a_port, Router& b, unsigned b_port) {
  a.out[a_port].bind(b.in[b_port]);
  b.out[b_port].bind(a.in[a_port]);
}

}  // namespace faultline::interconnect
