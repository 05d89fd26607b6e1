// SPDX-License-Identifier: Apache-2.0
// The seam between the application and the simulation: one point of an experiment goes in as a
// configuration, its measurements come out. The application knows nothing else about the machine.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/sim/parameters.hpp"
#include "models/sim/profile.hpp"
#include "models/trace/trace_filter.hpp"

namespace faultline::workloads {

struct Configuration;  // workloads/configuration.hpp

// The parameter (a choice) that an experiment's `workload = "..."` sets.
inline constexpr std::string_view kWorkloadParameter = "workload.kind";

using sim::Conflict;

// Every impossible combination; none when the configuration can be simulated. Needs no elaboration.
std::vector<Conflict> conflicts(const Configuration& configuration);

// How much there is to simulate, beside other configurations: the bytes that are moved. Without conflicts.
double work_of(const Configuration& configuration);
// Of it, one transfer's.
double work_of_transfer(std::uint64_t bytes);

// What a strategy is made of: a policy, its choice, what that does, and what it adds to the machine.
struct PolicyDoc {
  std::string key;
  std::string choice;
  std::string meaning;
  std::string adds;  // empty: nothing
};
std::vector<PolicyDoc> strategy_docs(const Configuration& configuration);

// The parameter (a choice) that says which registration policy a strategy has.
inline constexpr std::string_view kRegistrationParameter = "strategy.registration";
// The parameter that says which NIC the nodes have, and its value where nobody sets it.
inline constexpr std::string_view kNicParameter = "nic.kind";
std::string default_nic();
// How strategies are compared. The defaults hold for a policy that this build does not know: results may be another's.
struct RegistrationRole {
  bool is_bound = false;  // a bound for the others, and no rival of theirs: it asks for what no kernel does
  bool prepares = true;   // a rival that does something about its buffers once, before the first transfer
};
// `name`: a value of kRegistrationParameter.
RegistrationRole role_of_registration(std::string_view name);
// Of the value that the parameter has where nobody sets it.
RegistrationRole role_of_default_registration();

struct Metric {
  std::string name;  // "latency_mean"; of one program of several "victim.latency_mean"
  double value = 0;
  std::string unit;  // "us", "MB/s", "B"; "1" for a plain count
  std::string description;
  double half_width = 0;  // of a mean over seeds: of its 95 % confidence interval; of a single run 0
};

// One step of the life of a transfer or a fault. Rows come in the order in which the steps happen.
struct BreakdownRow {
  std::string step;
  std::string where;  // "source" or "destination" of the data
  double mean_us = 0;
  std::uint64_t samples = 0;
  std::string description;
  double half_width_us = 0;  // as of Metric
};

// How the values of something that happened often are spread.
struct Distribution {
  struct Bucket {
    double lower;  // the least value that belongs here
    double upper;  // the greatest
    std::uint64_t count;
  };
  std::string name;  // "latency"
  std::string unit;
  std::string description;
  std::uint64_t count = 0;
  double min = 0;
  double max = 0;
  std::vector<Bucket> buckets;  // log-linear: each a 64th of its values wide at most; lowest first, none of them empty
};

// What something was while transfers were measured, at equal intervals from the first one's begin on.
struct Series {
  std::string name;  // "goodput"
  std::string unit;
  std::string description;
  double interval_us = 0;      // value i is that of, or was so at the end of, the interval from i * interval_us on
  std::vector<double> values;  // series.samples of them at most
};

// What has been simulated, of one point or of several.
struct Totals {
  std::uint64_t events = 0;
  std::uint64_t cell_hops = 0;  // cells that crossed a link, each link counted
  std::uint64_t simulated_ps = 0;
  bool draws = false;         // a random number
  double seconds_in_all = 0;  // of the host, that one point takes, as far as its transfers tell; 0: not known

  Totals& operator+=(const Totals& other) {
    draws = draws || other.draws;
    events += other.events;
    cell_hops += other.cell_hops;
    simulated_ps += other.simulated_ps;
    return *this;
  }
};

// One transfer of a run, to be told.
struct StoryRequest {
  std::uint64_t transfer = 0;  // from 1 on in the order in which programs begin them; 0: the first that is measured
};

// What looks at a run from outside. It changes nothing in the result but `profile` and `traced`. With a story the run
// ends when its transfer does, and `story` is the only result.
struct Watch {
  std::function<void(const Totals&)> heartbeat;  // called a few times a second while events run
  bool profile = false;
  std::optional<trace::TraceRequest> trace = std::nullopt;
  std::optional<StoryRequest> story = std::nullopt;
};

// Of the metrics those of one part of the run: of a node (or a router without one), or of a flow.
struct PartResult {
  std::string part;   // "node 3", "router 64", "flow 0"
  std::string about;  // of a flow: "node 0 to node 1, write"
  std::vector<Metric> metrics;
};

// How PointResult::traced begins where not all could be written.
inline constexpr const char* kTraceFailed = "ERROR: ";

struct PointResult {
  std::vector<Metric> metrics;
  std::vector<PartResult> parts;
  std::vector<BreakdownRow> breakdown;  // may be empty
  std::vector<Distribution> distributions;
  std::vector<Series> series;      // empty unless asked for (series.period)
  std::vector<std::string> notes;  // what a reader of the figures must know
  std::uint64_t events = 0;
  std::uint64_t cell_hops = 0;
  std::uint64_t simulated_ps = 0;
  bool draws = true;                       // a random number, as far as is known; if not, every seed gives this result
  std::vector<sim::Profile::Row> profile;  // empty unless asked for
  std::string traced;                      // what was recorded, or why it was not: a line for people
  std::string story;                       // JSON (workloads/story/story.hpp); empty unless asked for
  // What must never happen and did: wrong data, stale accesses, transfers that ended with an error.
  std::vector<std::string> failed_checks;
  // Where failures are counted: what the kernel refused to a program by a limit, which ended it. No metrics then.
  std::string refused;
  // Set when the configuration made the run impossible (no memory left on a node): what happened, and
  // the parameters that decide it. A bug of ours is an exception instead.
  std::string error;
  std::vector<std::string> error_keys;
};

// Elaborates and simulates: at most once per process, because SystemC's kernel is global. The memory managers' books
// are compared while events run and at the end; std::logic_error when they disagree, or for any other bug of ours.
PointResult run_point(const Configuration& configuration, std::uint64_t seed, const Watch& watch = {});

// What limits the transfers of a point, or of several.
struct Limit {
  enum class Kind {
    unknown,          // there is no metric "utilisation_..."
    none_busy,        // no part is busy for kLimits % of the time
    sent_again,       // one is, and so it was with payload that was sent again
    software_busy,    // with what includes waiting, or work of other programs
    busy_for_others,  // with theirs, too
    limits,           // with the transfers' work: faster parts could save no more than the rest of the time
  };
  Kind kind = Kind::unknown;
  std::string part = {};  // "the busiest outgoing link of node 0"
  double least = 0;       // % of the time for which it is busy: of the point where that is least, and where most
  double most = 0;
  std::uint64_t again = 0;  // most bytes of payload that were sent again

  // Whether one sentence can say both.
  bool joins(const Limit& other) const;
  void join(const Limit& other);
  // A sentence; empty when unknown.
  std::string text() const;
};
// From metrics, which may be means over seeds, and parts.
Limit limit_of(const PointResult& point);
// A part that is busy for so many % of the time limits the transfers.
inline constexpr double kLimits = 90;

// What `faultline list` shows, and what names in experiment files are checked against.
struct WorkloadDoc {
  std::string name;  // a choice of kWorkloadParameter
  std::string description;
};
std::vector<WorkloadDoc> workload_docs();

struct MetricDoc {
  std::string name;
  std::string unit;
  std::string description;
  bool of_program = false;  // of a run with several programs there is one for each: "victim.latency_mean"
};
// Every metric that run_point can give.
std::vector<MetricDoc> metric_docs();
// The name that one of these has: of a program's metric without the program's name.
std::string_view metric_in_program(std::string_view name);
// Of a program's metrics, whether several programs have their sum, too.
bool is_sum_over_programs(std::string_view name);
// Whether the metric is a counter of the machine: a sum over all that was measured of a point.
bool is_counter(std::string_view name);

struct StepDoc {
  std::string name;  // of a BreakdownRow, without "(resend)"
  std::string description;
  std::string parameters;  // that its time is made of
};
// Every step that a breakdown can show.
std::vector<StepDoc> step_docs();

}  // namespace faultline::workloads
