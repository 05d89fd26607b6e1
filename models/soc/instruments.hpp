// SPDX-License-Identifier: Apache-2.0
// What the bus and the memory show: parts between the devices and memory that may be busy.
#pragma once

#include "models/sim/instruments.hpp"

namespace faultline::soc {

// The data buses of the AXI port between a device and the SMMU.
inline constexpr sim::BusyPart kAxiReadsBusy{
    .metric = "utilisation_axi_reads",
    .description =
        "share of the measured time for which the AXI port's bus of read data was busy: that of the busiest node at "
        "which transfers begin or end",
    .called = "the AXI port's read bus"};
inline constexpr sim::BusyPart kAxiWritesBusy{
    .metric = "utilisation_axi_writes",
    .description =
        "share of the measured time for which the AXI port's bus of write data was busy: that of the busiest node at "
        "which transfers begin or end",
    .called = "the AXI port's write bus"};
inline constexpr sim::BusyPart kDdrBusy{
    .metric = "utilisation_ddr",
    .description =
        "share of the measured time for which the DDR controller moved data: that of the busiest node at which "
        "transfers begin or end",
    .called = "the DDR controller"};

}  // namespace faultline::soc
