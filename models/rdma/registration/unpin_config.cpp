// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/unpin_config.hpp"

namespace faultline::rdma {

void UnpinConfig::declare(sim::ParameterTable& table) {
  table.add_choice("unpin", time,
                   {{"now", UnpinTime::now}, {"batched", UnpinTime::batched}, {"helper", UnpinTime::helper}},
                   {"when a registration lets go of pins that no transfer needs any more (now: at once, in a call of "
                    "its own; batched: so many in one call; helper: a thread of the library does it)",
                    "",
                    {}});
  table.add_count("unpin_batch", batch, sim::kAnyEntries,
                  {"with strategy.unpin = batched: pins that one call lets go of; until then they stay",
                   "assumed: Zhou et al. (ISCA 2002) name batched deregistration, and no number that could be found",
                   sim::Standing::assumed,
                   {"2", "1024"}});
}

}  // namespace faultline::rdma
