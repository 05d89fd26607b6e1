// SPDX-License-Identifier: Apache-2.0
// A DDR controller with two initiators.
#pragma once

#include <cstdint>
#include <systemc>

#include "models/soc/ddr.hpp"
#include "tests/support/memory_master.hpp"
#include "tests/support/node.hpp"

namespace faultline::test {

using namespace std::chrono_literals;

inline constexpr std::uint64_t kPage = sim::kPageBytes;
inline constexpr sim::Time kCell = 16ns;
inline constexpr sim::Time kLatency = 100ns;

struct Bench {
  Bench() {
    first.socket.bind(ddr.port);
    second.socket.bind(ddr.port);
    sc_core::sc_start(sc_core::SC_ZERO_TIME);  // elaborates
  }
  // A round rate: 16 ns a cell.
  static soc::DdrConfig small() {
    soc::DdrConfig config;
    config.size = std::uint64_t{1} << 20;
    config.peak_bandwidth = sim::ByteRate{20'000'000'000};
    config.efficiency = 0.8;
    return config;
  }

  Node node;
  soc::DdrConfig config = small();
  soc::DdrController ddr{"ddr", config, node.context};
  MemoryMaster first{"first", node.context};
  MemoryMaster second{"second", node.context};
};

}  // namespace faultline::test
