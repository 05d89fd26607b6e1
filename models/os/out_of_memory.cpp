// SPDX-License-Identifier: Apache-2.0
#include "models/os/out_of_memory.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/sim/units.hpp"

namespace faultline::os {

sim::RunFailure out_of_memory(const Vm& vm, std::string what, std::vector<std::string> keys) {
  std::erase(keys, "os.nr_hugepages");
  if (const std::uint64_t pool = vm.huge_pool().total_pages() * kPagesPerHuge; pool > 0) {
    what += fmt::format("; the pool of huge pages (os.nr_hugepages) has taken {} of {}",
                        sim::format_bytes(pool * kPage), sim::format_bytes(vm.frames().total_pages() * kPage));
    keys.insert(2 * pool >= vm.frames().total_pages() ? keys.begin() : keys.end(), "os.nr_hugepages");
  }
  return {what, std::move(keys)};
}

}  // namespace faultline::os
