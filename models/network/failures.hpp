// SPDX-License-Identifier: Apache-2.0
// Links and routers that fail at an instant and may come back at another. The whole course of events is known from
// the configuration, so that every part asks this schedule about an instant and none has to be told.
//
// A cell whose head would enter a failed link is lost; one whose head has entered before arrives. A failed router
// is a router all of whose links have failed, the one to its own MPSoC included: what is in its queues is lost on
// the way out. Nothing waits for a slot behind a failed link, and the slots of what was sent before still come
// back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/network/topology.hpp"
#include "models/sim/time.hpp"

namespace faultline::network {

using namespace std::chrono_literals;

struct FailureConfig {
  std::string list;
  sim::Time detection = 10us;

  void declare(sim::ParameterTable& table);
};

struct Failure {
  RouterId a;
  RouterId b;  // the same for a router; all links between the two otherwise
  sim::Time from;
  sim::Time until;  // kNever: it is not repaired
  bool is_router() const { return a == b; }
  bool operator==(const Failure&) const = default;
};

// "link 3-7 at 10 us, router 5 at 20 us until 50 us". Throws sim::BadParameterValue.
std::vector<Failure> parse_failures(std::string_view text);

// Failures of what is not there.
std::vector<sim::Conflict> conflicts(const FailureConfig& config, const Topology& topology);

// When one output of a router is dead.
class Outages {
 public:
  void add(sim::Time from, sim::Time until) { spans_.push_back({from, until}); }
  bool empty() const { return spans_.empty(); }
  bool cover(sim::Time t) const;
  // The first instant after t at which an outage begins or ends; kNever when none does.
  sim::Time next_change(sim::Time t) const;

 private:
  struct Span {
    sim::Time from;
    sim::Time until;
  };
  std::vector<Span> spans_;  // may overlap
};

class FailureSchedule {
 public:
  // The topology must outlive the schedule. Requires that conflicts() finds nothing.
  FailureSchedule(const FailureConfig& config, const Topology& topology);

  Outages outages(RouterId router, unsigned port) const;
  // Whether routers know at this instant of a failure on the way: `detection` after it happened, and as long after
  // its repair. Between routers that the packet does not pass it may know of failures: those do not matter.
  bool avoids_known(RouterId from, NodeId to, Path path, sim::Time now) const;
  bool knows_any(sim::Time now) const;

 private:
  bool is_known(const Failure& failure, sim::Time now) const;

  const Topology& topology_;
  sim::Time detection_;
  std::vector<Failure> failures_;
};

}  // namespace faultline::network
