// SPDX-License-Identifier: Apache-2.0
// Processes and the system calls that change mappings. Faults: vm_fault.cpp; pins: vm_pin.cpp; what takes no
// time: vm_setup.cpp.
#include "models/os/vm.hpp"

#include <algorithm>
#include <bit>

#include "models/os/vm_counters.hpp"

namespace faultline::os {
namespace {

constexpr std::size_t kAsids = 65535;  // 16 bits, 0 is the kernel's

FrameAllocator frames_of(const OsConfig& config, const memory::FrameStore& store) {
  const std::uint64_t base = std::min(sim::page_begin(config.kernel_reserved), store.bytes());
  return FrameAllocator(base, std::min(sim::page_begin(config.user_memory), store.bytes() - base));
}

}  // namespace

Vm::Vm(const OsConfig& config, const sim::Context& context, memory::FrameStore& store, cpu::Cpu& cpu)
    : config_(config),
      context_(context),
      store_(store),
      cpu_(cpu),
      frames_(frames_of(config, store)),
      counters_(std::make_unique<Counters>(context_.statistics)) {}

Vm::~Vm() = default;

Process* Vm::create_process(std::string name) {
  if (processes_.size() >= kAsids) return nullptr;
  const auto bits = static_cast<unsigned>(config_.va_bits);
  auto table = PageTable::create(store_, frames_, bits);
  if (!table) {
    ++counters_->out_of_memory;
    return nullptr;
  }
  const auto id = static_cast<std::uint16_t>(processes_.size() + 1);
  processes_.push_back(std::make_unique<Process>(context_.loop, id, std::move(name), std::move(table), bits));
  return processes_.back().get();
}

sim::Task<void> Vm::run(cpu::Execution& exec, sim::Time cost) { return cpu_.run(exec, cpu::Work::system, cost); }

sim::Time Vm::WalkCost::of(std::uint64_t pages, bool huge) const {
  const sim::Time singly = per_page * static_cast<std::int64_t>(pages);
  return huge ? std::min(singly, per_huge_page) : singly;
}

// The whole pages that [va, va + bytes) touches.
Result<Vm::Range> Vm::pages_around(const Process& process, VirtualAddress va, std::uint64_t bytes) {
  const VirtualAddress top = VirtualAddress{1} << process.page_table().va_bits();
  if (bytes == 0) return {.error = Error::invalid};
  if (va >= top || bytes > top - va) return {.error = Error::bad_address};
  return {.value = {sim::page_begin(va), sim::page_end(va + bytes)}};
}

sim::Task<Result<VirtualAddress>> Vm::mmap(cpu::Execution& exec, Process& process, std::uint64_t bytes,
                                           MmapOptions options) {
  co_await run(exec, config_.mmap_fixed);
  if (bytes == 0 || options.alignment < kPage || !std::has_single_bit(options.alignment)) {
    co_return Result<VirtualAddress>{.error = Error::invalid};
  }
  const std::uint64_t length = sim::page_end(bytes);
  AddressSpace& space = process.space_;
  co_await process.lock_.lock_exclusive(cpu_, exec);
  Result<VirtualAddress> result;
  const auto gap = length < bytes ? std::nullopt : space.find_gap(length, options.alignment);
  if (!gap) {
    result.error = Error::no_memory;
  } else if (options.locked && exceeds_limit(space.locked_bytes() + length)) {
    ++counters_->limit_refusals;
    result.error = Error::limit;
  } else {
    const Range range{*gap, *gap + length};
    result.value = range.begin;
    space.insert(Vma{.begin = range.begin, .end = range.end, .writable = options.writable, .advice = options.advice});
    if (options.locked) set_locked(process, range, true);
  }
  process.lock_.downgrade();
  if (result.ok() && (options.populate || options.locked)) {
    const WalkCost cost = options.locked ? mlock_cost() : gup_cost();
    const Range range{result.value, result.value + length};
    // Linux's mm_populate ignores errors here: the access that finds the page absent meets them again.
    co_await populate(exec, process, range, options.writable, cost, nullptr);
  }
  process.lock_.unlock_shared();
  co_return result;
}

sim::Task<Error> Vm::munmap(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  co_await run(exec, config_.munmap_fixed);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok() || va % kPage != 0) co_return Error::invalid;
  co_await process.lock_.lock_exclusive(cpu_, exec);
  const Error split = split_edges(process, range.value);
  if (split == Error::none) {
    set_locked(process, range.value, false);
    process.space_.erase(range.value.begin, range.value.end);
    const Zapped zapped = zap(process, range.value);
    co_await invalidate(exec, process, zapped.leaves, /*cpus_walk=*/true);
    release(process, zapped);
  }
  process.lock_.unlock_exclusive();
  co_return split;
}

sim::Task<Error> Vm::mlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  co_await run(exec, config_.mlock_fixed);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  const auto [begin, end] = range.value;
  AddressSpace& space = process.space_;
  co_await process.lock_.lock_exclusive(cpu_, exec);
  Error error = Error::none;
  if (!space.covered(begin, end)) {
    error = Error::bad_address;
  } else if (exceeds_limit(space.locked_bytes() + (end - begin) - space.locked_bytes(begin, end))) {
    ++counters_->limit_refusals;
    error = Error::limit;
  }
  if (error != Error::none) {
    process.lock_.unlock_exclusive();
    co_return error;
  }
  set_locked(process, range.value, true);
  process.lock_.downgrade();
  const auto populated = co_await populate(exec, process, range.value, false, mlock_cost(), nullptr);
  process.lock_.unlock_shared();
  co_return populated.error;
}

sim::Task<Error> Vm::munlock(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  co_await run(exec, config_.mlock_fixed);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  co_await process.lock_.lock_exclusive(cpu_, exec);
  const Error error = process.space_.covered(range.value.begin, range.value.end) ? Error::none : Error::bad_address;
  if (error == Error::none) {
    const sim::Time cost = config_.munlock_per_page * std::int64_t{locked_leaves(process, range.value)};
    set_locked(process, range.value, false);
    co_await run(exec, cost);
  }
  process.lock_.unlock_exclusive();
  co_return error;
}

sim::Task<Error> Vm::madvise_populate_write(cpu::Execution& exec, Process& process, VirtualAddress va,
                                            std::uint64_t bytes) {
  co_await run(exec, config_.syscall);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  if (va % kPage != 0) co_return Error::invalid;
  co_await process.lock_.lock_shared(cpu_, exec);
  Result<std::uint64_t> populated{.error = Error::bad_address};
  if (process.space_.covered(range.value.begin, range.value.end, /*writable=*/true)) {
    populated = co_await populate(exec, process, range.value, true, gup_cost(), nullptr);
  }
  process.lock_.unlock_shared();
  co_return populated.error;
}

sim::Task<Error> Vm::madvise_hugepage(cpu::Execution& exec, Process& process, VirtualAddress va, std::uint64_t bytes) {
  co_await run(exec, config_.syscall);
  const auto range = pages_around(process, va, bytes);
  if (!range.ok()) co_return range.error;
  if (va % kPage != 0) co_return Error::invalid;
  const auto [begin, end] = range.value;
  co_await process.lock_.lock_exclusive(cpu_, exec);
  process.space_.set_advice(begin, end, HugeAdvice::huge);
  const Error error = process.space_.covered(begin, end) ? Error::none : Error::bad_address;
  process.lock_.unlock_exclusive();
  co_return error;
}

void Vm::set_locked(Process& process, Range range, bool locked) {
  const std::uint64_t before = process.space_.locked_bytes();
  process.space_.set_locked(range.begin, range.end, locked);
  locked_bytes_ = locked_bytes_ - before + process.space_.locked_bytes();
  counters_->locked_bytes_peak.raise_to(locked_bytes_);
}

unsigned Vm::locked_leaves(const Process& process, Range range) const {
  const AddressSpace& space = process.space_;
  unsigned leaves = 0;
  VirtualAddress va = range.begin;
  while (const auto next = space.next_present(va, range.end)) {
    const Vma* vma = space.find(*next);
    if (vma != nullptr && vma->locked) ++leaves;
    va = space.is_huge(*next) ? (*next / kHugePage + 1) * kHugePage : *next + kPage;
  }
  return leaves;
}

}  // namespace faultline::os
