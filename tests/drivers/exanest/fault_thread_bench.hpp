// SPDX-License-Identifier: Apache-2.0
// A fault thread on a node, the kernel's messages to it, and the register accesses that its answers must be.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "models/drivers/exanest/fault_thread.hpp"
#include "models/smmu/registers.hpp"
#include "tests/support/rdma_bench.hpp"

namespace faultline::test {

using exanest::FaultMessage;
using rdma::Resolve;
using sim::PartKey;

inline constexpr sim::NodeId kPeer = 6;
inline constexpr Time kMessage = 20us;  // when the kernel delivers

struct FaultBench : RdmaBench {
  explicit FaultBench(Resolve resolve, unsigned ahead = 4, unsigned a_call = 512)
      : FaultBench(strategy(resolve, ahead, a_call)) {}
  explicit FaultBench(const rdma::Strategy& wanted, const RdmaConfig& parts = {})
      : RdmaBench(parts),
        registration(wanted.registration->open({cpu, vm, process})),
        fault_thread(wanted, node.context, cpu, vm, faults, library, *registration) {}

  static rdma::Strategy strategy(Resolve resolve, unsigned ahead, unsigned a_call) {
    rdma::Strategy wanted;
    wanted.resolve = resolve;
    wanted.touch_ahead_pages = ahead;
    wanted.call_pages = a_call;
    return wanted;
  }
  void deliver(sim::Vector<FaultMessage> records, Time when = kMessage, std::uint32_t pdid = 1) {
    tasks.start(deliver_at(*this, std::move(records), when, pdid));
  }
  static Task<void> deliver_at(FaultBench& b, sim::Vector<FaultMessage> records, Time when, std::uint32_t pdid) {
    co_await b.node.loop.until(when);
    b.faults.open(pdid).deliver(std::move(records));
  }
  // Attaches the process to the SMMU; its bank.
  unsigned attach() {
    os::Process* first = vm.create_process("in bank 0");
    REQUIRE(driver.attach(*first, stream_of(*first), first->page_table().root(), true) == Error::none);
    REQUIRE(driver.attach(process, stream_of(process), process.page_table().root(), true) == Error::none);
    registers.taken();
    return 1;
  }
  // One message, to the end of all that it causes.
  void handle(sim::Vector<FaultMessage> records) {
    deliver(std::move(records));
    settle();
  }

  std::int64_t count(std::string_view name) const { return static_cast<std::int64_t>(counted(name)); }

  // The thread, woken by the message, has parsed it.
  Time woken() const { return kMessage + config.cpu.context_switch + config.driver.netlink_receive; }
  Time parsed() const { return woken() + config.library.parse_fault; }
  Time retry() const { return config.library.post_retry + 4 * config.cpu.mmio_write; }
  Time abort() const { return config.library.post_retry + 3 * config.cpu.mmio_write; }
  // One get_user_pages call.
  Time call(unsigned pages, unsigned cold) const {
    return config.os.syscall + pages * config.os.gup_per_page + cold * cold_page();
  }
  // The register accesses of answers that begin at `from`.
  Accesses retry_of(Time from, const PartKey& key) const { return asking(from, reg::kRetransmit, key); }
  Accesses resend_of(Time from, const PartKey& key) const { return asking(from, reg::kResend, key); }
  Accesses abort_of(Time from, const PartKey& key) const { return message(from, {reg::kAbort, key.transfer}); }
  Accesses asking(Time from, std::uint64_t operation, const PartKey& key) const {
    return message(from, {operation, key.transfer, key.part | std::uint64_t{key.attempt} << 32});
  }
  Accesses message(Time from, const std::vector<std::uint64_t>& words) const {
    Time at = from + config.library.post_retry;
    Accesses expected;
    for (std::size_t i = 0; i < words.size(); ++i) {
      at += config.cpu.mmio_write;
      expected.push_back({at, kRegisters + reg::kMessageWord0 + 8 * i, words[i]});
    }
    const std::uint64_t send = kPeer | words.size() << 48 | reg::kMessageToNic << 56;
    expected.push_back({at + config.cpu.mmio_write, kRegisters + reg::kMessageSend, send});
    return expected;
  }

  std::unique_ptr<rdma::Registration> registration;
  exanest::FaultThread fault_thread;
};

inline FaultMessage fault(std::uint64_t page, std::uint32_t block = 0, bool write = true) {
  FaultMessage record;
  record.page = page;
  record.write = write;
  record.peer = kPeer;
  record.key = {40, block, 2};
  return record;
}

inline FaultMessage stalled(std::uint64_t page, unsigned bank) {
  FaultMessage record;
  record.page = page;
  record.write = true;
  record.stalled = true;
  record.bank = bank;
  return record;
}

inline Accesses operator+(Accesses first, const Accesses& then) {
  first.insert(first.end(), then.begin(), then.end());
  return first;
}

inline Access resumed(const FaultBench& b, Time from, unsigned bank, std::uint64_t how) {
  return {from + b.config.driver.resume_call + b.config.cpu.mmio_write,
          kSmmu + smmu::reg::context_bank(bank) + smmu::reg::cb::kRESUME, how};
}

}  // namespace faultline::test
