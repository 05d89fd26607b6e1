// SPDX-License-Identifier: Apache-2.0
// Decodes register accesses of the cores to the devices. Functional only: what an access costs is
// charged by the core that makes it.
#pragma once

#include <tlm_utils/multi_passthrough_target_socket.h>
#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <deque>
#include <string>
#include <systemc>
#include <vector>

#include "models/sim/context.hpp"

namespace faultline::soc {

class MmioBus : public sc_core::sc_module {
 public:
  using Device = tlm_utils::simple_initiator_socket<MmioBus>;

  MmioBus(sc_core::sc_module_name name, const sim::Context& context);

  // From any number of cores; b_transport without waits. An access that lies in no range entirely
  // returns TLM_ADDRESS_ERROR_RESPONSE and is counted in mmio.decode_errors.
  tlm_utils::multi_passthrough_target_socket<MmioBus> cpu;

  // Adds the device at [base, base + size) and returns the socket to bind to it; the device sees
  // addresses relative to base. Before elaboration only. Throws std::logic_error when the range is
  // empty, passes the end of the address space or overlaps another.
  Device& map(std::uint64_t base, std::uint64_t size, const std::string& device_name);

 private:
  struct Range {
    std::uint64_t first;
    std::uint64_t last;  // inclusive, so that a range may end at the end of the address space
    std::string name;
    Device* device;
  };

  void b_transport(int core, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay);
  const Range* find(std::uint64_t address, std::uint64_t length) const;

  std::vector<Range> ranges_;  // by address
  std::deque<Device> devices_;
  sim::Counter& decode_errors_;
};

}  // namespace faultline::soc
