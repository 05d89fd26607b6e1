// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/absent_page.hpp"

namespace faultline::rdma {

namespace {

constexpr AbsentPage kAbsentPages[] = {
    {.name = "terminate",
     .access = "the access gets an error",
     .at_source = ", and its data are read and sent again when the page is there",
     .at_destination = ", and its data are sent again when the page is there",
     .adds = "payload that crosses the network twice"},
    {.name = "stall",
     .access = "the access waits",
     .at_source = " until it is resumed",
     .at_destination = " until it is resumed",
     .adds = "accesses behind it that wait, too; a place for each access that waits",
     .stalls = true},
    {.name = "park",
     .access = "the access gets an error",
     .at_source = ", and the NIC lays the block aside until the driver restarts it",
     .at_destination = ", which is not done there: the data are another NIC's",
     .adds = "a list of parked blocks in the NIC",
     .parks = true},
    {.name = "nak",
     .access = "the access gets an error",
     .at_source = ", which is not done there: nobody else could be told",
     .at_destination = ", and the NIC refuses the block (NAK): its source sends it again after a back-off",
     .adds = "payload that crosses the network in vain, once for each refusal",
     .naks = true},
};

}  // namespace

std::span<const AbsentPage> absent_pages() { return kAbsentPages; }

void AbsentPageChoice::declare(sim::ParameterTable& table, End end) {
  std::string meanings;
  for (const AbsentPage& answer : kAbsentPages) {
    meanings += meanings.empty() ? "" : "; ";
    meanings += std::string(answer.name) + ": " + std::string(answer.access) + std::string(answer.follows(end));
  }
  const std::string side = end == End::source ? "source" : "destination";
  table.add_choice("on_" + side + "_fault", chosen_, names(),
                   {"what becomes of an access at the " + side + " that faults (" + meanings + ")", "", {}});
}

}  // namespace faultline::rdma
