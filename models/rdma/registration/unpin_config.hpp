// SPDX-License-Identifier: Apache-2.0
// When and by whom pins are let go that no transfer needs any more (unpinner.hpp).
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"

namespace faultline::rdma {

enum class UnpinTime : std::uint8_t {
  now,      // by the thread that needs the pin no more, in a call of its own
  batched,  // by that thread, when so many have come together: in one call (batched deregistration)
  helper,   // by a thread of the library that does nothing else, all that are there in one call
};

struct UnpinConfig {
  UnpinTime time = UnpinTime::now;
  unsigned batch = 16;

  // strategy.unpin and strategy.unpin_batch, in the group that is open.
  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::rdma
