// SPDX-License-Identifier: Apache-2.0
// What the parts of the MMU-500 say to each other about one translation.
#pragma once

#include <cstdint>

#include "models/smmu/descriptors.hpp"

namespace faultline::smmu {

constexpr bool same_page(std::uint64_t a, std::uint64_t b) { return a >> level_shift(3) == b >> level_shift(3); }

enum class FaultKind : std::uint8_t { none, translation, access_flag, permission, external };

// TLB entries of different owners never match each other.
struct Tag {
  std::uint16_t asid = 0;
  std::uint8_t vmid = 0;
  bool operator==(const Tag&) const = default;
};

// The last step of a good walk.
struct Leaf {
  std::uint64_t output = 0;  // physical address of the page's or block's first byte
  std::uint64_t epoch = 0;   // of the mappings, when the walk read it
  std::uint8_t level = 3;    // 3: 4 KiB, 2: 2 MiB, 1: 1 GiB
  bool user = false;
  bool writable = false;

  bool allows(bool write) const { return user && (writable || !write); }
  std::uint64_t physical(std::uint64_t va) const { return output | (va & (level_bytes(level) - 1)); }
};

// Where and how an access faulted, as the fault record registers tell it.
struct FaultReport {
  FaultKind kind = FaultKind::none;
  unsigned level = 0;
  std::uint64_t va = 0;
  bool write = false;
  std::uint32_t stream = 0;
};

// An access that does not go through, as it is told to an observer: nothing in the SMMU depends on it.
struct FaultNotice {
  FaultKind kind = FaultKind::none;  // none: ended because another access of the bank had faulted
  std::uint16_t asid = 0;
  std::uint64_t table = 0;  // that the bank walks
  std::uint64_t va = 0;
  bool write = false;
  bool again = false;  // the same access, after a RESUME that its fault had been reported for
};
class FaultObserver {
 public:
  virtual void access_faulted(const FaultNotice& notice) = 0;

 protected:
  ~FaultObserver() = default;
};

// One TLB maintenance operation.
struct Invalidation {
  enum class Scope : std::uint8_t { everything, vmid, asid, address, address_any_asid };
  Scope scope = Scope::everything;
  Tag tag;
  std::uint64_t va = 0;
  bool last_level_only = false;  // keeps the walk cache

  bool by_address() const { return scope == Scope::address || scope == Scope::address_any_asid; }
  bool matches(const Tag& owner) const {
    if (scope == Scope::everything) return true;
    if (owner.vmid != tag.vmid) return false;
    return scope == Scope::vmid || scope == Scope::address_any_asid || owner.asid == tag.asid;
  }
  // True for what one entry of this level (page, block or table pointer) translates around `at`.
  bool matches(const Tag& owner, std::uint64_t at, unsigned level) const {
    return matches(owner) && (!by_address() || at >> level_shift(level) == va >> level_shift(level));
  }
};

}  // namespace faultline::smmu
