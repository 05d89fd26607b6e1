// SPDX-License-Identifier: Apache-2.0
#include "models/os/fault_service.hpp"

#include "models/dma/registers.hpp"

namespace faultline::os {

namespace reg = dma::reg;
using cpu::Work;
using sim::Step;

sim::Task<std::vector<FaultRecord>> FaultSocket::receive(cpu::Execution& thread) {
  while (waiting_.empty()) co_await cpu_.sleep(thread, arrived_);
  co_await cpu_.run(thread, Work::system, config_.netlink_receive);
  std::vector<FaultRecord> records;
  records.swap(waiting_);
  co_return records;
}

void FaultSocket::deliver(std::vector<FaultRecord> records) {
  waiting_.insert(waiting_.end(), records.begin(), records.end());
  arrived_.notify_all();
}

FaultService::FaultService(const KernelConfig& config, const sim::Context& context, cpu::Cpu& cpu,
                           cpu::InterruptController& interrupts, unsigned line, SmmuDriver& driver,
                           std::uint64_t engine_base)
    : config_(config),
      context_(context),
      cpu_(cpu),
      driver_(driver),
      engine_(engine_base),
      tasklet_(cpu, [this] { return drain(); }),
      records_(context.statistics.counter("driver.fault_records", "count", "fault records handed to processes")),
      messages_(
          context.statistics.counter("driver.netlink_messages", "count", "netlink messages sent to fault threads")) {
  interrupts.connect(line, [this] { return handle(); });
}

FaultSocket& FaultService::open(std::uint32_t pdid) {
  auto& socket = sockets_[pdid];
  if (!socket) socket = std::make_unique<FaultSocket>(config_, cpu_, context_.loop);
  return *socket;
}

sim::Task<void> FaultService::handle() {
  const sim::Time entered = context_.now();
  const std::vector<BankFault> faults = co_await driver_.handle_interrupt(cpu_.irq_context());
  for (const BankFault& fault : faults) {
    if (fault.stalled) stalled_.push_back(fault);
  }
  handler_entered_ = entered;
  handler_done_ = context_.now();
  tasklet_.schedule();
}

sim::Task<void> FaultService::read_fifo(std::map<std::uint32_t, std::vector<FaultRecord>>& by_process) {
  cpu::Execution& context = cpu_.softirq_context();
  while (co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultCount) != 0) {
    const std::uint64_t address = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord0);
    const std::uint64_t ends = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord1);
    const std::uint64_t transfer = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord2);
    const std::uint64_t block = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord3);
    co_await cpu_.mmio_write(context, Work::softirq, engine_ + reg::kFaultPop, 1);
    FaultRecord record;
    record.page = address & ~std::uint64_t{kPage - 1};
    record.write = (address & reg::kFaultAtSource) == 0;
    record.peer = static_cast<sim::NodeId>(ends >> 32);
    record.key = {transfer, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32)};
    by_process[static_cast<std::uint32_t>(ends & 0xffff)].push_back(record);
  }
}

sim::Task<void> FaultService::drain() {
  const sim::Time began = context_.now();
  // By PDID, so that the order of messages does not depend on addresses of the host.
  std::map<std::uint32_t, std::vector<FaultRecord>> by_process;
  std::vector<BankFault> stalled;
  stalled.swap(stalled_);
  for (const BankFault& fault : stalled) {
    FaultRecord record;
    record.page = fault.address & ~std::uint64_t{kPage - 1};
    record.write = fault.write;
    record.stalled = true;
    record.bank = fault.bank;
    by_process[fault.pdid].push_back(record);
  }
  co_await read_fifo(by_process);

  for (auto& [pdid, records] : by_process) {
    const auto socket = sockets_.find(pdid);
    if (socket == sockets_.end()) continue;  // nobody listens: the block's timeout ends the transfer
    co_await cpu_.run(cpu_.softirq_context(), Work::softirq, config_.netlink_send);
    ++messages_;
    records_ += records.size();
    for (const FaultRecord& record : records) {
      if (record.stalled) continue;
      context_.trace.report(handler_entered_, context_.node, Step::handler_entered, record.key);
      context_.trace.report(handler_done_, context_.node, Step::handler_done, record.key);
      context_.trace.report(began, context_.node, Step::tasklet_run, record.key);
      context_.report(Step::message_sent, record.key);
    }
    socket->second->deliver(std::move(records));
  }
}

sim::Task<void> FaultService::resume(cpu::Execution& thread, unsigned bank, bool retry) {
  co_await driver_.resume(thread, bank, retry);
  if (!retry) tasklet_.schedule();
}

}  // namespace faultline::os
