// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfers/transfers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "workloads/stream.hpp"

namespace faultline::workloads {

using os::Error;
using rdma::Endpoint;
using rdma::Message;
using sim::Task;

namespace {

// Content of the clean transfers; the measured ones count from 1.
constexpr std::uint64_t kCleanSeed = std::uint64_t{1} << 40;

// Content that the owner of a destination leaves there.
constexpr std::uint64_t kUsedSeed = std::uint64_t{1} << 41;

}  // namespace

Transfers::Transfers(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed, TransferKind kind)
    : Program(kind == TransferKind::read ? configuration.workload.target : configuration.workload.initiator,
              cluster.life()),
      config_(configuration.workload),
      kind_(kind),
      cold_source_kind_(
          kind_of_written(config_.cold_source_kind, config_.memory.backing, configuration.machine.os.swap_bytes)),
      strategy_(configuration.strategy),
      injects_(configuration.inject.mechanism != Mechanism::none),
      disturbed_(injects_ || configuration.background.uses_memory()),
      beside_others_(configuration.beside_others),
      injection_(configuration.inject, seed),
      cluster_(cluster),
      seed_(seed),
      cold_pages_(config_, config_.size, seed),
      start_phase_(config_.start_spread, seed, 0) {
  initiator_ = open_program(configuration, cluster.node(config_.initiator), !reads(), "initiator");
  target_ = open_program(configuration, cluster.node(config_.target), reads(), "target");
  asking_ = std::make_unique<messages::Initiator>(*initiator_, *target_, strategy_, check_buffer);
  for (const unsigned node : {config_.initiator, config_.target}) {
    fault_progress_.emplace_back(cluster.nic_kind(), cluster.node(node));
  }
  ends_ = &initiator_->thread();
  target_stores_ = &target_->thread();
  // That thread waits for requests, and none is made for each transfer.
  if (strategy_.serves_at_target() && !strategy_.asks_target()) target_stores_ = &target_->new_thread("stores");
  cluster.steps().listen(breakdown_);
  const bool kernel_takes_source = config_.cold_source() && cold_source_kind_ != ColdKind::never_written;
  if (kernel_takes_source || config_.cold_destination_kind != ColdKind::never_written) {
    for (const unsigned node : {config_.initiator, config_.target}) {
      pagers_.push_back(&cluster.node(node).cpu.new_thread("pager"));
    }
  }
}

void Transfers::start() { tasks_.start(run()); }

Task<void> Transfers::run() {
  co_await initiator_->open();
  co_await target_->open();
  if (kind_ == TransferKind::message) {
    co_await run_messages();
  } else {
    co_await run_transfers();
  }
  injection_.end();
  finish_run();
}

Task<void> Transfers::run_messages() {
  const sim::Context& clock = cluster_.node(config_.initiator).context;
  const auto words = static_cast<unsigned>((config_.size + 7) / 8);
  co_await set_up_ends();
  for (std::uint64_t i = 0; i < config_.warmup + config_.iterations; ++i) {
    if (i == config_.warmup) co_await measurement_begins(clock.loop);
    Message message{};
    for (unsigned w = 0; w < words; ++w) message[w] = i + w;
    started_ = i;
    co_await pause();
    initiator_->keeps_core();
    target_->keeps_core();
    const sim::Time begin = clock.now();
    const rdma::ToldTransfer told(*initiator_, rdma::Operation::write, 0, {target_->node(), target_->process().id(), 0},
                                  config_.size);
    // The receiver is already polling when the message is sent, as in every latency benchmark.
    sim::Signal received(clock.loop);
    Message got{};
    sim::Time end{0};
    bool returned = false;
    tasks_.start([](Endpoint& target, Message& out, sim::Time& when, bool& over, const sim::Context& time,
                    sim::Signal& done) -> Task<void> {
      out = co_await target.take(target.thread());
      when = time.now();
      co_await target.give_back(target.thread());
      over = true;
      done.notify_all();
    }(*target_, got, end, returned, clock, received));
    co_await initiator_->send(initiator_->thread(), target_->node(), target_->process().id(), message, words);
    while (!returned) co_await received;  // NOLINT(bugprone-infinite-loop): the other coroutine sets it
    work_done_ += work_of_transfer(config_.size);
    if (got != message) ++(i >= config_.warmup ? data_errors_ : other_data_errors_);
    told.ended(end, got == message);
    breakdown_.finish_message(i >= config_.warmup);
    if (i >= config_.warmup) samples_.push_back({begin, end, config_.size});
  }
  measurement_ends(now());
}

Task<void> Transfers::run_transfers() {
  co_await set_up();
  co_await set_up_ends();
  if (strategy_.serves_at_target()) serve_target();
  for (unsigned i = 0; i < config_.clean_window; ++i) tasks_.start(run_clean(i));
  co_await run_closed_loop(config_.warmup);
  co_await measurement_begins(cluster_.loop);
  if (injects_) start_injections();
  if (config_.is_open()) {
    ends_ = &initiator_->new_thread("transfers' ends");
    co_await run_open_loop(*this, {config_, seed_, 0}, config_.iterations, config_.window, cluster_.loop);
  } else {
    co_await run_closed_loop(config_.iterations);
  }
  measurement_ends(now());
  teardown_time_ = co_await on_both_sides(&Transfers::tear_down_side);
}

Task<void> Transfers::run_closed_loop(std::uint64_t transfers) {
  const std::uint64_t end = started_ + transfers;
  while (started_ < end) {
    if (running_.size() == config_.window) {
      co_await finish_oldest();
      if (config_.think_time > sim::Time{0}) co_await cluster_.loop.delay(config_.think_time);
    }
    if (running_.empty()) co_await pause();
    co_await begin_next(sim::kNever);
  }
  while (!running_.empty()) co_await finish_oldest();
}

Task<void> Transfers::set_up() {
  const std::uint64_t initiator_offset = reads() ? config_.destination_offset : config_.source_offset;
  const std::uint64_t target_offset = reads() ? config_.source_offset : config_.destination_offset;
  lanes_.resize(config_.window);
  for (unsigned i = 0; i < config_.window; ++i) {
    Lane& lane = lanes_[i];
    lane.initiator_address = initiator_->map_buffer(config_.size, initiator_offset);
    lane.target_address = target_->map_buffer(config_.size, target_offset);
    lane.initiator_buffer = initiator_->buffer(lane.initiator_address, config_.size);
    lane.target_buffer = target_->buffer(lane.target_address, config_.size);
  }
  setup_time_ = co_await on_both_sides(&Transfers::set_up_side);
}

// Both programs do it at the same time; the slower one decides.
Task<sim::Time> Transfers::on_both_sides(Side side) {
  const sim::Context& clock = cluster_.node(config_.initiator).context;
  const sim::Time begin = clock.now();
  sim::Signal done(clock.loop);
  bool target_done = false;
  tasks_.start([](Transfers& self, Side what, bool& flag, sim::Signal& signal) -> Task<void> {
    co_await (self.*what)(/*target=*/true);
    flag = true;
    signal.notify_all();
  }(*this, side, target_done, done));
  co_await (this->*side)(/*target=*/false);
  while (!target_done) co_await done;  // NOLINT(bugprone-infinite-loop): the other coroutine sets it
  co_return clock.now() - begin;
}

Task<void> Transfers::set_up_side(bool target) {
  Endpoint& endpoint = endpoint_at(target);
  for (Lane& lane : lanes_) {
    if (config_.advise_late) co_await make_cold(lane, target);
    const std::uint64_t address = address_at(lane, target);
    if (config_.madvise_hugepage) {
      const std::uint64_t page = sim::page_begin(address);
      const Error error = co_await endpoint.vm().madvise(endpoint.thread(), endpoint.process(), page,
                                                         address + config_.size - page, os::Advice::hugepage);
      check_buffer(error, "advising", endpoint.vm());
    }
    if (!config_.advise_late) co_await make_cold(lane, target);
    if (has_pagers()) {
      co_await write_again(lane, target);
      co_await put_away(lane, target);
    }
    const bool injected = injects_ && is_injected(target);
    if (injected) co_await injection_.before_preparation(endpoint.thread(), buffer_of(endpoint, address));
    endpoint.keeps_core();
    const Error error = co_await buffer_at(lane, target).add(endpoint.thread());
    check_buffer(error, "setting up", endpoint.vm());
  }
}

Task<void> Transfers::tear_down_side(bool target) {
  Endpoint& endpoint = endpoint_at(target);
  for (Lane& lane : lanes_) {
    endpoint.keeps_core();
    const Error error = co_await buffer_at(lane, target).remove(endpoint.thread());
    check_buffer(error, "tearing down", endpoint.vm());
  }
}

bool Transfers::is_injected(bool target) const { return has_source(target) == injection_.at_source(); }

Injection::Buffer Transfers::buffer_of(Endpoint& endpoint, std::uint64_t address) const {
  const os::Range pages = endpoint.pages_of(address, config_.size);
  return {endpoint.vm(), endpoint.process(), pages.begin, pages.end - pages.begin, endpoint.registration()};
}

void Transfers::start_injections() {
  sim::Vector<Injection::Buffer> buffers;
  const bool target = is_injected(true);
  Endpoint& endpoint = endpoint_at(target);
  for (const Lane& lane : lanes_) buffers.push_back(buffer_of(endpoint, address_at(lane, target)));
  tasks_.start(injection_.run(cluster_.node(endpoint.node()).cpu, std::move(buffers),
                              strategy_.registration->abilities().locks));
}

// The program's memory, as life left it: absent pages, and the rest present. Takes simulated time only while the kernel
// still reads a page that is to be present. Where others take pages, those that they have taken stay away.
Task<void> Transfers::make_cold(const Lane& lane, bool target) {
  if (disturbed_ && started_ >= config_.window) {
    const bool drops = is_cold(target) && cold_kind(target) == ColdKind::never_written;
    if (drops) cold_pages_.drop(endpoint_at(target), address_at(lane, target));
    co_return;
  }
  co_await cold_pages_.leave(endpoint_at(target), address_at(lane, target), is_cold(target), cold_kind(target));
}

// The kinds of cold pages for which the kernel has to work; what the buffers hold is written before. Not part of any
// latency.
Task<void> Transfers::put_away(const Lane& lane, bool target) {
  if (!is_cold(target) || cold_kind(target) == ColdKind::never_written) co_return;
  co_await cold_pages_.put_away(endpoint_at(target), *pagers_[target ? 1 : 0], address_at(lane, target),
                                cold_kind(target));
}

// Pages that were put away have been written before; those that the disk still reads are waited for.
Task<void> Transfers::write_again(const Lane& lane, bool target) {
  Endpoint& endpoint = endpoint_at(target);
  if (disturbed_) {
    // The target's own thread may be waiting for a request.
    cpu::Execution& thread = target && strategy_.serves_at_target() ? *pagers_[1] : endpoint.thread();
    check_buffer(
        co_await endpoint.vm().touch_range(thread, endpoint.process(), address_at(lane, target), config_.size, true),
        "writing", endpoint.vm());
  }
  co_await endpoint.vm().store(endpoint.process(), address_at(lane, target), config_.size, kUsedSeed + started_);
}

// A fault of a block that a timeout has brought again may still be on its way through the kernel: handled
// later, it would make a page of the next transfer present. A program that measures one transfer would not
// see that, so the next one waits; not part of any latency.
Task<void> Transfers::late_faults_end() {
  const sim::Time patience = 100us;
  for (const platform::FaultProgress& faults : fault_progress_) {
    // A record that was lost is never handled: the wait is over, too, when nothing was handled for so long.
    for (std::uint64_t before = UINT64_MAX; before != faults.handled() && faults.handled() < faults.recorded();) {
      before = faults.handled();
      co_await cluster_.loop.delay(patience);
    }
  }
}

// What is to be sent. Where pages go without the program's doing its stores may meet faults, which take their time.
Task<void> Transfers::write_source(const Lane& lane) {
  Endpoint& source = data_source();
  if (disturbed_ && (!injects_ || injection_.at_source())) {
    check_buffer(
        co_await source.vm().touch_range(storing(source), source.process(), source_address(lane), config_.size, true),
        "writing", source.vm());
  }
  co_await source.vm().store(source.process(), source_address(lane), config_.size, started_ + 1);
}

// A program that has used its receive buffer for something else since the last transfer.
Task<void> Transfers::write_destination(const Lane& lane) {
  if (!injects_ || injection_.at_source() || !injection_.owner_stores()) co_return;
  Endpoint& to = data_destination();
  const std::uint64_t address = destination_address(lane);
  check_buffer(co_await to.vm().touch_range(storing(to), to.process(), address, config_.size, true), "writing",
               to.vm());
  co_await to.vm().store(to.process(), address, config_.size, kUsedSeed + started_);
}

Task<void> Transfers::pause() {
  const sim::Time drawn = start_phase_.next();
  if (started_ > config_.warmup) paused_ += drawn;  // behind the first measured transfer
  if (drawn > sim::Time{0}) co_await cluster_.node(config_.initiator).context.loop.delay(drawn);
}

// Where others take pages, those that are present stay until somebody meets what the kernel has done.
bool Transfers::cools_before_next() const {
  if (!cools(strategy_)) return false;
  const std::uint64_t use = (measures() ? started_ - config_.warmup : started_) / config_.window;
  if (disturbed_ && config_.cold == Cold::none) return started_ < config_.window;
  return config_.is_due(use);
}

Task<void> Transfers::cool(const Lane& lane) {
  // Beside other programs those may fault without end, and records do not say whose they are.
  if (config_.window == 1 && config_.cold != Cold::none && !beside_others_) co_await late_faults_end();
  co_await both_settled(*initiator_, lane.initiator_address, *target_, lane.target_address, config_.size);
  for (const bool target : {false, true}) {
    if (has_pagers()) co_await write_again(lane, target);
    co_await make_cold(lane, target);
    if (has_pagers()) co_await write_again(lane, target);
  }
}

Task<void> Transfers::begin_next(sim::Time arrived) {
  const auto index = static_cast<unsigned>(started_ % config_.window);
  Lane& lane = lanes_[index];
  const bool cools = cools_before_next();
  if (cools) co_await cool(lane);
  if (!target_writes_source()) co_await write_source(lane);
  if (!target_prepares_destination()) co_await write_destination(lane);
  for (const bool target : {false, true}) {
    if (cools && has_pagers()) co_await put_away(lane, target);
  }

  initiator_->keeps_core();
  const bool cold = cools && config_.cold != Cold::none;
  const rdma::RemoteBuffer remote{target_->node(), target_->process().id(), lane.target_address};
  const auto operation = reads() ? rdma::Operation::read : rdma::Operation::write;
  const rdma::ToldTransfer told(*initiator_, operation, lane.initiator_address, remote, config_.size,
                                {.arrived = arrived});
  const messages::Move move{operation, *lane.initiator_buffer, lane.initiator_address, remote, config_.size, index};
  running_.push_back(std::make_unique<Running>(told, strategy_, move));
  Running& running = *running_.back();
  running.lane = index;
  running.arrived = std::min(arrived, now());
  running.begin = now();
  running.measured = measures();
  running.cold = cold;
  running.moving.on_prepared = [this, &running] { leave_to_device(running); };
  running.moving.on_part_ended = [this](const rdma::Posted& part) { breakdown_.on_over(part.transfer); };
  co_await asking_->prepare(initiator_->thread(), running.moving);
  co_await asking_->post(initiator_->thread(), running.moving);
  ++started_;
}

// What the source is now is to arrive. The post itself takes time: what is taken meanwhile is missed by this transfer.
void Transfers::leave_to_device(Running& running) {
  Endpoint& source = data_source();
  running.expected = source.vm().read(source.process(), source_address(lanes_[running.lane]),
                                      static_cast<std::uint32_t>(config_.size));
  injection_.transfer_begins();
}

Task<void> Transfers::finish_oldest() {
  const std::unique_ptr<Running> oldest = std::move(running_.front());
  running_.pop_front();
  Running& running = *oldest;
  const Lane& lane = lanes_[running.lane];
  const rdma::Status status = co_await asking_->wait(*ends_, running.moving);
  if (status == rdma::Status::done) {
    Endpoint& to = data_destination();
    const sim::Content got =
        to.vm().read(to.process(), destination_address(lane), static_cast<std::uint32_t>(config_.size));
    if (!(got == running.expected)) ++(running.measured ? data_errors_ : other_data_errors_);
  }
  injection_.transfer_ends();
  co_await asking_->let_go(*ends_, running.moving);
  const sim::Time end = now();
  work_done_ += work_of_transfer(config_.size);
  const bool completed = status == rdma::Status::done;
  if (running.measured && completed) {
    samples_.push_back({running.arrived, end, config_.size, 0, running.cold, running.begin - running.arrived});
  }
  if (running.measured && !completed) ++failed_.front();
  if (running.measured && completed) {
    breakdown_.finish(running.moving.last().transfer, running.arrived, running.begin, end);
  }
  running.told.ended(end, completed);
  co_await asking_->settle(*ends_, running.moving);
}

void Transfers::serve_target() {
  answering_ = std::make_unique<messages::Target>(*target_, strategy_, check_buffer);
  for (const Lane& lane : lanes_) answering_->add({*lane.target_buffer, !reads(), initiator_.get()});
  tasks_.start(answering_->serve([this](std::uint64_t lane) { return use_target_buffer(lane); }));
}

// By the target's own program, whose thread it is that prepares.
Task<void> Transfers::use_target_buffer(std::uint64_t index) {
  const Lane& lane = lanes_[index];
  if (target_writes_source()) co_await write_source(lane);
  if (target_prepares_destination()) co_await write_destination(lane);
}

// A bystander in the same process: its buffers never fault, so whatever slows it down comes from others.
Task<void> Transfers::run_clean(unsigned index) {
  cpu::Execution& thread = initiator_->new_thread(fmt::format("clean {}", index));
  const std::uint64_t local = initiator_->map_buffer(config_.clean_size, 0);
  const std::uint64_t far = target_->map_buffer(config_.clean_size, 0);
  check_buffer(initiator_->vm().keep_present(initiator_->process(), local, config_.clean_size), "first use",
               initiator_->vm());
  check_buffer(target_->vm().keep_present(target_->process(), far, config_.clean_size), "first use", target_->vm());
  const rdma::RemoteBuffer remote{target_->node(), target_->process().id(), far};
  const bool read = config_.clean_kind == rdma::Operation::read;
  const auto content = [this](Endpoint& endpoint, std::uint64_t address) {
    return endpoint.vm().read(endpoint.process(), address, static_cast<std::uint32_t>(config_.clean_size));
  };
  while (!finished_) {
    Endpoint& source = read ? *target_ : *initiator_;
    co_await source.vm().store(source.process(), read ? far : local, config_.clean_size, kCleanSeed + ++clean_started_);
    rdma::ToldTransfer told(*initiator_, config_.clean_kind, local, remote, config_.clean_size, {.bystander = true});
    const rdma::Posted posted =
        co_await initiator_->post(thread, config_.clean_kind, local, remote, config_.clean_size);
    told.posted(posted);
    if (posted.transfer == 0) continue;
    const rdma::Status status = co_await initiator_->wait(thread, posted);
    told.ended(now(), status == rdma::Status::done);
    if (status != rdma::Status::done) {
      ++clean_failed_;
      continue;
    }
    if (!(content(*target_, far) == content(*initiator_, local))) ++other_data_errors_;
    if (measuring_) clean_bytes_ += config_.clean_size;
  }
}

}  // namespace faultline::workloads
