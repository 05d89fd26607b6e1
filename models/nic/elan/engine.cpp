// SPDX-License-Identifier: Apache-2.0
#include "models/nic/elan/engine.hpp"

#include <algorithm>

#include "models/nic/elan/registers.hpp"

namespace faultline::elan {

sim::Context Engine::within_pages(const sim::Context& context) {
  return {context.node,
          context.loop,
          context.payloads,
          context.statistics,
          context.trace,
          context.seed,
          std::min(context.cells_per_train, sim::kPageBytes / sim::kCellBytes)};
}

Engine::Engine(sc_core::sc_module_name name, const ElanConfig& config, const sim::Context& context)
    : Path(name, config, within_pages(context)),
      mmu_("mmu", config, hardware().context),
      scheduler_(config, hardware()) {
  connect(scheduler_, this);
  reads.bind(mmu_.reads);
  writes.bind(mmu_.writes);
}

bool Engine::write(std::uint64_t offset, std::uint64_t value) {
  const std::uint32_t pdid = reg::pdid_of(value);
  const std::uint64_t va = reg::va_of(value);
  switch (offset) {
    case reg::kEntryAddress: entry_address_ = value; return true;
    case reg::kEntryEpoch: entry_epoch_ = value; return true;
    case reg::kEntryFrame:
      return mmu_.load(
          reg::pdid_of(entry_address_), reg::va_of(entry_address_),
          {sim::page_begin(value), (value & reg::kEntryWritable) != 0, (value & reg::kEntryBlock) != 0, entry_epoch_});
    case reg::kInvalidate: mmu_.invalidate(pdid, va); return true;
    case reg::kInvalidateProcess:
      mmu_.invalidate_all(static_cast<std::uint32_t>(value));
      scheduler_.forget_traps(static_cast<std::uint32_t>(value));
      return true;
    case reg::kDrain: mmu_.drain(); return true;
    case reg::kRestart: scheduler_.answer(pdid, sim::page_begin(va), /*give_up=*/false); return true;
    case reg::kGiveUp: scheduler_.answer(pdid, sim::page_begin(va), /*give_up=*/true); return true;
    default: return false;
  }
}

std::optional<std::uint64_t> Engine::read(std::uint64_t offset) const {
  if (offset != reg::kDrain) return std::nullopt;
  return mmu_.drained() ? 0 : 1;
}

}  // namespace faultline::elan
