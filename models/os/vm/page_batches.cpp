// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/page_batches.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace faultline::os {

using sim::Task;

void PageBatches::add(unsigned core, memory::Address frame, PageSize size) {
  if (core >= arriving_.size()) arriving_.resize(core + 1);
  sim::Vector<memory::Address>& batch = arriving_[core];
  batch.push_back(frame);
  if (batch.size() == kPagevec || size == PageSize::huge) batch.clear();
}

bool PageBatches::holds(memory::Address frame) const {
  return std::any_of(arriving_.begin(), arriving_.end(), [frame](const auto& batch) {
    return std::find(batch.begin(), batch.end(), frame) != batch.end();
  });
}

Task<void> PageBatches::drain(cpu::Execution& exec) {
  co_await turn_.acquire();
  ++drains_;
  for (unsigned core = static_cast<unsigned>(workers_.size()); core < cpu_.config().cores; ++core) {
    workers_.push_back(&cpu_.new_thread(fmt::format("kworker/{}", core), core));
  }
  left_ = static_cast<unsigned>(workers_.size());
  for (unsigned core = 0; core < left_; ++core) tasks_.start(work(core));
  while (left_ > 0) co_await cpu_.sleep(exec, done_);
  turn_.release();
}

Task<void> PageBatches::work(unsigned core) {
  co_await cpu_.run(*workers_[core], cpu::Work::system, config_.drain_core);
  if (core < arriving_.size()) arriving_[core].clear();
  if (--left_ == 0) done_.notify_all();
}

}  // namespace faultline::os
