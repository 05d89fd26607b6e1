// SPDX-License-Identifier: Apache-2.0
#include "tests/properties/runs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>
#include <tuple>
#include <vector>

#include "models/sim/failure.hpp"
#include "tests/support/child.hpp"
#include "workloads/point_metrics.hpp"
#include "workloads/programs.hpp"

namespace faultline::test {
namespace {

using sim::StepRecord;

// A case takes milliseconds; what takes this long hangs.
constexpr unsigned kCpuSeconds = 60;
// Without a step for this long, what is left of a run whose transfers are over are wake-ups that find nothing to do.
constexpr sim::Time kQuiet = std::chrono::seconds{1};

class Log : public sim::StepListener {
 public:
  void on_step(const StepRecord& record) override { records_.push_back(record); }

  std::size_t steps() const { return records_.size(); }

  // In order of time. Of a run that was cut short only what lies before the cut.
  std::string text(sim::Time end, const sim::TransferLife& life) {
    std::erase_if(records_, [end](const StepRecord& r) { return r.at >= end; });
    const auto order = [&](const StepRecord& r) { return std::tuple(r.at, r.node, life.position(r.step), r.key); };
    std::sort(records_.begin(), records_.end(), [&](const auto& a, const auto& b) { return order(a) < order(b); });
    std::string lines;
    for (const StepRecord& r : records_) {
      lines += fmt::format("{:>15} ps  node {}  {}", r.at.count(), r.node, r.step->name);
      if (r.key.transfer != 0) {
        lines += fmt::format("  transfer {:x} block {} attempt {}", r.key.transfer, r.key.part, r.key.attempt);
      }
      lines += '\n';
    }
    return lines;
  }

 private:
  std::vector<StepRecord> records_;
};

std::string counters(platform::Cluster& cluster) {
  std::string lines;
  for (unsigned id = 0; id < cluster.size(); ++id) {
    platform::Node& node = cluster.node(id);
    node.settle();
    for (const sim::Counter& c : node.statistics.all()) {
      if (c.value() > 0) lines += fmt::format("node {}  {} = {}\n", id, c.name(), c.value());
    }
  }
  return lines;
}

// What metrics are made of, at an instant that may find trains under way.
std::string counted(platform::Cluster& cluster, const workloads::Configuration& configuration) {
  std::string lines;
  const workloads::Snapshot now = workloads::snapshot(cluster, configuration);
  for (const auto& [name, value] : now.totals) {
    lines += fmt::format("{} ps  {} = {}\n", cluster.loop.now().count(), name, value);
  }
  for (const platform::BusyTime& part : now.busy) {
    lines += fmt::format("{} ps  router {}, part {}, number {} busy for {} ps\n", cluster.loop.now().count(),
                         part.router, part.part, part.number, part.busy.count());
  }
  return lines;
}

std::string measured(const workloads::Program& benchmark) {
  std::string lines = fmt::format("{}, set up in {} ps, {} failed, {} with wrong data\n",
                                  benchmark.finished() ? "finished" : "not finished", benchmark.setup_time().count(),
                                  benchmark.failed() + benchmark.clean_failed(),
                                  benchmark.data_errors() + benchmark.other_data_errors());
  for (const workloads::Sample& s : benchmark.samples()) {
    lines += fmt::format("{} B from {} to {} ps\n", s.bytes, s.begin.count(), s.end.count());
  }
  return lines;
}

// Runs until nothing is left to happen: a timeout or a late fault after the last transfer counts, too. Some runs never
// come to that: where a request takes longer than exanest.block_timeout it is sent again for ever, with steps.
void run_to_the_end(sim::EventLoop& loop, const Log& log) {
  loop.run(loop.now() + kQuiet);
  std::size_t steps = 0;
  do {
    steps = log.steps();
    loop.run(loop.now() + kQuiet);
  } while (loop.pending() && log.steps() == steps);
}

std::string run(workloads::Configuration configuration, std::uint64_t seed, unsigned cells_per_train, Compare compare) {
  configuration.machine.cells_per_train = cells_per_train;
  Log log;
  std::string ending;
  std::string window;
  platform::Cluster cluster("cluster", configuration.machine, seed);
  cluster.steps().listen(log);
  try {
    cluster.boot();
    workloads::Programs programs(configuration, cluster, seed);
    const auto count = [&] { window += counted(cluster, configuration); };
    programs.on_measurement_begins = count;
    programs.on_measurement_ends = count;
    programs.start();
    cluster.loop.run(configuration.workload.time_limit);
    if (programs.finished()) run_to_the_end(cluster.loop, log);
    cluster.loop.rethrow_failure();
    workloads::check_not_stuck(cluster, programs);
    ending = measured(programs.only()) + (compare == Compare::all ? window : "");
    // Of a run that was cut short some counters hold what is still on its way.
    if (compare == Compare::all && !cluster.loop.pending()) ending += counters(cluster);
  } catch (const sim::RunFailure& failure) {
    ending = failure.what();
  }
  return log.text(configuration.workload.time_limit, cluster.life()) + ending;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// What a line is about: words, but neither times, nodes and blocks nor counts.
std::string about(const std::string& line) {
  std::istringstream words(line);
  std::string text;
  for (std::string word; words >> word;) {
    const bool name = word.find_first_of("0123456789") == std::string::npos && word != "ps" && word != "node";
    if (word == "transfer") break;  // the block of a step
    if (name) text += (text.empty() ? "" : " ") + word;
  }
  return text;
}

// The first lines that differ. Those of steps begin with their time in columns, so the lesser is the earlier.
std::string kind_of(const std::string& in_cells, const std::string& in_trains) {
  const bool steps = in_cells.starts_with(' ') || in_trains.starts_with(' ');
  if (!steps) return about(in_cells) + " differs";
  if (in_trains.empty() || !in_trains.starts_with(' ')) return about(in_cells) + " is missing in trains";
  if (in_cells.empty() || !in_cells.starts_with(' ')) return about(in_trains) + " is too much in trains";
  if (in_cells < in_trains) return about(in_cells) + " comes later in trains, or not at all";
  return about(in_trains) + " comes sooner in trains, or should not come";
}

// The lines from the first that differs on, side by side in two blocks.
Difference first_difference(const std::string& cells, const std::string& trains) {
  static constexpr std::ptrdiff_t kShown = 6;
  const std::vector<std::string> a = lines_of(cells);
  const std::vector<std::string> b = lines_of(trains);
  const auto [in_a, in_b] = std::mismatch(a.begin(), a.end(), b.begin(), b.end());
  std::string text;
  const auto show = [&text](const char* title, const auto& lines, auto from) {
    text += title;
    const auto begin = from - std::min<std::ptrdiff_t>(2, from - lines.begin());
    const auto end = from + std::min(kShown, lines.end() - from);
    for (auto line = begin; line < end; ++line) text += (line < from ? "  = " : "  * ") + *line + '\n';
  };
  show("cell by cell:\n", a, in_a);
  show("in trains:\n", b, in_b);
  return {kind_of(in_a == a.end() ? "" : *in_a, in_b == b.end() ? "" : *in_b), text};
}

}  // namespace

Difference difference(const workloads::Configuration& configuration, std::uint64_t seed, Compare compare) {
  Child cells([&] { return run(configuration, seed, 1, compare); }, kCpuSeconds);
  Child trains([&] { return run(configuration, seed, configuration.machine.cells_per_train, compare); }, kCpuSeconds);
  const auto text_of = [](Child& child, const char* which) {
    try {
      return child.text();
    } catch (const std::runtime_error& error) {
      return fmt::format("{}: {}\n", which, error.what());
    }
  };
  // A run that breaks is a find, even if both break alike.
  const std::string a = text_of(cells, "cell by cell");
  const std::string b = text_of(trains, "in trains");
  return a == b ? Difference{} : first_difference(a, b);
}

}  // namespace faultline::test
