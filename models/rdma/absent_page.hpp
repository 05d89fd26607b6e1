// SPDX-License-Identifier: Apache-2.0
// What becomes of an access of the NIC that finds its page absent. Each process has one answer for its ends of
// transfers at the source, and one at the destination.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

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

  std::string_view follows(End end) const { return end == End::source ? at_source : at_destination; }
};

// In the order in which they are shown; the first is the default.
std::span<const AbsentPage> absent_pages();

// One of them.
class AbsentPageChoice {
 public:
  AbsentPageChoice() = default;
  // Throws std::invalid_argument when no answer is called so.
  explicit AbsentPageChoice(std::string_view name) { *this = name; }
  AbsentPageChoice& operator=(std::string_view name);

  const AbsentPage& operator*() const { return absent_pages()[chosen_]; }
  const AbsentPage* operator->() const { return &**this; }
  // strategy.on_source_fault or strategy.on_destination_fault, in the group that is open.
  void declare(sim::ParameterTable& table, End end);

 private:
  std::size_t chosen_ = 0;
};

}  // namespace faultline::rdma
