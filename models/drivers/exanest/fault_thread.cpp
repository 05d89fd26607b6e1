// SPDX-License-Identifier: Apache-2.0
#include "models/drivers/exanest/fault_thread.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "models/drivers/exanest/steps.hpp"
#include "models/sim/failure.hpp"

namespace faultline::exanest {

using cpu::Work;
using os::Error;

namespace {

constexpr std::size_t kRemembered = 256;  // as many faults as wait in a socket

cpu::Execution& new_thread(cpu::Cpu& cpu, FaultThreadClass kind) {
  const bool fifo = kind == FaultThreadClass::interrupt_thread;
  // irq_thread_check_affinity()
  const bool stays = fifo && cpu.config().kernel.has(cpu::Change::irq_thread_stays);
  const bool bound = stays || kind == FaultThreadClass::kworker_bound;
  return cpu.new_thread("fault thread", bound ? std::optional(cpu.config().interrupt_core) : std::nullopt,
                        fifo ? cpu::SchedClass::fifo : cpu::SchedClass::fair);
}

}  // namespace

FaultThread::FaultThread(const rdma::Strategy& strategy, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
                         FaultService& service, Library& library, rdma::Registration& registration,
                         os::MirroredTable* mirror)
    : strategy_(strategy),
      context_(context),
      cpu_(cpu),
      vm_(vm),
      service_(service),
      socket_(service.open(library.process().id())),
      library_(library),
      registration_(registration),
      mirror_(mirror),
      thread_(new_thread(cpu, library.config().fault_thread).use(library.process().id())),
      resolved_(context.statistics.counter("library.pages_resolved", "count",
                                           "pages the fault thread made present, or waited for")),
      merged_(context.statistics.counter("library.faults_merged", "count",
                                         "fault records answered by a page that the same message already resolved")),
      refused_(context.statistics.counter("library.faults_refused", "count",
                                          "faults that could not be resolved: no mapping, or no memory")),
      calls_ahead_(context.statistics.counter("library.calls_ahead", "count",
                                              "calls of touch-ahead or fixup-user-fault after the fault was answered")),
      held_off_(context.statistics.counter("library.held_off", "count",
                                           "fault records of accesses that may have been terminated only because "
                                           "another had faulted (smmu_driver.hupcf = false)")),
      touched_(context.statistics.counter("library.refaults_touched", "count",
                                          "faults that came back at a page which get_user_pages had found present, and "
                                          "which the fault thread then touched itself")),
      out_of_call_(context.loop) {
  answered_.reserve(kRemembered);
  tasks_.start(serve());
}

sim::Task<void> FaultThread::serve() {
  while (!stopping_) {
    sim::Vector<FaultMessage> records = co_await next_records();
    if (stopping_) break;
    in_call_ = true;
    for (const FaultMessage& record : records) context_.report(step::kLibraryWoken, record.key);
    co_await handle(std::move(records));
  }
  in_call_ = false;
  out_of_call_.notify_all();
}

sim::Task<void> FaultThread::stop() {
  stopping_ = true;
  while (in_call_) co_await out_of_call_;  // NOLINT(bugprone-infinite-loop): serve() ends it
}

// Between the calls that are left of touch-ahead the thread looks whether there are faults to be answered first.
sim::Task<sim::Vector<FaultMessage>> FaultThread::next_records() {
  while (!ahead_.empty() && !stopping_) {
    sim::Vector<FaultMessage> records = co_await socket_.receive_now(thread_, vm_.config().syscall);
    if (!records.empty()) co_return records;
    co_await go_ahead();
  }
  in_call_ = false;
  out_of_call_.notify_all();
  const bool of_program = library_.config().fault_thread == FaultThreadClass::process;
  co_return co_await socket_.receive(thread_, of_program ? cpu::Waking::sync : cpu::Waking::plain);
}

// A bound that meets faults is none.
void FaultThread::check_bound() const {
  if (!strategy_.registration->abilities().is_bound || mirror_ != nullptr) return;
  throw sim::RunFailure(
      fmt::format("node {}: the device meets a fault in a buffer whose pages are to be always there "
                  "(strategy.registration = ideal): something in this run takes them, so that it is no bound",
                  context_.node),
      {"inject.mechanism", "workload.memory", "background.processes", "strategy.registration"}, true);
}

sim::Task<void> FaultThread::handle(sim::Vector<FaultMessage> records) {
  check_bound();
  co_await cpu_.run(thread_, Work::user, library_.config().parse_fault);
  Resolved resolved;
  for (const FaultMessage& record : records) {
    context_.report(step::kResolveBegin, record.key);
    const Error error = co_await resolve_once(record, resolved);
    context_.report(step::kResolveEnd, record.key);
    co_await answer(record, error);
  }
}

// Faults of many blocks of one page resolve once.
sim::Task<Error> FaultThread::resolve_once(const FaultMessage& record, Resolved& resolved) {
  held_off_ += record.held_off ? 1 : 0;
  // A private table has the page, for all that anybody knows; if it has not, the block will fault by itself.
  const bool is_prepared = strategy_.translate->registered && !strategy_.registration->abilities().pins_late;
  if (record.held_off && is_prepared) co_return Error::none;
  const auto known = resolved.find({record.page, record.write});
  if (known != resolved.end()) {
    ++merged_;
    co_return known->second;
  }
  const Error error = co_await resolve(record);
  resolved.emplace(std::pair(record.page, record.write), error);
  ++(error == Error::none ? resolved_ : refused_);
  co_return error;
}

// Pages as get_user_pages finds them may still fault: it looks neither at access flags nor at whether a clean page may
// be written by hardware. The library sees no more than the same block at the same pages again, and then touches the
// page as well. A stalled access names no block: there the very page counts that was answered last. It may be absent
// anew, as that of another transfer.
bool FaultThread::came_back(const FaultMessage& record) const {
  if (record.stalled) return record.page == stalled_page_;
  return std::any_of(answered_.begin(), answered_.end(), [&](const Answered& one) {
    return one.peer == record.peer && one.transfer == record.key.transfer && one.block == record.key.part &&
           one.pages.begin <= record.page && record.page < one.pages.end;
  });
}

void FaultThread::remember(const FaultMessage& record, std::uint64_t bytes) {
  if (record.stalled) {
    stalled_page_ = record.page;
    return;
  }
  const Answered answered{.peer = record.peer,
                          .transfer = record.key.transfer,
                          .block = record.key.part,
                          .pages = {record.page, record.page + bytes}};
  if (answered_.size() < kRemembered) {
    answered_.push_back(answered);
  } else {
    answered_[oldest_] = answered;
    oldest_ = (oldest_ + 1) % kRemembered;
  }
}

// From the faulting page on, and no further than the address space goes: a call refuses what lies beyond.
std::uint64_t FaultThread::bytes_ahead(std::uint64_t page) const {
  const std::uint64_t pages = strategy_.resolve == rdma::Resolve::touch_a_page ? 1 : strategy_.touch_ahead_pages;
  const std::uint64_t top = library_.process().space().all().end;
  return page < top ? std::min(pages * os::kPage, top - page) : os::kPage;
}

sim::Task<Error> FaultThread::resolve(const FaultMessage& record) {
  const auto [page, write] = std::pair(record.page, record.write);
  // The device's own table holds what registrations prepare; presence in the process's would not help.
  if (strategy_.translate->registered) co_return co_await registration_.await_page(thread_, page);
  if (strategy_.resolve == rdma::Resolve::touch_a_page && mirror_ == nullptr) {
    co_return co_await vm_.touch(thread_, library_.process(), page, write);
  }
  const std::uint64_t wanted = bytes_ahead(page);
  const std::uint64_t bytes = std::min(wanted, strategy_.call_pages * os::kPage);
  const os::Result<std::uint64_t> present = co_await call(page, bytes, write);
  // The faulting page is what counts; a later one that found no memory will fault again.
  if (present.value == 0) co_return present.error;
  if (present.value * os::kPage == bytes) plan_ahead(page, page + bytes, page + wanted, write);
  if (mirror_ != nullptr || strategy_.resolve != rdma::Resolve::touch_ahead) co_return Error::none;
  const bool again = came_back(record);
  remember(record, present.value * os::kPage);
  if (!again) co_return Error::none;
  ++touched_;
  co_return co_await vm_.touch(thread_, library_.process(), page, write);
}

sim::Task<os::Result<std::uint64_t>> FaultThread::call(std::uint64_t page, std::uint64_t bytes, bool write) {
  if (mirror_ != nullptr) return vm_.mirror_pages(thread_, *mirror_, page, bytes, write);
  os::Process& process = library_.process();
  return strategy_.resolve == rdma::Resolve::fixup_user_fault
             ? vm_.fixup_user_faults(thread_, process, page, bytes, write)
             : vm_.fault_in_pages(thread_, process, page, bytes, write);
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

sim::Task<void> FaultThread::answer(const FaultMessage& record, Error error) {
  if (record.stalled) {
    co_await service_.resume(thread_, record.bank, error == Error::none);
  } else if (error == Error::none) {
    co_await library_.request_retry(thread_, record.peer, record.key, !record.held_off);
  } else {
    co_await library_.request_abort(thread_, record.peer, record.key.transfer);
  }
}

}  // namespace faultline::exanest
