// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernel_cost/kernel_program.hpp"

#include <fmt/format.h>

#include "models/os/out_of_memory.hpp"
#include "models/sim/units.hpp"
#include "workloads/kernel_cost/kernel_programs.hpp"

namespace faultline::workloads {

using os::Error;
using os::VirtualAddress;
using sim::Task;

KernelProgram::KernelProgram(const ProgramPlace& place)
    : place_(place), process_(new_process("main")), thread_(place.node.cpu.new_thread("main").use(process_.id())) {}

os::Process& KernelProgram::new_process(const std::string& name) const {
  os::Process* process = vm().create_process(name);
  if (process == nullptr) check(Error::no_memory);
  return *process;
}

void KernelProgram::check(Error error) const {
  if (error == Error::none) return;
  throw os::out_of_memory(vm(),
                          fmt::format("node {}: a program with {} of memory was refused: {}", place_.node.id(),
                                      sim::format_bytes(place_.size), os::to_string(error)),
                          {"workload.size", "workload.program", "os.user_memory", "ddr.size"});
}

Task<VirtualAddress> KernelProgram::map(cpu::Execution& thread, os::Process& process, os::MmapOptions options) {
  co_return check(co_await vm().mmap(thread, process, place_.size, options));
}

os::MmapOptions KernelProgram::of_array() const {
  os::MmapOptions options;
  if (place_.huge_advice) options.advice = os::HugeAdvice::huge;
  if (place_.size % os::kHugePage == 0) options.alignment = os::kHugePage;
  return options;
}

Task<VirtualAddress> KernelProgram::map_array(cpu::Execution& thread, os::Process& process) {
  const VirtualAddress va = co_await map(thread, process, of_array());
  check(co_await vm().touch_range(thread, process, va, place_.size, /*write=*/true));
  co_return va;
}

Task<os::File*> KernelProgram::write_file(std::uint64_t bytes) {
  os::File* file = vm().page_cache().create(bytes, /*seed=*/1);
  if (file == nullptr) check(Error::no_memory);
  check(co_await vm().page_cache().write(thread_, process_, *file, 0, bytes, /*seed=*/1));
  co_return file;
}

std::unique_ptr<KernelProgram> make_kernel_program(const ProgramPlace& place) {
  using os::Pipe;
  switch (place.config.kind) {
    case ProgramKind::lat_ctx: return std::make_unique<Ring>(place);
    case ProgramKind::lat_proc_fork: return std::make_unique<ForkAndExit>(place, /*execs=*/false);
    case ProgramKind::lat_proc_exec: return std::make_unique<ForkAndExit>(place, /*execs=*/true);
    case ProgramKind::lat_pagefault: return std::make_unique<FileFaults>(place);
    case ProgramKind::lat_mmap: return std::make_unique<MapAndStore>(place);
    case ProgramKind::bw_mem_bcopy: return std::make_unique<MoveMemory>(place, /*copies=*/true);
    case ProgramKind::bw_mem_bzero: return std::make_unique<MoveMemory>(place, /*copies=*/false);
    case ProgramKind::lat_pipe: return std::make_unique<PipePingPong>(place, Pipe::Kind::pipe);
    case ProgramKind::lat_unix: return std::make_unique<PipePingPong>(place, Pipe::Kind::unix_socket);
    case ProgramKind::lat_sig_catch: return std::make_unique<CatchSignal>(place);
    case ProgramKind::anonymous_fault: return std::make_unique<FirstWrites>(place);
    case ProgramKind::mprotect: break;
  }
  return std::make_unique<TakeRights>(place);
}

}  // namespace faultline::workloads
