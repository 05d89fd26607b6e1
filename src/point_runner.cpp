// SPDX-License-Identifier: Apache-2.0
#include "src/point_runner.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdlib>
#include <list>

#include "src/interrupt.hpp"
#include "src/point_process.hpp"

namespace faultline::app {
namespace {

constexpr int kTickMilliseconds = 500;

// Waits for a child's news, a signal or the tick.
void wait_for_news(const std::list<PointProcess>& running, const InterruptGuard& interrupt) {
  std::vector<pollfd> descriptors{{interrupt.descriptor(), POLLIN, 0}};
  for (const PointProcess& process : running) descriptors.push_back({process.descriptor(), POLLIN, 0});
  poll(descriptors.data(), descriptors.size(), kTickMilliseconds);
}

workloads::Totals sum_of(const std::vector<PointOutcome>& outcomes, const std::list<PointProcess>& running) {
  workloads::Totals sum;
  for (const PointOutcome& outcome : outcomes) sum += outcome.totals;
  for (const PointProcess& process : running) sum += process.last_beat();
  return sum;
}

}  // namespace

std::vector<PointOutcome> run_points(std::size_t count, const PointFunction& point, unsigned jobs,
                                     const ProgressFunction& progress) {
  std::vector<PointOutcome> outcomes(count);
  const InterruptGuard interrupt;
  std::list<PointProcess> running;
  std::size_t next = 0;
  std::size_t done = 0;
  while (done < count && !InterruptGuard::requested()) {
    while (next < count && running.size() < std::max(jobs, 1U)) {
      try {
        running.emplace_back(next, point);
      } catch (const std::runtime_error& error) {
        // The host's limit on processes or files: wait for those that run, unless there are none.
        if (!running.empty()) break;
        outcomes[next].status = PointStatus::host_failed;
        outcomes[next].error = error.what();
        ++done;
      }
      ++next;
    }
    if (!running.empty()) wait_for_news(running, interrupt);
    for (auto process = running.begin(); process != running.end();) {
      if (!process->drain()) {
        ++process;
        continue;
      }
      outcomes[process->index()] = process->finish();
      process = running.erase(process);
      ++done;
    }
    progress(done, sum_of(outcomes, running));
  }
  // Leaving scope kills and reaps what an interrupt left running.
  return outcomes;
}

}  // namespace faultline::app
