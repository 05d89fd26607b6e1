// SPDX-License-Identifier: Apache-2.0
// What programs do to whole ranges of their memory in user mode.
#include "models/os/vm/vm.hpp"

#include <algorithm>

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
  return copy_between(exec, {process, to}, {process, from}, bytes, cpu::Work::user);
}

// In pieces that lie in one page at either end. While the one page is made present, the other may go again.
sim::Task<Error> Vm::copy_between(cpu::Execution& exec, Place to, Place from, std::uint64_t bytes, cpu::Work work) {
  const sim::ByteRate each = core_.config.copy_rate_each_way();
  for (std::uint64_t at = 0; at < bytes;) {
    const VirtualAddress source = from.address + at;
    const VirtualAddress target = to.address + at;
    const std::uint64_t piece = std::min({bytes - at, kPage - source % kPage, kPage - target % kPage});
    do {
      Error error = co_await present_for(exec, from.process, sim::page_begin(source), false);
      if (error == Error::none) error = co_await present_for(exec, to.process, sim::page_begin(target), true);
      if (error != Error::none) co_return error;
    } while (!accessible(Mm::of(from.process).space.page(source), false));
    const Address read = Mm::of(from.process).space.page(source)->frame + source % kPage;
    const Address written = Mm::of(to.process).space.page(target)->frame + target % kPage;
    core_.store.write(written, core_.store.read(read, static_cast<std::uint32_t>(piece)));
    co_await core_.cpu.memory_bulk(exec, work, read, piece, each, false);
    co_await core_.cpu.memory_bulk(exec, work, written, piece, each, true);
    at += piece;
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
