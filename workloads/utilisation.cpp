// SPDX-License-Identifier: Apache-2.0
#include "workloads/utilisation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <functional>
#include <map>
#include <string_view>
#include <tuple>
#include <utility>

#include "workloads/rounded_bytes.hpp"

namespace faultline::workloads {

using platform::BusyTime;

namespace {

// By BusyTime::part.
const sim::BusyPart& part_of(std::size_t number) { return platform::busy_parts()[number]; }

// Of a node at which no transfer begins or ends (PartResult::about).
constexpr const char* kBystander = "at no end of a transfer";

// Whether the part may be what limits transfers. A bystander's parts are busy with other things, but for those that
// only transfers keep busy: its links may carry transfers between other nodes.
bool counts(const sim::BusyPart& part, bool of_end) { return of_end || part.transfers_only; }

auto place_of(const BusyTime& time) { return std::tuple(time.router, time.part, time.number); }

Metric metric(const sim::BusyPart& part, double percent) { return {part.metric, percent, "%", part.description}; }

// The greatest share of each kind of part that is there, in %, by BusyTime::part.
using Busiest = std::map<std::size_t, double>;

void raise(Busiest& busiest, std::size_t part, double percent) {
  double& most = busiest[part];
  most = std::max(most, percent);
}

std::vector<Metric> metrics_of(const Busiest& busiest) {
  std::vector<Metric> metrics;
  for (const auto& [part, percent] : busiest) metrics.push_back(metric(part_of(part), percent));
  return metrics;
}

double most_of(const Busiest& busiest) {
  double most = 0;
  for (const auto& [part, percent] : busiest) most = std::max(most, percent);
  return most;
}

// Those that are busiest, at most kMostParts, in their order. Ends of transfers come before others.
std::vector<network::RouterId> chosen(const std::map<network::RouterId, Busiest>& places, const IsEnd& is_end) {
  std::vector<network::RouterId> ids;
  for (const auto& [id, busiest] : places) {
    if (most_of(busiest) > 0) ids.push_back(id);
  }
  if (ids.size() <= kMostParts) return ids;
  std::ranges::stable_sort(ids, std::greater{}, [&](auto id) { return std::pair(is_end(id), most_of(places.at(id))); });
  ids.resize(kMostParts);
  std::ranges::sort(ids);
  return ids;
}

}  // namespace

Utilisation utilisation(const std::vector<BusyTime>& before, const std::vector<BusyTime>& after, sim::Time span,
                        unsigned nodes, const IsEnd& is_end) {
  Busiest greatest;
  std::map<network::RouterId, Busiest> places;
  auto then = before.begin();
  for (const BusyTime& now : after) {
    // What has come since, a process's fault thread, had not worked.
    while (then != before.end() && place_of(*then) < place_of(now)) ++then;
    const bool known = then != before.end() && place_of(*then) == place_of(now);
    const sim::Time busy = now.busy - (known ? then->busy : sim::Time{0});
    const double percent = 100.0 * static_cast<double>(busy.count()) / static_cast<double>(span.count());
    if (counts(part_of(now.part), is_end(now.router))) raise(greatest, now.part, percent);
    raise(places[now.router], now.part, percent);
  }
  Utilisation result{metrics_of(greatest), {}};
  for (const network::RouterId id : chosen(places, is_end)) {
    const bool is_node = id < nodes;
    result.nodes.push_back({fmt::format("{} {}", is_node ? "node" : "router", id),
                            is_node && !is_end(id) ? kBystander : "", metrics_of(places.at(id))});
  }
  return result;
}

std::vector<MetricDoc> utilisation_docs() {
  std::vector<MetricDoc> docs;
  for (const sim::BusyPart& part : platform::busy_parts()) docs.push_back({part.metric, "%", part.description});
  return docs;
}

namespace {

double value_of(const std::vector<Metric>& metrics, std::string_view name) {
  const auto found = std::ranges::find(metrics, name, &Metric::name);
  return found == metrics.end() ? 0 : found->value;
}

std::string capital(std::string text) {
  text.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(text.front())));
  return text;
}

// Of several points: "91.2 to 97.0 %".
std::string percents(double least, double most) {
  const std::string low = fmt::format("{:.1f}", least), high = fmt::format("{:.1f}", most);
  return low == high ? high + " %" : fmt::format("{} to {} %", low, high);
}

bool others_work(const std::vector<Metric>& metrics) {
  const auto is_of = [](std::string_view name) {
    return [name](const Metric& metric) { return metric_in_program(metric.name) == name; };
  };
  // Of the sum and one program's there are two.
  const bool several = std::ranges::count_if(metrics, is_of("transfers")) > 2;
  return several || value_of(metrics, "background_accesses") > 0 || value_of(metrics, "background_file_rate") > 0 ||
         std::ranges::any_of(metrics, is_of("clean_goodput"));
}

}  // namespace

// With the same work to do, transfers take at least as long as their busiest part works. That says something about
// faster parts only where the work is the transfers' own, and would be the same.
Limit limit_of(const PointResult& point) {
  const auto percent_of = [](const std::vector<Metric>& metrics) {
    return [&metrics](const sim::BusyPart& part) { return value_of(metrics, part.metric); };
  };
  const sim::BusyPart& busiest = *std::ranges::max_element(platform::busy_parts(), {}, percent_of(point.metrics));
  const double percent = value_of(point.metrics, busiest.metric);
  if (percent == 0) return {};
  const auto value = [&](const PartResult& part) {
    return counts(busiest, part.about != kBystander) ? value_of(part.metrics, busiest.metric) : 0;
  };
  const auto place = std::ranges::max_element(point.parts, {}, value);
  const bool known = place != point.parts.end() && value(*place) > 0;
  Limit limit{Limit::Kind::limits, known ? fmt::format("{} of {}", busiest.called, place->part) : busiest.called,
              percent, percent, static_cast<std::uint64_t>(value_of(point.metrics, "retransmitted_bytes"))};
  if (percent < kLimits) {
    limit.kind = Limit::Kind::none_busy;
  } else if (limit.again > 0) {
    limit.kind = Limit::Kind::sent_again;
  } else if (busiest.software) {
    limit.kind = Limit::Kind::software_busy;
  } else if (others_work(point.metrics)) {
    limit.kind = Limit::Kind::busy_for_others;
  }
  return limit;
}

bool Limit::joins(const Limit& other) const { return kind == other.kind && part == other.part; }

void Limit::join(const Limit& other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  again = std::max(again, other.again);
}

std::string Limit::text() const {
  if (kind == Kind::unknown) return "";
  const std::string is_busy = fmt::format("{} is busy {} of the time", capital(part), percents(least, most));
  switch (kind) {
    case Kind::none_busy:
      return fmt::format(
          "Limited by no part of the machine alone: none is busy for more than {:.1f} % of the time ({}).", most, part);
    case Kind::sent_again:
      return fmt::format("{}; {}{} of payload were sent again meanwhile.", is_busy, least < most ? "up to " : "",
                         rounded_bytes(again));
    case Kind::software_busy: return is_busy + ".";
    case Kind::busy_for_others: return is_busy + ", other programs' work included.";
    case Kind::limits:
      return fmt::format(
          "Limited by {}, busy {} of the time: whatever else were faster would save {} of the time at most.", part,
          percents(least, most), percents(100 - most, 100 - least));
    default: return "";
  }
}

}  // namespace faultline::workloads
