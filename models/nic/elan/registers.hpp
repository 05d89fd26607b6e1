// SPDX-License-Identifier: Apache-2.0
// What this NIC adds to the registers of the data path, on the privileged page: its table, and parked blocks. Traps are
// the path's fault records (kFaultCount, kFaultWord0 to 3). The layout is ours: none is published.
#pragma once

#include "models/nic/path/registers.hpp"

namespace faultline::elan::reg {

using namespace nic::reg;

// An address with the process that it belongs to: the PDID in the bits that no address has.
inline constexpr unsigned kPdidShift = 56;
constexpr std::uint64_t address_of(std::uint32_t pdid, std::uint64_t va) {
  return std::uint64_t{pdid} << kPdidShift | va;
}
// An address that a user posts may have such bits. No page has them.
constexpr bool is_address(std::uint64_t va) { return va >> kPdidShift == 0; }
constexpr std::uint32_t pdid_of(std::uint64_t word) { return static_cast<std::uint32_t>(word >> kPdidShift); }
constexpr std::uint64_t va_of(std::uint64_t word) { return word & ((std::uint64_t{1} << kPdidShift) - 1); }

// An entry: kEntryAddress first; kEntryFrame, the physical address with kEntryWritable and kEntryBlock (2 MiB, else 4
// KiB), puts it into the table, in place of one that is there.
inline constexpr std::uint64_t kEntryAddress = kOwn + 0x00;  // W  address_of()
inline constexpr std::uint64_t kEntryFrame = kOwn + 0x08;    // W
inline constexpr std::uint64_t kEntryWritable = 1;
inline constexpr std::uint64_t kEntryBlock = 2;
// W  address_of(): the entry that translates it goes.
inline constexpr std::uint64_t kInvalidate = kOwn + 0x10;
// W  PDID: all entries of the process go, and its traps need no answer.
inline constexpr std::uint64_t kInvalidateProcess = kOwn + 0x18;
// W  any value: begins to wait for what was translated before.  R  0: it is over.
inline constexpr std::uint64_t kDrain = kOwn + 0x20;
// W  address_of(): the answer to the page's trap, at source or target. Blocks that are parked for the page are sent
//    again (kRestart), or their transfers end (kGiveUp). Until then the page makes no further trap.
inline constexpr std::uint64_t kRestart = kOwn + 0x28;
inline constexpr std::uint64_t kGiveUp = kOwn + 0x30;
// W  not of the hardware: the epoch of the process's table when the driver read it for the next kEntryFrame. It lets
//    stale accesses be found; nothing depends on it.
inline constexpr std::uint64_t kEntryEpoch = kOwn + 0x38;

}  // namespace faultline::elan::reg
