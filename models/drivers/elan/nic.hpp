// SPDX-License-Identifier: Apache-2.0
// The NIC with an MMU of its own, of one node, and its driver.
#pragma once

#include <optional>

#include "models/drivers/elan/endpoint.hpp"
#include "models/drivers/library/channels.hpp"
#include "models/nic/elan/engine.hpp"
#include "models/rdma/nic.hpp"

namespace faultline::elan {

struct NicConfig {
  ElanConfig engine;
  DriverConfig driver;
  LibraryConfig library;
};

class Nic final : public rdma::Nic {
 public:
  // Where the cores see its registers: at the start of the programmable logic's window on M_AXI_HPM0_FPD (UG1085).
  static constexpr std::uint64_t kBase = 0xa000'0000;

  Nic(const NicConfig& config, const sim::Context& context);

  void wire(const Wiring& wiring) override;
  void start(const Kernel& kernel) override;
  void stop() override { software_.reset(); }
  std::unique_ptr<rdma::Endpoint> open(const rdma::Strategy& strategy, const rdma::ProgramMemory& memory,
                                       const std::string& name, rdma::End end) override;
  void audit() const override { software_->traps.audit(); }
  void settle() override { engine_.settle(); }
  Depths depths() const override;
  std::vector<Busy> busy() const override;
  std::optional<MmuEntry> mmu_entry(std::uint32_t process, std::uint64_t va) const override;

 private:
  // Once there is a kernel.
  struct Software {
    Software(const NicConfig& config, const sim::Context& context, const Kernel& kernel);
    const Kernel kernel;
    NicTable table;
    library::EventService events;
    TrapService traps;
  };
  static std::uint64_t privileged_page(const NicConfig& config);

  const NicConfig config_;
  const sim::Context& context_;
  Engine engine_;
  library::Channels channels_;
  std::optional<Software> software_;
};

}  // namespace faultline::elan
