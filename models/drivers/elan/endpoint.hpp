// SPDX-License-Identifier: Apache-2.0
// A process that has opened the NIC with an MMU of its own: its channel, its library, its entries in the NIC's table.
#pragma once

#include <memory>
#include <string>

#include "models/drivers/elan/trap_service.hpp"
#include "models/drivers/library/endpoint.hpp"

namespace faultline::elan {

class Endpoint final : public library::Endpoint {
 public:
  struct Software {
    const DriverConfig& config;
    NicTable& table;
    TrapService& traps;
  };

  // Throws sim::RunFailure when the node has no memory or channel left. Takes no simulated time.
  Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, const Device& device,
           const Software& software, const std::string& name, unsigned channel);

  sim::Task<void> open() override;
  sim::Task<void> close(cpu::Execution& kernel) override;

 private:
  TrapService& traps_;
  std::unique_ptr<PushedTable> pushed_;
};

}  // namespace faultline::elan
