// SPDX-License-Identifier: Apache-2.0
#include "workloads/flows.hpp"

#include <fmt/format.h>

#include "models/sim/failure.hpp"

namespace faultline::workloads {

using os::Error;
using rdma::Endpoint;
using sim::Task;

namespace {

void check(Error error, std::string_view what, sim::NodeId node) {
  if (error == Error::none) return;
  throw sim::RunFailure(fmt::format("node {}: {} of a buffer failed: {}", node, what, os::to_string(error)),
                        {"workload.flows", "os.rlimit_memlock", "ddr.size", "os.user_memory"});
}

// Present, or absent, without simulated time: as the program's life has left it.
void leave(Endpoint& endpoint, std::uint64_t address, std::uint64_t bytes, bool cold) {
  const std::uint64_t first = sim::page_begin(address);
  const std::uint64_t all = sim::page_end(address + bytes) - first;
  os::Vm& vm = endpoint.vm();
  check(cold ? vm.discard(endpoint.process(), first, all) : vm.make_present(endpoint.process(), first, all),
        cold ? "discarding" : "first use", endpoint.node());
}

// Content of the streams' transfers differs.
constexpr std::uint64_t kSeedsOfAStream = std::uint64_t{1} << 32;

}  // namespace

Flows::Flows(const Configuration& configuration, platform::Cluster& cluster)
    : Benchmark(0), configuration_(configuration), cluster_(cluster), channels_(cluster.size()) {
  for (const Flow& flow : parse_flows(configuration.workload.flows)) {
    Stream& stream = streams_.emplace_back(flow, 1 + kSeedsOfAStream * streams_.size());
    stream.from = open(flow.from, !flow.reads());
    stream.to = open(flow.to, flow.reads());
    map_buffers(stream);
  }
}

std::unique_ptr<Endpoint> Flows::open(unsigned id, bool has_source) {
  platform::Node& node = cluster_.node(id);
  const rdma::Strategy& strategy = configuration_.strategy;
  const platform::Machine& machine = configuration_.machine;
  return std::make_unique<Endpoint>(strategy, machine.library,
                                    Endpoint::Host{node.context, node.cpu, node.vm, node.smmu_driver, node.faults,
                                                   node.ddr, platform::kEngineBase, machine.dma.channels},
                                    fmt::format("process {}", channels_[id]), channels_[id]++,
                                    has_source ? strategy.on_source_fault : strategy.on_destination_fault);
}

void Flows::map_buffers(Stream& stream) {
  const Flow& flow = stream.flow;
  stream.lanes.resize(flow.window);
  for (Lane& lane : stream.lanes) {
    lane.from_address = stream.from->map_buffer(flow.size, flow.reads() ? flow.destination_offset : flow.source_offset);
    lane.to_address = stream.to->map_buffer(flow.size, flow.reads() ? flow.source_offset : flow.destination_offset);
    lane.from_policy = stream.from->prepare(lane.from_address, flow.size);
    lane.to_policy = stream.to->prepare(lane.to_address, flow.size);
  }
}

std::uint64_t Flows::planned() const {
  std::uint64_t sum = 0;
  for (const Stream& stream : streams_) sum += stream.flow.transfers;
  return sum;
}

void Flows::start() {
  measurement_begins(sim::Time{0});
  unfinished_ = streams_.size();
  for (Stream& stream : streams_) tasks_.start(run(stream));
}

Task<void> Flows::run(Stream& stream) {
  const Flow& flow = stream.flow;
  co_await set_up(stream);
  if (clock(stream).now() < flow.start) co_await clock(stream).loop.delay(flow.start - clock(stream).now());
  for (unsigned i = 0; i < flow.transfers; ++i) {
    if (stream.running.size() == flow.window) co_await finish(stream);
    co_await begin(stream, stream.lanes[i % flow.window]);
  }
  while (!stream.running.empty()) co_await finish(stream);
  if (--unfinished_ > 0) co_return;
  measurement_ends(clock(stream).now());
  finish_run();
}

// Both programs prepare their buffers at the same time; the slower one decides when the first transfer begins.
Task<void> Flows::set_up(Stream& stream) {
  for (const Lane& lane : stream.lanes) make_cold(stream, lane);
  const auto prepare = [](Stream& of, bool from) -> Task<void> {
    Endpoint& endpoint = from ? *of.from : *of.to;
    co_await endpoint.open();
    for (Lane& lane : of.lanes) {
      rdma::PreparePolicy& policy = from ? *lane.from_policy : *lane.to_policy;
      const Error error = co_await policy.set_up(endpoint.thread());
      check(error, "setting up", endpoint.node());
    }
  };
  sim::Signal done(clock(stream).loop);
  bool to_is_ready = false;
  const auto other = [](auto& work, Stream& of, bool& flag, sim::Signal& signal) -> Task<void> {
    co_await work(of, false);
    flag = true;
    signal.notify_all();
  };
  tasks_.start(other(prepare, stream, to_is_ready, done));
  co_await prepare(stream, true);
  while (!to_is_ready) co_await done;  // NOLINT(bugprone-infinite-loop): the other coroutine sets it
  setup_time_ = std::max(setup_time_, clock(stream).now());
}

void Flows::make_cold(Stream& stream, const Lane& lane) {
  leave(stream.source(), stream.source_address(lane), stream.flow.size, stream.flow.cold_source());
  leave(stream.destination(), stream.destination_address(lane), stream.flow.size, stream.flow.cold_destination());
}

Task<void> Flows::begin(Stream& stream, Lane& lane) {
  const Flow& flow = stream.flow;
  if (configuration_.strategy.prepare == rdma::Prepare::nothing) make_cold(stream, lane);
  Endpoint& source = stream.source();
  source.vm().fill(source.process(), stream.source_address(lane), flow.size, stream.next_seed++);
  Running running{&lane, clock(stream).now(), {}, {}};
  running.expected =
      source.vm().read(source.process(), stream.source_address(lane), static_cast<std::uint32_t>(flow.size));
  const rdma::RemoteBuffer remote{stream.to->node(), stream.to->process().id(), lane.to_address};
  const auto operation = flow.reads() ? rdma::Operation::read : rdma::Operation::write;
  running.posted =
      co_await stream.from->library().post(stream.from->thread(), operation, lane.from_address, remote, flow.size);
  stream.running.push_back(std::move(running));
}

Task<void> Flows::finish(Stream& stream) {
  const Running running = std::move(stream.running.front());
  stream.running.pop_front();
  const auto size = static_cast<std::uint32_t>(stream.flow.size);
  rdma::Status status = rdma::Status::error;
  if (running.posted.transfer != 0) {
    status = co_await stream.from->library().wait(stream.from->thread(), running.posted);
  }
  if (status != rdma::Status::done) {
    ++failed_;
    co_return;
  }
  Endpoint& to = stream.destination();
  const std::uint64_t address = stream.destination_address(*running.lane);
  if (!(to.vm().read(to.process(), address, size) == running.expected)) ++data_errors_;
  samples_.push_back({running.begin, clock(stream).now(), size});
}

}  // namespace faultline::workloads
