// SPDX-License-Identifier: Apache-2.0
// Which program measures the kernel (the kind `kernel-cost`), and what it is told.
#pragma once

#include <cstdint>

#include "models/sim/parameters.hpp"

namespace faultline::workloads {

enum class ProgramKind : std::uint8_t {
  lat_ctx,
  lat_proc_fork,
  lat_proc_exec,
  lat_pagefault,
  lat_mmap,
  bw_mem_bcopy,
  bw_mem_bzero,
  lat_pipe,
  lat_unix,
  lat_sig_catch,
  // lmbench has no such tests.
  anonymous_fault,
  mprotect,
};

struct ProgramConfig {
  ProgramKind kind = ProgramKind::lat_ctx;
  unsigned processes = 2;
  unsigned written_pages = 8;

  void declare(sim::ParameterTable& table);  // in the group that is open
};

}  // namespace faultline::workloads
