// SPDX-License-Identifier: Apache-2.0
// What there is to say of the NIC with an MMU of its own before there is one: parameters, limits, what it shows.
#pragma once

#include "models/drivers/elan/nic.hpp"
#include "models/drivers/library/nic_kind_of.hpp"

namespace faultline::elan {

class NicKind final : public library::NicKindOf<NicKind, NicConfig> {
 public:
  std::string_view name() const override { return "elan"; }
  std::string_view meaning() const override {
    return "after Quadrics' Elan: an MMU in the NIC, whose table the driver fills; blocks are parked or refused (NAK) "
           "until it has";
  }
  const sim::TransferLife& life() const override;
  bool uses_smmu() const override { return false; }
  bool translates(const rdma::Translation& translation) const override;
  bool answers(const rdma::AbsentPage& answer, rdma::End end) const override;

  std::vector<sim::Conflict> conflicts(const Surroundings& around) const override;
  std::unique_ptr<rdma::Nic> make(const Surroundings& around, const sim::Context& context) const override;

  rdma::NicLimit most_endpoints(const Surroundings& around) const override;
  rdma::NicLimit most_posted() const override;

  std::span<const sim::CounterMetric> metrics() const override;
  std::vector<const sim::BusyPart*> busy_parts() const override;
  const char* faults_recorded() const override;
  std::span<const char* const> faults_handled() const override;
  std::optional<sim::RunFailure> lost_for_good(const CounterValue& total) const override;
  std::vector<std::string> keys_of_delay() const override;
  std::vector<std::string> keys_of_failure() const override;
};

}  // namespace faultline::elan
