// SPDX-License-Identifier: Apache-2.0
#include "src/trace_options.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "models/sim/units.hpp"
#include "src/application.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/quantity.hpp"
#include "src/experiment/toml_document.hpp"
#include "src/runs/cost_estimate.hpp"

namespace faultline::app {
namespace {

constexpr std::uint64_t kLeastLimit = std::uint64_t{64} << 10;
constexpr std::uint64_t kMostLimit = std::uint64_t{1} << 40;

std::optional<trace::NumberRange> range_of(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = experiment::whole(experiment::trimmed(text.substr(0, dash)));
  const auto last =
      dash == std::string_view::npos ? first : experiment::whole(experiment::trimmed(text.substr(dash + 1)));
  if (!first || !last || *first > *last) return {};
  return trace::NumberRange{*first, *last};
}

constexpr std::size_t kPointsShown = 40;  // points

std::string list_of(const std::vector<experiment::Point>& points) {
  std::string text;
  for (std::size_t i = 0; i < std::min(points.size(), kPointsShown); ++i)
    text += fmt::format("\n  {:>3}  {}  {}", i + 1, points[i].id.substr(0, experiment::kLeastOfId), points[i].label());
  if (points.size() > kPointsShown)
    text += fmt::format("\n  ... and {} more (--dry-run --verbose)", points.size() - kPointsShown);
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

std::vector<trace::NumberRange> number_ranges(const std::string& option, const std::string& text) {
  std::vector<trace::NumberRange> ranges;
  std::vector<std::string> parts;
  for (const std::string& part : boost::split(parts, text, boost::is_any_of(","))) {
    const auto range = range_of(part);
    if (!range) {
      throw UserError("--{}: '{}'; allowed: whole numbers and ranges of them, such as 0,4-7", option, text);
    }
    ranges.push_back(*range);
  }
  return ranges;
}

void set_window(trace::TraceFilter& filter, const std::string& text) {
  const auto dots = text.find("..");
  const auto refuse = [&](const std::string& why) {
    throw UserError("--trace-time: '{}': {}; allowed: FROM..TO, such as \"10us..2ms\", 10us.. or ..2ms", text, why);
  };
  if (dots == std::string::npos) refuse("no range");
  const std::string from = experiment::trimmed(std::string_view(text).substr(0, dots));
  const std::string to = experiment::trimmed(std::string_view(text).substr(dots + 2));
  if (from.empty() && to.empty()) refuse("no bound");
  try {
    if (!from.empty()) filter.from = sim::parse_time(from);
    if (!to.empty()) filter.to = sim::parse_time(to);
  } catch (const sim::BadQuantity& error) {
    refuse(error.what());
  }
  if (filter.from > filter.to) refuse("it ends before it begins");
}

std::uint64_t trace_limit(const std::string& text) {
  const std::string allowed =
      fmt::format("allowed: {} to {}", sim::format_bytes(kLeastLimit), sim::format_bytes(kMostLimit));
  try {
    const std::uint64_t bytes = sim::parse_bytes(text);
    if (bytes >= kLeastLimit && bytes <= kMostLimit) return bytes;
  } catch (const sim::BadQuantity& error) {
    throw UserError("--trace-limit: '{}': {}; {}", text, error.what(), allowed);
  }
  throw UserError("--trace-limit: '{}'; {}", text, allowed);
}

std::string vcd_file(const std::string& text) {
  if (text.ends_with(".vcd")) return text;
  // Somebody who names a device or a pipe does not mean a file beside it.
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored) && !std::filesystem::is_regular_file(text, ignored))
    throw UserError("--vcd: {}: is no regular file; name another, ending in .vcd", text);
  return text + ".vcd";
}

std::vector<trace::NumberRange> transfer_ranges(const std::string& text) {
  std::vector<trace::NumberRange> ranges = number_ranges("trace-transfers", text);
  for (const trace::NumberRange& range : ranges) {
    if (range.last == 0)
      throw UserError("--trace-transfers: '{}': there is no transfer 0; they are counted from 1", text);
  }
  return ranges;
}

std::size_t named_point(const std::string& option, const std::string& name,
                        const std::vector<experiment::Point>& points) {
  if (const auto number = experiment::whole(name); number && *number >= 1 && *number <= points.size())
    return *number - 1;
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < points.size() && name.size() >= experiment::kLeastOfId; ++i) {
    if (points[i].id.starts_with(name)) found.push_back(i);
  }
  if (found.size() == 1) return found.front();
  throw UserError(
      "--{}: '{}' is {}; allowed: a number from 1 to {}, or how one id begins, with {} characters or more:{}", option,
      name, found.empty() ? "no point" : "several points", points.size(), experiment::kLeastOfId, list_of(points));
}

std::size_t traced_point(const std::vector<experiment::Point>& points, const TraceOptions& options) {
  if (!options.point.empty()) return named_point("trace-point", options.point, points);
  if (points.size() == 1) return 0;
  throw UserError(
      "a trace is of one point and the experiment has {}: name it with --trace-point (its "
      "number or how its id begins), or leave one with --set:{}",
      points.size(), list_of(points));
}

void check_trace_files(const TraceOptions& options) {
  // Perfetto: a first packet of some length, which begins with the number of its sequence.
  check_file("--trace", options.request.perfetto, "trace", [](std::string_view first) {
    return first.starts_with('\n') && first.substr(0, 5).find("P\x01") != std::string_view::npos;
  });
  check_file("--vcd", options.request.vcd, "wave file",
             [](std::string_view first) { return first.starts_with("$date"); });
}

bool record(std::size_t index, runs::PointStore& store, std::vector<runs::PointOutcome>& outcomes, const Call& call,
            bool& is_written) {
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
    runs::CostEstimate costs(runs::planned({point}));
    runs::run_points(runs::each_of({0}), one, {1, call.options.timeout}, ended, [&](runs::Standing standing) {
      if (call.options.quiet) return;
      standing.seconds_left = costs.seconds_left(standing.at, 1);
      progress.update(standing, runs::Progress::Clock::now());
    });
  }
  const std::string& what = recorded.error.empty() ? recorded.result.traced : recorded.error;
  if (!what.empty()) call.console.err << "trace of " << point.label() << ": " << what << "\n";
  is_written = !recorded.result.traced.starts_with(workloads::kTraceFailed);
  if (recorded.status == runs::PointStatus::not_run) return false;
  if (is_final(recorded) && !outcomes[index].there) {
    store.keep(index, recorded);
    outcomes[index] = std::move(recorded);
  }
  return true;
}

}  // namespace faultline::app
