// SPDX-License-Identifier: Apache-2.0
#include "workloads/transfer_metrics.hpp"

#include <algorithm>

namespace faultline::workloads {
namespace {

// The nearest-rank percentile of sorted samples, without rounding surprises.
sim::Time percentile(const std::vector<sim::Time>& sorted, unsigned percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::max<std::size_t>(rank, 1) - 1];
}

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
  add_metric(metrics, "latency_min", microseconds(sorted.front()));
  add_metric(metrics, "latency_typical", microseconds(percentile(sorted, 50)));
  add_metric(metrics, "latency_mean", microseconds(mean));
  add_metric(metrics, "latency_p99", microseconds(percentile(sorted, 99)));
  add_metric(metrics, "latency_max", microseconds(sorted.back()));
}

void add_goodput(std::vector<Metric>& metrics, const std::vector<Sample>& samples, sim::Time paused) {
  // Bytes per microsecond are MB/s. The peak is that of the fastest single transfer, as perftest has it.
  std::uint64_t bytes = 0;
  double fastest = 0;
  sim::Time first = sim::kNever;
  sim::Time last{0};
  for (const Sample& s : samples) {
    bytes += s.bytes;
    fastest = std::max(fastest, static_cast<double>(s.bytes) / microseconds(s.latency()));
    first = std::min(first, s.begin);
    last = std::max(last, s.end);
  }
  if (bytes == 0) return;
  const double goodput = static_cast<double>(bytes) / microseconds(last - first - paused);
  add_metric(metrics, "goodput", goodput);
  add_metric(metrics, "goodput_peak", std::max(goodput, fastest));
}

}  // namespace

void add_metric(std::vector<Metric>& metrics, std::string_view name, double value) {
  metrics.emplace_back().name = name;
  metrics.back().value = value;
}

void add_uses(std::vector<Metric>& metrics, const std::vector<Sample>& samples, bool some_cold, bool open) {
  sim::Time cold{0};
  sim::Time warm{0};
  sim::Time queued{0};
  std::int64_t colds = 0;
  for (const Sample& s : samples) {
    (s.cold ? cold : warm) += s.latency();
    colds += s.cold ? 1 : 0;
    queued += s.queued;
  }
  const auto count = static_cast<std::int64_t>(samples.size());
  if (some_cold && colds > 0) add_metric(metrics, "latency_cold", microseconds(cold / colds));
  if (some_cold && colds < count) add_metric(metrics, "latency_warm", microseconds(warm / (count - colds)));
  if (open && count > 0) add_metric(metrics, "queueing_mean", microseconds(queued / count));
}

void add_transfers(std::vector<Metric>& metrics, const std::vector<Sample>& samples, sim::Time paused,
                   std::uint64_t failed) {
  if (!samples.empty()) {
    add_latency(metrics, samples);
    add_goodput(metrics, samples, paused);
  }
  add_metric(metrics, "transfers", static_cast<double>(samples.size() + failed));
  add_metric(metrics, "transfers_failed", static_cast<double>(failed));
}

}  // namespace faultline::workloads
