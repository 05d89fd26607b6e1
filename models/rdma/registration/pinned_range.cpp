// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/registration/pinned_range.hpp"

namespace faultline::rdma {

using os::Error;

sim::Task<os::Result<os::PinId>> pin(cpu::Execution& thread, const Registration::Owner& owner, Buffer buffer,
                                     os::PinCharge charge) {
  os::Result<os::PinId> pinned =
      co_await owner.vm.pin_user_pages(thread, owner.process, buffer.address, buffer.length, /*write=*/true, charge);
  if (!pinned.ok() || owner.device_table == nullptr) co_return pinned;
  pinned.error = co_await owner.vm.map_pinned(thread, *owner.device_table, pinned.value);
  if (!pinned.ok()) co_await owner.vm.unpin(thread, pinned.value);
  co_return pinned;
}

sim::Task<Error> unpin(cpu::Execution& thread, const Registration::Owner& owner, os::PinId pinned, os::Caller caller) {
  return unpin(thread, owner, sim::Vector<os::PinId>{pinned}, caller);
}

sim::Task<Error> unpin(cpu::Execution& thread, const Registration::Owner& owner, sim::Vector<os::PinId> pinned,
                       os::Caller caller) {
  Error unmapped = Error::none;
  if (owner.device_table != nullptr) {
    unmapped = co_await owner.vm.unmap_pinned(thread, *owner.device_table, pinned);
  }
  const Error unpinned = co_await owner.vm.unpin(thread, std::move(pinned), caller);
  co_return unmapped != Error::none ? unmapped : unpinned;
}

}  // namespace faultline::rdma
