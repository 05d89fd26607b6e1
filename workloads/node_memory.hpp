// SPDX-License-Identifier: Apache-2.0
// What timelines and time series say of a node's memory.
#pragma once

#include <cstdint>

#include "models/platform/cluster.hpp"

namespace faultline::workloads {

// In frames that nobody has.
inline std::uint64_t free_bytes(const platform::Node& node) { return node.vm.frames().free_pages() * sim::kPageBytes; }
inline std::uint64_t pinned_bytes(const platform::Node& node) { return node.vm.pinned_bytes(); }

}  // namespace faultline::workloads
