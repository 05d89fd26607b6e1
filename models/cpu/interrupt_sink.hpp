// SPDX-License-Identifier: Apache-2.0
// The wires from devices to the interrupt controller. A device has an sc_core::sc_port<InterruptSink>
// (one number of wires, told by its platform) that is bound to InterruptController::lines.
#pragma once

#include <systemc>

namespace faultline::cpu {

class InterruptSink : public sc_core::sc_interface {
 public:
  // Drives a level-triggered line at the present instant. Setting the level it has changes nothing.
  virtual void set_level(unsigned line, bool high) = 0;
};

}  // namespace faultline::cpu
