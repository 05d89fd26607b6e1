// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/library/endpoint.hpp"

#include <fmt/format.h>

#include "models/nic/path/registers.hpp"
#include "models/sim/failure.hpp"

namespace faultline::library {

Endpoint::Endpoint(Host host, const Device& device, const std::string& name, unsigned channel, const char* key)
    : rdma::Endpoint(host, name), device_(device), channel_(channel) {
  if (channel < device_.channels) return;
  throw sim::RunFailure(fmt::format("node {} has no DMA channel left for process '{}'", node(), name), {key});
}

void Endpoint::use(std::unique_ptr<Library> library) {
  library_ = std::move(library);
  const std::uint64_t privileged = privileged_page();
  const Notices::Device told_by{
      device_.engine, device_.events, device_.ddr, privileged, device_.base + channel_ * reg::kChannelStride, channel_};
  notices_ = std::make_unique<Notices>(library_->config(), host_.context, host_.cpu, host_.vm, process(), told_by);
  host_.cpu.mmio_set_up(privileged + reg::kChannelSelect, channel_);
  host_.cpu.mmio_set_up(privileged + reg::kChannelPdid, process().id());
  host_.cpu.mmio_set_up(privileged + reg::kChannelMailbox, library_->mailbox_ring());
  host_.cpu.mmio_set_up(privileged + reg::kChannelSlots, library_->mailbox_slots());
}

std::vector<std::uint64_t> Endpoint::own_pages() const {
  std::vector<std::uint64_t> pages = notices_->pages();
  pages.insert(pages.begin(), {library_->notify_page(), library_->mailbox_ring()});
  return pages;
}

sim::Task<void> Endpoint::close_channel(cpu::Execution& kernel) {
  kill();
  co_await host_.cpu.mmio_write(kernel, cpu::Work::system, privileged_page() + reg::kChannelClose, channel_);
  co_await registration().stop(kernel);
}

sim::Task<void> Endpoint::exit(cpu::Execution& kernel) {
  library_->unwatch();
  notices_->unwatch();
  co_await host_.vm.exit(kernel, process());
  if (on_closed) on_closed();
}

}  // namespace faultline::library
