// SPDX-License-Identifier: Apache-2.0
// What every model of a node is handed when it is constructed, instead of reaching for singletons.
#pragma once

#include <cstdint>

#include "models/sim/event_loop.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/random.hpp"
#include "models/sim/statistics.hpp"
#include "models/sim/trace.hpp"

namespace faultline::sim {

struct Context {
  NodeId node;
  EventLoop& loop;         // the node's
  PayloadPool& payloads;   // the cluster's
  Statistics& statistics;  // the node's
  Trace& trace;            // the cluster's
  Seed seed;               // of the run; RandomStream(context.seed, "what for", context.node)
  // The longest train. 1 simulates cell by cell; 16 (a page of 256 B cells) is the default.
  std::uint32_t cells_per_train = 16;

  Time now() const { return loop.now(); }
  void report(Step step, const PartKey& key) const { trace.report(loop.now(), node, step, key); }
  // To timelines, where there are any.
  void level(TrackKind kind, std::uint64_t level, std::uint32_t number = 0) const {
    if (trace.records()) trace.level(loop.now(), {node, kind, number}, level);
  }
  void slice(TrackKind kind, std::uint32_t number, Time begin, Time end, std::string_view name,
             std::string_view category, const PartKey& key = {}) const {
    if (trace.records()) trace.slice({{node, kind, number}, begin, end, name, category, key});
  }
};

}  // namespace faultline::sim
