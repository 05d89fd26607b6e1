// SPDX-License-Identifier: Apache-2.0
// The metrics of what was measured of each transfer: of all, or of one sender's. Units and descriptions are those of
// metric_docs(), which a metric gets later.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "models/sim/time.hpp"
#include "workloads/experiment_point.hpp"
#include "workloads/program.hpp"

namespace faultline::workloads {

inline double microseconds(sim::Time t) { return static_cast<double>(t.count()) / 1e6; }

void add_metric(std::vector<Metric>& metrics, std::string_view name, double value);
// Latencies of completed transfers, their goodput if they move anything, and how many were not completed.
// `paused`: drawn pauses between them.
void add_transfers(std::vector<Metric>& metrics, const std::vector<Sample>& samples, sim::Time paused,
                   std::uint64_t failed);
// Of buffers that are cold now and then; and of transfers that arrive.
void add_uses(std::vector<Metric>& metrics, const std::vector<Sample>& samples, bool some_cold, bool open);

}  // namespace faultline::workloads
