// SPDX-License-Identifier: Apache-2.0
#include "src/runs/point_runner.hpp"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <list>
#include <stdexcept>
#include <utility>

#include "src/runs/host.hpp"
#include "src/runs/interrupt.hpp"
#include "src/runs/point_process.hpp"

namespace faultline::runs {

namespace {

constexpr int kTickMilliseconds = 500;

// Waits for a child's news, a signal or the tick.
void wait_for_news(const std::list<PointProcess>& running, const InterruptGuard& interrupt) {
  std::vector<pollfd> descriptors{{interrupt.descriptor(), POLLIN, 0}};
  for (const PointProcess& process : running) descriptors.push_back({process.descriptor(), POLLIN, 0});
  poll(descriptors.data(), descriptors.size(), kTickMilliseconds);
}

// For another point, as large as the largest so far.
bool has_memory(const std::list<PointProcess>& running, double largest_mib) {
  std::vector<double> resident;
  for (const PointProcess& process : running) resident.push_back(process.resident_mib());
  return fits_one_more(available_mib(), largest_mib, resident);
}

constexpr std::array<std::pair<PointStatus, const char*>, 6> kStatuses{{{PointStatus::complete, "complete"},
                                                                        {PointStatus::misconfigured, "misconfigured"},
                                                                        {PointStatus::host_failed, "host failed"},
                                                                        {PointStatus::timed_out, "timed out"},
                                                                        {PointStatus::bug, "bug"},
                                                                        {PointStatus::not_run, "not run"}}};
}  // namespace

std::string to_string(PointStatus status) {
  for (const auto& [known, text] : kStatuses) {
    if (known == status) return text;
  }
  return "?";
}

PointStatus point_status(const std::string& text) {
  for (const auto& [status, known] : kStatuses) {
    if (known == text) return status;
  }
  throw std::invalid_argument("no status of a point: " + text);
}

NextFunction each_of(std::vector<std::size_t> indices) {
  return [indices = std::move(indices), at = std::size_t{0}]() mutable {
    return at < indices.size() ? NextPoint{NextPoint::What::point, indices[at++]} : NextPoint{NextPoint::What::none};
  };
}

void run_points(const NextFunction& next, const PointFunction& point, const Limits& limits,
                const OutcomeFunction& ended, const ProgressFunction& progress) {
  const InterruptGuard interrupt;
  std::list<PointProcess> running;
  Standing ended_points;
  double largest_mib = 0;  // of the points that have ended
  bool goes_on = true;
  const auto end = [&](std::size_t index, PointOutcome outcome) {
    ended_points.so_far += outcome.totals;
    largest_mib = std::max(largest_mib, outcome.peak_mib);
    ++ended_points.done;
    if (outcome.status != PointStatus::complete) ++ended_points.failed;
    goes_on = ended(index, std::move(outcome)) && goes_on;
  };
  const auto start = [&](std::size_t index) {
    try {
      running.emplace_back(index, point);
      return true;
    } catch (const std::runtime_error& error) {
      // The host's limit on processes or files: wait for those that run, unless there are none.
      if (!running.empty()) return false;
      PointOutcome failed;
      failed.status = PointStatus::host_failed;
      failed.error = error.what();
      end(index, std::move(failed));
      return true;
    }
  };
  NextPoint found{NextPoint::What::later};
  const auto is_more = [&] { return found.what != NextPoint::What::none; };
  while ((is_more() || !running.empty()) && goes_on && !InterruptGuard::requested()) {
    while (is_more() && running.size() < std::max(limits.jobs, 1U) && has_memory(running, largest_mib)) {
      if (found.what == NextPoint::What::later) found = next();
      if (found.what != NextPoint::What::point || !start(found.index)) break;
      found.what = NextPoint::What::later;
    }
    if (is_more() || !running.empty()) wait_for_news(running, interrupt);
    for (auto process = running.begin(); process != running.end();) {
      const bool late = limits.each && process->seconds() > static_cast<double>(limits.each->count());
      if (!process->drain() && !late) {
        ++process;
        continue;
      }
      end(process->index(), late ? process->stop(*limits.each) : process->finish());
      process = running.erase(process);
    }
    Standing now = ended_points;
    now.running = running.size();
    for (const PointProcess& process : running) {
      const workloads::Totals beat = process.last_beat();
      now.so_far += beat;
      now.at.push_back({process.index(), process.seconds(), beat.seconds_in_all});
      if (beat.draws) now.drawing.push_back(process.index());
    }
    progress(now);
  }
  // Leaving scope kills and reaps what an interrupt left running.
}

std::string status_text(const PointOutcome& outcome) {
  if (!outcome.result.refused.empty()) return kStatusRefused;
  const bool ended = outcome.status == PointStatus::complete;
  return ended && !outcome.result.failed_checks.empty() ? kStatusCheckFailed : to_string(outcome.status);
}

std::string reason_text(const PointOutcome& outcome) {
  if (!outcome.result.refused.empty()) return outcome.result.refused;
  return outcome.error.empty() ? fmt::format("{}", fmt::join(outcome.result.failed_checks, "; ")) : outcome.error;
}

}  // namespace faultline::runs
