// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/strategy.hpp"

#include <fmt/format.h>

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

namespace {

PolicyChoice table_of(Translate translate) {
  const std::string key = "strategy.translate";
  switch (translate) {
    case Translate::shared: return {key, "shared", "the device walks the process's own page table", ""};
    case Translate::private_:
      return {key, "private", "the device walks a table of its own, filled with what is registered",
              "a table of 4 KiB descriptors for what is registered"};
    case Translate::mirrored: break;
  }
  return {key, "mirrored", "the device walks a table that follows the process's own",
          "a second table, and an MMU notifier at each change of the first"};
}

PolicyChoice end_of_fault(End end, OnFault what) {
  const bool source = end == End::source;
  const std::string key = source ? "strategy.on_source_fault" : "strategy.on_destination_fault";
  if (what == OnFault::stall) {
    return {key, "stall", "the access waits in the SMMU until software resumes it",
            "accesses behind it that wait, too; a place of the SMMU's for each"};
  }
  return {key, "terminate",
          source ? "the access gets an error, and the block is read again"
                 : "the access gets an error, and the block is sent again when its page is there",
          source ? "" : "payload that crosses the network twice"};
}

PolicyChoice resolution(const Strategy& s) {
  const std::string key = "strategy.resolve";
  switch (s.resolve) {
    case Resolve::touch_a_page: return {key, "touch-a-page", "the fault thread touches the page", ""};
    case Resolve::touch_ahead:
      return {key, "touch-ahead",
              fmt::format("the fault thread has get_user_pages bring {} pages from the fault on", s.touch_ahead_pages),
              "pages that no access has asked for"};
    case Resolve::fixup_user_fault: break;
  }
  return {key, "fixup-user-fault",
          fmt::format("the fault thread takes {} page faults in the kernel from the access on", s.touch_ahead_pages),
          "pages that no access has asked for"};
}

}  // namespace

std::vector<PolicyChoice> made_of(const Strategy& s) {
  const RegistrationPolicy& registration = *s.registration;
  return {{"strategy.registration", std::string(registration.name()), std::string(registration.meaning()),
           std::string(registration.adds())},
          table_of(s.translate),
          end_of_fault(End::source, s.on_source_fault),
          end_of_fault(End::destination, s.on_destination_fault),
          resolution(s)};
}

std::vector<sim::Conflict> conflicts(const Strategy& s) {
  std::vector<sim::Conflict> found;
  if (s.maps_only_registered() && !s.registration->abilities().fills_private_table()) {
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
