// SPDX-License-Identifier: Apache-2.0
// What the kernel's socket path costs, and how much of it may be under way.
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"

namespace faultline::messages {

using namespace std::chrono_literals;

struct SocketConfig {
  std::uint64_t segment = 16384;
  unsigned window = 8;
  unsigned acknowledge_every = 2;
  sim::Time call = 800ns;
  sim::Time transmit = 3us;
  sim::Time receive = 4us;
  sim::Time acknowledge = 1500ns;
  sim::Time timeout = 200ms;

  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::messages
