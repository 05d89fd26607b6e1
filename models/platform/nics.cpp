// SPDX-License-Identifier: Apache-2.0
#include "models/platform/nics.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

#include "models/drivers/elan/nic_kind.hpp"
#include "models/drivers/exanest/nic_kind.hpp"

namespace faultline::platform {

std::vector<std::unique_ptr<rdma::NicKind>> nic_kinds() {
  std::vector<std::unique_ptr<rdma::NicKind>> all;
  all.push_back(std::make_unique<exanest::NicKind>());
  all.push_back(std::make_unique<elan::NicKind>());
  return all;
}

NicChoice::NicChoice(const NicChoice& other) : chosen_(other.chosen_) {
  for (const auto& kind : other.kinds_) kinds_.push_back(kind->clone());
}

NicChoice& NicChoice::operator=(const NicChoice& other) {
  for (std::size_t i = 0; i < kinds_.size(); ++i) kinds_[i]->assign(*other.kinds_[i]);
  chosen_ = other.chosen_;
  return *this;
}

NicChoice& NicChoice::operator=(std::string_view name) {
  const auto found = std::ranges::find(kinds_, name, [](const auto& kind) { return kind->name(); });
  if (found == kinds_.end()) throw std::invalid_argument("no NIC is called " + std::string(name));
  chosen_ = static_cast<std::size_t>(found - kinds_.begin());
  return *this;
}

void NicChoice::declare(sim::ParameterTable& table) {
  {
    const auto group = table.group("nic");
    std::vector<std::string> names;
    std::string meanings;
    for (const auto& kind : kinds_) {
      names.emplace_back(kind->name());
      meanings += (meanings.empty() ? "" : "; ") + names.back() + ": " + std::string(kind->meaning());
    }
    table.add_choice("kind", chosen_, names, {"the NIC that each node has (" + meanings + ")", "", {}});
  }
  for (const auto& kind : kinds_) kind->declare(table);
}

}  // namespace faultline::platform
