// SPDX-License-Identifier: Apache-2.0
// What a walk of page tables works on in one go: the entries of a table while it holds that table's lock, or fewer.
// After each such piece the kernel gives way to other threads (cond_resched), within one it does not.
#pragma once

#include <cstdint>

#include "models/os/vm/address_space.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::os {

class TableWalk {
 public:
  // A piece ends at each multiple of `bytes` (not zero; the entries of one table span kHugePage), and when it has
  // `most` entries.
  explicit TableWalk(std::uint64_t bytes, std::int64_t most = kPagesPerHuge) : bytes_(bytes), most_(most) {}
  // A walk that gives way nowhere.
  static TableWalk in_one_go() {
    TableWalk walk(UINT64_MAX, INT64_MAX);
    walk.gives_way_ = false;
    return walk;
  }

  // The walk's next entry. Addresses ascend.
  void add(VirtualAddress va) {
    const std::uint64_t place = va / bytes_;
    if (pieces_.empty() || place != place_ || pieces_.back() == most_) pieces_.push_back(0);
    place_ = place;
    ++pieces_.back();
  }
  bool gives_way() const { return gives_way_; }
  // How many entries each piece has.
  const sim::Vector<std::int64_t>& pieces() const { return pieces_; }

 private:
  std::uint64_t bytes_;
  std::int64_t most_;
  bool gives_way_ = true;
  std::uint64_t place_ = 0;
  sim::Vector<std::int64_t> pieces_;
};

}  // namespace faultline::os
