// SPDX-License-Identifier: Apache-2.0
// Builds the cluster, runs the benchmark on it, turns samples and counters into metrics.
#include "workloads/experiment_point.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "models/sim/failure.hpp"
#include "models/sim/units.hpp"
#include "workloads/transfers.hpp"

namespace faultline::workloads {
namespace {

double microseconds(sim::Time t) { return static_cast<double>(t.count()) / 1e6; }

// The nearest-rank percentile of sorted samples, without rounding surprises.
sim::Time percentile(const std::vector<sim::Time>& sorted, unsigned percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

// A counter of the models and the metric it becomes: the sum over all nodes, while measuring.
struct CounterMetric {
  const char* counter;
  const char* metric;
  const char* unit;
  double scale;
  const char* description;
};
constexpr CounterMetric kCounterMetrics[] = {
    {"driver.fault_records", "faults", "1", 1,
     "faults of the device that processes were told of: blocks that were cut, or stalled accesses"},
    {"os.pgfault", "minor_faults", "1", 1, "page faults that the kernels resolved, whoever met them (Linux: pgfault)"},
    {"os.thp_fault_alloc", "thp_faults", "1", 1, "of these, resolved by a 2 MiB page (Linux: thp_fault_alloc)"},
    {"dma.fault_overflows", "fault_overflows", "1", 1, "fault records lost because the fault FIFO was full"},
    {"dma.retransmitted_bytes", "retransmitted_bytes", "B", 1, "payload of blocks that were sent again"},
    {"dma.dropped_bytes", "dropped_bytes", "B", 1, "payload that crossed the network and was dropped by the receiver"},
    {"dma.timeouts", "timeouts", "1", 1, "blocks sent again because their timeout expired"},
    {"cpu.time_user", "cpu_time_user", "us", 1e-6, "CPU time in user code, without polling"},
    {"cpu.time_system", "cpu_time_system", "us", 1e-6, "CPU time in system calls, faults and context switches"},
    {"cpu.time_irq", "cpu_time_irq", "us", 1e-6, "CPU time in interrupt handlers"},
    {"cpu.time_softirq", "cpu_time_softirq", "us", 1e-6, "CPU time in tasklets"},
    {"cpu.time_polling", "cpu_time_polling", "us", 1e-6, "CPU time spent polling for completions and messages"},
    {"memory.stale_accesses", "stale_accesses", "1", 1, "cells moved through a translation that was no longer true"},
    {"smmu.walks", "walks", "1", 1, "page-table walks of the SMMUs"},
    {"network.cells_out_of_order", "cells_out_of_order", "1", 1,
     "cells that trains overtook at routers: 0 when every queue was exact"},
    {"memory.cells_out_of_order", "memory_cells_out_of_order", "1", 1,
     "cells that trains overtook at memory controllers: 0 when every queue was exact"},
};

std::map<std::string, std::uint64_t> snapshot(platform::Cluster& cluster) {
  std::map<std::string, std::uint64_t> values;
  for (unsigned id = 0; id < cluster.size(); ++id) cluster.node(id).cpu.settle();
  for (const CounterMetric& c : kCounterMetrics) values[c.counter] = cluster.total(c.counter);
  values["cpu.time_user"] -= values["cpu.time_polling"];
  return values;
}

// A message has no blocks to trace: what library and network interface take is known from the
// configuration, what is left of the measured latency is the way between them.
std::vector<BreakdownRow> message_breakdown(const Configuration& configuration, platform::Cluster& cluster,
                                            const Transfers& transfers) {
  const platform::Machine& machine = configuration.machine;
  const cpu::Cpu& sender = cluster.node(configuration.workload.initiator).cpu;
  const auto words = static_cast<std::int64_t>((configuration.workload.size + 7) / 8);
  const sim::Time pipeline = machine.axi.pl_clock.cycles(machine.dma.message_pipeline);
  const std::uint64_t samples = transfers.samples().size();
  std::vector<BreakdownRow> rows;
  sim::Time known{0};
  const auto add = [&](const char* step, const char* where, sim::Time time, const char* description) {
    rows.push_back({step, where, microseconds(time), samples, description});
    known += time;
  };
  sim::Time total{0};
  for (const Sample& s : transfers.samples()) total += s.latency();
  add("library send", "source", sender.scaled(machine.library.message_send), "user code of the sender");
  add("register writes", "source", machine.cpu.mmio_write * (words + 1), "the message's words, then the command");
  add("packetizer", "source", pipeline, "network interface, sending");
  add("mailbox", "destination", pipeline, "network interface, receiving");
  add("library receive", "destination", sender.scaled(machine.library.message_receive), "user code of the receiver");
  const sim::Time rest = total / static_cast<std::int64_t>(samples) - known;
  rows.insert(rows.begin() + 3, {"network, memory, polling load", "both", microseconds(rest), samples,
                                 "links and routers, the write of the mailbox slot, the load that sees it"});
  return rows;
}

struct Measured {
  std::map<std::string, std::uint64_t> before;
  std::map<std::string, std::uint64_t> after;
};

void add_latency(std::vector<Metric>& metrics, const std::vector<Sample>& samples) {
  std::vector<sim::Time> sorted;
  sim::Time sum{0};
  for (const Sample& s : samples) {
    sorted.push_back(s.latency());
    sum += s.latency();
  }
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<std::int64_t>(sorted.size());
  const sim::Time mean{(sum.count() + count / 2) / count};
  metrics.push_back({"latency_min", microseconds(sorted.front()), "us", ""});
  metrics.push_back({"latency_typical", microseconds(percentile(sorted, 50)), "us", ""});
  metrics.push_back({"latency_mean", microseconds(mean), "us", ""});
  metrics.push_back({"latency_p99", microseconds(percentile(sorted, 99)), "us", ""});
  metrics.push_back({"latency_max", microseconds(sorted.back()), "us", ""});
}

void add_goodput(std::vector<Metric>& metrics, const Transfers& transfers, const TransferConfig& config) {
  const auto& samples = transfers.samples();
  const double bytes = static_cast<double>(samples.size()) * static_cast<double>(config.size);
  // Bytes per microsecond are MB/s. The peak is that of the fastest single transfer, as perftest has it.
  const sim::Time busy = samples.back().end - samples.front().begin;
  sim::Time fastest = sim::kNever;
  for (const Sample& s : samples) fastest = std::min(fastest, s.latency());
  metrics.push_back({"goodput", bytes / microseconds(busy), "MB/s", ""});
  metrics.push_back({"goodput_peak",
                     std::max(bytes / microseconds(busy), static_cast<double>(config.size) / microseconds(fastest)),
                     "MB/s", ""});
  const sim::Time span = transfers.measured_to() - transfers.measured_from();
  if (config.clean_window > 0) {
    metrics.push_back({"clean_goodput", static_cast<double>(transfers.clean_bytes()) / microseconds(span), "MB/s", ""});
  }
}

std::string description_of(const std::string& name) {
  for (const MetricDoc& doc : metric_docs()) {
    if (doc.name == name) return doc.description;
  }
  return "";
}

PointResult collect(const Configuration& configuration, platform::Cluster& cluster, const Transfers& transfers,
                    const Measured& measured) {
  PointResult result;
  std::vector<Metric>& metrics = result.metrics;
  add_latency(metrics, transfers.samples());
  add_goodput(metrics, transfers, configuration.workload);
  metrics.push_back({"transfers", static_cast<double>(transfers.samples().size() + transfers.failed()), "1", ""});
  metrics.push_back({"transfers_failed", static_cast<double>(transfers.failed()), "1", ""});
  metrics.push_back({"setup_time", microseconds(transfers.setup_time()), "us", ""});
  double cpu_time = 0;
  for (const CounterMetric& c : kCounterMetrics) {
    const double value = static_cast<double>(measured.after.at(c.counter) - measured.before.at(c.counter)) * c.scale;
    metrics.push_back({c.metric, value, c.unit, ""});
    const std::string name = c.metric;
    if (name.starts_with("cpu_time_") && name != "cpu_time_polling") cpu_time += value;
  }
  metrics.push_back({"cpu_time", cpu_time, "us", ""});
  metrics.push_back({"pinned_bytes_peak", static_cast<double>(cluster.total("os.pinned_bytes_peak")), "B", ""});
  metrics.push_back({"locked_bytes_peak", static_cast<double>(cluster.total("os.locked_bytes_peak")), "B", ""});
  metrics.push_back({"data_errors", static_cast<double>(transfers.data_errors()), "1", ""});
  for (Metric& metric : metrics) metric.description = description_of(metric.name);

  result.breakdown = configuration.workload.kind == Kind::message ? message_breakdown(configuration, cluster, transfers)
                                                                  : transfers.breakdown().rows();
  const std::uint64_t stale = measured.after.at("memory.stale_accesses");
  if (transfers.data_errors() > 0) result.notes.push_back("data at the destination differ from what was sent");
  if (stale > 0) result.notes.push_back("the device used translations that were no longer true");
  if (transfers.failed() > 0) {
    result.notes.push_back(fmt::format("{} of {} transfers ended with an error completion and are in no other figure",
                                       transfers.failed(), transfers.failed() + transfers.samples().size()));
  }
  result.failed_check = transfers.data_errors() > 0 || stale > 0 || transfers.failed() > 0;
  return result;
}

}  // namespace

PointResult run_point(const Configuration& configuration, std::uint64_t seed) {
  PointResult result;
  try {
    platform::Cluster cluster("cluster", configuration.machine, seed);
    cluster.boot();
    Transfers transfers(configuration, cluster, seed);
    Measured measured;
    transfers.on_measurement_begins = [&] { measured.before = snapshot(cluster); };
    transfers.on_measurement_ends = [&] { measured.after = snapshot(cluster); };
    transfers.start();
    sc_core::sc_start(sim::to_sc_time(configuration.workload.time_limit));
    if (!transfers.finished()) {
      const bool late = sc_core::sc_pending_activity();
      if (!late) throw std::logic_error("transfers wait for ever: nothing is left to happen");
      throw sim::RunFailure(fmt::format("not finished after {} of simulated time: {} of {} transfers are done",
                                        sim::format_time(configuration.workload.time_limit), transfers.samples().size(),
                                        configuration.workload.iterations),
                            {"workload.time_limit", "workload.iterations", "dma.block_timeout", "dma.retry_limit"});
    }
    if (transfers.samples().empty()) {
      throw sim::RunFailure("every transfer ended with an error completion: no memory for its pages, or no retry left",
                            {"ddr.size", "os.user_memory", "dma.retry_limit", "dma.block_timeout"});
    }
    result = collect(configuration, cluster, transfers, measured);
    result.events = cluster.events_run();
    result.simulated_ps = static_cast<std::uint64_t>(sim::from_sc_time(sc_core::sc_time_stamp()).count());
  } catch (const sim::RunFailure& failure) {
    result.error = failure.what();
    result.error_keys = failure.keys();
  }
  return result;
}

std::vector<MetricDoc> metric_docs() {
  std::vector<MetricDoc> docs{
      {"latency_min", "us", "shortest transfer: from the program's first step for it to its last"},
      {"latency_typical", "us", "median transfer"},
      {"latency_mean", "us", "mean over the measured transfers"},
      {"latency_p99", "us", "99th percentile (nearest rank)"},
      {"latency_max", "us", "longest transfer"},
      {"goodput", "MB/s", "bytes of completed transfers over the time from the first begin to the last end"},
      {"goodput_peak", "MB/s", "the larger of goodput and the rate of the fastest single transfer"},
      {"clean_goodput", "MB/s", "bytes of the clean transfers beside the measured ones, per time"},
      {"transfers", "1", "transfers measured"},
      {"transfers_failed", "1", "of these, ended with an error completion"},
      {"setup_time", "us", "preparation done once for the buffers, before the transfers (not in the latencies)"},
      {"cpu_time", "us", "CPU time of all cores of all nodes while measuring, without polling"},
      {"pinned_bytes_peak", "B", "most bytes pinned at one time, added over the nodes"},
      {"locked_bytes_peak", "B", "most bytes mlocked at one time, added over the nodes"},
      {"data_errors", "1", "transfers whose data arrived wrong"},
  };
  for (const CounterMetric& c : kCounterMetrics) docs.push_back({c.metric, c.unit, c.description});
  return docs;
}

}  // namespace faultline::workloads
