// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/endpoint.hpp"

#include <fmt/format.h>

#include "models/nic/exanest/registers.hpp"
#include "models/rdma/registration/pinned_range.hpp"
#include "models/sim/failure.hpp"
#include "models/smmu/config.hpp"

namespace faultline::exanest {

using os::Error;
using sim::RunFailure;

namespace {

constexpr unsigned kHpcTbu = 0;

}  // namespace

Endpoint::Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, Device device,
                   const std::string& name, unsigned channel, rdma::End end)
    : rdma::Endpoint(host, name), device_(device) {
  if (channel >= device_.channels) {
    throw RunFailure(fmt::format("node {} has no DMA channel left for process '{}'", node(), name),
                     {"exanest.channels"});
  }
  pins_ = strategy.registration->abilities().pins;
  const std::uint64_t table_root = make_table(strategy.translate);
  register_by(strategy, private_table_);
  const std::uint32_t stream = smmu::stream_id(kHpcTbu, hpc0_master_id(process().id()));
  if (process().id() >= reg::kPdids ||
      device_.smmu_driver.attach(process(), stream, table_root, strategy.on_fault(end).stalls) != Error::none) {
    throw RunFailure(
        fmt::format("node {} has no context bank left for process '{}': fewer processes on a node, or more "
                    "banks",
                    node(), name),
        {"smmu.context_banks"});
  }
  library_ = std::make_unique<Library>(config, host_.context, host_.cpu, host_.vm, process(), device_.ddr,
                                       device_.engine_base, channel);
  const Notices::Device told_by{device_.engine,
                                device_.events,
                                device_.ddr,
                                privileged_page(),
                                device_.engine_base + channel * reg::kChannelStride,
                                channel};
  notices_ = std::make_unique<Notices>(library_->config(), host_.context, host_.cpu, host_.vm, process(), told_by);
  set_up_channel(channel);
  fault_thread_ =
      std::make_unique<FaultThread>(strategy, host_.context, host_.cpu, host_.vm, device_.faults, *library_, mirror_);
}

std::uint64_t Endpoint::make_table(rdma::Translate translate) {
  if (translate == rdma::Translate::private_) {
    const os::Result<os::PrivateTable*> table = host_.vm.create_private_table(process());
    if (!table.ok()) no_memory("a private table");
    private_table_ = table.value;
    return private_table_->root();
  }
  if (translate == rdma::Translate::mirrored) {
    const os::Result<os::MirroredTable*> table = host_.vm.create_mirrored_table(process());
    if (!table.ok()) no_memory("a mirrored table");
    mirror_ = table.value;
    return mirror_->root();
  }
  return process().page_table().root();
}

std::uint64_t Endpoint::privileged_page() const { return device_.engine_base + reg::kChannelStride * device_.channels; }

// The engine begins nothing more, then the SMMU lets nothing more through, and waits for what is under way; then there
// is nobody left to be told of faults, and no frame that the device could touch.
sim::Task<void> Endpoint::close(cpu::Execution& kernel) {
  kill();
  co_await host_.cpu.mmio_write(kernel, cpu::Work::system, privileged_page() + reg::kChannelClose, library_->channel());
  co_await fault_thread_->stop();
  co_await device_.smmu_driver.detach(kernel, process());
  device_.faults.close(process().id());
  library_->unwatch();
  notices_->unwatch();
  co_await host_.vm.exit(kernel, process());
  if (on_closed) on_closed();
}

void Endpoint::set_up_channel(unsigned channel) {
  const std::uint64_t privileged = privileged_page();
  host_.cpu.mmio_set_up(privileged + reg::kChannelSelect, channel);
  host_.cpu.mmio_set_up(privileged + reg::kChannelPdid, process().id());
  host_.cpu.mmio_set_up(privileged + reg::kChannelMailbox, library_->mailbox_ring());
  host_.cpu.mmio_set_up(privileged + reg::kChannelSlots, library_->mailbox_slots());
}

sim::Task<Error> Endpoint::hold(std::uint64_t page) {
  if (pins_) {
    const rdma::Registration::Owner owner{host_.cpu, host_.vm, process(), private_table_};
    co_return (co_await rdma::pin(thread(), owner, {page, os::kPage})).error;
  }
  const rdma::RegisteredBuffer locked = buffer(page, os::kPage);
  const Error error = co_await locked.add(thread());
  co_return error != Error::none ? error : co_await locked.acquire(thread(), true);
}

sim::Task<void> Endpoint::open() {
  // The program runs before it calls anything: no strategy pays for the first switch to it.
  co_await host_.cpu.run(thread(), cpu::Work::user, sim::Time{0});
  std::vector<std::uint64_t> pages = notices_->pages();
  pages.insert(pages.begin(), {library_->notify_page(), library_->mailbox_ring()});
  for (const std::uint64_t page : pages) {
    if (mirror_ == nullptr) break;
    const auto mirrored = co_await host_.vm.mirror_pages(thread(), *mirror_, page, os::kPage, true);
    if (!mirrored.ok()) no_memory("the library's pages in the mirrored table");
  }
  if (private_table_ == nullptr) co_return;
  for (const std::uint64_t page : pages) {
    const Error error = co_await hold(page);
    if (error == Error::limit) {
      throw RunFailure(
          fmt::format("node {}: the library's pages are not pinned for the private table: {} (RLIMIT_MEMLOCK)", node(),
                      os::to_string(error)),
          {"os.rlimit_memlock"}, /*refused=*/true);
    }
    if (error != Error::none) no_memory("the library's pages in the private table");
  }
}

}  // namespace faultline::exanest
