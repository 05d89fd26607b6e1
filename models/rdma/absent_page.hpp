// SPDX-License-Identifier: Apache-2.0
// What becomes of an access of the NIC that finds its page absent. Each process has one answer for its ends of
// transfers at the source, and one at the destination.
#pragma once

#include <span>
#include <string_view>

#include "models/rdma/list_choice.hpp"
#include "models/sim/parameters.hpp"

namespace faultline::rdma {

// Of a transfer's data.
enum class End { source, destination };

// An answer; the process's endpoint sets up SMMU and NIC for it. An answer of the NIC itself (to refuse the data, to
// keep them elsewhere) is one more line of the list, with an ability that tells the endpoint what to set up.
struct AbsentPage {
  std::string_view name;            // as strategy.on_source_fault and strategy.on_destination_fault have it
  std::string_view access;          // what the access meets: a clause
  std::string_view at_source;       // goes on with the clause: what follows there
  std::string_view at_destination;  // the same
  std::string_view adds;            // to the machine, beside time
  bool stalls = false;              // the SMMU holds the access until software resumes it: the NIC sees no error
  bool parks = false;               // the NIC lays the operation aside until software restarts it
  bool naks = false;                // the NIC refuses the data, and their source comes again after a back-off

  std::string_view follows(End end) const { return end == End::source ? at_source : at_destination; }
};

// In the order in which they are shown; the first is the default.
std::span<const AbsentPage> absent_pages();

inline constexpr char kAbsentPage[] = "answer to an absent page";
class AbsentPageChoice : public ListChoice<AbsentPage, &absent_pages, kAbsentPage> {
 public:
  using ListChoice::ListChoice;
  using ListChoice::operator=;
  // strategy.on_source_fault or strategy.on_destination_fault, in the group that is open.
  void declare(sim::ParameterTable& table, End end);
};

}  // namespace faultline::rdma
