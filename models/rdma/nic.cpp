// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/nic.hpp"

#include <fmt/format.h>

namespace faultline::rdma {

std::string NicLimit::named() const { return fmt::format("{}", fmt::join(keys, " and ")); }

std::vector<std::string> NicLimit::keys_behind(std::vector<std::string> others) const {
  others.insert(others.end(), keys.begin(), keys.end());
  return others;
}

}  // namespace faultline::rdma
