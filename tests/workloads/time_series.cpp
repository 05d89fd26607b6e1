// SPDX-License-Identifier: Apache-2.0
// Time series: they add up to what the metrics say, stay within their bound, and change nothing.
#include <functional>
#include <numeric>

#include "tests/support/point.hpp"

using namespace faultline;
using namespace faultline::test;
using workloads::Series;

namespace {

// Forty transfers whose buffer other programs take pages from, so that each quantity moves.
Settings busy() {
  return {{"workload.size", "1 MiB"},    {"workload.iterations", 40},     {"workload.warmup", 1},
          {"os.user_memory", "16 MiB"},  {"os.swap_bytes", "256 MiB"},    {"background.processes", 2},
          {"background.pause", "10 us"}, {"background.memory", "12 MiB"}, {"workload.window", 4}};
}

workloads::PointResult point(const Settings& settings) { return workloads::run_point(configuration(settings), 1); }

// "NAME VALUE VALUE ..." a line.
std::string written_series(const workloads::PointResult& result) {
  std::ostringstream out;
  out.precision(17);
  for (const Series& s : result.series) {
    out << s.name << ' ' << s.interval_us;
    for (const double value : s.values) out << ' ' << value;
    out << '\n';
  }
  return out.str();
}

struct Values {
  double interval_us = 0;
  std::vector<double> values;
  double sum() const { return std::accumulate(values.begin(), values.end(), 0.0); }
};

std::map<std::string, Values> series(const Settings& settings) {
  std::map<std::string, Values> all;
  std::istringstream lines(text_from_child([&] { return written_series(point(settings)); }));
  for (std::string line; std::getline(lines, line);) {
    std::istringstream fields(line);
    std::string name;
    fields >> name;
    fields >> all[name].interval_us;
    for (double value = 0; fields >> value;) all[name].values.push_back(value);
  }
  return all;
}

}  // namespace

TEST_CASE("time series: looking changes nothing") {
  const Point without = run_well(busy());
  const Point with = run_well(busy() + Settings{{"series.period", "1 us"}});
  CHECK(with.text == without.text);
  CHECK(series(busy()).empty());
}

TEST_CASE("time series: what they count is what the metrics count") {
  // The last interval is not over when transfers end: short ones leave little out.
  const Settings often = busy() + Settings{{"series.period", "1 us"}, {"series.samples", 1'000'000}};
  const Point p = run_well(often);
  auto all = series(often);
  REQUIRE(all.size() == 8);
  for (const auto& [name, s] : all) {
    CHECK(s.interval_us == 1);
    CHECK(s.values.size() == all["goodput"].values.size());
  }
  const double bytes = all["goodput"].sum();  // MB/s in intervals of 1 us
  CHECK(bytes <= 40.0 * (1 << 20));
  CHECK(bytes >= 39.0 * (1 << 20));
  CHECK(all["faults"].sum() > 0);
  CHECK(all["major_faults"].sum() > 0);
  CHECK(std::abs(all["major_faults"].sum() - p["major_faults"]) <= 2);
  CHECK(std::abs(all["minor_faults"].sum() - p["minor_faults"]) <= 2);
  const auto& queued = all["transfers_queued"].values;
  CHECK(*std::max_element(queued.begin(), queued.end()) == 4);
  for (const double free : all["free_memory"].values) CHECK(free < 4 * 16.0 * (1 << 20));
}

TEST_CASE("time series: when the bound is reached intervals become twice as long, and lose nothing") {
  const Settings often = busy() + Settings{{"series.period", "1 us"}, {"series.samples", 1'000'000}};
  const Settings few = busy() + Settings{{"series.period", "1 us"}, {"series.samples", 64}};
  auto all = series(often);
  auto bounded = series(few);
  const auto& coarse = bounded["faults"];
  const auto factor = static_cast<std::size_t>(coarse.interval_us);
  REQUIRE(factor > 1);
  CHECK((factor & (factor - 1)) == 0);
  CHECK(coarse.values.size() < 64);
  CHECK(coarse.values.size() >= 32);
  for (const char* name : {"faults", "minor_faults", "major_faults"}) {
    const auto& fine = all[name].values;
    REQUIRE(fine.size() / factor == bounded[name].values.size());
    for (std::size_t i = 0; i < bounded[name].values.size(); ++i) {
      const auto from = fine.begin() + static_cast<std::ptrdiff_t>(i * factor);
      CHECK(bounded[name].values[i] == std::accumulate(from, from + static_cast<std::ptrdiff_t>(factor), 0.0));
    }
  }
  // A level is that of the interval's end, a rate that of the whole interval.
  CHECK(bounded["free_memory"].values[0] == all["free_memory"].values[factor - 1]);
}

TEST_CASE("time series: what is pinned has the mean that the metric says") {
  const Settings pins = preset("pin-per-transfer") + Settings{{"workload.kind", "reuse"},   {"workload.size", "64 KiB"},
                                                              {"workload.iterations", 20},  {"reuse.buffers", 4},
                                                              {"reuse.period", "500 us"},   {"series.period", "1 us"},
                                                              {"series.samples", 1'000'000}};
  const std::vector<double> pinned = series(pins)["pinned_bytes"].values;
  REQUIRE(pinned.size() > 9500);
  const double mean = std::accumulate(pinned.begin(), pinned.end(), 0.0) / static_cast<double>(pinned.size());
  CHECK(mean > 1000);
  CHECK(run_well(pins)["pinned_bytes_mean"] == Approx(mean).epsilon(0.02));
}

TEST_CASE("time series: a period longer than the run is said to have had no sample") {
  CHECK(run({{"series.period", "1 s"}}).notes_say("series.period is longer than what was measured"));
}

TEST_CASE("distributions: of as many transfers as were measured, with their extremes") {
  const Point p = run_well(busy());
  const std::string text = text_from_child([] {
    std::ostringstream out;
    const auto result = point(busy());
    for (const auto& d : result.distributions) {
      std::uint64_t in_buckets = 0;
      for (const auto& bucket : d.buckets) in_buckets += bucket.count;
      out << d.name << ' ' << d.count << ' ' << in_buckets << ' ' << std::llround(d.min * 1e6) << ' '
          << std::llround(d.max * 1e6) << '\n';
    }
    return out.str();
  });
  std::ostringstream expected;
  expected << "latency 40 40 " << p.ps("latency_min") << ' ' << p.ps("latency_max") << '\n'
           << "background_access " << p.count("background_accesses") << ' ' << p.count("background_accesses") << ' ';
  CHECK(text.starts_with(expected.str()));
}
