// SPDX-License-Identifier: Apache-2.0
#include "models/os/tlbs.hpp"

#include <algorithm>
#include <utility>

namespace faultline::os {

sim::Task<void> Tlbs::invalidate(cpu::Execution& exec, const Process& process, Address table,
                                 sim::Vector<VirtualAddress> leaves, bool cpus_walk) {
  if (leaves.empty()) co_return;  // TLBs hold only what was mapped
  ++invalidations_;
  TlbFlush flush{.table = table, .leaves = std::move(leaves)};
  flush.whole = flush.leaves.size() >= config_.tlbi_page_limit;
  const bool heard = std::any_of(invalidators_.begin(), invalidators_.end(),
                                 [](const TlbInvalidator* invalidator) { return invalidator->hears_broadcasts(); });
  const bool tlbi = cpus_walk || heard;
  const auto run = [&](std::int64_t operations) {
    return cpu_.run(exec, cpu::Work::system, config_.cpu_tlbi_page * operations);
  };
  const auto before_last = static_cast<std::int64_t>(flush.operations() - 1);
  if (tlbi && before_last > 0) co_await run(before_last);
  sim::Vector<sim::Task<void>> others;
  for (TlbInvalidator* invalidator : invalidators_) others.push_back(invalidator->invalidate(exec, process, flush));
  // The DSB after the last operation waits for the other CPUs and for the devices at the same time.
  if (tlbi) co_await run(1);
  for (sim::Task<void>& other : others) co_await other;
}

void Tlbs::drop(const Process& process, const sim::Vector<VirtualAddress>& leaves) {
  for (TlbInvalidator* invalidator : invalidators_) invalidator->drop(process, leaves);
}

}  // namespace faultline::os
