// SPDX-License-Identifier: Apache-2.0
// One initiator and one target: the kinds write, read and message, and the memory of their buffers.
#include <fmt/format.h>

#include "models/sim/units.hpp"
#include "workloads/cold_pages.hpp"
#include "workloads/configuration_checks.hpp"
#include "workloads/kinds.hpp"
#include "workloads/transfers/transfers.hpp"

namespace faultline::workloads {
namespace {

constexpr const char* kNoSwap = "there is no swap device to put pages on";
constexpr const char* kGiveSwap = "set os.swap_bytes, which gives each node one";

std::uint64_t lanes_of(const TransferConfig& w) {
  return w.window * lane_bytes(w.source_offset, w.destination_offset, w.size);
}

bool needs_anonymous(Mechanism mechanism) {
  switch (mechanism) {
    case Mechanism::collapse:
    case Mechanism::thp_split:
    case Mechanism::ksm:
    case Mechanism::zero_page:
    case Mechanism::longterm_pin:
    case Mechanism::cma_alloc: return true;
    default: return false;
  }
}

void check_huge_advice(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  if (configuration.inject.mechanism == Mechanism::thp_split && configuration.machine.os.thp == os::ThpMode::never) {
    add({"inject.mechanism", "os.thp"}, "there are no huge pages to split", "set os.thp to always or madvise");
  }
  if (w.advise_late && !w.madvise_hugepage) {
    add({"workload.advise_late", "workload.madvise_hugepage"}, "there is no advice that could come late",
        "set workload.madvise_hugepage, too");
  }
}

// Memory that a mechanism could not happen to.
void check_injected_memory(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  const bool anonymous = w.memory.backing == rdma::Backing::anonymous;
  if (configuration.inject.mechanism == Mechanism::reclaim && configuration.machine.os.swap_bytes == 0 &&
      w.memory.backing != rdma::Backing::shared_file) {
    add({"inject.mechanism", "os.swap_bytes"}, kNoSwap, kGiveSwap);
  }
  const bool in_cma = configuration.inject.mechanism == Mechanism::longterm_pin ||
                      configuration.inject.mechanism == Mechanism::cma_alloc;
  if (in_cma && configuration.machine.os.cma_bytes == 0) {
    add({"inject.mechanism", "os.cma_bytes"}, "there is no CMA area for the buffer to lie in",
        "set os.cma_bytes to more than the buffer");
  }
  if (!anonymous && needs_anonymous(configuration.inject.mechanism)) {
    add({"inject.mechanism", "workload.memory"}, "this happens to anonymous memory only",
        "set workload.memory to anonymous, or inject something else");
  }
}

// What happens to a buffer that is laid out for it before it is prepared.
bool lays_out(Mechanism mechanism) {
  return mechanism == Mechanism::thp_split || mechanism == Mechanism::longterm_pin ||
         mechanism == Mechanism::cma_alloc || mechanism == Mechanism::zero_page;
}

// Absent pages, and other reasons for pages to be absent. Those that are absent once, or at the other end, or that the
// strategy keeps present hide nothing.
void check_hidden_causes(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  const InjectionConfig& inject = configuration.inject;
  const bool cold_there = inject.at_source ? w.cold_source() : w.cold_destination();
  if (inject.mechanism == Mechanism::none || !cold_there || !cools(configuration.strategy)) return;
  if (lays_out(inject.mechanism)) {
    return add({"inject.mechanism", "workload.cold"},
               "pages that are made absent lose the place or the kind that this mechanism needs",
               "set workload.cold to none or to the other end, or inject something else");
  }
  if (w.cold_every == 0) return;
  add({"inject.mechanism", "workload.cold", "workload.cold_every"},
      "pages that are made absent again and again at the same end hide what is injected",
      "set workload.cold to none or to the other end, or workload.cold_every to 0 (absent once), or inject nothing");
}

void check_buffers(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  check_transfers_in_queue({w.window, w.size}, {"workload.window", "workload.clean_window"}, configuration, add,
                           w.clean_window);
  if (w.clean_window > 0 && configuration.strategy.most_posted(w.size) > 1) {
    add({"workload.clean_window", "strategy.pipeline"},
        "the words by which clean transfers are completed are those of parts that the program has not looked at yet",
        "set workload.clean_window to 0, or strategy.pipeline to none");
  }
  check_asked({w.window, w.size}, {"strategy.registration", "workload.window"}, configuration, add);
  check_leases(1, w.size, configuration, add);
  check_huge_advice(configuration, add);
  check_injected_memory(configuration, add);
  if (w.checks_fail && w.memory.backing == rdma::Backing::shared_file &&
      configuration.strategy.registration->abilities().pins &&
      configuration.machine.os.kernel.has(os::Change::refuses_file_pins)) {
    add({"workload.memory", "strategy.registration", "os.kernel"},
        "Linux since 6.5 refuses long-term pins that write to files",
        "take an earlier os.kernel, other memory, or let such failures be results (workload.checks = count)");
  }
  check_hidden_causes(configuration, add);
  if (w.clean_window > 0 && configuration.strategy.maps_only_registered()) {
    add({"workload.clean_window", "strategy.translate"},
        "the clean transfers' buffers are not prepared, so a private table does not map them",
        "set workload.clean_window to 0, or take strategies whose device walks the process's table");
  }
}

void check_cold_kind(const char* key, ColdKind kind, bool cold, const Configuration& configuration,
                     const AddConflict& add) {
  using rdma::Backing;
  if (kind == ColdKind::never_written || kind == ColdKind::written) return;
  const Backing backing = configuration.workload.memory.backing;
  if (!cold) {
    add({key, "workload.cold"}, "a kind of absent pages of an end that has none",
        "say by workload.cold which end is cold");
  }
  const char* other_memory = "take another kind of absent pages, or other memory";
  if (kind == ColdKind::swapped && backing == Backing::hugetlb) {
    add({key, "workload.memory"}, "the pages of hugetlbfs are never put on the swap device", other_memory);
  } else if (kind == ColdKind::swapped && backing == Backing::shared_file) {
    add({key, "workload.memory"}, "the pages of a shared file go back to the file, not to the swap device",
        "take the kind 'file'");
  } else if (kind == ColdKind::swapped && configuration.machine.os.swap_bytes == 0) {
    add({key, "os.swap_bytes"}, kNoSwap, kGiveSwap);
  }
  if (kind == ColdKind::file && backing != Backing::shared_file) {
    add({key, "workload.memory"}, "memory that is no shared file's, once written, has no file to go back to",
        other_memory);
  }
  if (kind == ColdKind::zero_page && backing != Backing::anonymous) {
    add({key, "workload.memory"}, "only anonymous memory that is read before it is written shows the page of zeros",
        other_memory);
  }
}

}  // namespace

void check_places(const TransferConfig& w, const network::ClusterShape& shape, const AddConflict& add) {
  if (!network::conflicts(shape).empty()) return;  // no network, no nodes
  const unsigned nodes = network::node_count(shape);
  for (const auto& [key, node] : {std::pair("workload.initiator", w.initiator), {"workload.target", w.target}}) {
    if (node < nodes) continue;
    add(keys_of_place(key, shape), fmt::format("there are nodes 0 to {}", nodes - 1), "name one of these");
  }
  if (w.initiator == w.target) {
    add({"workload.target", "workload.initiator"}, "a node does not send to itself over the network", "take two nodes");
  }
}

void check_transfers(const Configuration& configuration, const AddConflict& add) {
  check_places(configuration.workload, configuration.machine.shape, add);
  check_buffers(configuration, add);
}

void check_messages(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  check_places(w, configuration.machine.shape, add);
  if (w.size > sizeof(rdma::Message)) {
    add({"workload.size", "workload.kind"},
        fmt::format("a message holds at most {} B, not {}", sizeof(rdma::Message), sim::format_bytes(w.size)),
        fmt::format("take a workload.size of {} B or less, or the kind 'write'", sizeof(rdma::Message)));
  }
}

std::vector<Need> needs_of_transfers(const Configuration& configuration) {
  const TransferConfig& w = configuration.workload;
  const std::uint64_t bytes = lanes_of(w) + w.clean_window * sim::page_end(w.clean_size);
  const std::uint64_t held = w.window * configuration.strategy.most_held(lanes_of(w) / w.window);
  return {{.node = w.initiator, .bytes = bytes, .held = held}, {.node = w.target, .bytes = bytes, .held = held}};
}

std::vector<Need> needs_of_messages(const Configuration& configuration) {
  return {{configuration.workload.initiator, 0}, {configuration.workload.target, 0}};
}

Ignored ignored_by_transfers() {
  return ignored_peers() + ignored_notices() + ignored_flows() + ignored_places() + ignored_programs();
}

Ignored ignored_by_messages() {
  const char* no_buffers = "messages have no buffers";
  return Ignored{{"workload.window", "messages are measured one at a time"},
                 {"workload.source_offset", no_buffers},
                 {"workload.destination_offset", no_buffers},
                 {"workload.cold", "messages have no buffers that could be cold"}} +
         ignored_arrivals() +
         Ignored{{"workload.madvise_hugepage", no_buffers},
                 {"workload.advise_late", kIsNotAdvised},
                 {"workload.clean_window", "messages have no neighbours"}} +
         ignored_clean_transfers() + ignored_peers() + ignored_notices() + ignored_flows() + ignored_places() +
         ignored_programs();
}

void check_cold_kinds(const Configuration& configuration, const AddConflict& add) {
  const TransferConfig& w = configuration.workload;
  if (!kind_of(w).puts_pages_away) {
    for (const auto& [key, kind] : {std::pair("workload.cold_source_kind", w.cold_source_kind),
                                    {"workload.cold_destination_kind", w.cold_destination_kind}}) {
      if (kind != ColdKind::never_written && kind != ColdKind::written) {
        add({key, "workload.kind"}, "only the buffers of the kinds 'write' and 'read' are put away", at_default(key));
      }
    }
    return;
  }
  check_cold_kind("workload.cold_source_kind", w.cold_source_kind, w.cold_source(), configuration, add);
  check_cold_kind("workload.cold_destination_kind", w.cold_destination_kind, w.cold_destination(), configuration, add);
  const ColdKind source = kind_of_written(w.cold_source_kind, w.memory.backing, configuration.machine.os.swap_bytes);
  const bool put_away = (w.cold_source() && source != ColdKind::never_written) ||
                        (w.cold_destination() && w.cold_destination_kind != ColdKind::never_written);
  if (put_away && configuration.strategy.translate->vetoes) {
    add({"strategy.translate", "workload.cold_source_kind", "workload.cold_destination_kind"},
        "the NIC's driver refuses the kernel to put pages away that its table has",
        "let absent pages be never written (workload.cold_source_kind and .cold_destination_kind), or take "
        "strategy.translate = pushed");
  }
  if (put_away && configuration.strategy.unpin.time == rdma::UnpinTime::batched) {
    add({"strategy.unpin", "workload.cold_source_kind", "workload.cold_destination_kind"},
        "the kernel cannot put pages away whose pins wait to be let go of",
        "let absent pages be never written (workload.cold_source_kind and .cold_destination_kind), or take "
        "strategy.unpin = now");
  }
  if (w.is_open() && put_away) {
    add({"workload.arrivals", "workload.cold_source_kind", "workload.cold_destination_kind"},
        "the kernel takes its time to put pages away, in which transfers arrive", "let absent pages be never written");
  }
}

void check_settings_of_senders(const TransferConfig& w, const AddConflict& add) {
  const auto blame = [&](const FieldConflict* found, const char* other) {
    if (found != nullptr) add({std::string("workload.") + found->field, other}, found->reason, found->instead);
  };
  if (kind_of(w).arrives) blame(conflict_of(static_cast<const ArrivalConfig&>(w)), "workload.arrivals");
  blame(conflict_of(static_cast<const ColdConfig&>(w)), "workload.cold");
}

void check_huge_pages(const TransferConfig& w, const platform::Machine& machine, const AddConflict& add) {
  const std::uint64_t pool = machine.os.nr_hugepages * os::kHugePage;
  if (pool > 0 && pool >= user_memory(machine)) {
    add({"os.nr_hugepages", "os.user_memory", "ddr.size", "os.kernel_reserved"},
        fmt::format("a pool of {} {} a node's {} of user memory", sim::format_bytes(pool),
                    pool > user_memory(machine) ? "does not fit in" : "leaves no page table and no program any of",
                    sim::format_bytes(user_memory(machine))),
        "take a smaller os.nr_hugepages, or give nodes more memory");
  }
  if (w.memory.backing != rdma::Backing::hugetlb) return;
  if (pool == 0) {
    add({"workload.memory", "os.nr_hugepages"}, "the pool of huge pages is empty", "fill it by os.nr_hugepages");
  }
  if (w.madvise_hugepage) {
    add({"workload.memory", "workload.madvise_hugepage"}, "MADV_HUGEPAGE is refused for hugetlb memory (EINVAL)",
        at_default("workload.madvise_hugepage"));
  }
}

}  // namespace faultline::workloads
