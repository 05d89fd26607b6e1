// SPDX-License-Identifier: Apache-2.0
// ExaNeSt's NIC of one node: the engine behind the system's SMMU, and the kernel's half of its faults and notices.
#pragma once

#include <optional>

#include "models/drivers/exanest/endpoint.hpp"
#include "models/drivers/exanest/fault_service.hpp"
#include "models/drivers/library/channels.hpp"
#include "models/nic/exanest/engine.hpp"
#include "models/rdma/nic.hpp"

namespace faultline::exanest {

struct NicConfig {
  EngineConfig engine;
  DriverConfig driver;
  LibraryConfig library;
};

class Nic final : public rdma::Nic {
 public:
  // Where the cores see the engine: at the start of the programmable logic's window on M_AXI_HPM0_FPD (UG1085).
  static constexpr std::uint64_t kBase = 0xa000'0000;

  Nic(const NicConfig& config, const sim::Context& context);

  void wire(const Wiring& wiring) override;
  void start(const Kernel& kernel) override;
  void stop() override { software_.reset(); }
  std::unique_ptr<rdma::Endpoint> open(const rdma::Strategy& strategy, const rdma::ProgramMemory& memory,
                                       const std::string& name, rdma::End end) override;
  void audit() const override { software_->faults.audit(); }
  void settle() override { engine_.settle(); }
  Depths depths() const override;
  std::vector<Busy> busy() const override;

  FaultService& faults() { return software_->faults; }

 private:
  // Once there is a kernel.
  struct Software {
    Software(const NicConfig& config, const sim::Context& context, const Kernel& kernel);
    const Kernel kernel;
    FaultLog log;
    FaultService faults;
    library::EventService events;
  };

  const NicConfig config_;
  const sim::Context& context_;
  Engine engine_;
  library::Channels channels_;
  std::optional<Software> software_;
};

}  // namespace faultline::exanest
