// SPDX-License-Identifier: Apache-2.0
// The whole model: the transfers of an experiment's point, of one pair or of a whole cluster. Arguments are settings
// (key=value, as `faultline run --set` takes them). Host time is that of the measured transfers, without elaboration
// and warm-up, and without giving background processes their first memory, which is a figure of its own. --trace FILE
// records the run as `faultline run --trace` does, and counts what is told to timelines.
#include <exception>
#include <optional>
#include <string_view>

#include "benchmarks/measure.hpp"
#include "models/sim/failure.hpp"
#include "workloads/background.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/programs.hpp"
#include "workloads/recording.hpp"

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

// Cells that crossed a link: port 0 is the way to the node itself.
std::uint64_t hops(platform::Cluster& cluster) {
  std::uint64_t sum = 0;
  for (unsigned id = 0; id < cluster.size(); ++id) {
    for (const sim::Counter& c : cluster.node(id).statistics.all()) {
      const std::string_view name = c.name();
      const bool link = name.starts_with("network.port") && !name.starts_with("network.port0.");
      if (link && name.ends_with(".cells")) sum += c.value();
    }
  }
  return sum;
}

// How often models tell timelines something.
struct Told : sim::Timeline {
  void on_step(const sim::StepRecord&) override { ++times; }
  void on_slice(const sim::Slice&) override { ++times; }
  void on_level(sim::Time, const sim::Track&, std::uint64_t) override { ++times; }
  void on_link(const sim::Slice&, const void*) override { ++times; }
  std::uint64_t times = 0;
};

nlohmann::json simulate(const workloads::Configuration& configuration, const std::string& trace_file) {
  platform::Cluster cluster("cluster", configuration.machine, 1);
  Told told;
  std::optional<workloads::Recording> recording;
  if (!trace_file.empty()) {
    recording.emplace(trace::TraceRequest{trace_file, "", {}}, configuration.machine, cluster);
    cluster.steps().record(told);
  }
  cluster.boot();
  const double built_mib = bench::resident_mib();
  workloads::Programs programs(configuration, cluster, 1);
  workloads::Background background(configuration.background, cluster, 1);
  bench::Stopwatch watch;
  bench::Stopwatch filling;
  double filled_mib = 0;
  struct Counts {
    std::uint64_t events;
    std::uint64_t faults;
    std::uint64_t hops;
    std::uint64_t told;
  };
  const auto counts = [&] {
    return Counts{cluster.loop.events_run(), cluster.total("os.pgfault"), hops(cluster), told.times};
  };
  Counts before{};
  Counts after{};
  programs.on_measurement_begins = [&] {
    const double mib = bench::resident_mib();
    filling.start();
    background.start();
    filling.stop();
    filled_mib = bench::resident_mib() - mib;
    before = counts();
    watch.start();
  };
  programs.on_measurement_ends = [&] {
    watch.stop();
    after = counts();
  };
  programs.on_finished = [&] { cluster.loop.stop(); };
  programs.start();
  cluster.loop.run(configuration.workload.time_limit);
  cluster.loop.rethrow_failure();
  if (!programs.finished() || programs.only().samples().size() != programs.planned()) {
    throw std::logic_error("transfers failed");
  }
  if (programs.only().data_errors() + programs.only().other_data_errors() > 0) throw std::logic_error("data are wrong");
  const sim::Time span = programs.measured_to() - programs.measured_from();
  const std::uint64_t size = configuration.workload.size;
  nlohmann::json result{{"nodes", cluster.size()},
                        {"transfers", programs.planned()},
                        {"pages", programs.planned() * sim::page_end(size) / sim::kPageBytes},
                        {"bytes", programs.planned() * size},
                        {"faults", after.faults - before.faults},
                        {"events", after.events - before.events},
                        {"hops", after.hops - before.hops},
                        {"simulated_s", static_cast<double>(span.count()) / 1e12},
                        {"simulated_ps", span.count()},
                        {"built_mib", built_mib},
                        {"peak_mib", bench::peak_mib()},
                        {"filled_mib", filled_mib},
                        {"filling_s", filling.host_s()},
                        {"major_faults", cluster.total("os.pgmajfault")}};
  watch.write_to(result);
  if (recording) {
    result["told"] = after.told - before.told;
    result["traced"] = recording->finish();
    result["traced_whole"] = recording->is_whole();
  }
  return result;
}

}  // namespace

int sc_main(int argc, char** argv) try {
  bench::Arguments arguments(argc, argv);
  const std::string trace_file = arguments.text("trace", "");
  arguments.check();
  workloads::Configuration configuration;
  sim::ParameterTable table;
  configuration.declare(table);
  set_all(table, arguments.rest);
  for (const sim::Conflict& conflict : workloads::conflicts(configuration)) bench::refuse(conflict.reason);
  std::cout << simulate(configuration, trace_file) << std::endl;
  std::_Exit(0);  // SystemC takes modules apart in quadratic time
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << "\n";
  return 1;
}
