// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/elan/endpoint.hpp"

#include <fmt/format.h>

#include "models/nic/elan/registers.hpp"
#include "models/sim/failure.hpp"

namespace faultline::elan {

Endpoint::Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, const Device& device,
                   const Software& software, const std::string& name, unsigned channel)
    : library::Endpoint(host, device, name, channel, "elan.channels"), traps_(software.traps) {
  if (process().id() >= reg::kPdids) {
    throw sim::RunFailure(fmt::format("node {} has no protection domain left for process '{}'", node(), name),
                          {"elan.channels"});
  }
  register_by(strategy, nullptr);
  use(std::make_unique<library::Library>(config, host_.context, host_.cpu, host_.vm, process(), device.ddr, device.base,
                                         channel));
  const PushedTable::Ways ways{strategy.translate->pushes, strategy.translate->vetoes};
  pushed_ = std::make_unique<PushedTable>(software.config, host_.context, host_.cpu, host_.vm, process(),
                                          software.table, ways);
  traps_.open(process(), *pushed_, strategy);
}

sim::Task<void> Endpoint::open() {
  // The program runs before it calls anything: no strategy pays for the first switch to it.
  co_await host_.cpu.run(thread(), cpu::Work::user, sim::Time{0});
  pushed_->keep(own_pages());
}

// The NIC begins nothing more, then nobody answers its traps, then its table has nothing of the process and nothing of
// it is under way; now its memory may go.
sim::Task<void> Endpoint::close(cpu::Execution& kernel) {
  co_await close_channel(kernel);
  co_await traps_.close(process().id());
  co_await pushed_->close(kernel);
  co_await exit(kernel);
}

}  // namespace faultline::elan
