// SPDX-License-Identifier: Apache-2.0
// AArch64 stage 1 translation-table descriptors, 4 KiB granule (Arm DDI 0487, "VMSAv8-64").
#pragma once

#include <cstdint>

namespace faultline::smmu {

namespace descriptor {
inline constexpr std::uint64_t kValid = 1u << 0;
inline constexpr std::uint64_t kTableOrPage = 1u << 1;  // levels 0-2: a table (else a block); level 3: a page
inline constexpr std::uint64_t kUser = 1u << 6;         // AP[1]: unprivileged accesses allowed
inline constexpr std::uint64_t kReadOnly = 1u << 7;     // AP[2]
inline constexpr std::uint64_t kAccessed = 1u << 10;    // AF
inline constexpr std::uint64_t kNotGlobal = 1u << 11;   // nG: not looked at, every entry is tagged with its ASID
inline constexpr std::uint64_t kAddressMask = 0x0000'ffff'ffff'f000;
}  // namespace descriptor

// Bits of the input address below the index of this level (0 to 3): 39, 30, 21, 12.
constexpr unsigned level_shift(unsigned level) { return 39 - 9 * level; }
constexpr std::uint64_t level_bytes(unsigned level) { return std::uint64_t{1} << level_shift(level); }
constexpr std::uint64_t level_index(std::uint64_t va, unsigned level) { return va >> level_shift(level) & 0x1ff; }

// The level at which a walk of `va_bits` (25 to 48) starts: 0 for 40-48 bits, 1 for 31-39, 2 below.
constexpr unsigned start_level(unsigned va_bits) { return 4 - (va_bits - 12 + 8) / 9; }

}  // namespace faultline::smmu
