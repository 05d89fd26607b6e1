// SPDX-License-Identifier: Apache-2.0

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/quantity.hpp"

namespace faultline::app {
namespace {

constexpr std::size_t kShown = 40;  // points

std::string list_of(const std::vector<experiment::Point>& points) {
  std::string text;
  for (std::size_t i = 0; i < std::min(points.size(), kShown); ++i)
    text += fmt::format("\n  {:>3}  {}  {}", i + 1, points[i].id.substr(0, experiment::kLeastOfId), points[i].label());
  if (points.size() > kShown) text += fmt::format("\n  ... and {} more (--dry-run --verbose)", points.size() - kShown);
  return text;
}

void check_file(const std::string& option, const std::string& path, const std::string& what,
                const std::function<bool(std::string_view)>& is_alike) {
  if (path.empty()) return;
  check_output(option, path, what, is_alike);
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
  if (descriptor < 0) throw UserError("{}: {}: cannot be written: {}", option, path, std::strerror(errno));
  close(descriptor);
}

}  // namespace

std::size_t traced_point(const std::vector<experiment::Point>& points, const TraceOptions& options) {
  if (options.point.empty()) {
    if (points.size() == 1) return 0;
    throw UserError(
        "a trace is of one point and the experiment has {}: name it with --trace-point (its "
        "number or how its id begins), or leave one with --set:{}",
        points.size(), list_of(points));
  }
  if (const auto number = experiment::whole(options.point); number && *number >= 1 && *number <= points.size())
    return *number - 1;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < points.size() && options.point.size() >= experiment::kLeastOfId; ++i) {
    if (points[i].id.starts_with(options.point)) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  throw UserError(
      "--trace-point: '{}' is {}; allowed: a number from 1 to {}, or how one id begins, with {} characters or more:{}",
      options.point, found.empty() ? "no point" : "several points", points.size(), experiment::kLeastOfId,
      list_of(points));
}

void check_trace_files(const TraceOptions& options) {
  // Perfetto: a first packet of some length, which begins with the number of its sequence.
  check_file("--trace", options.request.perfetto, "trace", [](std::string_view first) {
    return first.starts_with('\n') && first.substr(0, 5).find("P\x01") != std::string_view::npos;
  });
  check_file("--vcd", options.request.vcd, "wave file",
             [](std::string_view first) { return first.starts_with("$date"); });
}

bool record(std::size_t index, runs::PointStore& store, std::vector<runs::PointOutcome>& outcomes, const Call& call) {
  const TraceOptions& trace = call.options.trace;
  const experiment::Point& point = store.points()[index];
  if (trace.vcd != trace.request.vcd)
    call.console.err << fmt::format("--vcd {}: written to {}\n", trace.vcd, trace.request.vcd);
  const auto one = [&](std::size_t, const runs::Heartbeat& heartbeat) {
    store.leave();
    return simulate(point, call.simulator, {heartbeat, /*profile=*/false, trace.request});
  };
  runs::PointOutcome recorded;
  const auto ended = [&](std::size_t, runs::PointOutcome outcome) {
    recorded = std::move(outcome);
    return true;
  };
  {
    auto progress = progress_of(call, 1);
    runs::run_points(runs::each_of({0}), one, {1, call.options.timeout}, ended, [&](const runs::Standing& standing) {
      if (!call.options.quiet) progress.update(standing, runs::Progress::Clock::now());
    });
  }
  const std::string& what = recorded.error.empty() ? recorded.result.traced : recorded.error;
  if (!what.empty()) call.console.err << "trace of " << point.label() << ": " << what << "\n";
  if (recorded.status == runs::PointStatus::not_run) return false;
  if (is_final(recorded) && !outcomes[index].there) {
    store.keep(index, recorded);
    outcomes[index] = std::move(recorded);
  }
  return true;
}

}  // namespace faultline::app
