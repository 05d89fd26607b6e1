// SPDX-License-Identifier: Apache-2.0
#include "src/runs/speed.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

namespace faultline::runs {
namespace {

// Three digits and a prefix; `prefixes` from that of `value` on, each a thousand times the one before.
std::string short_number(double value, std::initializer_list<const char*> prefixes) {
  auto prefix = prefixes.begin();
  // What would be rounded to 1000 has the next prefix, too.
  while (value >= 999.5 && prefix + 1 != prefixes.end()) {
    value /= 1000;
    ++prefix;
  }
  if (value >= 999.5) return fmt::format("{:.0f}{}", value, *prefix);
  return fmt::format("{:.3g}{}", value, *prefix);
}

std::string count(double number) { return short_number(number, {"", " k", " M", " G", " T"}); }
std::string time(double ps) { return short_number(ps, {" ps", " ns", " us", " ms", " s"}); }

}  // namespace

std::string speed_text(const workloads::Totals& totals, double host_seconds) {
  const auto with_rate = [&](std::uint64_t total, const char* what, std::string (*text)(double)) {
    const auto number = static_cast<double>(total);
    std::string both = text(number) + what;
    if (host_seconds > 0) both += " (" + text(number / host_seconds) + "/s)";
    return both;
  };
  return with_rate(totals.events, " events", count) + ", " + with_rate(totals.cell_hops, " cell-hops", count) + ", " +
         with_rate(totals.simulated_ps, " simulated", time);
}

void add_speed(nlohmann::ordered_json& json, const workloads::Totals& totals, double host_seconds) {
  const auto rate = [&](double total) {
    return host_seconds > 0 ? nlohmann::ordered_json(total / host_seconds) : nlohmann::ordered_json();
  };
  json["events"] = totals.events;
  json["cell_hops"] = totals.cell_hops;
  json["simulated_ps"] = totals.simulated_ps;
  json["events_per_host_second"] = rate(static_cast<double>(totals.events));
  json["cell_hops_per_host_second"] = rate(static_cast<double>(totals.cell_hops));
  json["simulated_seconds_per_host_second"] = rate(static_cast<double>(totals.simulated_ps) / 1e12);
}

}  // namespace faultline::runs
