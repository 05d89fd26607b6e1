// SPDX-License-Identifier: Apache-2.0
// Counts what this program takes from the host's allocator. Models allocate by operator new only.
#pragma once

#include <cstdint>

namespace faultline::test {

// Calls of operator new, in all its forms, since the program began.
std::uint64_t allocations();

}  // namespace faultline::test
