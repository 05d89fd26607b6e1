// SPDX-License-Identifier: Apache-2.0
#include "workloads/collective/collective_config.hpp"

namespace faultline::workloads {

void CollectiveConfig::declare(sim::ParameterTable& table) {
  const auto group = table.group("collective");
  table.add_choice("call", call,
                   {{"barrier", Call::barrier},
                    {"broadcast", Call::broadcast},
                    {"allreduce", Call::allreduce},
                    {"all-to-all", Call::all_to_all}},
                   {"kind collective: the call that all ranks make. A barrier; workload.size bytes from rank 0 to all; "
                    "sums of words of 8 B over all ranks, to all; or workload.size bytes from each rank to each",
                    "",
                    {}});
}

}  // namespace faultline::workloads
