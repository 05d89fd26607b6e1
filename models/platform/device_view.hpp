// SPDX-License-Identifier: Apache-2.0
// What a node's SMMU, or the MMU of its NIC, holds of one process and of one of its pages, looked at from outside: no
// time passes, and no counter counts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "models/platform/node.hpp"

namespace faultline::platform {

// The registers of the context bank by which a device reaches a process.
struct BankView {
  std::uint64_t table = 0;  // the translation table's address
  unsigned va_bits = 0;     // 0: the bank does not translate
  std::uint32_t fsr = 0;
  std::uint64_t far = 0;
  std::uint32_t fsynr0 = 0;
  bool operator==(const BankView&) const = default;
};

// Of one page.
struct TlbView {
  std::optional<rdma::Nic::MmuEntry> micro;
  std::optional<rdma::Nic::MmuEntry> macro;
  bool operator==(const TlbView&) const = default;
};

struct WalkView {
  std::uint64_t descriptor = 0;  // the last one that a walk reads: a page's or a block's, or the first not valid
  unsigned level = 0;            // of the table that it stands in
  bool operator==(const WalkView&) const = default;
};

// Nothing where no bank is of this process.
std::optional<BankView> bank_view(Node& node, std::uint32_t process);
// Does not change while the node's smmu.tlb_changes() and the process's bank stay the same.
TlbView tlb_view(Node& node, std::uint32_t process, std::uint64_t va);
WalkView walk_view(Node& node, const BankView& bank, std::uint64_t va);
// "0x40000002: translation fault"
std::string fsr_text(std::uint32_t fsr);

}  // namespace faultline::platform
