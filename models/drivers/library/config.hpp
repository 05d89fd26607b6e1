// SPDX-License-Identifier: Apache-2.0
// Costs and settings of a user library, and of the kernel's part in waiting for notices. Each NIC's software declares
// them as parameters of its own, with its own sources.
#pragma once

#include "models/nic/path/registers.hpp"
#include "models/sim/time.hpp"

namespace faultline::library {

namespace reg = nic::reg;
using namespace std::chrono_literals;

struct LibraryConfig {
  sim::Time post = 930ns;        // user code around the descriptor's register accesses
  sim::Time completion = 350ns;  // user code between the poll's hit and the return
  sim::Time message_send = 160ns;
  sim::Time message_receive = 150ns;
  sim::Time scan_word = 5ns;     // of a scan of many words: one that has not changed
  sim::Time signal = 2500ns;     // kernel: to a handler of the program, and back from it
  unsigned event_entries = 256;  // places of a process's event queue
};

struct EventConfig {
  sim::Time event_call = 700ns;
  sim::Time event_handler = 400ns;
};

}  // namespace faultline::library
