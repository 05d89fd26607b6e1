// SPDX-License-Identifier: Apache-2.0
#include "workloads/kernel_cost/kernel_costs.hpp"

namespace faultline::workloads {

KernelCosts::KernelCosts(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : Program(0, cluster.life()), config_(configuration.workload), node_(cluster.node(config_.initiator)) {
  program_ = make_kernel_program({node_, config_.program, config_.size, config_.madvise_hugepage, seed, tasks_});
}

sim::Task<void> KernelCosts::run() {
  co_await program_->set_up();
  setup_time_ = now();
  co_await set_up_ends();
  co_await program_->overhead();  // the thread has its core from here on
  for (std::uint64_t i = 0; i < config_.iterations && program_->overheads() > 0; ++i) {
    const sim::Time begin = now();
    co_await program_->overhead();
    overhead_ += now() - begin;
  }
  for (std::uint64_t i = 0; i < config_.warmup + config_.iterations; ++i) {
    if (i == config_.warmup) co_await measurement_begins(node_.context.loop);
    co_await program_->before();
    const sim::Time begin = now();
    co_await program_->round();
    if (i >= config_.warmup) samples_.push_back({begin, now(), program_->bytes()});
    co_await program_->after();
    work_done_ += work_of_transfer(config_.size);
  }
  measurement_ends(now());
  co_await program_->tear_down();
  finish_run();
}

std::optional<double> KernelCosts::kernel_cost() const {
  sim::Time sum{0};
  for (const Sample& sample : samples_) sum += sample.latency();
  sum -= overhead_ * program_->overheads();
  const double rounds = static_cast<double>(samples_.size());
  return static_cast<double>(sum.count()) / rounds / program_->units() / 1e6;
}

}  // namespace faultline::workloads
