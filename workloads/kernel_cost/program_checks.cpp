// SPDX-License-Identifier: Apache-2.0
// Programs that measure a kernel: the kind kernel-cost.
#include <fmt/format.h>

#include "models/sim/units.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/kernel_cost/kernel_costs.hpp"

namespace faultline::workloads {

void check_program(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  const network::ClusterShape& shape = configuration.machine.shape;
  if (network::conflicts(shape).empty() && w.initiator >= network::node_count(shape)) {
    add(keys_of_place("workload.initiator", shape),
        fmt::format("there are nodes 0 to {}", network::node_count(shape) - 1), "name one of these");
  }
  const ProgramConfig& p = w.program;
  if (p.kind != ProgramKind::lat_ctx && p.processes != ProgramConfig{}.processes) {
    add({"workload.processes", "workload.program"}, "only lat_ctx has a ring of processes",
        at_default("workload.processes"));
  }
  const bool forks = p.kind == ProgramKind::lat_proc_fork || p.kind == ProgramKind::lat_proc_exec;
  if (!forks && p.written_pages != ProgramConfig{}.written_pages) {
    add({"workload.written_pages", "workload.program"}, "only lat_proc-fork and lat_proc-exec have a child",
        at_default("workload.written_pages"));
  }
  if (forks && p.written_pages * os::kPage > w.size) {
    add({"workload.written_pages", "workload.size"},
        fmt::format("{} pages are more than the program's {}", p.written_pages, sim::format_bytes(w.size)),
        "let fewer pages be written, or take a larger workload.size");
  }
  const bool by_pages = p.kind != ProgramKind::lat_ctx && p.kind != ProgramKind::lat_pipe &&
                        p.kind != ProgramKind::lat_unix && p.kind != ProgramKind::lat_sig_catch;
  if (by_pages && w.size % os::kPage != 0) {
    add({"workload.size", "workload.program"},
        fmt::format("{} is no whole number of 4 KiB pages, which this program counts in", sim::format_bytes(w.size)),
        "take a multiple of 4 KiB");
  }
}

std::vector<Need> needs_of_program(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const unsigned arrays = w.program.kind == ProgramKind::lat_ctx ? w.program.processes : 2;
  return {{.node = w.initiator, .bytes = sim::page_end(w.size) * arrays, .opens_nic = false}};
}

Ignored ignored_by_program() {
  return Ignored{{"workload.window", "a program does one thing at a time"},
                 {"workload.target", "a program is on one node, the initiator"},
                 {"workload.source_offset", "a program has no source"},
                 {"workload.destination_offset", "a program has no destination"},
                 {"workload.cold", "a program's pages are as it uses them"}} +
         ignored_arrivals() + ignored_notices() +
         Ignored{{"workload.advise_late", kIsNotAdvised},
                 {"workload.memory", "a program says itself what it maps"},
                 {"workload.memory_limit", "a program is in no memory cgroup"},
                 {"workload.oom_protected", "a program is not protected from the OOM killer"},
                 {"workload.clean_window", "a program has no transfers beside it"}} +
         ignored_clean_transfers() +
         Ignored{{"workload.peers", "a program has no peers"},
                 {"workload.start_spread", "a program is alone, and begins at once"}} +
         ignored_flows() + ignored_places();
}

}  // namespace faultline::workloads
