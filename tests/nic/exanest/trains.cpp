// SPDX-License-Identifier: Apache-2.0
// Whatever faults a transfer meets and however few slots there are: trains and single cells go at the same instants,
// and so do trains of which everything is said twice.
#include <fmt/format.h>
#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "models/nic/exanest/steps.hpp"
#include "tests/support/dma_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kBase[] = {0x100000, 0x400000};

struct Scene {
  std::vector<DmaPost> posts;
  std::set<std::uint64_t> missing[2];
  int lost_message = 0;
  Time resolve_after{0};
};

Scene any_scene() {
  Scene scene;
  const auto count = *rc::gen::inRange(1, 3);
  for (int i = 0; i < count; ++i) {
    DmaPost post;
    post.source = kBase[0] + *rc::gen::inRange<std::uint64_t>(0, 20000);
    post.destination = kBase[1] + *rc::gen::inRange<std::uint64_t>(0, 20000);
    post.length = *rc::gen::inRange<std::uint64_t>(1, 40000);
    post.channel = static_cast<unsigned>(i);
    scene.posts.push_back(post);
  }
  for (int node = 0; node < 2; ++node) {
    for (std::uint64_t page = 0; page < 16; ++page) {
      if (*rc::gen::inRange(0, 4) == 0) scene.missing[node].insert(kBase[node] / sim::kPageBytes + page);
    }
  }
  scene.lost_message = *rc::gen::inRange(0, 12);
  // Soon enough that other blocks' cells are on their way to the page, or not.
  const int most = *rc::gen::element(3'000'000, 30'000'000);
  scene.resolve_after = Time{*rc::gen::inRange(100'000, most)};
  return scene;
}

using Fact = std::tuple<Time, std::string>;

// Everything that happens, in a canonical order.
std::vector<Fact> play(DmaBench& bench, const Scene& scene) {
  bench.resolve_after = scene.resolve_after;
  bench.steps.clear();
  int message = 0;
  bench.fabric->loses = [&](const network::PacketHeader& h) {
    return h.kind != network::PacketKind::data && ++message == scene.lost_message;
  };
  for (int node = 0; node < 2; ++node) {
    bench.memory[node]->forget_accesses();
    bench.memory[node]->missing = scene.missing[node];
  }
  const Time begin = bench.now();
  for (const DmaPost& post : scene.posts) RC_ASSERT(bench.post(0, post) != 0);
  for (int i = 0; i < 100 && bench.all(exanest::step::kNotified).size() < scene.posts.size(); ++i) bench.run(1ms);
  RC_ASSERT(bench.all(exanest::step::kNotified).size() == scene.posts.size());
  std::vector<Fact> facts;
  for (const sim::StepRecord& s : bench.steps) {
    facts.emplace_back(s.at - begin,
                       fmt::format("{} step {} block {}.{}", s.node, s.step->name, s.key.part, s.key.attempt));
  }
  for (int node = 0; node < 2; ++node) {
    for (const PagedMemory::Access& access : bench.memory[node]->accesses) {
      for (std::uint32_t i = 0; i < access.cells; ++i) {
        facts.emplace_back(access.times.at(i) - begin, fmt::format("{} access {:x} {} {}", node,
                                                                   access.address + i * 256, access.write, access.ok));
      }
    }
  }
  std::sort(facts.begin(), facts.end());
  return facts;
}

}  // namespace

TEST_CASE("trains and single cells of an engine meet the same instants, whatever faults and bounds they meet") {
  exanest::EngineConfig few;
  few.neighbours.outstanding_reads = 5;
  few.neighbours.outstanding_writes = 3;
  few.neighbours.router_cells = 2;
  few.cell_buffer = 9;
  few.receive_buffer = 6;
  few.block_bytes = 1500;  // several of a page
  few.block_contexts = 2;
  DmaBench trains({}, 16, "trains"), cells({}, 1, "cells");
  DmaBench few_trains(few, 16, "few_trains"), few_cells(few, 1, "few_cells");
  exanest::EngineConfig stops, few_stops = few;
  stops.stop_after_fault = few_stops.stop_after_fault = true;
  few_stops.send_pipeline = few_stops.receive_pipeline = 0;
  DmaBench stop_trains(stops, 16, "stop_trains"), stop_cells(stops, 1, "stop_cells");
  DmaBench few_stop_trains(few_stops, 16, "few_stop_trains"), few_stop_cells(few_stops, 1, "few_stop_cells");
  DmaBench twice({}, 16, "twice", true), few_stop_twice(few_stops, 16, "few_stop_twice", true);
  // Each as the first one.
  const std::vector<std::vector<DmaBench*>> alike = {{&cells, &trains, &twice},
                                                     {&few_cells, &few_trains},
                                                     {&stop_cells, &stop_trains},
                                                     {&few_stop_cells, &few_stop_trains, &few_stop_twice}};
  for (const auto& benches : alike) {
    for (DmaBench* bench : benches) bench->set_up();
  }
  CHECK(rc::check([&] {
    const Scene scene = any_scene();
    for (const auto& benches : alike) {
      const auto one = play(*benches.front(), scene);
      for (auto bench = benches.begin() + 1; bench != benches.end(); ++bench) {
        const auto other = play(**bench, scene);
        const auto [x, y] = std::mismatch(one.begin(), one.end(), other.begin(), other.end());
        if (x != one.end()) RC_LOG() << "cells: " << std::get<0>(*x).count() << " " << std::get<1>(*x) << "\n";
        if (y != other.end()) RC_LOG() << "trains: " << std::get<0>(*y).count() << " " << std::get<1>(*y) << "\n";
        RC_ASSERT(one == other);
        for (sim::NodeId node = 0; node < 2; ++node) {
          for (const char* name : {"dma.stopped_bytes", "dma.dropped_bytes", "dma.stops_late"}) {
            RC_ASSERT((*bench)->counted(node, name) == benches.front()->counted(node, name));
          }
        }
      }
    }
  }));
  CHECK(twice.wiring.repeated() > 1000);
}
