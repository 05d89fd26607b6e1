// SPDX-License-Identifier: Apache-2.0
// Settings that a kind of workload does not look at. Such a setting is refused: it would silently have no effect, and
// be shown with the results as if it had one. Each kind has a list of its own, beside its program; entries that several
// kinds have are made here.
#pragma once

#include <vector>

#include "workloads/configuration_checks.hpp"

namespace faultline::workloads {

struct IgnoredSetting {
  const char* key;                // a parameter of the group `workload`
  const char* reason;             // why the kind does not look at it: a clause
  const char* instead = nullptr;  // what to do instead; null: at_default()
};
using Ignored = std::vector<IgnoredSetting>;

inline Ignored operator+(Ignored some, const Ignored& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

inline constexpr const char* kIsNotAdvised = "only the buffers of the kinds 'write' and 'read' are advised";

// When transfers arrive, and how long a program thinks.
Ignored ignored_arrivals(const char* reason = "only transfers between buffers arrive, or wait for a program to think",
                         const char* instead = nullptr);
// MADV_HUGEPAGE, and when it comes.
Ignored ignored_advice();
// What the clean transfers are, for a kind without any.
Ignored ignored_clean_transfers();
// workload.peers, which is of the kinds all-to-all and ping-pong.
Ignored ignored_peers();
// workload.notify, which is of the kind ping-pong.
Ignored ignored_notices();
// workload.flows, which is of the kind flows.
Ignored ignored_flows();
// workload.nodes and .ranks, which are of kinds whose programs have ranks.
Ignored ignored_places();
// Which program runs, and how: of the kind kernel-cost.
Ignored ignored_programs();

// Adds a conflict for each setting of a group that one kind alone looks at, where another one is chosen.
void check_groups_of_kinds(const Configuration& configuration, const AddConflict& add);
// Adds a conflict for each setting that is not at its default. Throws std::logic_error when a key is no parameter.
void check_ignored(const TransferConfig& workload, const Ignored& ignored, const AddConflict& add);

}  // namespace faultline::workloads
