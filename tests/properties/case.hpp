// SPDX-License-Identifier: Apache-2.0
// Random clusters under random traffic, and how a case that fails gets small.
#pragma once

#include <rapidcheck.h>

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

#include "tests/support/point.hpp"
#include "workloads/flows/flow.hpp"

namespace faultline::test {

// What may occur in a case. Every restriction that is lifted makes the domain larger.
struct Domain {
  unsigned flows = 1;                     // at a time, at most
  bool shared_nodes = false;              // several flows begin or end at a node, in either direction, or share links
  unsigned transfers = 1;                 // of a flow, one after the other
  unsigned window = 1;                    // transfers of a flow under way
  std::uint64_t largest = 256;            // bytes of a transfer
  std::uint64_t largest_recovered = 256;  // the same in cases with absent pages or losses
  bool any_alignment = false;             // sizes and offsets that are no whole cells
  bool reads = false;
  bool cold = false;           // absent pages: faults
  bool stalls = false;         // faults that stall, beside those that terminate
  bool nic_mmu = false;        // NICs with an MMU of their own
  bool benchmarks = false;     // the benchmark of one pair: messages, all preparations
  bool preparations = false;   // pinned, locked and populated buffers
  bool huge_pages = false;     // a few buffers that are large enough for them
  bool several_qfdbs = false;  // rings and tori
  bool topologies = false;     // the other ones, and paths that are chosen by load
  bool failures = false;       // of links and routers, with and without ways round
  bool rates = false;          // of links, clocks and memory
  bool latencies = false;      // of everything, down to 0
  bool ties = false;           // some take multiples of 10 ns for everything in hardware, so that much comes at once
  bool buffers = false;        // small queues and few credits
  bool translation = false;    // small TLBs, few walks
  bool software = false;       // few cores, slow or fast code
  bool losses = false;         // lost requests, timeouts, full FIFOs, used-up retries
  bool all_nic_mmu = false;    // such NICs alone
  bool all_ties = false;       // such times alone
  bool counters = false;       // demands that counters are equal, too, not times only
};

// All of it: what CI demands.
Domain full_domain();
// The full domain without the parts that are named after a minus, and with the others that are named after "none":
// "-cold -losses", "none flows reads"; "small": transfers of a few cells. Throws std::invalid_argument.
Domain named_domain(const std::string& names);

// Parameters in the order in which they are set, and the flows; without flows the parameters say what runs.
struct Case {
  Settings settings;
  std::vector<workloads::Flow> flows;
  std::uint64_t seed = 1;

  Settings all_settings() const;
  workloads::Configuration configuration() const { return test::configuration(all_settings()); }
};

// An experiment file: `faultline run FILE` simulates the case in trains and cell by cell.
std::string experiment_file(const Case& c);
// The case in such a file.
Case read_experiment_file(std::istream& in);
void showValue(const Case& c, std::ostream& out);  // for rapidcheck

rc::Gen<Case> any_case(const Domain& domain);

}  // namespace faultline::test
