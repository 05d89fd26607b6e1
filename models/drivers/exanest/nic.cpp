// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/nic.hpp"

#include "models/drivers/library/instruments.hpp"
#include "models/nic/exanest/instruments.hpp"
#include "models/smmu/smmu.hpp"

namespace faultline::exanest {

Nic::Nic(const NicConfig& config, const sim::Context& context)
    : config_(config),
      context_(context),
      engine_("engine", config_.engine, context),
      channels_(config.engine.channels) {}

void Nic::wire(const Wiring& w) {
  engine_.reads.bind(w.port.reads);
  engine_.writes.bind(w.port.writes);
  engine_.net_out.bind(w.router.in[network::kLocalPort]);
  w.router.out[network::kLocalPort].bind(engine_.net_in);
  w.bus.map(kBase, engine_.register_bytes(), "engine").bind(engine_.registers);
  engine_.interrupt.bind(w.interrupts.lines);
}

Nic::Software::Software(const NicConfig& config, const sim::Context& context, const Kernel& k)
    : kernel(k),
      log(context, k.vm),
      faults(config.driver, context, k.cpu, k.interrupts, k.smmu_interrupt_line, k.smmu_driver, log,
             kBase + reg::kChannelStride * config.engine.channels),
      events(config.driver, context, k.cpu, kBase + reg::kChannelStride * config.engine.channels) {
  k.interrupts.connect(config.engine.interrupt_line, [this] { return events.handle(); });
}

void Nic::start(const Kernel& kernel) {
  software_.emplace(config_, context_, kernel);
  kernel.smmu.observe_faults(software_->log);
  engine_.observe_faults([this](const FaultRecord& record) { software_->log.block_stopped(record); });
}

std::unique_ptr<rdma::Endpoint> Nic::open(const rdma::Strategy& strategy, const rdma::ProgramMemory& memory,
                                          const std::string& name, rdma::End end) {
  const Kernel& kernel = software_->kernel;
  const Endpoint::Device device{
      {kernel.ddr, engine_, software_->events, kBase, config_.engine.channels}, kernel.smmu_driver, software_->faults};
  // Where none is free the endpoint says so.
  const unsigned channel = channels_.take().value_or(config_.engine.channels);
  const rdma::Endpoint::Host host{context_, kernel.cpu, kernel.vm, memory};
  auto endpoint = std::make_unique<Endpoint>(strategy, config_.library, host, device, name, channel, end);
  endpoint->on_closed = [this, channel] { channels_.give_back(channel); };
  return endpoint;
}

Nic::Depths Nic::depths() const {
  const Engine::Depths depths = engine_.depths();
  return {depths.transfers, depths.fault_records};
}

std::vector<Nic::Busy> Nic::busy() const {
  std::vector<Busy> all{{&kFirmwareBusy, 0, engine_.firmware_busy()}};
  for (const auto& [pdid, socket] : software_->faults.sockets())
    all.push_back({&library::kFaultThreadBusy, pdid, socket->busy()});
  return all;
}

}  // namespace faultline::exanest
