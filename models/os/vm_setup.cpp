// SPDX-License-Identifier: Apache-2.0
// What takes no simulated time: preparing an experiment, and the content of memory as a process sees it.
#include <algorithm>

#include "models/os/vm.hpp"
#include "models/os/vm_counters.hpp"

namespace faultline::os {

Result<VirtualAddress> Vm::map(Process& process, std::uint64_t bytes, std::uint64_t alignment) {
  const std::uint64_t length = sim::page_end(bytes);
  const auto gap = length == 0 ? std::nullopt : process.space_.find_gap(length, alignment);
  if (!gap) return {.error = Error::no_memory};
  process.space_.insert(Vma{.begin = *gap, .end = *gap + length});
  return {.value = *gap};
}

Error Vm::make_present(Process& process, VirtualAddress va, std::uint64_t bytes) {
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) return range.error;
  for (VirtualAddress at = range.value.begin; at < range.value.end; at += kPage) {
    const Vma* vma = process.space_.find(at);
    if (vma == nullptr) return Error::bad_address;
    if (process.space_.page(at) != nullptr) continue;
    const auto page = take_page(process, *vma, at);
    const Error error = page ? install(process, *vma, at, *page) : Error::no_memory;
    if (error != Error::none) return error;
  }
  return Error::none;
}

Error Vm::discard(Process& process, VirtualAddress va, std::uint64_t bytes) {
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) return range.error;
  const Range whole{sim::page_end(va), sim::page_begin(va + bytes)};
  if (whole.begin >= whole.end) return Error::none;
  if (split_edges(process, whole) != Error::none) return Error::no_memory;
  const Zapped zapped = zap(process, whole);
  for (TlbInvalidator* invalidator : invalidators_) invalidator->drop(process, zapped.leaves);
  release(process, zapped);
  return Error::none;
}

std::uint64_t Vm::fill(Process& process, VirtualAddress va, std::uint64_t bytes, std::uint64_t seed) {
  std::uint64_t written = 0;
  for (std::uint64_t done = 0; done < bytes;) {
    const VirtualAddress at = va + done;
    const auto part = static_cast<std::uint32_t>(std::min(bytes - done, kPage - at % kPage));
    if (const auto physical = process.table_->translate(at)) {
      store_.write(*physical, sim::Content::pattern(seed, done, part));
      process.space_.page(at)->dirty = true;
      written += part;
    }
    done += part;
  }
  return written;
}

sim::Content Vm::read(const Process& process, VirtualAddress va, std::uint32_t bytes) const {
  sim::Content content;
  while (content.size() < bytes) {
    const VirtualAddress at = va + content.size();
    const auto part = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes - content.size(), kPage - at % kPage));
    const auto physical = process.table_->translate(at);
    content.append(physical ? store_.read(*physical, part) : sim::Content::zeros(part));
  }
  return content;
}

}  // namespace faultline::os
