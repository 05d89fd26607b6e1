// SPDX-License-Identifier: Apache-2.0
// What a kind of workload does not look at: refused where it is set, since it would be silently without effect, and
// shown with the results as if it had one. Each kind lists its own; here is what several kinds do not look at.
#pragma once

#include <vector>

#include "workloads/configuration_checks.hpp"

namespace faultline::workloads {

struct IgnoredSetting {
  const char* key;  // of the group `workload`
  const char* reason;
  const char* instead = nullptr;  // at_default()
};
using Ignored = std::vector<IgnoredSetting>;

inline Ignored operator+(Ignored some, const Ignored& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

// When transfers arrive, and how long a program thinks.
Ignored ignored_arrivals(const char* reason = "only transfers between buffers arrive, or wait for a program to think",
                         const char* instead = nullptr);
// MADV_HUGEPAGE, and when it comes.
Ignored ignored_advice();
// What the clean transfers are, for a kind without any.
Ignored ignored_clean_transfers();
// workload.peers, which is of the kind all-to-all.
Ignored ignored_peers();
// workload.flows, which is of the kind flows.
Ignored ignored_flows();
// Which program runs, and how: of the kind kernel-cost.
Ignored ignored_programs();

// A conflict for each that is set.
void check_ignored(const TransferConfig& workload, const Ignored& ignored, const AddConflict& add);

}  // namespace faultline::workloads
