// SPDX-License-Identifier: Apache-2.0
#include "models/network/failures.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "models/sim/units.hpp"

namespace faultline::network {

using sim::Standing;
using sim::Time;

namespace {

constexpr std::string_view kAllowed =
    "failures with commas between: \"link A-B at TIME\" or \"router A at TIME\", each with or without \"until TIME\"; "
    "A and B are routers";

// Reads one failure, or says what is wrong with it.
class Reader {
 public:
  explicit Reader(std::string_view text) : whole_(trimmed(text)), rest_(whole_) {}

  Failure read() {
    Failure failure{0, 0, Time{0}, sim::kNever};
    if (take("link ")) {
      failure.a = router("-");
      failure.b = router(" at ");
      if (failure.a == failure.b) refuse("a link joins two routers");
    } else if (take("router ")) {
      failure.a = failure.b = router(" at ");
    } else {
      refuse("neither a link nor a router");
    }
    failure.from = time(" until ");
    if (repaired_) {
      failure.until = time("");
      if (failure.until <= failure.from) refuse("repaired before it fails");
    }
    return failure;
  }

 private:
  static std::string_view trimmed(std::string_view text) {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
    return text.substr(0, text.find_last_not_of(' ') + 1);
  }
  [[noreturn]] void refuse(const std::string& why) const {
    throw sim::BadParameterValue(fmt::format("'{}': {}", whole_, why), std::string(kAllowed));
  }
  bool take(std::string_view word) {
    if (!rest_.starts_with(word)) return false;
    rest_.remove_prefix(word.size());
    return true;
  }
  RouterId router(std::string_view end) {
    const auto at = rest_.find(end);
    const std::string_view number = trimmed(rest_.substr(0, at));
    RouterId id = 0;
    const auto [stop, error] = std::from_chars(number.data(), number.data() + number.size(), id);
    if (at == std::string_view::npos || error != std::errc{} || stop != number.data() + number.size()) {
      refuse(fmt::format("no number of a router before '{}'", trimmed(end)));
    }
    rest_.remove_prefix(at + end.size());
    return id;
  }
  // Up to the word, if there is one and it comes; what stands behind it is read next.
  Time time(std::string_view end) {
    const auto at = end.empty() ? std::string_view::npos : rest_.find(end);
    repaired_ = at != std::string_view::npos;
    const std::string quantity(trimmed(rest_.substr(0, at)));
    rest_.remove_prefix(repaired_ ? at + end.size() : rest_.size());
    try {
      const Time instant = sim::parse_time(quantity);
      if (instant < Time{0}) refuse("before the simulation begins");
      return instant;
    } catch (const sim::BadQuantity& error) {
      refuse(error.what());
    }
  }

  std::string_view whole_;
  std::string_view rest_;
  bool repaired_ = false;
};

bool joined(const Topology& topology, RouterId a, RouterId b) {
  for (unsigned port = 1; port < topology.ports(a); ++port) {
    if (topology.neighbour(a, port).router == b) return true;
  }
  return false;
}

}  // namespace

void FailureConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("network");
  table.add_text("failures", list, std::string(kAllowed), [](const std::string& text) { parse_failures(text); },
                 {"links and routers that fail: \"link 0-4 at 10 us, router 5 at 20 us until 50 us\"; MPSoCs have the "
                  "routers of their number, plain routers follow",
                  "", Standing::setting});
  table.add_time(
      "failure_detection", detection, {0ns, 10s},
      {"from a failure, or a repair, until all routers know of it (network.reroute)",
       "assumed: a few missing acknowledgements of a link, and the news across the machine", Standing::assumed});
}

std::vector<Failure> parse_failures(std::string_view text) {
  std::vector<Failure> failures;
  if (text.find_first_not_of(' ') == std::string_view::npos) return failures;
  for (std::size_t at = 0; at <= text.size();) {
    const std::string_view one = text.substr(at, text.find(',', at) - at);
    failures.push_back(Reader(one).read());
    at += one.size() + 1;
  }
  return failures;
}

std::vector<sim::Conflict> conflicts(const FailureConfig& config, const Topology& topology) {
  std::vector<sim::Conflict> found;
  const auto add = [&](const std::string& reason, const std::string& instead) {
    std::vector<std::string> keys{"network.failures", "network.topology"};
    for (std::string& key : size_keys(topology.shape())) keys.push_back(std::move(key));
    found.push_back({std::move(keys), reason, instead});
  };
  for (const Failure& failure : parse_failures(config.list)) {
    if (failure.a >= topology.routers() || failure.b >= topology.routers()) {
      add(fmt::format("there are routers 0 to {}", topology.routers() - 1), "name some of these");
    } else if (!failure.is_router() && !joined(topology, failure.a, failure.b)) {
      add(fmt::format("no link joins routers {} and {}", failure.a, failure.b), "name two that a link joins");
    }
  }
  return found;
}

bool Outages::cover(Time t) const {
  return std::any_of(spans_.begin(), spans_.end(), [t](const Span& s) { return s.from <= t && t < s.until; });
}

Time Outages::next_change(Time t) const {
  Time next = sim::kNever;
  for (const Span& span : spans_) {
    if (span.from > t) next = std::min(next, span.from);
    if (span.until > t) next = std::min(next, span.until);
  }
  return next;
}

FailureSchedule::FailureSchedule(const FailureConfig& config, const Topology& topology)
    : topology_(topology), detection_(config.detection), failures_(parse_failures(config.list)) {}

Outages FailureSchedule::outages(RouterId router, unsigned port) const {
  Outages all;
  const RouterId other = port == kLocalPort ? router : topology_.neighbour(router, port).router;
  for (const Failure& f : failures_) {
    const bool own = f.is_router() ? f.a == router || f.a == other
                                   : (f.a == router && f.b == other) || (f.b == router && f.a == other);
    if (own) all.add(f.from, f.until);
  }
  return all;
}

bool FailureSchedule::is_known(const Failure& f, Time now) const {
  return now - detection_ >= f.from && now - detection_ < f.until;
}

bool FailureSchedule::knows_any(Time now) const {
  return std::any_of(failures_.begin(), failures_.end(), [&](const Failure& f) { return is_known(f, now); });
}

bool FailureSchedule::avoids_known(RouterId from, NodeId to, Path path, Time now) const {
  const auto dead = [&](RouterId a, RouterId b) {
    return std::any_of(failures_.begin(), failures_.end(), [&](const Failure& f) {
      const bool on_the_way = f.is_router() ? f.a == a || f.a == b : (f.a == a && f.b == b) || (f.a == b && f.b == a);
      return on_the_way && is_known(f, now);
    });
  };
  for (RouterId at = from; at != to;) {
    const RouterId next = topology_.neighbour(at, topology_.route(at, to, path).port).router;
    if (dead(at, next)) return false;
    at = next;
  }
  return true;
}

}  // namespace faultline::network
