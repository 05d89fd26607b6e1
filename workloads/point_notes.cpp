// SPDX-License-Identifier: Apache-2.0
#include "workloads/point_notes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "workloads/cold_pages.hpp"
#include "workloads/flow.hpp"

namespace faultline::workloads {
namespace {

void add_injection_notes(const InjectionConfig& config, const Benchmark& transfers, std::vector<std::string>& notes) {
  if (transfers.injection() == nullptr) return;
  notes.emplace_back("what the kernel does to pages was injected (inject.*): how often it happens is not Linux's");
  if (transfers.injection()->in_vain() > 0) {
    notes.emplace_back(config.mechanism == Mechanism::collapse
                           ? "injections had nothing to collapse: the buffer holds no whole 2 MiB range"
                           : "injections had nothing to split: the buffer holds no whole 2 MiB range");
    return;
  }
  if (transfers.injection()->injections() > 0) return;
  notes.emplace_back(
      config.mechanism == Mechanism::lock_on_fault
          ? "lock-on-fault happens to buffers that are mlocked: with another preparation it is nothing"
          : "no injection came to pass before the last transfer had ended: see inject.after and .period");
}

// What the configuration's defaults and names may make a reader believe.
void add_notes_on_meaning(const Configuration& configuration, std::vector<std::string>& notes) {
  const TransferConfig& w = configuration.workload;
  const std::vector<Flow> flows = flows_of(w);
  const bool cold_source =
      w.cold_source() || std::any_of(flows.begin(), flows.end(), std::mem_fn(&ColdConfig::cold_source));
  const bool puts_away = w.kind == Kind::write || w.kind == Kind::read;
  const ColdKind kind = kind_of_written(w.cold_source_kind, w.memory.backing, configuration.machine.os.swap_bytes);
  if (cold_source && !puts_away) {
    notes.emplace_back(
        "the absent pages of the source were never written, so that zeros were sent: flows and patterns put no pages "
        "away on a swap device or a file");
  } else if (cold_source && w.cold_source_kind == ColdKind::written && kind == ColdKind::never_written) {
    notes.emplace_back(
        "the absent pages of the source were never written, so that zeros were sent: those that a program has written "
        "are absent on a swap device only (os.swap_bytes) and cost a read of the disk");
  }
  const bool meets_others = is_pattern(w.kind) || flows.size() > 1 || w.window > 1 ||
                            std::any_of(flows.begin(), flows.end(), [](const Flow& flow) { return flow.window > 1; });
  if (configuration.strategy.prepare == rdma::Prepare::ideal && meets_others) {
    notes.emplace_back(
        "pages that are always there (strategy.prepare = ideal) bound each transfer by itself: where several are under "
        "way, one that waits for its pages leaves link and engine to the others, so that a mean may be below this "
        "one's");
  }
}

}  // namespace

void add_notes(const Configuration& configuration, const Benchmark& transfers, std::vector<std::string>& notes) {
  add_injection_notes(configuration.inject, transfers, notes);
  add_notes_on_meaning(configuration, notes);
  if (configuration.workload.clean_window >= configuration.machine.cpu.cores) {
    notes.push_back(
        fmt::format("{} threads poll on {} cores: who has none waits for its turn (sched.latency, sched.base_slice)",
                    configuration.workload.clean_window + 1, configuration.machine.cpu.cores));
  }
}

}  // namespace faultline::workloads
