// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/strategy.hpp"

#include <utility>

namespace faultline::rdma {

void Strategy::declare(sim::ParameterTable& table) {
  const auto group = table.group("strategy");
  registration.declare(table);
  table.add_choice("translate", translate,
                   {{"shared", Translate::shared}, {"private", Translate::private_}, {"mirrored", Translate::mirrored}},
                   {"table the SMMU walks: the process's own, a private one filled once with the frames of prepared "
                    "pages, or a mirror filled by faults and emptied by MMU notifiers",
                    "",
                    {}});
  const auto on_fault = {std::pair<std::string_view, OnFault>{"terminate", OnFault::terminate},
                         std::pair<std::string_view, OnFault>{"stall", OnFault::stall}};
  table.add_choice("on_source_fault", on_source_fault, on_fault,
                   {"SCTLR.CFCFG of the source's context bank: error and local retry, or stall until resumed", "", {}});
  table.add_choice("on_destination_fault", on_destination_fault, on_fault,
                   {"SCTLR.CFCFG of the destination's context bank: error and RAPF, or stall until resumed", "", {}});
  table.add_choice("resolve", resolve,
                   {{"touch-a-page", Resolve::touch_a_page},
                    {"touch-ahead", Resolve::touch_ahead},
                    {"fixup-user-fault", Resolve::fixup_user_fault}},
                   {"how the library's fault thread makes pages present: one access, get_user_pages over several, or a "
                    "page fault in the kernel for each of several (fixup_user_fault), which also sets access flags",
                    "",
                    {}});
  table.add_count(
      "touch_ahead_pages", touch_ahead_pages, {1u, 512u},
      {"pages that touch-ahead and fixup-user-fault make present, from the faulting one on; does not follow "
       "exanest.block_bytes",
       "4 pages are a 16 KiB block (derived)", sim::Standing::derived});
  table.add_count(
      "call_pages", call_pages, {1u, 512u},
      {"pages of touch-ahead or fixup-user-fault in one call at most. A fault is answered when the first call is done; "
       "the others follow, unless further faults have come, which go first. From touch_ahead_pages on: all in one call",
       "assumed: the thesis (Psistakis) names one get_user_pages call a fault; that its library split it is not known",
       sim::Standing::assumed});
}

std::vector<sim::Conflict> conflicts(const Strategy& s) {
  std::vector<sim::Conflict> found;
  if (s.translate == Translate::private_ && !s.registration->abilities().fills_private_table()) {
    found.push_back(
        {{"strategy.translate", "strategy.registration"},
         "a private table is filled with pages that were prepared",
         "set strategy.registration to pin-once or pin-per-transfer, or to mlock if locked pages are believed to "
         "keep their frames"});
  }
  for (sim::Conflict& conflict : s.registration->conflicts(s)) found.push_back(std::move(conflict));
  return found;
}

}  // namespace faultline::rdma
