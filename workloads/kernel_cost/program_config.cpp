// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernel_cost/program_config.hpp"

namespace faultline::workloads {

void ProgramConfig::declare(sim::ParameterTable& table) {
  table.add_choice(
      "program", kind,
      {{"lat_ctx", ProgramKind::lat_ctx},
       {"lat_proc-fork", ProgramKind::lat_proc_fork},
       {"lat_proc-exec", ProgramKind::lat_proc_exec},
       {"lat_pagefault", ProgramKind::lat_pagefault},
       {"lat_mmap", ProgramKind::lat_mmap},
       {"bw_mem-bcopy", ProgramKind::bw_mem_bcopy},
       {"bw_mem-bzero", ProgramKind::bw_mem_bzero},
       {"lat_pipe", ProgramKind::lat_pipe},
       {"lat_unix", ProgramKind::lat_unix},
       {"lat_sig-catch", ProgramKind::lat_sig_catch},
       {"anonymous-fault", ProgramKind::anonymous_fault},
       {"mprotect", ProgramKind::mprotect}},
      {"program of the kind 'kernel-cost', after lmbench's of that name; workload.size is its array, file, buffer or "
       "memory. lmbench has none for the last two: a first write to each page of a range, and one call that takes the "
       "right to write to it",
       "",
       {}});
  table.add_count("processes", processes, {2u, 64u}, {"lat_ctx: processes in the ring", "", {}});
  table.add_count("written_pages", written_pages, {0u, 4096u},
                  {"lat_proc-fork and -exec: pages of their memory that parent and child write after the fork, and "
                   "pages that a new program writes",
                   "assumed: stack and data of a program that does nothing else",
                   sim::Standing::assumed,
                   {"2", "32"}});
}

}  // namespace faultline::workloads
