// SPDX-License-Identifier: Apache-2.0
// The memory of a program that uses the device.
#pragma once

#include <cstdint>

namespace faultline::rdma {

// What its buffers are made of.
enum class Backing : std::uint8_t {
  anonymous,
  hugetlb,  // of the pool of huge pages
  shmem,    // shared memory: MAP_SHARED | MAP_ANONYMOUS
  shared_file,
  private_file,
};

struct ProgramMemory {
  Backing backing = Backing::anonymous;
  std::uint64_t limit = 0;    // memory.max of a group of its own, in bytes; 0: none
  bool never_killed = false;  // oom_score_adj = -1000
};

}  // namespace faultline::rdma
