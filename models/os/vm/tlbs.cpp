// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/tlbs.hpp"

#include "models/os/vm/process.hpp"

namespace faultline::os {

using sim::Task;

Task<void> Tlbs::flush_leaf(cpu::Execution& exec, const Process& process, Address table, VirtualAddress va,
                            PageSize size) {
  TlbFlush flush{.table = table,
                 .leaves = sim::Vector<VirtualAddress>(1, va),
                 .range = page_range(va, size),
                 .stride = config_.kernel.has(Change::block_flushes) ? bytes_of(size) : kPage};
  flush = bounded(std::move(flush));
  return invalidate(exec, process, std::move(flush), /*cpus_walk=*/true);
}

// The notifier for secondary TLBs is called for each page all the same (__flush_tlb_page_nosync).
Task<void> Tlbs::flush_unmapped(cpu::Execution& exec, const Process& process, Address table, VirtualAddress va,
                                UnmapBatch& batch) {
  if (!interrupts() && !config_.kernel.has(Change::batched_unmapping)) {
    return flush_leaf(exec, process, table, va, PageSize::small);
  }
  batch.pending = true;
  // x86 leaves all cores for finish(), the one that unmaps included: no CPU flushes here.
  if (interrupts()) batch.cores |= cpu_.cores_with(process.id());
  return invalidate(exec, process, {.table = table, .leaves = sim::Vector<VirtualAddress>(1, va), .waits = false},
                    /*cpus_walk=*/!interrupts());
}

Task<void> Tlbs::finish(cpu::Execution& exec, UnmapBatch& batch) {
  if (!std::exchange(batch.pending, false)) co_return;
  sim::Vector<Task<void>> others;
  for (TlbInvalidator* invalidator : invalidators_) others.push_back(invalidator->finish(exec));
  if (interrupts()) co_await issue(exec, batch.cores, 1);
  co_await wait_for_cores(exec, std::exchange(batch.cores, {}), 1);
  for (Task<void>& other : others) co_await other;
}

Task<void> Tlbs::flush_young(cpu::Execution& exec, const Process& process, Address table, VirtualAddress va,
                             PageSize size) {
  if (size == PageSize::huge) return flush_leaf(exec, process, table, va, size);  // pmdp_clear_flush_young
  TlbFlush flush{.table = table, .leaves = sim::Vector<VirtualAddress>(1, va)};
  flush.waits = !config_.kernel.has(Change::ages_in_passing);
  // x86 clears the flag and lets CPUs keep the entry.
  return invalidate(exec, process, std::move(flush), /*cpus_walk=*/!interrupts());
}

Task<void> Tlbs::flush_gathered(cpu::Execution& exec, const Process& process, Address table, Leaves leaves,
                                std::size_t tables) {
  if (leaves.empty()) co_return;
  const bool strides = config_.kernel.has(Change::tlb_strides);
  TlbFlush flush{.table = table, .leaves = {}, .range = leaves.span()};
  flush.stride = strides ? bytes_of(leaves.smallest()) : kPage;
  flush.leaves = leaves.take();
  flush = bounded(std::move(flush));
  co_await invalidate(exec, process, std::move(flush), /*cpus_walk=*/true);
  co_await flush_tables(exec, tables);
}

Task<void> Tlbs::flush_protected(cpu::Execution& exec, const Process& process, Address table, Range range,
                                 Leaves leaves) {
  if (config_.kernel.has(Change::mprotect_gathers)) return flush_gathered(exec, process, table, std::move(leaves), 0);
  return flush_range(exec, process, table, range, std::move(leaves));
}

Task<void> Tlbs::flush_range(cpu::Execution& exec, const Process& process, Address table, Range range, Leaves leaves) {
  if (leaves.empty()) co_return;
  TlbFlush flush{.table = table, .leaves = leaves.take(), .range = range, .stride = kPage};
  flush = bounded(std::move(flush));
  co_await invalidate(exec, process, std::move(flush), /*cpus_walk=*/true);
}

Task<void> Tlbs::flush_all(cpu::Execution& exec, const Process& process, Address table, Leaves leaves,
                           std::size_t tables) {
  TlbFlush flush{.table = table, .leaves = leaves.take(), .whole = true};
  co_await invalidate(exec, process, std::move(flush), /*cpus_walk=*/true);
  co_await flush_tables(exec, tables);
}

Task<void> Tlbs::flush_tables(cpu::Execution& exec, std::size_t tables) {
  // On x86 the flush of the range takes them with it.
  if (interrupts() || config_.kernel.has(Change::tlb_strides)) co_return;
  co_await cpu_.run(exec, cpu::Work::system, (config_.cpu_tlbi + config_.cpu_dsb) * static_cast<std::int64_t>(tables));
}

Task<void> Tlbs::flush_device(cpu::Execution& exec, const Process& process, Address table,
                              sim::Vector<VirtualAddress> leaves) {
  if (leaves.empty()) co_return;  // TLBs hold only what was mapped
  TlbFlush flush{.table = table, .leaves = std::move(leaves)};
  flush = bounded(std::move(flush));
  co_await invalidate(exec, process, std::move(flush), /*cpus_walk=*/false);
}

TlbFlush Tlbs::bounded(TlbFlush flush) const {
  // More than MAX_TLB_RANGE; MAX_TLBI_OPS and more; on x86 more than tlb_single_page_flush_ceiling.
  const unsigned broadcast = config_.kernel.has(Change::tlb_strides) ? 512 : 1025;
  const unsigned of_kernel = interrupts() ? 34 : broadcast;
  flush.whole = flush.operations() >= (config_.tlbi_page_limit > 0 ? config_.tlbi_page_limit : of_kernel);
  return flush;
}

Task<void> Tlbs::invalidate(cpu::Execution& exec, const Process& process, TlbFlush flush, bool cpus_walk) {
  ++invalidations_;
  const bool heard = std::any_of(invalidators_.begin(), invalidators_.end(),
                                 [](const TlbInvalidator* invalidator) { return invalidator->hears_broadcasts(); });
  const bool tlbi = cpus_walk || heard;
  const std::uint64_t operations = flush.operations();
  const cpu::CoreSet cores = tlbi && interrupts() ? cpu_.cores_with(process.id()) : cpu::CoreSet{};
  if (tlbi) co_await issue(exec, cores, operations);
  sim::Vector<Task<void>> others;
  for (TlbInvalidator* invalidator : invalidators_) others.push_back(invalidator->invalidate(exec, process, flush));
  // The wait is for the other CPUs and for the devices at the same time, as in finish().
  if (tlbi && flush.waits) co_await wait_for_cores(exec, cores, operations);
  for (Task<void>& other : others) co_await other;
}

Task<void> Tlbs::issue(cpu::Execution& exec, cpu::CoreSet cores, std::uint64_t operations) {
  if (interrupts() && !cores.test(exec.core())) co_return;
  co_await cpu_.run(exec, cpu::Work::system, config_.cpu_tlbi * static_cast<std::int64_t>(operations));
}

Task<void> Tlbs::wait_for_cores(cpu::Execution& exec, cpu::CoreSet cores, std::uint64_t operations) {
  if (!interrupts()) return cpu_.run(exec, cpu::Work::system, config_.cpu_dsb);
  return cpu_.call_cores(exec, cores, config_.cpu_tlbi * static_cast<std::int64_t>(operations),
                         config_.kernel.has(Change::lazy_cores_spared));
}

void Tlbs::drop(const Process& process, const sim::Vector<VirtualAddress>& leaves) {
  for (TlbInvalidator* invalidator : invalidators_) invalidator->drop(process, leaves);
}

}  // namespace faultline::os
