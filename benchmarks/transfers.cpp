// SPDX-License-Identifier: Apache-2.0
// The whole model: one pair's transfers as an experiment's point has them. Arguments are settings (key=value, as
// `faultline run --set` takes them). Host time is that of the measured transfers, without elaboration and warm-up.
#include <exception>

#include "benchmarks/measure.hpp"
#include "models/sim/failure.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/transfers.hpp"

using namespace faultline;

namespace {

sim::ParameterValue value_for(const sim::Parameter& parameter, const std::string& text) {
  switch (parameter.kind) {
    case sim::ParameterKind::flag: return text == "true";
    case sim::ParameterKind::count: return std::int64_t{std::stoll(text)};
    case sim::ParameterKind::fraction: return std::stod(text);
    default: return text;
  }
}

void set_all(sim::ParameterTable& table, const std::vector<std::string>& settings) {
  for (const std::string& setting : settings) {
    const std::size_t equals = setting.find('=');
    const sim::Parameter* parameter = table.find(setting.substr(0, equals));
    if (parameter == nullptr || equals == std::string::npos) bench::refuse("no such setting: " + setting);
    try {
      parameter->set(value_for(*parameter, setting.substr(equals + 1)));
    } catch (const std::exception& error) {
      bench::refuse(setting + ": " + error.what());
    }
  }
}

nlohmann::json simulate(const workloads::Configuration& configuration) {
  platform::Cluster cluster("cluster", configuration.machine, 1);
  cluster.boot();
  workloads::Transfers transfers(configuration, cluster, 1);
  bench::Stopwatch watch;
  std::uint64_t events = 0;
  const auto faults = [&] { return cluster.total("os.pgfault"); };
  std::uint64_t faulted = 0;
  transfers.on_measurement_begins = [&] {
    events = cluster.loop.events_run();
    faulted = faults();
    watch.start();
  };
  transfers.on_measurement_ends = [&] {
    watch.stop();
    events = cluster.loop.events_run() - events;
    faulted = faults() - faulted;
  };
  transfers.on_finished = [&] { cluster.loop.stop(); };
  transfers.start();
  cluster.loop.run(configuration.workload.time_limit);
  cluster.loop.rethrow_failure();
  const workloads::TransferConfig& workload = configuration.workload;
  if (!transfers.finished() || transfers.samples().size() != workload.iterations || transfers.data_errors() > 0) {
    throw std::logic_error("transfers failed, or their data are wrong");
  }
  const sim::Time span = transfers.measured_to() - transfers.measured_from();
  nlohmann::json result{{"pages", workload.iterations * sim::page_end(workload.size) / sim::kPageBytes},
                        {"bytes", workload.iterations * workload.size},
                        {"faults", faulted},
                        {"events", events},
                        {"simulated_s", static_cast<double>(span.count()) / 1e12},
                        {"simulated_ps", span.count()}};
  watch.write_to(result);
  return result;
}

}  // namespace

int sc_main(int argc, char** argv) try {
  bench::Arguments arguments(argc, argv);
  arguments.check();
  workloads::Configuration configuration;
  sim::ParameterTable table;
  configuration.declare(table);
  set_all(table, arguments.rest);
  for (const sim::Conflict& conflict : workloads::conflicts(configuration)) bench::refuse(conflict.reason);
  std::cout << simulate(configuration) << std::endl;
  return 0;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
