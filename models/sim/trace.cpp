// SPDX-License-Identifier: Apache-2.0
#include "models/sim/trace.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <tuple>

namespace faultline::sim {

std::size_t TransferLife::position(Step step) const {
  auto found = std::ranges::find_if(steps, [&](const Step& each) { return each.has_same_address(step); });
  if (found == steps.end()) found = std::ranges::find(steps, step);
  if (found == steps.end()) throw std::logic_error(fmt::format("no list of a NIC's steps has '{}'", step->name));
  return static_cast<std::size_t>(found - steps.begin());
}

Step TransferLife::own(Step step) const {
  const auto found = std::ranges::find(steps, step);
  return found == steps.end() ? step : *found;
}

std::string TransferLife::parameters(const Phase& phase) const {
  constexpr std::string_view kNic = "NIC";
  std::string text(phase.parameters);
  for (auto at = text.find(kNic); at != std::string::npos; at = text.find(kNic, at + nic.size())) {
    text.replace(at, kNic.size(), nic);
  }
  return text;
}

bool Track::operator<(const Track& other) const {
  // One kind's ranks and names are equal, which saves their comparison.
  if (kind.has_same_address(other.kind)) return std::tie(node, number) < std::tie(other.node, other.number);
  return std::tie(node, kind->rank, kind->name, number) <
         std::tie(other.node, other.kind->rank, other.kind->name, other.number);
}

}  // namespace faultline::sim
