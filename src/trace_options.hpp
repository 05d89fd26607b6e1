// SPDX-License-Identifier: Apache-2.0
// What `faultline run` is asked to record: of which point, into which files, how much of it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/trace/trace_filter.hpp"

namespace faultline::app {

struct TraceOptions {
  trace::TraceRequest request;
  std::string point;  // --trace-point
  std::string vcd;    // --vcd as it was given; request.vcd ends in .vcd

  bool any() const { return !request.perfetto.empty() || !request.vcd.empty(); }
};

// "0,4-7": whole numbers and ranges of them. Throws UserError that names the option.
std::vector<trace::NumberRange> number_ranges(const std::string& option, const std::string& text);
// "10 us..2 ms", from, to, or both. Throws UserError.
void set_window(trace::TraceFilter& filter, const std::string& text);
std::uint64_t trace_limit(const std::string& text);
// Likewise of transfers, which are counted from 1.
std::vector<trace::NumberRange> transfer_ranges(const std::string& text);
// "link" becomes "link.vcd": what SystemC makes of it. Throws UserError where the text names no regular file.
std::string vcd_file(const std::string& text);

}  // namespace faultline::app
