// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/fault_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/sim/failure.hpp"

namespace faultline::rdma {

using cpu::Work;
using os::Error;
using os::FaultRecord;
using sim::Step;

namespace {

cpu::Execution& new_thread(cpu::Cpu& cpu, FaultThreadClass kind) {
  const bool bound = kind == FaultThreadClass::kworker_bound;
  const bool fifo = kind == FaultThreadClass::interrupt_thread;
  return cpu.new_thread("fault thread", bound ? std::optional(cpu.config().interrupt_core) : std::nullopt,
                        fifo ? cpu::SchedClass::fifo : cpu::SchedClass::fair);
}

}  // namespace

FaultThread::FaultThread(const Strategy& strategy, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
                         os::FaultService& service, Library& library, os::MirroredTable* mirror)
    : strategy_(strategy),
      context_(context),
      cpu_(cpu),
      vm_(vm),
      service_(service),
      socket_(service.open(library.process().id())),
      library_(library),
      mirror_(mirror),
      thread_(new_thread(cpu, library.config().fault_thread)),
      resolved_(context.statistics.counter("library.pages_resolved", "count", "pages the fault thread made present")),
      merged_(context.statistics.counter("library.faults_merged", "count",
                                         "fault records answered by a page that the same message already resolved")),
      refused_(context.statistics.counter("library.faults_refused", "count",
                                          "faults that could not be resolved: no mapping, or no memory")),
      calls_ahead_(context.statistics.counter("library.calls_ahead", "count",
                                              "get_user_pages calls of touch-ahead after the fault was answered")),
      held_off_(context.statistics.counter("library.held_off", "count",
                                           "fault records of accesses that may have been terminated only because "
                                           "another had faulted (kernel.hupcf = false)")) {
  tasks_.start(serve());
}

sim::Task<void> FaultThread::serve() {
  for (;;) {
    sim::Vector<FaultRecord> records = co_await next_records();
    for (const FaultRecord& record : records) {
      if (!record.stalled) context_.report(Step::library_woken, record.key);
    }
    co_await handle(std::move(records));
  }
}

// Between the calls that are left of touch-ahead the thread looks whether there are faults to be answered first.
sim::Task<sim::Vector<FaultRecord>> FaultThread::next_records() {
  while (!ahead_.empty()) {
    sim::Vector<FaultRecord> records = co_await socket_.receive_now(thread_, vm_.config().syscall);
    if (!records.empty()) co_return records;
    co_await go_ahead();
  }
  co_return co_await socket_.receive(thread_);
}

// A bound that meets faults is none.
void FaultThread::check_bound() const {
  if (strategy_.prepare != Prepare::ideal || mirror_ != nullptr) return;
  throw sim::RunFailure(
      fmt::format("node {}: the device meets a fault in a buffer whose pages are to be always there "
                  "(strategy.prepare = ideal): something in this run takes them, so that it is no bound",
                  context_.node),
      {"inject.mechanism", "workload.memory", "background.processes", "strategy.prepare"}, true);
}

sim::Task<void> FaultThread::handle(sim::Vector<FaultRecord> records) {
  check_bound();
  co_await cpu_.run(thread_, Work::user, library_.config().parse_fault);
  Resolved resolved;
  for (const FaultRecord& record : records) {
    if (!record.stalled) context_.report(Step::resolve_begin, record.key);
    const Error error = co_await resolve_once(record, resolved);
    if (!record.stalled) context_.report(Step::resolve_end, record.key);
    co_await answer(record, error);
  }
}

// Faults of many blocks of one page resolve once.
sim::Task<Error> FaultThread::resolve_once(const FaultRecord& record, Resolved& resolved) {
  held_off_ += record.held_off ? 1 : 0;
  // A private table has the page, for all that anybody knows; if it has not, the block will fault by itself.
  if (record.held_off && strategy_.translate == Translate::private_) co_return Error::none;
  const auto known = resolved.find({record.page, record.write});
  if (known != resolved.end()) {
    ++merged_;
    co_return known->second;
  }
  const Error error = co_await resolve(record.page, record.write);
  resolved.emplace(std::pair(record.page, record.write), error);
  ++(error == Error::none ? resolved_ : refused_);
  co_return error;
}

sim::Task<Error> FaultThread::resolve(std::uint64_t page, bool write) {
  // The device's own table holds what was prepared beforehand; presence in the process's would not help.
  if (strategy_.translate == Translate::private_) co_return Error::bad_address;
  if (strategy_.resolve == Resolve::touch_a_page && mirror_ == nullptr) {
    co_return co_await vm_.touch(thread_, library_.process(), page, write);
  }
  const std::uint64_t pages = strategy_.resolve == Resolve::touch_ahead ? strategy_.touch_ahead_pages : 1;
  const std::uint64_t bytes = std::min<std::uint64_t>(pages, strategy_.call_pages) * os::kPage;
  const os::Result<std::uint64_t> present = co_await call(page, bytes, write);
  // The faulting page is what counts; a later one that found no memory will fault again.
  if (present.value == 0) co_return present.error;
  if (present.value * os::kPage == bytes) plan_ahead(page, page + bytes, page + pages * os::kPage, write);
  co_return Error::none;
}

sim::Task<os::Result<std::uint64_t>> FaultThread::call(std::uint64_t page, std::uint64_t bytes, bool write) {
  return mirror_ != nullptr ? vm_.mirror_pages(thread_, *mirror_, page, bytes, write)
                            : vm_.fault_in_pages(thread_, library_.process(), page, bytes, write);
}

// Adds the pages from `begin` to `end` to those that are still to be made present, and takes out what the call from
// `called` to `begin` has made so. Faults of one stream ask for ranges that overlap: these become one.
void FaultThread::plan_ahead(std::uint64_t called, std::uint64_t begin, std::uint64_t end, bool write) {
  bool known = false;
  for (Ahead& range : ahead_) {
    if (range.write != write) continue;
    if (called <= range.next) range.next = std::clamp(begin, range.next, range.end);
    if (range.first <= begin && begin <= range.end) {
      range.end = std::max(range.end, end);
      known = true;
    }
  }
  if (!known) ahead_.push_back({begin, begin, end, write});
  std::erase_if(ahead_, [](const Ahead& range) { return range.next >= range.end; });
}

// The next call of what is left of touch-ahead. A range ends where its mapping or the memory does.
sim::Task<void> FaultThread::go_ahead() {
  const Ahead range = ahead_.front();
  const std::uint64_t bytes = std::min<std::uint64_t>(range.end - range.next, strategy_.call_pages * os::kPage);
  ++calls_ahead_;
  const os::Result<std::uint64_t> present = co_await call(range.next, bytes, range.write);
  ahead_.front().next += bytes;
  if (present.value * os::kPage < bytes || ahead_.front().next == range.end) ahead_.erase(ahead_.begin());
}

sim::Task<void> FaultThread::answer(const FaultRecord& record, Error error) {
  if (record.stalled) {
    co_await service_.resume(thread_, record.bank, error == Error::none);
  } else if (error == Error::none) {
    co_await library_.request_retry(thread_, record.peer, record.key, !record.held_off);
  } else {
    co_await library_.request_abort(thread_, record.peer, record.key.transfer);
  }
}

}  // namespace faultline::rdma
