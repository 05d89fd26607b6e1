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

Endpoint::Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, const Device& device,
                   const std::string& name, unsigned channel, rdma::End end)
    : library::Endpoint(host, device, name, channel, "exanest.channels"),
      smmu_driver_(device.smmu_driver),
      faults_(device.faults) {
  pins_ = strategy.registration->abilities().pins;
  const std::uint64_t table_root = make_table(*strategy.translate);
  register_by(strategy, private_table_);
  const std::uint32_t stream = smmu::stream_id(kHpcTbu, hpc0_master_id(process().id()));
  if (process().id() >= reg::kPdids ||
      smmu_driver_.attach(process(), stream, table_root, strategy.on_fault(end).stalls) != Error::none) {
    throw RunFailure(
        fmt::format("node {} has no context bank left for process '{}': fewer processes on a node, or more "
                    "banks",
                    node(), name),
        {"smmu.context_banks"});
  }
  use(std::make_unique<Library>(config, host_.context, host_.cpu, host_.vm, process(), device.ddr, device.base,
                                channel));
  fault_thread_ = std::make_unique<FaultThread>(strategy, host_.context, host_.cpu, host_.vm, faults_, this->library(),
                                                registration(), mirror_);
}

std::uint64_t Endpoint::make_table(const rdma::Translation& translation) {
  if (translation.registered) {
    const os::Result<os::PrivateTable*> table = host_.vm.create_private_table(process());
    if (!table.ok()) no_memory("a private table");
    private_table_ = table.value;
    return private_table_->root();
  }
  if (translation.follows) {
    const os::Result<os::MirroredTable*> table = host_.vm.create_mirrored_table(process());
    if (!table.ok()) no_memory("a mirrored table");
    mirror_ = table.value;
    return mirror_->root();
  }
  return process().page_table().root();
}

// The engine begins nothing more, then the SMMU lets nothing more through, and waits for what is under way; then there
// is nobody left to be told of faults, and no frame that the device could touch.
sim::Task<void> Endpoint::close(cpu::Execution& kernel) {
  co_await close_channel(kernel);
  co_await fault_thread_->stop();
  co_await smmu_driver_.detach(kernel, process());
  faults_.close(process().id());
  co_await exit(kernel);
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
  const std::vector<std::uint64_t> pages = own_pages();
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
