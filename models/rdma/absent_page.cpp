// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/absent_page.hpp"

#include <algorithm>
#include <stdexcept>
#include <vector>

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
};

}  // namespace

std::span<const AbsentPage> absent_pages() { return kAbsentPages; }

AbsentPageChoice& AbsentPageChoice::operator=(std::string_view name) {
  const auto* found = std::ranges::find(kAbsentPages, name, &AbsentPage::name);
  if (found == std::end(kAbsentPages)) {
    throw std::invalid_argument("no answer to an absent page is called " + std::string(name));
  }
  chosen_ = static_cast<std::size_t>(found - std::begin(kAbsentPages));
  return *this;
}

void AbsentPageChoice::declare(sim::ParameterTable& table, End end) {
  std::vector<std::string> names;
  std::string meanings;
  for (const AbsentPage& answer : kAbsentPages) {
    names.emplace_back(answer.name);
    meanings += meanings.empty() ? "" : "; ";
    meanings += names.back() + ": " + std::string(answer.access) + std::string(answer.follows(end));
  }
  const std::string side = end == End::source ? "source" : "destination";
  table.add_choice("on_" + side + "_fault", chosen_, names,
                   {"what becomes of an access at the " + side + " that faults (" + meanings + ")", "", {}});
}

}  // namespace faultline::rdma
