// SPDX-License-Identifier: Apache-2.0
#include "models/platform/endpoints.hpp"

#include <fmt/format.h>

namespace faultline::platform {

using rdma::End;

std::unique_ptr<rdma::Endpoint> open_endpoint(Node& node, const rdma::Strategy& strategy,
                                              const rdma::ProgramMemory& memory, const std::string& name, End end) {
  auto endpoint = node.nic->open(strategy, memory, name, end);
  ++node.endpoints;
  return endpoint;
}

NicLimit most_endpoints(const Machine& machine) { return machine.nic->most_endpoints(machine.around_nic()); }

namespace {

// The values that the NIC can do.
template <typename Items, typename Can>
std::string possible(const Items& items, Can can) {
  std::vector<std::string_view> names;
  for (const auto& item : items) {
    if (can(item)) names.push_back(item.name);
  }
  return fmt::format("{}", fmt::join(names, " or "));
}

}  // namespace

std::vector<sim::Conflict> conflicts(const Machine& machine, const rdma::Strategy& strategy) {
  const rdma::NicKind& nic = *machine.nic;
  std::vector<sim::Conflict> found;
  const auto add = [&](const std::string& key, std::string_view value, const std::string& can) {
    found.push_back({{key, "nic.kind"},
                     fmt::format("a NIC of the kind {} knows no {} = {}", nic.name(), key, value),
                     fmt::format("set {} to {}, or take another NIC", key, can)});
  };
  if (!nic.translates(*strategy.translate)) {
    add("strategy.translate", strategy.translate->name,
        possible(rdma::translations(), [&](const rdma::Translation& t) { return nic.translates(t); }));
  }
  for (const End end : {End::source, End::destination}) {
    const rdma::AbsentPage& answer = strategy.on_fault(end);
    if (nic.answers(answer, end)) continue;
    add(end == End::source ? "strategy.on_source_fault" : "strategy.on_destination_fault", answer.name,
        possible(rdma::absent_pages(), [&](const rdma::AbsentPage& a) { return nic.answers(a, end); }));
  }
  return found;
}

}  // namespace faultline::platform
