// SPDX-License-Identifier: Apache-2.0
// Which collective call the ranks of the kind `collective` make.
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"

namespace faultline::workloads {

enum class Call : std::uint8_t { barrier, broadcast, allreduce, all_to_all };

struct CollectiveConfig {
  Call call = Call::barrier;

  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::workloads
