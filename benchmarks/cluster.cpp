// SPDX-License-Identifier: Apache-2.0
// What a cluster costs before anything happens on it: host time and memory to build and boot it.
#include <exception>

#include "benchmarks/cluster_shape.hpp"
#include "models/platform/cluster.hpp"

using namespace faultline;

int sc_main(int argc, char** argv) try {
  bench::Arguments arguments(argc, argv);
  const bench::Shape shape = bench::read_shape(arguments.text("shape", "16x8x8x4"));
  arguments.check();
  platform::Machine machine;
  machine.shape = bench::cluster_shape(shape);
  const double before = bench::resident_mib();
  bench::Stopwatch watch;
  watch.start();
  platform::Cluster cluster("cluster", machine, 1);
  cluster.boot();
  watch.stop();
  nlohmann::json result{
      {"nodes", cluster.size()}, {"mib", bench::resident_mib() - before}, {"peak_mib", bench::peak_mib()}};
  watch.write_to(result);
  std::cout << result << std::endl;
  std::_Exit(0);  // SystemC takes modules apart in quadratic time
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
