// SPDX-License-Identifier: Apache-2.0
// The PLDMA engine of one node: the data path, and the firmware on the R5 that schedules its blocks.
#pragma once

#include "models/nic/exanest/config.hpp"
#include "models/nic/exanest/firmware.hpp"
#include "models/nic/path/path.hpp"

namespace faultline::exanest {

class Engine final : public nic::Path {
 public:
  // `config` outlives the engine.
  Engine(sc_core::sc_module_name name, const EngineConfig& config, const sim::Context& context)
      : Path(name, config, context), firmware_(config, hardware()) {
    connect(firmware_);
  }
  // For how long the R5 has run firmware, up to now.
  sim::Time firmware_busy() const { return firmware_.busy(); }

 private:
  Firmware firmware_;
};

}  // namespace faultline::exanest
