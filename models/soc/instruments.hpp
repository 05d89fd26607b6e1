// SPDX-License-Identifier: Apache-2.0
// Parts between the devices and memory that may be busy.
#pragma once

#include "models/sim/instruments.hpp"

namespace faultline::soc {

// The data buses of the AXI port between a device and the SMMU.
inline constexpr sim::BusyPart kAxiReadsBusy{
    .metric = "utilisation_axi_reads",
    .description = "share of it for which the AXI port's bus of read data was busy: the busiest node's",
    .called = "the AXI port's read bus"};
inline constexpr sim::BusyPart kAxiWritesBusy{
    .metric = "utilisation_axi_writes",
    .description = "share of it for which the AXI port's bus of write data was busy: the busiest node's",
    .called = "the AXI port's write bus"};
inline constexpr sim::BusyPart kDdrBusy{
    .metric = "utilisation_ddr",
    .description = "share of it for which the DDR controller moved data: the busiest node's",
    .called = "the DDR controller"};

}  // namespace faultline::soc
