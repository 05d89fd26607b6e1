// SPDX-License-Identifier: Apache-2.0
// Micro benchmarks (google-benchmark). "items" are wake-ups, events, operations or cell-hops.
//
// SystemC elaborates once in a process: all modules are made in sc_main and sleep until their benchmark wakes them.
#include <benchmark/benchmark.h>

#include <bit>
#include <deque>

#include "benchmarks/network_rig.hpp"
#include "models/nic/path/tracks.hpp"
#include "models/sim/time_sequence.hpp"

using namespace faultline;

namespace {

constexpr std::uint32_t kCellsPerPage = 16;

// Periods spread over 128 ps for each event that is pending, so that nearly every event has an instant of its own, as
// in a network model.
std::int64_t spread_period(unsigned pending) { return std::int64_t{128} * std::bit_ceil(pending); }

struct Random {
  std::uint32_t state;
  std::int64_t below(std::int64_t bound) {
    state ^= state << 13;
    state ^= state >> 17;
    state ^= state << 5;
    return state % bound;
  }
};

// The yardstick: SC_METHODs that wake by next_trigger(time), `pending` of them, and nothing else in the kernel.
struct Wakeups {
  class Ticker : public sc_core::sc_module {
   public:
    SC_HAS_PROCESS(Ticker);
    Ticker(sc_core::sc_module_name name, Wakeups& all, std::uint32_t seed) : sc_module(name), all_(all), random_{seed} {
      SC_METHOD(tick);
      dont_initialize();
      sensitive << all.go;
    }

   private:
    void tick() {
      if (!all_.running) return;  // waits for `go` again
      ++all_.count;
      next_trigger(sc_core::sc_time::from_value(static_cast<std::uint64_t>(1 + random_.below(all_.period))));
    }
    Wakeups& all_;
    Random random_;
  };

  explicit Wakeups(unsigned pending) : period(spread_period(pending)), go("go") {
    for (unsigned i = 0; i < pending; ++i) {
      tickers.push_back(std::make_unique<Ticker>(sc_core::sc_gen_unique_name("ticker"), *this, 2 * i + 1));
    }
  }
  std::int64_t period;
  sc_core::sc_event go;
  bool running = false;
  std::uint64_t count = 0;
  std::vector<std::unique_ptr<Ticker>> tickers;
};

void run_for(std::int64_t ps) { sc_core::sc_start(sim::to_sc_time(sim::Time{ps})); }
void run_for(sim::EventLoop& loop, std::int64_t ps) { loop.run(loop.now() + sim::Time{ps}); }

void kernel_wakeup(benchmark::State& state, Wakeups& wakeups) {
  wakeups.running = true;
  wakeups.go.notify(sc_core::SC_ZERO_TIME);
  const std::int64_t slice = 500 * wakeups.period / static_cast<std::int64_t>(wakeups.tickers.size());
  wakeups.count = 0;
  for (auto _ : state) run_for(slice);
  state.SetItemsProcessed(static_cast<std::int64_t>(wakeups.count));
  wakeups.running = false;
  run_for(2 * wakeups.period);
}

// The event loop with `pending` events, each of which schedules its successor.
struct Events {
  explicit Events(unsigned pending)
      : size(pending),
        period(spread_period(pending)),
        loop(sc_core::sc_gen_unique_name("loop")),
        port(loop.new_port()) {}
  void happen() {
    if (!running) return;
    ++count;
    loop.at<&Events::happen>(loop.now() + sim::Time{1 + random.below(period)}, port, *this);
  }
  unsigned size;
  std::int64_t period;
  sim::EventLoop loop;
  sim::Port port;
  Random random{1};
  bool running = false;
  std::uint64_t count = 0;
};

void event_loop(benchmark::State& state, Events& events) {
  events.running = true;
  for (unsigned i = 0; i < events.size; ++i) {
    events.loop.at<&Events::happen>(events.loop.now() + sim::Time{1 + i}, events.port, events);
  }
  events.count = 0;
  const std::int64_t slice = 500 * events.period / static_cast<std::int64_t>(events.size);
  for (auto _ : state) run_for(events.loop, slice);
  state.SetItemsProcessed(static_cast<std::int64_t>(events.count));
  events.running = false;
  run_for(events.loop, 2 * events.period);
}

// Cells from one node to its neighbour: injection, one link, delivery.
void router_hop(benchmark::State& state, bench::NetworkRig& network) {
  const bench::Flow flow{0, 1, 0, bench::kCellsPerBlock * bench::kCellTime, bench::kCellTime};
  network.nodes[0]->source.start(flow, UINT64_MAX);
  const std::uint64_t before = network.cell_hops();
  for (auto _ : state) run_for(network.loop, 100 * flow.period);
  state.SetItemsProcessed(static_cast<std::int64_t>(network.cell_hops() - before));
  network.nodes[0]->source.stop();
  run_for(network.loop, 100 * flow.period);
}

// A page's train through a server that is busy for its first half: one segment in, two out.
void serve_train(benchmark::State& state) {
  const auto arrivals = sim::TimeSequence::regular(sim::Time{1000}, sim::Time{300}, kCellsPerPage);
  sim::Time busy{3400};
  for (auto _ : state) {
    benchmark::DoNotOptimize(busy);
    benchmark::DoNotOptimize(sim::serve_in_order(arrivals, busy, sim::Time{200}));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

// The later of a train and its credits, which come with another rhythm.
void later_of_two(benchmark::State& state) {
  auto cells = sim::TimeSequence::regular(sim::Time{1000}, sim::Time{300}, kCellsPerPage);
  const auto credits = sim::TimeSequence::regular(sim::Time{2000}, sim::Time{200}, kCellsPerPage);
  for (auto _ : state) {
    benchmark::DoNotOptimize(cells);
    benchmark::DoNotOptimize(sim::later_of(cells, credits));
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

// What a model says to timelines, of which there are none.
void trace_unheard(benchmark::State& state) {
  sim::Trace trace;
  for (auto _ : state) {
    benchmark::DoNotOptimize(trace);
    if (trace.records()) trace.level(sim::Time{1000}, {1, nic::track::kSendQueue, 0}, 3);
  }
  state.SetItemsProcessed(static_cast<std::int64_t>(state.iterations()));
}

}  // namespace

int sc_main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  std::deque<Wakeups> wakeups;
  std::deque<Events> events;
  for (const unsigned pending : {1U, 100U}) {
    const std::string suffix = "/" + std::to_string(pending);
    Wakeups& w = wakeups.emplace_back(pending);
    benchmark::RegisterBenchmark(("kernel_wakeup" + suffix).c_str(), [&w](auto& state) { kernel_wakeup(state, w); });
    Events& e = events.emplace_back(pending);
    benchmark::RegisterBenchmark(("event_loop" + suffix).c_str(), [&e](auto& state) { event_loop(state, e); });
  }
  std::deque<bench::NetworkRig> networks;
  const bench::Shape two{1, 1, 1, 2};
  for (const std::uint32_t cells : {1U, kCellsPerPage}) {
    bench::NetworkRig& n =
        networks.emplace_back(two, std::vector<bench::Flow>{}, cells, "cells" + std::to_string(cells));
    const std::string name = "router_hop/" + std::to_string(cells);
    benchmark::RegisterBenchmark(name.c_str(), [&n](auto& state) { router_hop(state, n); });
  }
  benchmark::RegisterBenchmark("serve_train", serve_train);
  benchmark::RegisterBenchmark("later_of_two", later_of_two);
  benchmark::RegisterBenchmark("trace_unheard", trace_unheard);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
