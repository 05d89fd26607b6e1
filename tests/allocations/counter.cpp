// SPDX-License-Identifier: Apache-2.0
#include "tests/allocations/counter.hpp"

#include <cstdlib>
#include <new>

namespace {

std::uint64_t count = 0;

}  // namespace

std::uint64_t faultline::test::allocations() { return count; }

// The library defines the forms for arrays, and those that do not throw, in terms of these. The address sanitizer has
// operators of its own, which must see both ends of each allocation.
#ifndef __SANITIZE_ADDRESS__

void* operator new(std::size_t bytes) {
  ++count;
  if (void* block = std::malloc(bytes == 0 ? 1 : bytes)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block) noexcept { std::free(block); }
void operator delete(void* block, std::size_t) noexcept { std::free(block); }

void* operator new(std::size_t bytes, std::align_val_t alignment) {
  ++count;
  const auto multiple = static_cast<std::size_t>(alignment);
  if (void* block = std::aligned_alloc(multiple, (bytes + multiple - 1) / multiple * multiple)) return block;
  throw std::bad_alloc();
}
void operator delete(void* block, std::align_val_t) noexcept { std::free(block); }
void operator delete(void* block, std::size_t, std::align_val_t) noexcept { std::free(block); }

#endif
