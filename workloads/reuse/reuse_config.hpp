// SPDX-License-Identifier: Apache-2.0
// Which buffers the transfers of the kind `reuse` use.
#pragma once

#include <cstdint>

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

  void declare(sim::ParameterTable& table);
};

}  // namespace faultline::workloads
