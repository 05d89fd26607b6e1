// SPDX-License-Identifier: Apache-2.0
#include "workloads/reuse/reuse.hpp"

#include <algorithm>

#include "workloads/stream.hpp"
#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {

using rdma::Endpoint;
using sim::Task;

namespace {

// Zipf's weights, whole numbers so that every compiler draws the same: the n-th is this over n.
constexpr std::uint64_t kScale = std::uint64_t{1} << 40;

}  // namespace

BufferDraw::BufferDraw(Draw how, unsigned buffers, sim::Seed seed)
    : how_(how), buffers_(buffers), draws_(seed, "buffers used again") {
  std::uint64_t sum = 0;
  for (unsigned n = 1; how_ == Draw::zipf && n <= buffers_; ++n) sums_.push_back(sum += kScale / n);
}

unsigned BufferDraw::next() {
  if (how_ == Draw::ring) return static_cast<unsigned>(number_++ % buffers_);
  if (how_ == Draw::random) return static_cast<unsigned>(draws_.below(buffers_));
  const auto found = std::ranges::upper_bound(sums_, draws_.below(sums_.back()));
  return static_cast<unsigned>(found - sums_.begin());
}

Reuse::Reuse(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : Program(configuration.workload.initiator, cluster.life()),
      config_(configuration.workload),
      strategy_(configuration.strategy),
      buffers_(configuration.reuse.buffers),
      again_(configuration.reuse.again),
      clock_(cluster.node(config_.initiator).context),
      source_{.endpoint = open_program(configuration, cluster.node(config_.initiator), true, "initiator"),
              .mapper = nullptr,
              .addresses = {}},
      target_{.endpoint = open_program(configuration, cluster.node(config_.target), false, "target"),
              .mapper = nullptr,
              .addresses = {}},
      handshake_(*source_.endpoint, *target_.endpoint),
      draw_(configuration.reuse.draw, buffers_, seed),
      fresh_(seed, "new memory"),
      start_phase_(config_.start_spread, seed, 0) {
  cluster.steps().listen(breakdown_);
}

// Each buffer is used once before anything counts: from then on it is one that has been used.
Task<void> Reuse::run() {
  const sim::Time begun = now();
  co_await set_up(source_);
  co_await set_up(target_);
  setup_time_ = now() - begun;
  if (strategy_.asks_target()) {
    for (unsigned i = 0; i < buffers_; ++i) {
      served_.push_back({target_.buffer(i, config_.size), true, *source_.endpoint});
    }
    tasks_.start(serve_handshakes(*target_.endpoint, served_));
  }
  for (unsigned i = 0; i < buffers_; ++i) co_await make_transfer(i, false, false);
  for (std::uint64_t i = 0; i < config_.warmup + config_.iterations; ++i) {
    const bool measured = i >= config_.warmup;
    if (i == config_.warmup) co_await measurement_begins(clock_.loop);
    const bool is_new = fresh_.chance(1 - again_);
    co_await make_transfer(draw_.next(), is_new, measured);
  }
  measurement_ends(now());
  finish_run();
}

Task<void> Reuse::set_up(Side& side) {
  Endpoint& endpoint = *side.endpoint;
  side.mapper = &endpoint.new_thread("mapper");
  co_await endpoint.open();
  for (unsigned i = 0; i < buffers_; ++i) {
    side.addresses.push_back(endpoint.map_buffer(config_.size, 0));
    check_buffer(co_await side.buffer(i, config_.size).add(endpoint.thread()), "setting up", endpoint.vm());
  }
}

Task<void> Reuse::make_transfer(unsigned index, bool is_new, bool measured) {
  if (const sim::Time pause = start_phase_.next(); pause > sim::Time{0}) {
    if (!samples_.empty()) paused_ += pause;
    co_await clock_.loop.delay(pause);
  }
  Endpoint& from = *source_.endpoint;
  Endpoint& to = *target_.endpoint;
  if (is_new) {
    const sim::Time begun = now();
    co_await on_both_sides(&Reuse::remap, index);
    if (measured) {
      ++remaps_;
      remapping_ += now() - begun;
    }
  } else if (measured) {
    ++reused_;
  }
  const std::uint64_t address = source_.addresses[index];
  check_buffer(co_await from.vm().touch_range(*source_.mapper, from.process(), address, config_.size, true), "writing",
               from.vm());
  co_await from.vm().store(from.process(), address, config_.size, ++contents_);

  from.keeps_core();
  const sim::Time begin = now();
  const rdma::RemoteBuffer remote{to.node(), to.process().id(), target_.addresses[index]};
  ToldTransfer told(from, rdma::Operation::write, address, remote, config_.size);
  if (is_new) {
    co_await on_both_sides(&Reuse::register_new, index);
    from.keeps_core();  // that it waits for the target here belongs to the experiment
  }
  const rdma::RegisteredBuffer own = source_.buffer(index, config_.size);
  if (strategy_.asks_target()) co_await handshake_.prepare(from.thread(), own, false, index);
  const auto size = static_cast<std::uint32_t>(config_.size);
  const sim::Content expected = from.vm().read(from.process(), address, size);
  const rdma::Posted posted = co_await from.post(from.thread(), rdma::Operation::write, address, remote, config_.size);
  told.posted(posted);
  rdma::Status status = rdma::Status::error;
  if (posted.transfer != 0) status = co_await from.wait(from.thread(), posted);
  const bool done = status == rdma::Status::done;
  if (done && !(to.vm().read(to.process(), target_.addresses[index], size) == expected)) {
    ++(measured ? data_errors_ : other_data_errors_);
  }
  if (strategy_.asks_target()) check_buffer(co_await own.release(from.thread()), "releasing", from.vm());
  work_done_ += work_of_transfer(config_.size);
  if (measured && done) {
    samples_.push_back({begin, now(), config_.size});
    breakdown_.finish(posted.transfer, begin, begin, now());
  }
  told.ended(now(), done);
  if (measured && !done) ++failed_.front();
  if (strategy_.asks_target()) co_await handshake_.release(from.thread(), index);
}

// free() of the old buffer and malloc() of another, of a size for which both are system calls. A library that keeps
// memory registered until its program lets go of it, does so here.
Task<void> Reuse::remap(Side& side, unsigned index) {
  Endpoint& endpoint = *side.endpoint;
  os::Vm& vm = endpoint.vm();
  std::uint64_t& address = side.addresses[index];
  check_buffer(co_await side.buffer(index, config_.size).remove(*side.mapper), "tearing down", vm);
  const os::Range pages = endpoint.pages_of(address, config_.size);
  co_await endpoint.registration().unmapping(*side.mapper, pages);
  check_buffer(co_await vm.munmap(*side.mapper, endpoint.process(), pages.begin, pages.end - pages.begin), "unmapping",
               vm);
  os::MmapOptions options;
  options.alignment = os::kHugePage;
  const auto mapped = co_await vm.mmap(*side.mapper, endpoint.process(), config_.size, options);
  check_buffer(mapped.error, "mapping", vm);
  address = mapped.value;
  if (!served_.empty() && &side == &target_) served_[index].buffer = side.buffer(index, config_.size);
}

Task<void> Reuse::register_new(Side& side, unsigned index) {
  check_buffer(co_await side.buffer(index, config_.size).add(side.endpoint->thread()), "setting up",
               side.endpoint->vm());
}

Task<void> Reuse::on_both_sides(Step step, unsigned index) {
  sim::Signal done(clock_.loop);
  bool target_done = false;
  tasks_.start([](Reuse& self, Step what, unsigned which, bool& flag, sim::Signal& signal) -> Task<void> {
    co_await (self.*what)(self.target_, which);
    flag = true;
    signal.notify_all();
  }(*this, step, index, target_done, done));
  co_await (this->*step)(source_, index);
  while (!target_done) co_await done;  // NOLINT(bugprone-infinite-loop): the other coroutine sets it
}

std::vector<Metric> Reuse::own_metrics() const {
  std::vector<Metric> metrics;
  add_metric(metrics, "buffers_reused", static_cast<double>(reused_));
  const double remaps = static_cast<double>(std::max<std::uint64_t>(remaps_, 1));
  add_metric(metrics, "remap_mean", microseconds(remapping_) / remaps);
  return metrics;
}

}  // namespace faultline::workloads
