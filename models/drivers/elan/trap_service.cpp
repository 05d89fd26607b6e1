// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/elan/trap_service.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/drivers/elan/steps.hpp"
#include "models/drivers/library/instruments.hpp"
#include "models/nic/elan/registers.hpp"
#include "models/sim/failure.hpp"

namespace faultline::elan {

using cpu::Work;
using os::Error;
using sim::Task;

namespace {

bool is_mapped(const os::Process& process, os::VirtualAddress va, bool write) {
  const os::Vma* vma = process.space().find(va);
  return vma != nullptr && vma->allows(write);
}

}  // namespace

TrapService::TrapService(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
                         cpu::InterruptController& interrupts, unsigned line, std::uint64_t base, NicTable& table,
                         library::EventService& events)
    : config_(config),
      context_(context),
      cpu_(cpu),
      vm_(vm),
      base_(base),
      table_(table),
      events_(events),
      book_(context, vm),
      records_(context.statistics.counter("driver.fault_records", "count", "traps that the driver has taken")),
      resolved_(context.statistics.counter("elan_driver.resolved", "count", "traps whose page the driver has loaded")),
      merged_(context.statistics.counter("elan_driver.merged", "count", "traps whose page was loaded already")),
      refused_(context.statistics.counter("elan_driver.refused", "count",
                                          "traps that could not be answered: no mapping, or no memory")),
      gone_(context.statistics.counter("elan_driver.gone", "count", "traps of processes that had gone")) {
  interrupts.connect(line, [this] { return handle(); });
}

void TrapService::open(os::Process& process, PushedTable& pushed, const rdma::Strategy& strategy) {
  cpu::Execution& thread = cpu_.new_thread("elan trap").use(process.id());
  const auto served = std::make_shared<Served>(process, pushed, strategy, thread, context_.loop);
  served_[process.id()] = served;
  tasks_.start(serve(served));
}

Task<void> TrapService::close(std::uint32_t pdid) {
  const auto found = served_.find(pdid);
  if (found == served_.end()) co_return;
  const std::shared_ptr<Served> served = found->second;
  gone_ += served->waiting.size();
  served->waiting.clear();
  served->stops = true;
  served->trap.notify_all();
  while (served->work.runs()) co_await served->idle;
  served_.erase(pdid);
}

void TrapService::add_busy(std::vector<rdma::Nic::Busy>& all) const {
  for (const auto& [pdid, served] : served_) all.push_back({&library::kFaultThreadBusy, pdid, served->work.worked()});
}

void TrapService::access_refused(const Mmu::Refusal& refusal) {
  const os::Process* process = vm_.find_process(refusal.pdid);
  library::FaultBook::Fault fault{.reason = {.cause = os::FaultCause::no_mapping}};
  if (process != nullptr) {
    fault.reason = vm_.fault_reason(refusal.pdid, process->page_table().root(), refusal.address, refusal.write);
    const auto served = served_.find(refusal.pdid);
    const bool is_present = fault.reason.usable() || fault.reason.cause == os::FaultCause::access_flag;
    if (is_present) {
      // The process could use the page: it is the NIC's table that lacks it.
      fault.reason.cause = os::FaultCause::mirror;
      if (served != served_.end()) fault.reason.by = served->second->pushed.taken_from(refusal.address);
    }
    if (served != served_.end()) note_bound(*served->second, fault.reason, is_present);
  }
  book_.access_refused({refusal.pdid, refusal.address, refusal.write}, fault, step::kAccessRefused);
}

// All records that wait; a notice's process after them, when the line is found high again.
Task<void> TrapService::handle() {
  cpu::Execution& irq = cpu_.irq_context();
  const sim::Time entered = context_.now();
  std::uint64_t count = co_await cpu_.mmio_read(irq, Work::irq, base_ + reg::kFaultCount);
  if (count == 0) {
    co_await events_.handle();
    co_return;
  }
  co_await cpu_.run(irq, Work::irq, config_.trap_handler);
  for (; count > 0; --count) {
    const std::uint64_t address = co_await cpu_.mmio_read(irq, Work::irq, base_ + reg::kFaultWord0);
    const std::uint64_t ends = co_await cpu_.mmio_read(irq, Work::irq, base_ + reg::kFaultWord1);
    const std::uint64_t transfer = co_await cpu_.mmio_read(irq, Work::irq, base_ + reg::kFaultWord2);
    const std::uint64_t block = co_await cpu_.mmio_read(irq, Work::irq, base_ + reg::kFaultWord3);
    co_await cpu_.mmio_write(irq, Work::irq, base_ + reg::kFaultPop, 1);
    nic::FaultRecord record;
    record.page = sim::page_begin(address);
    record.at_source = (address & reg::kFaultAtSource) != 0;
    record.peer = static_cast<sim::NodeId>(ends >> 32);
    record.pdid = static_cast<std::uint32_t>(ends & 0xffff);
    record.key = {transfer, static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32)};
    const auto served = served_.find(record.pdid);
    if (served == served_.end() || served->second->stops) {
      ++gone_;
      co_await cpu_.mmio_write(irq, Work::irq, base_ + reg::kGiveUp, reg::address_of(record.pdid, record.page));
      continue;
    }
    ++records_;
    book_.told_of_block(book_.of_block(record), record.key, record.page, record.at_source);
    context_.trace.report(entered, context_.node, step::kHandlerEntered, record.key);
    context_.report(step::kTrapTaken, record.key);
    served->second->waiting.push_back(record);
    served->second->trap.notify_all();
  }
}

Task<void> TrapService::serve(std::shared_ptr<Served> served) {
  for (;;) {
    while (served->waiting.empty() && !served->stops) co_await cpu_.sleep(served->thread, served->trap);
    if (served->stops) co_return;
    const nic::FaultRecord record = served->waiting.front();
    served->waiting.pop_front();
    served->work.begin();
    co_await answer(*served, record);
    served->work.end();
    served->idle.notify_all();
  }
}

Task<void> TrapService::answer(Served& served, nic::FaultRecord record) {
  context_.report(step::kResolveBegin, record.key);
  co_await cpu_.run(served.thread, Work::system, config_.trap_service);
  check_bound(served);
  const bool write = !record.at_source;
  bool there = served.pushed.has(record.page, write);
  if (there) {
    ++merged_;
  } else {
    there = co_await resolve(served, record.page, write);
    ++(there ? resolved_ : refused_);
  }
  context_.report(step::kResolveEnd, record.key);
  if (served.stops) co_return;
  const bool gives_up = config_.gives_up && !there && record.at_source;
  co_await table_.restart(served.thread, record.pdid, record.page, gives_up);
}

// A bound whose pages are taken, or have no room in the NIC's table, is none. A new page that has not been pushed yet
// breaks no bound.
void TrapService::note_bound(Served& served, const os::FaultReason& reason, bool is_present) const {
  if (!served.strategy.registration->abilities().is_bound || !served.strategy.translate->pushes) return;
  if (!is_present || reason.by.by != os::Taker::nobody) {
    served.broken = Broken::taken;
  } else if (!table_.has_room()) {
    served.broken = Broken::no_room;
  }
}

void TrapService::check_bound(const Served& served) const {
  const char* begin = "the NIC has no entry of a page that is to be always there (strategy.registration = ideal)";
  if (served.broken == Broken::no_room) {
    throw sim::RunFailure(fmt::format("node {}: {}: its table is full, so that it is no bound", context_.node, begin),
                          {"elan.table_entries", "workload.size", "strategy.registration"}, true);
  }
  if (served.broken != Broken::taken) return;
  throw sim::RunFailure(
      fmt::format("node {}: {}: something in this run takes them, so that it is no bound", context_.node, begin),
      {"inject.mechanism", "workload.memory", "background.processes", "strategy.registration"}, true);
}

Task<bool> TrapService::resolve(Served& served, os::VirtualAddress page, bool write) {
  const bool ahead = served.strategy.resolve != rdma::Resolve::touch_a_page;
  const std::uint64_t pages = ahead ? served.strategy.touch_ahead_pages : 1;
  // An entry may go again before the NIC's table has it.
  for (unsigned tries = 0; tries < 8 && !served.stops; ++tries) {
    std::uint64_t present = 0;
    for (; present < pages && !served.stops; ++present) {
      const os::VirtualAddress va = page + present * os::kPage;
      if (served.pushed.has(va, write)) continue;
      if (present > 0 && !is_mapped(served.process, va, write)) break;
      const Error error = co_await vm_.handle_fault(served.thread, served.process, va, write);
      if (error != Error::none) break;
    }
    if (present == 0) co_return false;
    const bool there = co_await served.pushed.load_missed(served.thread, {page, page + present * os::kPage}, write);
    if (there) co_return true;
  }
  // Something takes the page again and again: the block is tried once more, and traps again.
  co_return true;
}

}  // namespace faultline::elan
