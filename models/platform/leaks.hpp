// SPDX-License-Identifier: Apache-2.0
// Whose memory a node's NIC has met through translations that were no longer true. The DDR controller counts such cells
// (memory.stale_accesses); the kernel's records of frames say whose each frame is by then. No part of the modelled
// machine knows this: it is the simulator's truth, and takes no simulated time.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/os/vm/vm.hpp"
#include "models/sim/statistics.hpp"
#include "models/soc/ddr.hpp"

namespace faultline::platform {

class Leaks {
 public:
  // A process that the NIC did not work for when it came to frames that this process maps.
  struct Victim {
    std::uint16_t process;  // its id
    std::string name;
    std::uint64_t read_bytes = 0;     // of its memory, sent as if they were those of the NIC's process
    std::uint64_t written_bytes = 0;  // of its memory, overwritten
  };

  // Counters, in bytes: memory.leaked_read_bytes and memory.leaked_written_bytes, of frames that other processes map
  // and the NIC's own process does not; memory.astray_bytes, of all other frames: free, the kernel's (page cache, swap
  // cache, page tables), kept by a pin alone, or of another page of the NIC's own process. Together they are the bytes
  // of all stale accesses.
  Leaks(sim::Statistics& statistics, const os::Vm& vm);

  // At the instant at which the cell arrives.
  void count(const soc::StaleCell& cell);
  // In the order in which the NIC met them. A frame that several processes share counts for each of them.
  const std::vector<Victim>& victims() const { return victims_; }

 private:
  Victim& victim(const os::Process& process);

  const os::Vm& vm_;
  std::vector<Victim> victims_;
  sim::Counter& read_;
  sim::Counter& written_;
  sim::Counter& astray_;
};

}  // namespace faultline::platform
