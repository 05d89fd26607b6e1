// SPDX-License-Identifier: Apache-2.0
// The parameters of a whole machine: what `configs/platforms/*.toml` describes.
#pragma once

#include <vector>

#include "models/cpu/config.hpp"
#include "models/drivers/mmu500/config.hpp"
#include "models/network/failures.hpp"
#include "models/network/router.hpp"
#include "models/network/topology.hpp"
#include "models/os/os_config.hpp"
#include "models/platform/nics.hpp"
#include "models/sim/parameters.hpp"
#include "models/smmu/config.hpp"
#include "models/soc/axi_port.hpp"
#include "models/soc/ddr.hpp"

namespace faultline::platform {

struct Machine {
  network::ClusterShape shape;
  network::RouterConfig router;
  network::FailureConfig failures;
  soc::AxiPortConfig axi;
  soc::DdrConfig ddr;
  cpu::CpuConfig cpu;
  smmu::SmmuConfig smmu;
  NicChoice nic;
  os::OsConfig os;
  mmu500::DriverConfig smmu_driver;
  unsigned cells_per_train = 16;

  void declare(sim::ParameterTable& table);
  // What the NIC must know of the rest.
  rdma::NicKind::Surroundings around_nic() const { return {axi, router, smmu.context_banks, smmu.interrupt_line}; }
};

std::vector<sim::Conflict> conflicts(const Machine& machine);

}  // namespace faultline::platform
