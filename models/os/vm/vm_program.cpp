// SPDX-License-Identifier: Apache-2.0
// What programs do to whole ranges of their memory in user mode.
#include "models/os/vm/vm.hpp"

namespace faultline::os {

// A page that user code is about to use; the fault comes first where it needs one.
sim::Task<Error> Vm::present_for(cpu::Execution& exec, Process& process, VirtualAddress va, bool write) {
  co_await settled(process, va, kPage);
  Error error = Error::none;
  while (error == Error::none && !accessible(Mm::of(process).space.page(va), write)) {
    error = co_await handle_fault(exec, process, va, write);
  }
  if (error == Error::none) use_pages(process, {va, va + kPage}, write, nullptr);
  co_return error;
}

sim::Task<Error> Vm::copy_memory(cpu::Execution& exec, Process& process, VirtualAddress to, VirtualAddress from,
                                 std::uint64_t bytes) {
  if (to % kPage + from % kPage + bytes % kPage > 0) co_return Error::invalid;
  const sim::ByteRate each = core_.config.copy_rate_each_way();
  for (std::uint64_t at = 0; at < bytes; at += kPage) {
    Error error = co_await present_for(exec, process, from + at, false);
    if (error == Error::none) error = co_await present_for(exec, process, to + at, true);
    if (error != Error::none) co_return error;
    const Address source = Mm::of(process).space.page(from + at)->frame;
    const Address target = Mm::of(process).space.page(to + at)->frame;
    core_.store.write(target, core_.store.read(source, kPage));
    co_await core_.cpu.memory_bulk(exec, cpu::Work::user, source, kPage, each, false);
    co_await core_.cpu.memory_bulk(exec, cpu::Work::user, target, kPage, each, true);
  }
  co_return Error::none;
}

sim::Task<Error> Vm::zero_memory(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  if (va % kPage + bytes % kPage > 0) co_return Error::invalid;
  for (std::uint64_t at = va; at < va + bytes; at += kPage) {
    const Error error = co_await present_for(exec, process, at, true);
    if (error != Error::none) co_return error;
    const Address frame = Mm::of(process).space.page(at)->frame;
    core_.store.write(frame, sim::Content::zeros(kPage));
    co_await core_.cpu.memory_bulk(exec, cpu::Work::user, frame, kPage, core_.config.zero_bandwidth, true);
  }
  co_return Error::none;
}

}  // namespace faultline::os
