// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/library/endpoint.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/nic/path/registers.hpp"
#include "models/sim/failure.hpp"

namespace faultline::library {

Endpoint::Endpoint(Host host, const Device& device, const std::string& name, unsigned channel, const char* key)
    : rdma::Endpoint(host, name), device_(device), channel_(channel), written_(host.context.loop) {
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
  for (const os::Range& range : kept_) {
    for (std::uint64_t page = range.begin; page < range.end; page += os::kPage) pages.push_back(page);
  }
  return pages;
}

std::uint64_t Endpoint::keep_buffer(std::uint64_t bytes) {
  const std::uint64_t length = sim::page_end(bytes);
  const os::Result<os::VirtualAddress> mapped = host_.vm.map_driver_memory(process(), length);
  if (!mapped.ok()) no_memory("the library's buffers");
  host_.vm.keep_from_children(process(), mapped.value, length);
  kept_.push_back({mapped.value, mapped.value + length});
  return mapped.value;
}

// Whatever the device writes for the library comes with a message, a completion word or an entry of the queue.
sim::Task<void> Endpoint::poll(cpu::Execution& thread, std::function<bool()> ready) {
  if (!std::exchange(watches_, true)) {
    std::vector<std::uint64_t> told = notices_->pages();
    told.insert(told.begin(), {library_->notify_page(), library_->mailbox_ring()});
    for (const std::uint64_t page : told) {
      device_.ddr.watch(process().space().page(page)->frame, written_);
    }
  }
  const std::function<bool()> stops = [this, &ready] { return killed() || ready(); };
  co_await host_.cpu.poll(thread, written_, stops);
  if (killed()) throw rdma::ProcessKilled();
}

sim::Task<void> Endpoint::close_channel(cpu::Execution& kernel) {
  kill();
  co_await host_.cpu.mmio_write(kernel, cpu::Work::system, privileged_page() + reg::kChannelClose, channel_);
  co_await registration().stop(kernel);
}

sim::Task<void> Endpoint::exit(cpu::Execution& kernel) {
  library_->unwatch();
  notices_->unwatch();
  device_.ddr.unwatch(written_);
  co_await host_.vm.exit(kernel, process());
  if (on_closed) on_closed();
}

}  // namespace faultline::library
