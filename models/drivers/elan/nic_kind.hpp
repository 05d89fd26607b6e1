// SPDX-License-Identifier: Apache-2.0
// What there is to say of the NIC with an MMU of its own before there is one: parameters, limits, what it shows.
#pragma once

#include "models/drivers/elan/nic.hpp"

namespace faultline::elan {

class NicKind final : public rdma::NicKind {
 public:
  std::unique_ptr<rdma::NicKind> clone() const override { return std::make_unique<NicKind>(*this); }
  void assign(const rdma::NicKind& other) override { *this = dynamic_cast<const NicKind&>(other); }

  std::string_view name() const override { return "elan"; }
  std::string_view meaning() const override {
    return "after Quadrics' Elan: an MMU in the NIC, whose table the driver fills; blocks are parked or refused (NAK) "
           "until it has";
  }
  const sim::TransferLife& life() const override;
  bool uses_smmu() const override { return false; }
  bool translates(const rdma::Translation& translation) const override;
  bool answers(const rdma::AbsentPage& answer, rdma::End end) const override;

  void declare(sim::ParameterTable& table) override;
  std::vector<sim::Conflict> conflicts(const Surroundings& around) const override;
  std::unique_ptr<rdma::Nic> make(const Surroundings& around, const sim::Context& context) const override;
  unsigned receive_buffer() const override { return config.engine.receive_buffer; }

  rdma::NicLimit most_endpoints(const Surroundings& around) const override;
  rdma::NicLimit most_posted() const override;
  std::uint64_t bytes_of_notices(rdma::NoticeKind kind, unsigned words) const override;
  bool is_placed_in_order(std::uint64_t source_offset, std::uint64_t destination_offset,
                          std::uint64_t bytes) const override;
  unsigned most_waiting_messages() const override { return library::Library::kMailboxSlots; }

  std::span<const sim::CounterMetric> metrics() const override;
  std::vector<Signal> signals() const override;
  unsigned interrupt_line() const override { return config.engine.interrupt_line; }
  const char* faults_recorded() const override;
  std::span<const char* const> faults_handled() const override;
  std::optional<sim::RunFailure> lost_for_good(const CounterValue& total) const override;
  std::vector<std::string> keys_of_delay() const override;
  std::vector<std::string> keys_of_failure() const override;

  NicConfig config;
};

}  // namespace faultline::elan
