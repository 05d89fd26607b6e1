// SPDX-License-Identifier: Apache-2.0
#include "workloads/stream.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "models/os/out_of_memory.hpp"
#include "models/platform/endpoints.hpp"
#include "models/sim/failure.hpp"

namespace faultline::workloads {

using os::Error;
using rdma::Endpoint;
using sim::Task;

namespace {

constexpr std::uint64_t kSeedsOfAStream = std::uint64_t{1} << 32;

}  // namespace

void check_buffer(Error error, std::string_view what, const os::Vm& vm) {
  if (error == Error::none) return;
  const std::string text =
      fmt::format("node {}: {} of a buffer failed: {}", vm.context().node, what, os::to_string(error));
  if (error == Error::poisoned) {
    throw sim::RunFailure(
        text +
            ", put there by inject.mechanism = memory-failure: the program that uses its buffer would "
            "be ended by SIGBUS. At a destination, which only the device writes, transfers fail instead",
        {"inject.end", "inject.mechanism", "inject.after", "inject.count"});
  }
  if (error == Error::limit) {
    throw sim::RunFailure(text + " (RLIMIT_MEMLOCK)",
                          {"os.rlimit_memlock", "workload.size", "workload.window", "workload.flows"},
                          /*refused=*/true);
  }
  if (error == Error::again) {
    throw sim::RunFailure(text + ": the device's table still has other frames there",
                          {"strategy.translate", "strategy.registration", "strategy.unpin"});
  }
  if (error == Error::unsupported) {
    throw sim::RunFailure(text + " (os.kernel)", {"os.kernel", "workload.memory", "strategy.registration"},
                          /*refused=*/true);
  }
  if (error == Error::no_huge_page) {
    throw sim::RunFailure(text, {"os.nr_hugepages", "workload.size", "workload.window", "workload.flows"});
  }
  throw os::out_of_memory(
      vm, text,
      {"workload.size", "workload.window", "workload.flows", "ddr.size", "os.user_memory", "workload.memory_limit"});
}

std::unique_ptr<Endpoint> open_program(const Configuration& configuration, platform::Node& node, bool has_source,
                                       std::string name) {
  if (name.empty()) name = fmt::format("process {}", node.endpoints);
  if (!configuration.program_name.empty()) name = configuration.program_name + " " + name;
  return platform::open_endpoint(node, configuration.strategy, configuration.workload.memory, name,
                                 has_source ? rdma::End::source : rdma::End::destination);
}

Task<void> both_settled(Endpoint& one, std::uint64_t address, Endpoint& other, std::uint64_t other_address,
                        std::uint64_t bytes) {
  const sim::EventLoop& loop = one.vm().context().loop;
  for (bool waited = true; waited;) {
    const sim::Time before = loop.now();
    co_await one.vm().settled(one.process(), address, bytes);
    co_await other.vm().settled(other.process(), other_address, bytes);
    waited = loop.now() != before;
  }
}

Task<void> make_present(Endpoint& endpoint, os::Range buffer) {
  os::Vm& vm = endpoint.vm();
  const auto attempt = [&] { return vm.make_present(endpoint.process(), buffer.begin, buffer.end - buffer.begin); };
  Error error = attempt();
  for (int waited = 0; error == Error::again && waited < kLooks; ++waited) {
    co_await vm.context().loop.delay(kBetweenLooks);
    error = attempt();
  }
  check_buffer(error, "first use", vm);
}

Task<void> leave(Endpoint& endpoint, std::uint64_t address, std::uint64_t bytes, bool cold) {
  const os::Range buffer = endpoint.pages_of(address, bytes);
  if (!cold) co_return co_await make_present(endpoint, buffer);
  check_buffer(endpoint.vm().discard(endpoint.process(), buffer.begin, buffer.end - buffer.begin), "discarding",
               endpoint.vm());
}

Stream::Stream(const Flow& flow, const rdma::Strategy& strategy, const sim::Context& clock, Endpoint& from,
               Endpoint& to, std::uint64_t number, sim::Seed seed)
    : flow_(flow),
      strategy_(strategy),
      clock_(clock),
      from_(from),
      to_(to),
      asking_(from, to, strategy, check_buffer),
      seed_(seed),
      number_(number),
      cold_pages_(flow, flow.size, seed, number),
      ends_(&from.thread()),
      next_seed_(1 + kSeedsOfAStream * number) {}

Task<void> Stream::make_cold() {
  for (const Lane& lane : lanes_) co_await make_cold(lane);
}

Task<void> Stream::make_cold(const Lane& lane) {
  co_await cold_pages_.leave(source(), source_address(lane), flow_.cold_source(), ColdKind::never_written);
  co_await cold_pages_.leave(destination(), destination_address(lane), flow_.cold_destination(),
                             ColdKind::never_written);
}

Task<void> Stream::run(Tally tally) {
  tally_ = &tally;
  if (!flow_.is_open()) co_return co_await run_closed_loop();
  ends_ = &from_.new_thread("transfers' ends");
  co_await run_open_loop(*this, {flow_, seed_, number_}, flow_.transfers, flow_.window, clock_.loop);
}

Task<void> Stream::run_closed_loop() {
  for (unsigned i = 0; i < flow_.transfers; ++i) {
    if (running_.size() == lanes_.size()) {
      co_await finish_oldest();
      if (flow_.think_time > sim::Time{0}) co_await clock_.loop.delay(flow_.think_time);
    }
    co_await begin_next(sim::kNever);
  }
  while (!running_.empty()) co_await finish_oldest();
}

// Of a closed loop a transfer arrives when its buffer is ready for it.
Task<void> Stream::begin_next(sim::Time arrived) {
  const Lane& lane = lanes_[begun_ % lanes_.size()];
  const bool leaves = cools(strategy_) && flow_.is_due(begun_ / lanes_.size());
  ++begun_;
  if (cools(strategy_)) co_await both_settled(from_, lane.from_address, to_, lane.to_address, flow_.size);
  if (leaves) co_await make_cold(lane);
  from_.keeps_core();
  co_await source().vm().store(source().process(), source_address(lane), flow_.size, next_seed_++);
  const rdma::RemoteBuffer remote{to_.node(), to_.process().id(), lane.to_address};
  const auto operation = flow_.reads() ? rdma::Operation::read : rdma::Operation::write;
  const rdma::ToldTransfer told(from_, operation, lane.from_address, remote, flow_.size, {.arrived = arrived});
  const messages::Move move{operation, lane.from_buffer, lane.from_address, remote, flow_.size, lane.slot};
  running_.push_back(std::make_unique<Running>(told, strategy_, move));
  Running& running = *running_.back();
  running.lane = &lane;
  running.arrived = std::min(arrived, clock_.now());
  running.begin = clock_.now();
  running.cold = leaves && flow_.cold != Cold::none;
  running.moving.on_prepared = [this, &running] {
    running.expected =
        source().vm().read(source().process(), source_address(*running.lane), static_cast<std::uint32_t>(flow_.size));
  };
  co_await asking_.prepare(from_.thread(), running.moving);
  co_await asking_.post(from_.thread(), running.moving);
}

Task<void> Stream::finish_oldest() {
  const std::unique_ptr<Running> oldest = std::move(running_.front());
  running_.pop_front();
  Running& running = *oldest;
  const auto size = static_cast<std::uint32_t>(flow_.size);
  const rdma::Status status = co_await asking_.wait(*ends_, running.moving);
  if (status != rdma::Status::done) {
    ++tally_->failed;
  } else {
    Endpoint& to = destination();
    const std::uint64_t address = destination_address(*running.lane);
    if (!(to.vm().read(to.process(), address, size) == running.expected)) ++tally_->data_errors;
  }
  co_await asking_.let_go(*ends_, running.moving);
  running.told.ended(clock_.now(), status == rdma::Status::done);
  if (status == rdma::Status::done) {
    tally_->samples.push_back(
        {running.arrived, clock_.now(), size, tally_->sender, running.cold, running.begin - running.arrived});
  }
  tally_->work_done += work_of_transfer(flow_.size);
  co_await asking_.settle(*ends_, running.moving);
}

}  // namespace faultline::workloads
