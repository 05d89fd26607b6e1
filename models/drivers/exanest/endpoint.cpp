// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/endpoint.hpp"

#include <fmt/format.h>

#include "models/nic/exanest/registers.hpp"
#include "models/os/out_of_memory.hpp"
#include "models/sim/failure.hpp"
#include "models/sim/units.hpp"
#include "models/smmu/config.hpp"

namespace faultline::exanest {

using os::Error;
using sim::RunFailure;

namespace {

constexpr unsigned kHpcTbu = 0;
constexpr std::uint64_t kFileSeed = std::uint64_t{1} << 50;  // of what is in files before anybody writes

[[noreturn]] void no_memory(const Endpoint::Host& host, std::string_view for_what) {
  throw os::out_of_memory(host.vm, fmt::format("node {} has no memory left for {}", host.context.node, for_what),
                          {"ddr.size", "os.user_memory", "os.cma_bytes", "workload.size"});
}

[[noreturn]] void no_huge_pages(const Endpoint::Host& host, std::uint64_t length) {
  const os::HugePool& pool = host.vm.huge_pool();
  throw RunFailure(fmt::format("node {}: mmap(MAP_HUGETLB) of a buffer of {} pages of 2 MiB fails: the pool has {}, of "
                               "which {} are neither used nor reserved",
                               host.context.node, os::huge_page_end(length) / os::kHugePage, pool.total_pages(),
                               pool.available_pages()),
                   {"os.nr_hugepages", "workload.size", "workload.window", "workload.memory", "ddr.size"});
}

}  // namespace

os::Process& Endpoint::new_process(Host& host, const std::string& name) {
  os::Process* process = host.vm.create_process(name);
  if (process == nullptr) no_memory(host, "the page table of a process");
  return *process;
}

Endpoint::Endpoint(const rdma::Strategy& strategy, const LibraryConfig& config, Host host, const std::string& name,
                   unsigned channel, rdma::OnFault on_fault)
    : strategy_(strategy), host_(host), process_(new_process(host_, name)), thread_(host.cpu.new_thread(name)) {
  if (host_.memory.limit > 0) host_.vm.limit_memory(process_, host_.memory.limit);
  if (host_.memory.never_killed) host_.vm.set_oom_score_adj(process_, os::Process::kNeverKilled);
  if (channel >= host_.channels) {
    throw RunFailure(fmt::format("node {} has no DMA channel left for process '{}'", host_.context.node, name),
                     {"exanest.channels"});
  }
  std::uint64_t table_root = process_.page_table().root();
  if (strategy_.translate == rdma::Translate::private_) {
    const os::Result<os::PrivateTable*> table = host_.vm.create_private_table(process_);
    if (!table.ok()) no_memory(host_, "a private table");
    private_table_ = table.value;
    table_root = private_table_->root();
  } else if (strategy_.translate == rdma::Translate::mirrored) {
    const os::Result<os::MirroredTable*> table = host_.vm.create_mirrored_table(process_);
    if (!table.ok()) no_memory(host_, "a mirrored table");
    mirror_ = table.value;
    table_root = mirror_->root();
  }
  const std::uint32_t stream = smmu::stream_id(kHpcTbu, hpc0_master_id(process_.id()));
  if (process_.id() >= reg::kPdids ||
      host_.smmu_driver.attach(process_, stream, table_root, on_fault == rdma::OnFault::stall) != Error::none) {
    throw RunFailure(
        fmt::format("node {} has no context bank left for process '{}': fewer processes on a node, or more "
                    "banks",
                    host_.context.node, name),
        {"smmu.context_banks"});
  }
  library_ = std::make_unique<Library>(config, host_.context, host_.cpu, host_.vm, process_, host_.ddr,
                                       host_.engine_base, channel);
  set_up_channel(channel);
  fault_thread_ =
      std::make_unique<FaultThread>(strategy_, host_.context, host_.cpu, host_.vm, host_.faults, *library_, mirror_);
}

void Endpoint::set_up_channel(unsigned channel) {
  const std::uint64_t privileged = host_.engine_base + reg::kChannelStride * host_.channels;
  host_.cpu.mmio_set_up(privileged + reg::kChannelSelect, channel);
  host_.cpu.mmio_set_up(privileged + reg::kChannelPdid, process_.id());
  host_.cpu.mmio_set_up(privileged + reg::kChannelMailbox, library_->mailbox_ring());
  host_.cpu.mmio_set_up(privileged + reg::kChannelSlots, library_->mailbox_slots());
}

sim::Task<void> Endpoint::open() {
  // The program runs before it calls anything: no strategy pays for the first switch to it.
  co_await host_.cpu.run(thread_, cpu::Work::user, sim::Time{0});
  for (const std::uint64_t page : {library_->notify_page(), library_->mailbox_ring()}) {
    if (mirror_ == nullptr) break;
    const auto mirrored = co_await host_.vm.mirror_pages(thread_, *mirror_, page, os::kPage, true);
    if (!mirrored.ok()) no_memory(host_, "the library's pages in the mirrored table");
  }
  if (private_table_ == nullptr) co_return;
  for (const std::uint64_t page : {library_->notify_page(), library_->mailbox_ring()}) {
    const std::unique_ptr<rdma::PreparePolicy> pinned = prepare(page, os::kPage);
    Error error = co_await pinned->set_up(thread_);
    if (error == Error::none) error = co_await pinned->before(thread_, true);
    if (error == Error::limit) {
      throw RunFailure(
          fmt::format("node {}: the library's pages are not pinned for the private table: {} (RLIMIT_MEMLOCK)",
                      host_.context.node, os::to_string(error)),
          {"os.rlimit_memlock"}, /*refused=*/true);
    }
    if (error != Error::none) no_memory(host_, "the library's pages in the private table");
  }
}

std::uint64_t Endpoint::map_buffer(std::uint64_t length, std::uint64_t offset) {
  os::Result<os::VirtualAddress> mapped;
  if (host_.memory.backing == rdma::Backing::anonymous) {
    // Aligned as an allocator of RDMA buffers would, so that THP can apply.
    mapped = host_.vm.map(process_, offset + length, os::kHugePage);
  } else if (host_.memory.backing == rdma::Backing::hugetlb) {
    mapped = host_.vm.map_huge(process_, offset + length);
    if (mapped.error == Error::no_huge_page) no_huge_pages(host_, offset + length);
  } else {
    os::PageCache& cache = host_.vm.page_cache();
    os::File* file = host_.memory.backing == rdma::Backing::shmem
                         ? cache.create_shmem(offset + length)
                         : cache.create(offset + length, kFileSeed + host_.context.node);
    mapped.error = Error::no_memory;
    if (file != nullptr)
      mapped = host_.vm.map_file(process_, *file, host_.memory.backing != rdma::Backing::private_file);
  }
  if (!mapped.ok()) {
    throw RunFailure(fmt::format("node {}: no room for a buffer of {} in the address space", host_.context.node,
                                 sim::format_bytes(length)),
                     {"workload.size", "os.va_bits"});
  }
  return mapped.value + offset;
}

os::Range Endpoint::pages_of(std::uint64_t address, std::uint64_t length) const {
  const std::uint64_t end = address + length;
  if (host_.memory.backing == rdma::Backing::hugetlb) return {os::huge_page_begin(address), os::huge_page_end(end)};
  return {sim::page_begin(address), sim::page_end(end)};
}

std::unique_ptr<rdma::PreparePolicy> Endpoint::prepare(std::uint64_t address, std::uint64_t length) {
  // System calls take whole pages.
  const std::uint64_t begin = sim::page_begin(address);
  return rdma::make_prepare_policy(strategy_, {host_.vm, process_, begin, address + length - begin, private_table_});
}

}  // namespace faultline::exanest
