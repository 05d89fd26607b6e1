// SPDX-License-Identifier: Apache-2.0
#include "models/soc/mmio_bus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace faultline::soc {

MmioBus::MmioBus(sc_core::sc_module_name module_name, const sim::Context& context)
    : sc_module(module_name),
      cpu("cpu"),
      decode_errors_(
          context.statistics.counter("mmio.decode_errors", "count", "register accesses that no device answers")) {
  cpu.register_b_transport(this, &MmioBus::b_transport);
}

MmioBus::Device& MmioBus::map(std::uint64_t base, std::uint64_t size, const std::string& device_name) {
  if (size == 0 || base + (size - 1) < base) {
    throw std::logic_error(fmt::format("{}: {:#x} bytes from {:#x} on are no address range", device_name, size, base));
  }
  const std::uint64_t last = base + (size - 1);
  const auto next = std::lower_bound(ranges_.begin(), ranges_.end(), base,
                                     [](const Range& range, std::uint64_t address) { return range.last < address; });
  if (next != ranges_.end() && next->first <= last) {
    throw std::logic_error(fmt::format("{} [{:#x}, {:#x}] overlaps {} [{:#x}, {:#x}]", device_name, base, last,
                                       next->name, next->first, next->last));
  }
  // A port belongs to the module that is being constructed: while this line runs, that is the bus.
  sc_core::sc_get_curr_simcontext()->hierarchy_push(this);
  Device& device = devices_.emplace_back(device_name.c_str());
  sc_core::sc_get_curr_simcontext()->hierarchy_pop();
  ranges_.insert(next, {base, last, device_name, &device});
  return device;
}

const MmioBus::Range* MmioBus::find(std::uint64_t address, std::uint64_t length) const {
  const auto range = std::lower_bound(ranges_.begin(), ranges_.end(), address,
                                      [](const Range& r, std::uint64_t a) { return r.last < a; });
  if (range == ranges_.end() || address < range->first || length == 0) return nullptr;
  return length - 1 <= range->last - address ? &*range : nullptr;
}

void MmioBus::b_transport(int, tlm::tlm_generic_payload& payload, sc_core::sc_time& delay) {
  const std::uint64_t address = payload.get_address();
  const Range* range = find(address, payload.get_data_length());
  if (range == nullptr) {
    ++decode_errors_;
    payload.set_response_status(tlm::TLM_ADDRESS_ERROR_RESPONSE);
    return;
  }
  payload.set_address(address - range->first);
  (*range->device)->b_transport(payload, delay);
  payload.set_address(address);
}

}  // namespace faultline::soc
