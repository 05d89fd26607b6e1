// SPDX-License-Identifier: Apache-2.0
#include "src/trace_options.hpp"

#include <fmt/format.h>

#include <boost/algorithm/string/classification.hpp>
#include <boost/algorithm/string/split.hpp>
#include <filesystem>
#include <optional>
#include <string_view>

#include "models/sim/units.hpp"
#include "src/experiment/diagnostics.hpp"
#include "src/experiment/quantity.hpp"
#include "src/experiment/toml_document.hpp"

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

}  // namespace faultline::app
