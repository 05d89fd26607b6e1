// SPDX-License-Identifier: Apache-2.0
#include "workloads/time_series.hpp"

#include "workloads/node_memory.hpp"

namespace faultline::workloads {
namespace {

enum class What : std::uint8_t { counted, rate, level };  // a rate is what is counted, per time

struct Quantity {
  What what;
  const char* name;
  const char* unit;
  const char* description;
};
// In the order of TimeSeries::look(), which has the NICs' queues behind these.
constexpr std::array<Quantity, 6> kOfAnyNic{{
    {What::rate, "goodput", "MB/s", "bytes of the measured transfers that were completed in the interval, per time"},
    {What::counted, "faults", "1", "faults of the device that processes were told of in the interval"},
    {What::counted, "minor_faults", "1", "page faults that the kernels resolved in the interval"},
    {What::counted, "major_faults", "1", "of minor_faults, those that read from the disk"},
    {What::level, "free_memory", "B", "in frames that nobody has, added over the nodes"},
    {What::level, "pinned_bytes", "B", "pinned, added over the nodes"},
}};

constexpr auto kAll = [] {
  std::array<Quantity, kOfAnyNic.size() + platform::kQueues.size()> all{};
  for (std::size_t i = 0; i < kOfAnyNic.size(); ++i) all[i] = kOfAnyNic[i];
  for (std::size_t i = 0; i < platform::kQueues.size(); ++i) {
    all[kOfAnyNic.size() + i] = {What::level, platform::kQueues[i].series, "1", platform::kQueues[i].description};
  }
  return all;
}();

}  // namespace

void SeriesConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("series");
  table.add_time("period", period, {0ns, 1s},
                 {"time between the samples of a time series, while transfers are measured; 0: no series. It doubles "
                  "each time that series.samples are there",
                  "",
                  {}});
  table.add_count("samples", samples, {2u, 1'000'000u}, {"samples of a series at most (an even number)", "", {}});
}

TimeSeries::Sample TimeSeries::look() {
  transfers_seen_.resize(programs_.all().size());
  for (std::size_t i = 0; i < transfers_seen_.size(); ++i) {
    const std::vector<workloads::Sample>& samples = programs_.all()[i].program->samples();
    for (std::size_t& seen = transfers_seen_[i]; seen < samples.size(); ++seen) bytes_ += samples[seen].bytes;
  }
  static_assert(kQuantities == kAll.size());
  Sample now{bytes_, cluster_.total("driver.fault_records"), cluster_.total("os.pgfault"),
             cluster_.total("os.pgmajfault")};
  for (unsigned id = 0; id < cluster_.size(); ++id) {
    const platform::Node& node = cluster_.node(id);
    now[4] += free_bytes(node);
    now[5] += pinned_bytes(node);
    const auto depths = platform::queue_depths(node);
    for (std::size_t i = 0; i < depths.size(); ++i) now[kOfAnyNic.size() + i] += depths[i];
  }
  return now;
}

void TimeSeries::begin() {
  if (period_ == sim::Time{0}) return;
  last_ = look();
  cluster_.loop.sample(cluster_.loop.now() + period_, [this](sim::Time at) { return take(at); });
}

void TimeSeries::end() {
  if (config_.period > sim::Time{0}) cluster_.loop.sample(sim::kNever, {});
}

sim::Time TimeSeries::take(sim::Time at) {
  const Sample now = look();
  Sample& sample = samples_.emplace_back(now);
  for (std::size_t i = 0; i < kQuantities; ++i) {
    if (kAll[i].what != What::level) sample[i] -= last_[i];
  }
  last_ = now;
  if (samples_.size() == (config_.samples & ~1U)) halve();
  return at + period_;
}

void TimeSeries::halve() {
  for (std::size_t i = 0; i < samples_.size() / 2; ++i) {
    Sample both = samples_[2 * i + 1];
    for (std::size_t q = 0; q < kQuantities; ++q) {
      if (kAll[q].what != What::level) both[q] += samples_[2 * i][q];
    }
    samples_[i] = both;
  }
  samples_.resize(samples_.size() / 2);
  period_ *= 2;
}

std::vector<Series> TimeSeries::collect() const {
  std::vector<Series> all;
  if (config_.period == sim::Time{0}) return all;
  const double interval_us = static_cast<double>(period_.count()) / 1e6;
  for (std::size_t i = 0; i < kQuantities; ++i) {
    Series& series = all.emplace_back(Series{kAll[i].name, kAll[i].unit, kAll[i].description, interval_us, {}});
    const double scale = kAll[i].what == What::rate ? 1 / interval_us : 1;  // B/us are MB/s
    for (const Sample& sample : samples_) series.values.push_back(static_cast<double>(sample[i]) * scale);
  }
  return all;
}

}  // namespace faultline::workloads
