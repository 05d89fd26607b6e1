// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/private_table.hpp"

namespace faultline::os {

Error PrivateTable::map(VirtualAddress va, Address frame, bool write, sim::Vector<VirtualAddress>& upgraded) {
  const auto mapped = table_->walk(va);
  if (!mapped) {
    const Error error = table_->map(va, frame, PageSize::small, write);
    if (error != Error::none) return error;
  } else if (mapped->frame != frame) {
    return Error::again;
  } else if (write && !mapped->writable) {
    table_->protect(va, true);
    upgraded.push_back(va);
  }
  ++users_[va];
  return Error::none;
}

Error PrivateTable::map_unpinned(VirtualAddress va, Address frame, bool write) {
  sim::Vector<VirtualAddress> upgraded;  // none: nobody has mapped the page before
  const Error error = map(va, frame, write, upgraded);
  if (error == Error::none) unpinned_.insert(frame);
  return error;
}

PrivateTable::Unmapped PrivateTable::unmap(VirtualAddress begin, std::size_t pages) {
  Unmapped unmapped;
  for (std::size_t i = 0; i < pages; ++i) {
    const auto users = users_.find(begin + i * kPage);
    if (--users->second > 0) continue;
    unmapped.leaves.push_back(users->first);
    table_->unmap(users->first);
    users_.erase(users);
  }
  unmapped.tables = table_->take_retired();
  return unmapped;
}

void PrivateTable::explain(VirtualAddress va, bool write, FaultReason& reason) const {
  const auto mapped = table_->walk(va);
  const bool usable = mapped && (mapped->writable || !write);
  reason.cause = !mapped ? FaultCause::private_table : usable ? FaultCause::raced : FaultCause::permission;
}

}  // namespace faultline::os
