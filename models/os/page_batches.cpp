// SPDX-License-Identifier: Apache-2.0
#include "models/os/page_batches.hpp"

#include <fmt/format.h>

namespace faultline::os {

using sim::Task;

Task<void> PageBatches::drain(cpu::Execution& exec) {
  co_await turn_.acquire();
  ++drains_;
  for (unsigned core = static_cast<unsigned>(workers_.size()); core < cpu_.config().cores; ++core) {
    workers_.push_back(&cpu_.new_thread(fmt::format("kworker/{}", core), core));
  }
  left_ = static_cast<unsigned>(workers_.size());
  for (cpu::Execution* worker : workers_) tasks_.start(work(*worker));
  while (left_ > 0) co_await cpu_.sleep(exec, done_);
  turn_.release();
}

Task<void> PageBatches::work(cpu::Execution& worker) {
  co_await cpu_.run(worker, cpu::Work::system, config_.drain_core);
  if (--left_ == 0) done_.notify_all();
}

}  // namespace faultline::os
