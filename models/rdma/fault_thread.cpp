// SPDX-License-Identifier: Apache-2.0
#include "models/rdma/fault_thread.hpp"

#include <utility>

namespace faultline::rdma {

using cpu::Work;
using os::Error;
using os::FaultRecord;
using sim::Step;

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
      thread_(cpu.new_thread("fault thread")),
      resolved_(context.statistics.counter("library.pages_resolved", "count", "pages the fault thread made present")),
      merged_(context.statistics.counter("library.faults_merged", "count",
                                         "fault records answered by a page that the same message already resolved")),
      refused_(context.statistics.counter("library.faults_refused", "count",
                                          "faults that could not be resolved: no mapping, or no memory")) {
  tasks_.start(serve());
}

sim::Task<void> FaultThread::serve() {
  for (;;) {
    sim::Vector<FaultRecord> records = co_await socket_.receive(thread_);
    for (const FaultRecord& record : records) {
      if (!record.stalled) context_.report(Step::library_woken, record.key);
    }
    co_await handle(std::move(records));
  }
}

sim::Task<void> FaultThread::handle(sim::Vector<FaultRecord> records) {
  co_await cpu_.run(thread_, Work::user, library_.config().parse_fault);
  // Faults of many blocks of one page resolve once; a page that may be read need not be writable.
  sim::Map<std::pair<std::uint64_t, bool>, Error> resolved;
  for (const FaultRecord& record : records) {
    if (!record.stalled) context_.report(Step::resolve_begin, record.key);
    const auto known = resolved.find({record.page, record.write});
    Error error = Error::none;
    if (known != resolved.end()) {
      error = known->second;
      ++merged_;
    } else {
      error = co_await resolve(record.page, record.write);
      resolved.emplace(std::pair(record.page, record.write), error);
      ++(error == Error::none ? resolved_ : refused_);
    }
    if (!record.stalled) context_.report(Step::resolve_end, record.key);
    co_await answer(record, error);
  }
}

sim::Task<Error> FaultThread::resolve(std::uint64_t page, bool write) {
  // The device's own table holds what was prepared beforehand; presence in the process's would not help.
  if (strategy_.translate == Translate::private_) co_return Error::bad_address;
  os::Process& process = library_.process();
  const bool ahead = strategy_.resolve == Resolve::touch_ahead;
  const std::uint64_t bytes = (ahead ? strategy_.touch_ahead_pages : 1) * os::kPage;
  os::Result<std::uint64_t> present;
  if (mirror_ != nullptr) {
    present = co_await vm_.mirror_pages(thread_, *mirror_, page, bytes, write);
  } else if (ahead) {
    present = co_await vm_.fault_in_pages(thread_, process, page, bytes, write);
  } else {
    co_return co_await vm_.touch(thread_, process, page, write);
  }
  // The faulting page is what counts; a later one that found no memory will fault again.
  co_return present.value > 0 ? Error::none : present.error;
}

sim::Task<void> FaultThread::answer(const FaultRecord& record, Error error) {
  if (record.stalled) {
    co_await service_.resume(thread_, record.bank, error == Error::none);
  } else if (error == Error::none) {
    co_await library_.request_retry(thread_, record.peer, record.key);
  } else {
    co_await library_.request_abort(thread_, record.peer, record.key.transfer);
  }
}

}  // namespace faultline::rdma
