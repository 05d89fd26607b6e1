// SPDX-License-Identifier: Apache-2.0
// The NIC with an MMU of its own: the data path, the MMU in front of it, the DMA processor that schedules its blocks,
// and the registers by which a driver fills the MMU's table.
#pragma once

#include "models/nic/elan/config.hpp"
#include "models/nic/elan/mmu.hpp"
#include "models/nic/elan/scheduler.hpp"
#include "models/nic/path/path.hpp"
#include "models/nic/path/register_file.hpp"

namespace faultline::elan {

class Engine final : public nic::Path, private nic::OwnRegisters {
 public:
  // `config` outlives the engine. Its accesses to memory leave by mmu().reads_out and writes_out.
  Engine(sc_core::sc_module_name name, const ElanConfig& config, const sim::Context& context);

  Mmu& mmu() { return mmu_; }
  const Mmu& mmu() const { return mmu_; }
  sim::Time processor_busy() const { return scheduler_.busy(); }
  // Trains that cross no page.
  static sim::Context within_pages(const sim::Context& context);

 private:
  bool write(std::uint64_t offset, std::uint64_t value) override;
  std::optional<std::uint64_t> read(std::uint64_t offset) const override;

  Mmu mmu_;
  Scheduler scheduler_;
  std::uint64_t entry_address_ = 0;
  std::uint64_t entry_epoch_ = 0;
};

}  // namespace faultline::elan
