// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/elan/nic.hpp"
#include "models/nic/elan/instruments.hpp"
#include "models/nic/elan/registers.hpp"

namespace faultline::elan {

Nic::Nic(const NicConfig& config, const sim::Context& context)
    : config_(config),
      context_(context),
      engine_("engine", config_.engine, context),
      channels_(config.engine.channels) {}

std::uint64_t Nic::privileged_page(const NicConfig& config) {
  return kBase + reg::kChannelStride * config.engine.channels;
}

void Nic::wire(const Wiring& w) {
  engine_.mmu().reads_out.bind(w.port.reads);
  engine_.mmu().writes_out.bind(w.port.writes);
  engine_.net_out.bind(w.router.in[network::kLocalPort]);
  w.router.out[network::kLocalPort].bind(engine_.net_in);
  w.bus.map(kBase, engine_.register_bytes(), "engine").bind(engine_.registers);
  engine_.interrupt.bind(w.interrupts.lines);
}

Nic::Software::Software(const NicConfig& config, const sim::Context& context, const Kernel& k)
    : kernel(k),
      table(config.driver, context, k.cpu, privileged_page(config), config.engine.table_entries),
      events(config.driver, context, k.cpu, privileged_page(config)),
      traps(config.driver, context, k.cpu, k.vm, k.interrupts, config.engine.interrupt_line, privileged_page(config),
            table, events) {}

void Nic::start(const Kernel& kernel) {
  software_.emplace(config_, context_, kernel);
  engine_.mmu().on_refusal = [this](const Mmu::Refusal& refusal) { software_->traps.access_refused(refusal); };
  engine_.observe_faults([this](const nic::FaultRecord& record) { software_->traps.block_stopped(record); });
}

std::unique_ptr<rdma::Endpoint> Nic::open(const rdma::Strategy& strategy, const rdma::ProgramMemory& memory,
                                          const std::string& name, rdma::End) {
  const Kernel& kernel = software_->kernel;
  const Endpoint::Device device{kernel.ddr, engine_, software_->events, kBase, config_.engine.channels};
  const Endpoint::Software software{config_.driver, software_->table, software_->traps};
  // Where none is free the endpoint says so.
  const unsigned channel = channels_.take().value_or(config_.engine.channels);
  const rdma::Endpoint::Host host{context_, kernel.cpu, kernel.vm, memory};
  auto endpoint = std::make_unique<Endpoint>(strategy, config_.library, host, device, software, name, channel);
  endpoint->on_closed = [this, channel] { channels_.give_back(channel); };
  return endpoint;
}

Nic::Depths Nic::depths() const {
  const Engine::Depths depths = engine_.depths();
  return {depths.transfers, depths.fault_records};
}

std::vector<Nic::Busy> Nic::busy() const {
  std::vector<Busy> all{{&kProcessorBusy, 0, engine_.processor_busy()}};
  software_->traps.add_busy(all);
  return all;
}

std::optional<Nic::MmuEntry> Nic::mmu_entry(std::uint32_t process, std::uint64_t va) const {
  const std::optional<Mmu::Entry> found = engine_.mmu().find(process, va);
  if (!found) return std::nullopt;
  return MmuEntry{sim::page_begin(found->physical(va)), found->writable};
}

}  // namespace faultline::elan
