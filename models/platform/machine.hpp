// SPDX-License-Identifier: Apache-2.0
// The parameters of a whole machine: what `configs/platforms/*.toml` describes.
#pragma once

#include <vector>

#include "models/cpu/config.hpp"
#include "models/dma/config.hpp"
#include "models/interconnect/axi_port.hpp"
#include "models/interconnect/failures.hpp"
#include "models/interconnect/router.hpp"
#include "models/interconnect/topology.hpp"
#include "models/memory/ddr.hpp"
#include "models/os/kernel_config.hpp"
#include "models/os/os_config.hpp"
#include "models/rdma/library.hpp"
#include "models/sim/parameters.hpp"
#include "models/smmu/config.hpp"

namespace faultline::platform {

struct Machine {
  interconnect::ClusterShape shape;
  interconnect::RouterConfig router;
  interconnect::FailureConfig failures;
  interconnect::AxiPortConfig axi;
  memory::DdrConfig ddr;
  cpu::CpuConfig cpu;
  smmu::SmmuConfig smmu;
  dma::DmaConfig dma;
  os::OsConfig os;
  os::KernelConfig kernel;
  rdma::LibraryConfig library;
  unsigned cells_per_train = 16;

  void declare(sim::ParameterTable& table);
};

std::vector<sim::Conflict> conflicts(const Machine& machine);

}  // namespace faultline::platform
