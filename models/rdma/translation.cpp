// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/translation.hpp"

#include <fmt/format.h>

namespace faultline::rdma {

namespace {

constexpr Translation kTranslations[] = {
    {.name = "shared",
     .meaning = "the process's own",
     .walks = "the device walks the process's own page table",
     .adds = "",
     .of_process = true},
    {.name = "private",
     .meaning = "a private one filled once with the frames of prepared pages",
     .walks = "the device walks a table of its own, filled with what is registered",
     .adds = "a table of 4 KiB descriptors for what is registered",
     .registered = true},
    {.name = "mirrored",
     .meaning = "a mirror filled by faults and emptied by MMU notifiers",
     .walks = "the device walks a table that follows the process's own: its faults fill it",
     .adds = "a second table, and an MMU notifier at each change of the first",
     .follows = true},
    {.name = "pushed",
     .meaning = "one in the NIC into which its driver pushes what the process's own has",
     .walks = "the NIC has a table that follows the process's own: its driver pushes each entry that becomes usable",
     .adds = "entries in the NIC, and a hook at each change of the process's table",
     .follows = true,
     .loaded = true,
     .pushes = true},
    {.name = "on-demand",
     .meaning = "the same, but filled by the NIC's misses alone",
     .walks = "the NIC has a table that follows the process's own: its misses fill it",
     .adds = "entries in the NIC, and a hook at each change of the process's table that takes something away",
     .follows = true,
     .loaded = true},
    {.name = "vetoing",
     .meaning = "as pushed, and its driver refuses to give pages to reclaim and migration",
     .walks =
         "the NIC has a table that follows the process's own: its driver pushes each entry that becomes usable, and "
         "refuses to give pages away that reclaim and migration want",
     .adds =
         "entries in the NIC, a hook at each change of the process's table, and pages that stay as if they were pinned",
     .follows = true,
     .loaded = true,
     .pushes = true,
     .vetoes = true},
};

}  // namespace

std::span<const Translation> translations() { return kTranslations; }

void TranslationChoice::declare(sim::ParameterTable& table) {
  std::string meanings;
  for (const Translation& each : kTranslations) {
    const bool is_last = &each == std::end(kTranslations) - 1;
    meanings += fmt::format("{}{}", meanings.empty() ? "" : is_last ? ", or " : ", ", each.meaning);
  }
  table.add_choice("translate", chosen_, names(), {"table the device walks: " + meanings, "", {}});
}

}  // namespace faultline::rdma
