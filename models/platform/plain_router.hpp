// SPDX-License-Identifier: Apache-2.0
// A router without an MPSoC: a switch of a fat tree, a router of a dragonfly.
#pragma once

#include <memory>

#include "models/network/router.hpp"
#include "models/platform/machine.hpp"
#include "models/sim/context.hpp"

namespace faultline::platform {

class PlainRouter : public sc_core::sc_module {
 public:
  PlainRouter(sc_core::sc_module_name name, const Machine& machine, const network::Topology& topology,
              network::RouterId id, sim::EventLoop& loop, sim::PayloadPool& payloads, sim::Trace& trace, sim::Seed seed)
      : sc_module(name),
        context{id, loop, payloads, statistics, trace, seed, machine.cells_per_train},
        router(network::make_router("router", machine.router, context, topology)) {}

  sim::Statistics statistics;
  sim::Context context;
  std::unique_ptr<network::Router> router;
};

}  // namespace faultline::platform
