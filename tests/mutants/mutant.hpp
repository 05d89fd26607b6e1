// SPDX-License-Identifier: Apache-2.0
// Included before every source of a tree that scripts/mutants has rewritten: which of its mutants is in force.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <type_traits>

namespace faultline_mutants {

inline constexpr int kMost = 65536;
inline constinit unsigned char nowhere[kMost] = {};
inline constinit unsigned char* reached = nowhere;
inline constinit int chosen = -1;

// FAULTLINE_MUTANT: the number of the one in force. FAULTLINE_MUTANTS_REACHED: a file of kMost bytes, one for each
// mutant, shared with this process, so that what a process reached is known however it ends.
__attribute__((constructor(101))) inline void set_up() {
  if (const char* number = std::getenv("FAULTLINE_MUTANT")) chosen = std::atoi(number);
  const char* file = std::getenv("FAULTLINE_MUTANTS_REACHED");
  if (file == nullptr) return;
  const int descriptor = ::open(file, O_RDWR | O_CLOEXEC);
  if (descriptor < 0) std::abort();
  void* bytes = ::mmap(nullptr, kMost, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (bytes == MAP_FAILED) std::abort();
  ::close(descriptor);
  reached = static_cast<unsigned char*>(bytes);
}

inline bool in_force(int number) {
  reached[number] = 1;
  return chosen == number;
}

}  // namespace faultline_mutants

// Constants stay what they are.
constexpr bool faultline_mutant(int number) {
  return !std::is_constant_evaluated() && faultline_mutants::in_force(number);
}
