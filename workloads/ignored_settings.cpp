// SPDX-License-Identifier: Apache-2.0
#include "workloads/ignored_settings.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>

#include "workloads/kinds.hpp"

namespace faultline::workloads {

Ignored ignored_arrivals(const char* reason, const char* instead) {
  return {{"workload.arrivals", reason, instead},
          {"workload.think_time", reason, instead},
          {"workload.interval", reason, instead},
          {"workload.burst", reason, instead}};
}

Ignored ignored_advice() {
  return {{"workload.madvise_hugepage", kIsNotAdvised}, {"workload.advise_late", kIsNotAdvised}};
}

Ignored ignored_clean_transfers() {
  const char* reason = "there are no clean transfers";
  return {{"workload.clean_kind", reason}, {"workload.clean_size", reason}};
}

Ignored ignored_peers() {
  return {{"workload.peers", "only the kinds 'all-to-all' and 'ping-pong' have a choice of peers"}};
}

Ignored ignored_notices() {
  return {{"workload.notify", "only the ranks of the kind 'ping-pong' wait for others' writes"}};
}

Ignored ignored_flows() { return {{"workload.flows", "only the kind 'flows' has any", "set workload.kind to flows"}}; }

Ignored ignored_places() {
  const char* reason = "only kinds whose programs have ranks place them";
  return {{"workload.nodes", reason}, {"workload.ranks", reason}};
}

Ignored ignored_programs() {
  const char* reason = "only the kind 'kernel-cost' runs a program";
  return {{"workload.program", reason}, {"workload.processes", reason}, {"workload.written_pages", reason}};
}

namespace {

// The parameters of a group of settings, declared with their defaults, which the table remembers.
template <typename Group>
struct Shown {
  explicit Shown(const Group& settings) {
    group.declare(table);
    group = settings;
  }
  Group group;
  sim::ParameterTable table;
};

template <typename Group>
void check_group(const Group& group, std::string_view kind, const Configuration& configuration,
                 const AddConflict& add) {
  if (kind_of(configuration.workload).name == kind) return;
  const Shown<Group> shown(group);
  for (const sim::Parameter& parameter : shown.table.all()) {
    if (parameter.get() == parameter.initial) continue;
    add({parameter.name, "workload.kind"}, fmt::format("only the kind '{}' looks at it", kind),
        fmt::format("{}, or set workload.kind to {}", at_default(parameter.name), kind));
  }
}

}  // namespace

void check_groups_of_kinds(const Configuration& configuration, const AddConflict& add) {
  check_group(configuration.reuse, "reuse", configuration, add);
  check_group(configuration.collective, "collective", configuration, add);
}

void check_ignored(const TransferConfig& w, const Ignored& ignored, const AddConflict& add) {
  const Shown<TransferConfig> shown(w);
  for (const IgnoredSetting& each : ignored) {
    const std::string_view key = each.key;
    // In an open loop these two belong to workload.arrivals, which is refused by itself.
    if (w.is_open() && (key == "workload.interval" || key == "workload.burst")) continue;
    const sim::Parameter* parameter = shown.table.find(key);
    if (parameter == nullptr) throw std::logic_error("a kind ignores what is no parameter: " + std::string(key));
    if (parameter->get() == parameter->initial) continue;
    add({each.key, "workload.kind"}, each.reason, each.instead == nullptr ? at_default(each.key) : each.instead);
  }
}

}  // namespace faultline::workloads
