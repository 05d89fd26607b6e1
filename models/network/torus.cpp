// SPDX-License-Identifier: Apache-2.0
#include "models/network/torus.hpp"

namespace faultline::network {

void Torus::candidates(RouterId entry, NodeId destination, std::uint64_t, std::vector<Candidate>& found) const {
  if (entry == destination) {
    found.assign(1, {kFixedPath, kLocalPort, 0});
  } else {
    grid_.candidates(entry, destination, 1, 0, found);
  }
}

}  // namespace faultline::network
