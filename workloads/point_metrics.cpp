// SPDX-License-Identifier: Apache-2.0
#include "workloads/point_metrics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <stdexcept>

#include "models/platform/instruments.hpp"
#include "models/rdma/registration/list.hpp"
#include "workloads/flows/flow.hpp"
#include "workloads/kinds.hpp"
#include "workloads/point_notes.hpp"
#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {
namespace {

using sim::CounterMetric;

// A metric of one program of several; of the only one without a name, as it is.
std::string in_program(const std::string& program, const std::string& metric) {
  return program.empty() ? metric : program + "." + metric;
}

std::string said_of(const std::string& program, std::string text) {
  return program.empty() ? text : fmt::format("program {}: {}", program, text);
}

// Of all counters of this name, on all nodes: those of a policy are there where it is used.
std::uint64_t sum_of(platform::Cluster& cluster, std::string_view counter) {
  std::uint64_t sum = 0;
  for (unsigned id = 0; id < cluster.size(); ++id) {
    for (const sim::Counter& each : cluster.node(id).statistics.all()) sum += each.name() == counter ? each.value() : 0;
  }
  return sum;
}

std::string counter_of(const os::FaultCauseDoc& cause) { return std::string("driver.faults_") + cause.name; }

std::uint64_t busy(platform::Node& node) {
  std::uint64_t sum = 0;
  for (const char* kind : {"user", "system", "softirq", "irq"}) {
    sum += node.statistics.value(std::string("cpu.time_") + kind);
  }
  return sum - node.statistics.value("cpu.time_polling");
}

// What injections did to the transfers, compared with the fastest one.
void add_injection(std::vector<Metric>& metrics, const Program& transfers) {
  const Injection* injection = transfers.injection();
  if (injection == nullptr) return;
  add_metric(metrics, "injections", static_cast<double>(injection->injections()));
  add_metric(metrics, "injected_pages", static_cast<double>(injection->pages()));
  const std::vector<Sample>& samples = transfers.samples();
  if (samples.empty()) return;
  const auto faster = [](const Sample& a, const Sample& b) { return a.latency() < b.latency(); };
  const sim::Time fastest = std::min_element(samples.begin(), samples.end(), faster)->latency();
  const sim::Time longest = std::max_element(samples.begin(), samples.end(), faster)->latency();
  const sim::Time undisturbed = fastest + fastest / 100 + 1us;
  const auto delayed =
      std::count_if(samples.begin(), samples.end(), [&](const Sample& s) { return s.latency() > undisturbed; });
  add_metric(metrics, "transfers_delayed", static_cast<double>(delayed));
  add_metric(metrics, "delay_max", microseconds(longest - fastest));
}

// The reason of each fault of the device. A sum that is not that of the faults is a bug of ours.
void add_fault_causes(std::vector<Metric>& metrics, const Measured& measured) {
  std::uint64_t explained = 0;
  for (const os::FaultCauseDoc& cause : os::kFaultCauseDocs) {
    const std::uint64_t faults = measured.of(counter_of(cause));
    add_metric(metrics, metric_of(cause), static_cast<double>(faults));
    explained += faults;
  }
  const std::uint64_t all = measured.of("driver.fault_records");
  if (explained != all) {
    throw std::logic_error(fmt::format("{} faults were measured, and {} of them have a cause", all, explained));
  }
}

void add_background(std::vector<Metric>& metrics, const Background& background, const os::Process::Faults& faults) {
  add_metric(metrics, "background_accesses", static_cast<double>(background.accesses()));
  add_metric(metrics, "background_access_mean", microseconds(background.access_mean()));
  add_metric(metrics, "background_access_max", microseconds(background.access_max()));
  add_metric(metrics, "background_ended", static_cast<double>(background.ended()));
  add_metric(metrics, "background_minor_faults", static_cast<double>(faults.minor));
  add_metric(metrics, "background_major_faults", static_cast<double>(faults.major));
}

void add_scanners(std::vector<Metric>& metrics, const Background& background, sim::Time measured) {
  const double bytes = static_cast<double>(background.file_bytes());
  add_metric(metrics, "background_file_rate", bytes / microseconds(measured));
  add_metric(metrics, "background_file_mean", microseconds(background.part_mean()));
}

Distribution distribution(std::string name, const char* description, const sim::Histogram& times) {
  const auto us = [](std::uint64_t ps) { return static_cast<double>(ps) / 1e6; };
  Distribution spread{std::move(name), "us", description, times.count(), us(times.min()), us(times.max()), {}};
  for (const auto& b : times.buckets()) spread.buckets.push_back({us(b.lower), us(b.upper), b.count});
  return spread;
}

void add_distributions(std::vector<Distribution>& all, const Programs& programs, const BackgroundConfig& config,
                       const Background& background) {
  for (const Programs::One& one : programs.all()) {
    sim::Histogram latency;
    for (const Sample& s : one.program->samples()) latency.add(static_cast<std::uint64_t>(s.latency().count()));
    if (latency.count() == 0) continue;
    all.push_back(distribution(in_program(one.name, "latency"), "of the measured transfers", latency));
  }
  if (config.processes == 0 || background.accesses() == 0) return;
  all.push_back(distribution("background_access", "of accesses of background processes", background.access_times()));
}

// Units and descriptions are those of metric_docs().
void describe(std::vector<Metric>& metrics) {
  const std::vector<MetricDoc> docs = metric_docs();
  for (Metric& metric : metrics) {
    const std::string_view name = metric_in_program(metric.name);
    const auto doc = std::find_if(docs.begin(), docs.end(), [&](const MetricDoc& d) { return d.name == name; });
    if (doc == docs.end()) throw std::logic_error("a metric that metric_docs() does not have: " + metric.name);
    metric.unit = doc->unit;
    metric.description = doc->description;
  }
}

// Whose memory the device has met where it used old translations, over all nodes; each process is a part of the point.
void add_leaks(std::vector<Metric>& metrics, std::vector<PartResult>& parts, platform::Cluster& cluster) {
  std::size_t victims = 0;
  for (unsigned id = 0; id < cluster.size(); ++id) {
    for (const platform::Leaks::Victim& victim : cluster.node(id).leaks.victims()) {
      ++victims;
      std::vector<Metric> own;
      add_metric(own, "leaked_read", static_cast<double>(victim.read_bytes));
      add_metric(own, "leaked_written", static_cast<double>(victim.written_bytes));
      describe(own);
      parts.push_back({fmt::format("node {} process {}", id, victim.process), victim.name, std::move(own)});
    }
  }
  add_metric(metrics, "leaked_read", static_cast<double>(cluster.total("memory.leaked_read_bytes")));
  add_metric(metrics, "leaked_written", static_cast<double>(cluster.total("memory.leaked_written_bytes")));
  add_metric(metrics, "leak_victims", static_cast<double>(victims));
  add_metric(metrics, "stale_astray", static_cast<double>(cluster.total("memory.astray_bytes")));
}

// Over the measured time: each node's own is a metric of its part, if it has one.
void add_pinned_mean(std::vector<Metric>& metrics, std::vector<PartResult>& nodes, const Measured& measured,
                     sim::Time span) {
  std::uint64_t sum = 0;
  for (std::size_t id = 0; id < measured.after.pinned.size(); ++id) {
    const std::uint64_t mean = sim::mean_level(measured.before.pinned[id], measured.after.pinned[id], span);
    sum += mean;
    const auto part = std::ranges::find(nodes, fmt::format("node {}", id), &PartResult::part);
    if (part == nodes.end()) continue;
    std::vector<Metric> own;
    add_metric(own, "pinned_bytes_mean", static_cast<double>(mean));
    describe(own);
    part->metrics.push_back(std::move(own.front()));
  }
  add_metric(metrics, "pinned_bytes_mean", static_cast<double>(sum));
}

// The parts that send, with what is known of them already; of more than kMostParts only that.
void add_senders(std::vector<PartResult>& parts, const Programs::One& one) {
  const TransferConfig& config = one.configuration.workload;
  const Program& transfers = *one.program;
  const std::vector<Flow> flows = flows_of(config);
  std::vector<PartResult> senders = transfers.senders();
  for (PartResult& sender : senders) {
    if (!one.name.empty()) sender.part = one.name + " " + sender.part;
  }
  std::vector<std::vector<Sample>> samples(senders.size());
  for (const Sample& s : transfers.samples()) {
    if (!senders.empty()) samples[s.sender].push_back(s);
  }
  const bool few = senders.size() <= kMostParts;
  for (std::size_t i = 0; i < senders.size(); ++i) {
    auto part = std::ranges::find(parts, senders[i].part, &PartResult::part);
    if (part == parts.end() && !few) continue;
    if (part == parts.end()) part = parts.insert(parts.end(), std::move(senders[i]));
    std::vector<Metric> metrics;
    add_transfers(metrics, samples[i], sim::Time{0}, transfers.failed_by_sender()[i]);
    if (flows.empty()) {
      add_uses(metrics, samples[i], config.cold_every != 1, config.is_open());
    } else {
      add_uses(metrics, samples[i], flows[i].cold_every != 1, flows[i].is_open());
    }
    for (Metric& metric : metrics) metric.name = in_program(one.name, metric.name);
    describe(metrics);
    std::ranges::move(metrics, std::back_inserter(part->metrics));
  }
}

void add_counters(std::vector<Metric>& metrics, const Measured& measured) {
  double cpu_time = 0;
  for (const CounterMetric& c : platform::counter_metrics()) {
    const double value = static_cast<double>(measured.of(c.counter)) * c.scale;
    add_metric(metrics, c.metric, value);
    const std::string name = c.metric;
    if (name.starts_with("cpu_time_") && name != "cpu_time_polling") cpu_time += value;
  }
  const auto spent = [](std::uint64_t before, std::uint64_t after) {
    return static_cast<double>(after - before) / 1e6;
  };
  add_metric(metrics, "cpu_time", cpu_time);
  if (!measured.before.has_two_ends) return;
  add_metric(metrics, "cpu_time_initiator", spent(measured.before.cpu_initiator, measured.after.cpu_initiator));
  add_metric(metrics, "cpu_time_target", spent(measured.before.cpu_target, measured.after.cpu_target));
}

// What must never happen, of one program.
std::vector<std::string> wrong_data(const Program& transfers) {
  std::vector<std::string> failed;
  if (transfers.data_errors() > 0) failed.emplace_back("data at the destination differ from what was sent");
  if (const std::uint64_t others = transfers.other_data_errors(); others > 0) {
    failed.push_back(
        fmt::format("data at the destination differ from what was sent in {} transfers that are not measured (warm-up, "
                    "clean)",
                    others));
  }
  return failed;
}

std::vector<std::string> not_completed(const Program& transfers, const std::vector<std::string>& keys) {
  std::vector<std::string> failed;
  if (transfers.failed() > 0) {
    failed.push_back(
        fmt::format("{} of {} transfers ended with an error completion and are in no other figure: no retry left ({}), "
                    "or no memory for their pages",
                    transfers.failed(), transfers.failed() + transfers.samples().size(), fmt::join(keys, ", ")));
  }
  if (transfers.clean_failed() > 0) {
    failed.push_back(fmt::format("{} clean transfers ended with an error completion", transfers.clean_failed()));
  }
  return failed;
}

// And of the machine, between them: wrong data often come of stale translations.
std::vector<std::string> failed_checks(const Programs& programs, platform::Cluster& cluster) {
  std::vector<std::string> failed;
  const auto add = [&](auto of) {
    for (const Programs::One& one : programs.all()) {
      for (std::string& each : of(*one.program)) failed.push_back(said_of(one.name, std::move(each)));
    }
  };
  add(wrong_data);
  if (cluster.total("memory.stale_accesses") > 0) {
    failed.emplace_back("the device used translations that were no longer true");
  }
  const std::vector<std::string> keys = cluster.nic_kind().keys_of_failure();
  add([&keys](const Program& transfers) { return not_completed(transfers, keys); });
  return failed;
}

// Of each registration policy that a program has, once.
std::vector<CounterMetric> registration_metrics(const Configuration& run) {
  std::vector<CounterMetric> all;
  for (const Configuration& own : configurations_of_programs(run)) {
    for (const CounterMetric& c : own.strategy.registration->metrics()) {
      const auto same = [&](const CounterMetric& other) { return std::string_view(other.counter) == c.counter; };
      if (std::ranges::none_of(all, same)) all.push_back(c);
    }
  }
  return all;
}

// What the transfers of a program came to.
std::vector<Metric> metrics_of(const Programs::One& one) {
  const TransferConfig& workload = one.configuration.workload;
  const Program& transfers = *one.program;
  std::vector<Metric> metrics;
  add_transfers(metrics, transfers.samples(), transfers.paused(), transfers.failed());
  const std::vector<Flow> flows = flows_of(workload);
  const auto is_open = [](const ArrivalConfig& of) { return of.is_open(); };
  const auto some_cold = [](const ColdConfig& of) { return of.cold_every != 1; };
  add_uses(metrics, transfers.samples(), some_cold(workload) || std::ranges::any_of(flows, some_cold),
           is_open(workload) || std::ranges::any_of(flows, is_open));
  std::ranges::move(transfers.own_metrics(), std::back_inserter(metrics));
  if (const auto cost = transfers.kernel_cost()) add_metric(metrics, "kernel_cost", *cost);
  if (workload.clean_window > 0) {
    const sim::Time span = transfers.measured_to() - transfers.measured_from();
    add_metric(metrics, "clean_goodput", static_cast<double>(transfers.clean_bytes()) / microseconds(span));
  }
  add_injection(metrics, transfers);
  add_metric(metrics, "setup_time", microseconds(transfers.setup_time()));
  if (!transfers.goes_with_others) add_metric(metrics, "teardown_time", microseconds(transfers.teardown_time()));
  return metrics;
}

std::vector<Metric> errors_of(const Programs::One& one) {
  std::vector<Metric> metrics;
  add_metric(metrics, "data_errors", static_cast<double>(one.program->data_errors()));
  if (const std::uint64_t others = one.program->other_data_errors(); others > 0) {
    add_metric(metrics, "other_data_errors", static_cast<double>(others));
  }
  return metrics;
}

// Of all programs together, where they have names: whether something went wrong.
void add_sums(std::vector<Metric>& metrics, const Programs& programs) {
  std::uint64_t transfers = 0;
  std::uint64_t failed = 0;
  std::uint64_t wrong = 0;
  std::uint64_t others_wrong = 0;
  for (const Programs::One& one : programs.all()) {
    transfers += one.program->samples().size() + one.program->failed();
    failed += one.program->failed();
    wrong += one.program->data_errors();
    others_wrong += one.program->other_data_errors();
  }
  add_metric(metrics, "transfers", static_cast<double>(transfers));
  add_metric(metrics, "transfers_failed", static_cast<double>(failed));
  add_metric(metrics, "data_errors", static_cast<double>(wrong));
  if (others_wrong > 0) add_metric(metrics, "other_data_errors", static_cast<double>(others_wrong));
}

void add_of_programs(std::vector<Metric>& metrics, const Programs& programs,
                     std::vector<Metric> (*of)(const Programs::One&)) {
  for (const Programs::One& one : programs.all()) {
    for (Metric& metric : of(one)) {
      metric.name = in_program(one.name, metric.name);
      metrics.push_back(std::move(metric));
    }
  }
}

}  // namespace

Snapshot snapshot(platform::Cluster& cluster, const Configuration& run) {
  Snapshot now;
  for (unsigned id = 0; id < cluster.size(); ++id) cluster.node(id).settle();
  for (const CounterMetric& c : platform::counter_metrics()) now.totals[c.counter] = cluster.total(c.counter);
  for (const os::FaultCauseDoc& cause : os::kFaultCauseDocs) {
    now.totals[counter_of(cause)] = cluster.total(counter_of(cause));
  }
  for (const CounterMetric& c : registration_metrics(run)) now.totals[c.counter] = sum_of(cluster, c.counter);
  for (const CounterMetric& c : cluster.nic_kind().metrics()) now.totals[c.counter] = cluster.total(c.counter);
  now.totals["cpu.time_user"] -= now.totals["cpu.time_polling"];
  now.busy = platform::busy_times(cluster);
  for (unsigned id = 0; id < cluster.size(); ++id) now.pinned.push_back(cluster.node(id).vm.pinned_area());
  const TransferConfig& workload = run.workload;
  now.has_two_ends = run.programs.all().empty() && kind_of(workload).has_two_ends;
  if (!now.has_two_ends) return now;
  now.cpu_initiator = busy(cluster.node(workload.initiator));
  now.cpu_target = busy(cluster.node(workload.target));
  return now;
}

os::MemInfo meminfo(platform::Cluster& cluster) {
  os::MemInfo sum;
  for (unsigned id = 0; id < cluster.size(); ++id) {
    const os::MemInfo here = cluster.node(id).vm.meminfo();
    sum.mlocked += here.mlocked;
    sum.unevictable += here.unevictable;
    sum.huge_pages_total += here.huge_pages_total;
  }
  return sum;
}

PointResult collect(const Configuration& configuration, platform::Cluster& cluster, const Programs& programs,
                    const Measured& measured, const Background& background, const TimeSeries& series) {
  PointResult result;
  std::vector<Metric>& metrics = result.metrics;
  const sim::Time span = programs.measured_to() - programs.measured_from();
  add_of_programs(metrics, programs, metrics_of);
  add_counters(metrics, measured);
  for (const CounterMetric& c : registration_metrics(configuration)) {
    add_metric(metrics, c.metric, static_cast<double>(measured.of(c.counter)) * c.scale);
  }
  for (const CounterMetric& c : cluster.nic_kind().metrics()) {
    add_metric(metrics, c.metric, static_cast<double>(measured.of(c.counter)) * c.scale);
  }
  add_fault_causes(metrics, measured);
  if (configuration.background.uses_memory()) add_background(metrics, background, measured.background);
  if (configuration.background.scanners > 0) {
    add_scanners(metrics, background, span);
  }
  add_metric(metrics, "stale_accesses", static_cast<double>(cluster.total("memory.stale_accesses")));
  std::vector<PartResult> victims;
  add_leaks(metrics, victims, cluster);
  Utilisation use = utilisation(measured.before.busy, measured.after.busy, span, cluster.size(),
                                [&](sim::NodeId node) { return programs.is_end(node); });
  add_metric(metrics, "pinned_bytes_peak", static_cast<double>(cluster.total("os.pinned_bytes_peak")));
  add_pinned_mean(metrics, use.nodes, measured, span);
  add_metric(metrics, "locked_bytes_peak", static_cast<double>(cluster.total("os.locked_bytes_peak")));
  add_metric(metrics, "mlocked", static_cast<double>(measured.memory.mlocked));
  add_metric(metrics, "unevictable", static_cast<double>(measured.memory.unevictable));
  if (const std::uint64_t pages = measured.memory.huge_pages_total; pages > 0) {
    add_metric(metrics, "hugetlb_bytes", static_cast<double>(pages * os::kHugePage));
  }
  add_of_programs(metrics, programs, errors_of);
  if (!programs.all().front().name.empty()) add_sums(metrics, programs);
  std::ranges::move(use.greatest, std::back_inserter(metrics));
  describe(metrics);
  result.parts = std::move(use.nodes);
  std::ranges::move(victims, std::back_inserter(result.parts));
  for (const Programs::One& one : programs.all()) add_senders(result.parts, one);
  // Of several programs the steps that they have in common would be shown as those of one.
  if (programs.all().size() == 1) result.breakdown = programs.only().breakdown().rows();
  add_distributions(result.distributions, programs, configuration.background, background);
  result.series = series.collect();
  if (!result.series.empty() && result.series.front().values.empty()) {
    result.notes.emplace_back("no sample of the time series: series.period is longer than what was measured");
  }
  if (configuration.workload.checks_fail) result.failed_checks = failed_checks(programs, cluster);
  for (const Programs::One& one : programs.all()) {
    std::vector<std::string> notes;
    add_notes(one.configuration, *one.program, notes);
    const bool transfers = kind_of(one.configuration.workload).transfers;
    if (one.program->goes_with_others && transfers && one.program->samples().empty() && one.program->failed() == 0) {
      notes.emplace_back("no transfer was completed while the others were measured");
    }
    for (std::string& note : notes) result.notes.push_back(said_of(one.name, std::move(note)));
  }
  return result;
}

std::string default_nic() { return std::string(platform::nic_kinds().front()->name()); }

}  // namespace faultline::workloads
