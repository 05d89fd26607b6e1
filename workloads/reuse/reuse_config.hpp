// SPDX-License-Identifier: Apache-2.0
// Which buffers the transfers of the kind `reuse` use.
#pragma once

#include <cstdint>
#include <vector>

#include "models/sim/parameters.hpp"

namespace faultline::workloads {

enum class Draw : std::uint8_t {
  ring,    // one after the other
  random,  // each as likely
  zipf,    // the n-th with a probability in proportion to 1/n
};

struct ReuseConfig {
  unsigned buffers = 16;
  Draw draw = Draw::ring;
  double again = 1;
  bool target_touches = false;
  std::uint64_t smallest = 0;
  sim::Time period{0};

  void declare(sim::ParameterTable& table);
  // What a buffer may have where the largest one has so many bytes, the largest first; each is as likely.
  std::vector<std::uint64_t> sizes(std::uint64_t largest) const;
};

}  // namespace faultline::workloads
