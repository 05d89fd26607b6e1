// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/endpoint.hpp"

#include <fmt/format.h>

#include "models/os/out_of_memory.hpp"
#include "models/sim/failure.hpp"
#include "models/sim/units.hpp"

namespace faultline::rdma {

using os::Error;
using sim::RunFailure;

namespace {

constexpr std::uint64_t kFileSeed = std::uint64_t{1} << 50;  // of what is in files before anybody writes

[[noreturn]] void no_huge_pages(const Endpoint::Host& host, std::uint64_t length) {
  const os::HugePool& pool = host.vm.huge_pool();
  throw RunFailure(fmt::format("node {}: mmap(MAP_HUGETLB) of a buffer of {} pages of 2 MiB fails: the pool has {}, of "
                               "which {} are neither used nor reserved",
                               host.context.node, os::huge_page_end(length) / os::kHugePage, pool.total_pages(),
                               pool.available_pages()),
                   {"os.nr_hugepages", "workload.size", "workload.window", "workload.memory", "ddr.size"});
}

}  // namespace

void Endpoint::no_memory(const Host& host, std::string_view for_what) {
  throw os::out_of_memory(host.vm, fmt::format("node {} has no memory left for {}", host.context.node, for_what),
                          {"ddr.size", "os.user_memory", "os.cma_bytes", "workload.size"});
}

os::Process& Endpoint::new_process(const Host& host, const std::string& name) {
  os::Process* process = host.vm.create_process(name);
  if (process == nullptr) no_memory(host, "the page table of a process");
  return *process;
}

Endpoint::Endpoint(Host host, const std::string& name)
    : host_(host), process_(new_process(host_, name)), thread_(new_thread(name)) {
  if (host_.memory.limit > 0) host_.vm.limit_memory(process_, host_.memory.limit);
  if (host_.memory.never_killed) host_.vm.set_oom_score_adj(process_, os::Process::kNeverKilled);
}

void Endpoint::register_by(const Strategy& strategy, os::PrivateTable* device_table) {
  registration_ = strategy.registration->open({host_.cpu, host_.vm, process_, device_table, strategy.unpin});
}

sim::Task<Message> Endpoint::receive(cpu::Execution& thread) {
  const Message message = co_await take(thread);
  co_await give_back(thread);
  co_return message;
}

std::uint64_t Endpoint::map_buffer(std::uint64_t length, std::uint64_t offset) {
  os::Result<os::VirtualAddress> mapped;
  if (host_.memory.backing == Backing::anonymous) {
    // Aligned as an allocator of RDMA buffers would, so that THP can apply.
    mapped = host_.vm.map(process_, offset + length, os::kHugePage);
  } else if (host_.memory.backing == Backing::hugetlb) {
    mapped = host_.vm.map_huge(process_, offset + length);
    if (mapped.error == Error::no_huge_page) no_huge_pages(host_, offset + length);
  } else {
    os::PageCache& cache = host_.vm.page_cache();
    os::File* file = host_.memory.backing == Backing::shmem
                         ? cache.create_shmem(offset + length)
                         : cache.create(offset + length, kFileSeed + host_.context.node);
    mapped.error = Error::no_memory;
    if (file != nullptr) mapped = host_.vm.map_file(process_, *file, host_.memory.backing != Backing::private_file);
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
  if (host_.memory.backing == Backing::hugetlb) return {os::huge_page_begin(address), os::huge_page_end(end)};
  return {sim::page_begin(address), sim::page_end(end)};
}

RegisteredBuffer Endpoint::buffer(std::uint64_t address, std::uint64_t length) {
  // System calls take whole pages.
  const std::uint64_t begin = sim::page_begin(address);
  return {*registration_, {begin, address + length - begin}, address - begin};
}

}  // namespace faultline::rdma
