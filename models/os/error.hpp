// SPDX-License-Identifier: Apache-2.0
// How the kernel says no. Everything that a simulated program or a small memory can cause is one of
// these, never an exception.
#pragma once

#include <cstdint>
#include <string_view>

namespace faultline::os {

enum class Error : std::uint8_t {
  none,
  no_memory,     // ENOMEM: no physical frame left, or no room in the address space
  bad_address,   // EFAULT / SIGSEGV: no VMA there, or one that does not allow the access
  invalid,       // EINVAL: misaligned or empty range, unknown handle
  limit,         // ENOMEM / EAGAIN of mlock and pins: RLIMIT_MEMLOCK would be exceeded
  again,         // EAGAIN: a table or context is taken, try later
  poisoned,      // EHWPOISON / SIGBUS: the memory has failed
  no_huge_page,  // ENOMEM of mmap, SIGBUS of a fault: the pool of huge pages has none to spare
  beyond_end,    // SIGBUS: the mapped file ends before the page
  unsupported,   // EFAULT of long-term pins: they may not write to this file
  killed,        // SIGKILL: the OOM killer has chosen the process
};
std::string_view to_string(Error error);

// A value that is meaningful only when error is none.
template <typename T>
struct Result {
  Error error = Error::none;
  T value{};
  bool ok() const { return error == Error::none; }
};

}  // namespace faultline::os
