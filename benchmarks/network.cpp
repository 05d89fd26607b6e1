// SPDX-License-Identifier: Apache-2.0
// Routers and links alone: host time per cell-hop of the traffic of traffic.hpp.
#include <exception>

#include "benchmarks/network_rig.hpp"

using namespace faultline;

int sc_main(int argc, char** argv) try {
  bench::Arguments arguments(argc, argv);
  const bench::TrafficArguments traffic(arguments);
  const std::uint32_t cells = arguments.count("cells-per-train", bench::kCellsPerBlock);
  arguments.check();

  const std::vector<bench::Flow> flows = traffic.flows();
  bench::NetworkRig network(traffic.shape, flows, cells);
  sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates: sockets answer from here on
  for (const bench::Flow& flow : flows) network.nodes[flow.source]->source.start(flow, traffic.blocks);
  bench::Stopwatch watch;
  watch.start();
  network.loop.run(sim::kNever);
  watch.stop();
  network.loop.rethrow_failure();

  sim::Time last{0};
  std::uint64_t delivered = 0;
  for (const auto& node : network.nodes) {
    last = std::max(last, node->sink.last_arrival);
    delivered += node->sink.cells;
  }
  if (delivered != flows.size() * traffic.blocks * bench::kCellsPerBlock) throw std::logic_error("cells were lost");
  nlohmann::json result{{"hops", network.cell_hops()},
                        {"final_ps", last.count()},
                        {"events", network.loop.events_run()},
                        {"flows", flows.size()}};
  watch.write_to(result);
  std::cout << result << std::endl;
  std::_Exit(0);  // SystemC takes modules apart in quadratic time
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
