// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/fault_service.hpp"

#include <algorithm>
#include <utility>

#include "models/drivers/exanest/steps.hpp"
#include "models/nic/exanest/registers.hpp"

namespace faultline::exanest {

using cpu::Work;

sim::Task<sim::Vector<FaultMessage>> FaultSocket::receive(cpu::Execution& thread, cpu::Waking how) {
  if (waiting_.empty()) {
    work_.end();
    while (waiting_.empty()) co_await cpu_.sleep(thread, arrived_, how);
  }
  work_.begin();
  co_await cpu_.run(thread, Work::system, config_.netlink_receive);
  sim::Vector<FaultMessage> records;
  records.swap(waiting_);
  co_return records;
}

sim::Task<sim::Vector<FaultMessage>> FaultSocket::receive_now(cpu::Execution& thread, sim::Time empty) {
  if (!waiting_.empty()) co_return co_await receive(thread);
  co_await cpu_.run(thread, Work::system, empty);
  co_return sim::Vector<FaultMessage>{};
}

bool FaultSocket::deliver(const sim::Vector<FaultMessage>& records) {
  if (waiting_.size() >= config_.netlink_socket_records) return false;
  waiting_.insert(waiting_.end(), records.begin(), records.end());
  arrived_.notify_all();
  return true;
}

FaultService::FaultService(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu,
                           cpu::InterruptController& interrupts, unsigned line, mmu500::SmmuDriver& driver,
                           FaultLog& log, std::uint64_t engine_base)
    : config_(config),
      context_(context),
      cpu_(cpu),
      driver_(driver),
      log_(log),
      engine_(engine_base),
      tasklet_(cpu, [this] { return drain(); }),
      records_(context.statistics.counter("driver.fault_records", "count", "fault records handed to processes")),
      messages_(
          context.statistics.counter("driver.netlink_messages", "count", "netlink messages sent to fault threads")),
      undelivered_(context.statistics.counter("driver.undelivered_records", "count",
                                              "fault records that no process listened for, or had room for")) {
  interrupts.connect(line, [this] { return handle(); });
}

FaultSocket& FaultService::open(std::uint32_t pdid) {
  auto& socket = sockets_[pdid];
  if (!socket) socket = std::make_unique<FaultSocket>(config_, cpu_, context_.loop);
  return *socket;
}

void FaultService::close(std::uint32_t pdid) {
  const auto found = sockets_.find(pdid);
  if (found == sockets_.end()) return;
  found->second->clear();
  closed_.push_back(std::move(found->second));
  sockets_.erase(found);
}

sim::Task<void> FaultService::handle() {
  const sim::Time entered = context_.now();
  const sim::Vector<mmu500::BankFault> faults = co_await driver_.handle_interrupt(cpu_.irq_context());
  for (const mmu500::BankFault& fault : faults) {
    const Named named{fault.pdid, sim::page_begin(fault.address)};
    if (fault.stalled) stalled_.push_back({fault, log_.of_access(named.pdid, named.page, fault.write)});
    named_.push_back(named);
  }
  last_handled_ = {entered, context_.now()};
  tasklet_.schedule();
}

bool FaultService::is_named(const Named& fault) const {
  const auto in = [&](const sim::Vector<Named>& faults) {
    return std::find(faults.begin(), faults.end(), fault) != faults.end();
  };
  return in(named_) || in(named_before_);
}

sim::Task<void> FaultService::read_fifo(ByProcess& by_process, Handled handler, sim::Time begun) {
  cpu::Execution& context = cpu_.softirq_context();
  std::uint64_t known = 0;  // records that were there when `handler` and `begun` were true
  for (bool first = true;; first = false) {
    const std::uint64_t count = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultCount);
    if (count == 0) break;
    if (known == 0) {
      known = count;
      if (last_handled_.done > handler.done) {
        // An interrupt has come between, and the tasklet goes on with what it brought.
        handler = last_handled_;
        begun = handler.done;
      } else if (!first) {
        // They came while the tasklet ran, and it finds them before their interrupt is taken.
        begun = context_.now();
        handler = {begun, begun};
      }
    }
    --known;
    const std::uint64_t address = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord0);
    const std::uint64_t ends = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord1);
    const std::uint64_t transfer = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord2);
    const std::uint64_t block = co_await cpu_.mmio_read(context, Work::softirq, engine_ + reg::kFaultWord3);
    co_await cpu_.mmio_write(context, Work::softirq, engine_ + reg::kFaultPop, 1);
    FaultMessage record;
    record.page = sim::page_begin(address);
    record.write = (address & reg::kFaultAtSource) == 0;
    record.peer = static_cast<sim::NodeId>(ends >> 32);
    record.key = {transfer, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32)};
    const auto pdid = static_cast<std::uint32_t>(ends & 0xffff);
    record.held_off = driver_.holds_off() && !is_named({pdid, record.page});
    const FaultLog::Fault fault = log_.of_block({record.page, !record.write, pdid, record.peer, record.key});
    by_process[pdid].push_back({record, handler, begun, fault});
  }
}

sim::Task<void> FaultService::drain() {
  // Later handlers may run meanwhile.
  const Handled handler = last_handled_;
  const sim::Time begun = context_.now();
  ByProcess by_process;
  sim::Vector<Stalled> stalled;
  stalled.swap(stalled_);
  named_before_ = std::exchange(named_, {});
  for (const auto& [access, fault] : stalled) {
    FaultMessage record;
    record.page = sim::page_begin(access.address);
    record.write = access.write;
    record.stalled = true;
    record.bank = access.bank;
    by_process[access.pdid].push_back({record, handler, begun, fault});
  }
  co_await read_fifo(by_process, handler, begun);
  for (const auto& [pdid, found] : by_process) co_await send(pdid, found);
}

sim::Task<void> FaultService::send(std::uint32_t pdid, const sim::Vector<Found>& found) {
  bool delivered = false;
  if (sockets_.contains(pdid)) {
    co_await cpu_.run(cpu_.softirq_context(), Work::softirq, config_.netlink_send);
    sim::Vector<FaultMessage> records;
    records.reserve(found.size());
    for (const Found& f : found) records.push_back(f.record);
    ++messages_;
    const auto socket = sockets_.find(pdid);  // it may have been closed meanwhile
    delivered = socket != sockets_.end() && socket->second->deliver(records);
  }
  if (delivered) {
    records_ += found.size();
    for (const Found& f : found) {
      count(f);
      // Of a stalled access nobody knows the block: the steps are of no transfer.
      context_.trace.report(f.handler.entered, context_.node, step::kHandlerEntered, f.record.key);
      context_.trace.report(f.handler.done, context_.node, step::kHandlerDone, f.record.key);
      context_.trace.report(f.begun, context_.node, step::kTaskletRun, f.record.key);
      context_.report(step::kMessageSent, f.record.key);
    }
    co_return;
  }
  undelivered_ += found.size();
  // A terminated access has its block's timeout. A stalled one has nobody who would resume it.
  const auto stalled = std::find_if(found.begin(), found.end(), [](const Found& f) { return f.record.stalled; });
  if (stalled == found.end()) co_return;
  co_await driver_.resume(cpu_.softirq_context(), Work::softirq, stalled->record.bank, /*retry=*/false);
  tasklet_.schedule();
}

void FaultService::count(const Found& told) {
  const FaultMessage& record = told.record;
  if (record.stalled) {
    log_.told_of_access(told.fault);
  } else {
    log_.told_of_block(told.fault, record.key, record.page, !record.write);
  }
}

sim::Task<void> FaultService::resume(cpu::Execution& thread, unsigned bank, bool retry) {
  co_await cpu_.run(thread, Work::system, config_.resume_call);
  co_await driver_.resume(thread, Work::system, bank, retry);
  context_.report(step::kStallResumed, {});
  if (!retry) tasklet_.schedule();
}

}  // namespace faultline::exanest
