// SPDX-License-Identifier: Apache-2.0
// The kinds of NIC that nodes can have: the one list of them.
#pragma once

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <vector>

#include "models/rdma/nic.hpp"

namespace faultline::platform {

// In the order in which they are shown; the first is the default. A new kind is added here.
std::vector<std::unique_ptr<rdma::NicKind>> nic_kinds();

// All kinds, with their parameters, of which one is chosen.
class NicChoice {
 public:
  NicChoice() : kinds_(nic_kinds()) {}
  // As of plain values: parameters that are declared of a choice stay its own, and get the other's values.
  NicChoice(const NicChoice& other);
  NicChoice& operator=(const NicChoice& other);
  ~NicChoice() = default;

  const rdma::NicKind& operator*() const { return *kinds_[chosen_]; }
  const rdma::NicKind* operator->() const { return kinds_[chosen_].get(); }
  // For its parameters; requires that it is the one of nic_kinds() with this type.
  template <typename Kind>
  const Kind& of() const {
    for (const auto& kind : kinds_) {
      if (const auto* found = dynamic_cast<const Kind*>(kind.get())) return *found;
    }
    throw std::logic_error("no node can have such a NIC");
  }
  template <typename Kind>
  Kind& of() {
    return const_cast<Kind&>(std::as_const(*this).of<Kind>());
  }
  // Throws std::invalid_argument when no kind is called so.
  NicChoice& operator=(std::string_view name);
  // nic.kind and the parameters of all kinds.
  void declare(sim::ParameterTable& table);

 private:
  std::vector<std::unique_ptr<rdma::NicKind>> kinds_;
  std::size_t chosen_ = 0;
};

}  // namespace faultline::platform
