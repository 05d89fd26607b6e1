// SPDX-License-Identifier: Apache-2.0
#include "workloads/reuse/reuse.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/stream.hpp"
#include "workloads/transfer_metrics.hpp"

namespace faultline::workloads {

using rdma::Endpoint;
using sim::Task;

namespace {

// Zipf's weights, whole numbers so that every compiler draws the same: the n-th is this over n.
constexpr std::uint64_t kScale = std::uint64_t{1} << 40;

constexpr std::uint64_t kContentsOfAPair = std::uint64_t{1} << 32;

}  // namespace

BufferDraw::BufferDraw(Draw how, unsigned buffers, sim::Seed seed, unsigned rank)
    : how_(how), buffers_(buffers), draws_(seed, "buffers used again", rank) {
  std::uint64_t sum = 0;
  for (unsigned n = 1; how_ == Draw::zipf && n <= buffers_; ++n) sums_.push_back(sum += kScale / n);
}

unsigned BufferDraw::next() {
  if (how_ == Draw::ring) return static_cast<unsigned>(number_++ % buffers_);
  if (how_ == Draw::random) return static_cast<unsigned>(draws_.below(buffers_));
  const auto found = std::ranges::upper_bound(sums_, draws_.below(sums_.back()));
  return static_cast<unsigned>(found - sums_.begin());
}

std::vector<std::uint64_t> sizes_of_buffers(const ReuseConfig& config, std::uint64_t largest, sim::Seed seed,
                                            unsigned rank) {
  const std::vector<std::uint64_t> choices = config.sizes(largest);
  std::vector<std::uint64_t> sizes(config.buffers, largest);
  if (choices.size() == 1) return sizes;
  sim::RandomStream draws(seed, "sizes of buffers", rank);
  for (std::uint64_t& size : sizes) size = choices[draws.below(choices.size())];
  return sizes;
}

Reuse::Pair::Pair(unsigned n, std::unique_ptr<Endpoint> from, std::unique_ptr<Endpoint> to,
                  const Configuration& configuration, const rdma::Strategy& strategy, sim::Seed seed)
    : number(n),
      source{.endpoint = std::move(from), .mapper = nullptr, .addresses = {}},
      target{.endpoint = std::move(to), .mapper = nullptr, .addresses = {}},
      asking(*source.endpoint, *target.endpoint, strategy, check_buffer),
      answering(*target.endpoint, strategy, check_buffer),
      sizes(sizes_of_buffers(configuration.reuse, configuration.workload.size, seed, n)),
      draw(configuration.reuse.draw, configuration.reuse.buffers, seed, n),
      fresh(seed, "new memory", n),
      start_phase(configuration.workload.start_spread, seed, n),
      contents(kContentsOfAPair * n) {}

Reuse::Reuse(const Configuration& configuration, platform::Cluster& cluster, sim::Seed seed)
    : Program(configuration.workload.initiator, cluster.life()),
      config_(configuration.workload),
      strategy_(configuration.strategy),
      buffers_(configuration.reuse.buffers),
      again_(configuration.reuse.again),
      touches_(configuration.reuse.target_touches),
      period_(configuration.reuse.period),
      clock_(cluster.node(config_.initiator).context),
      set_up_(cluster.loop, config_.ranks, [this] { return set_up_ends(); }),
      warmed_up_(cluster.loop, config_.ranks, [this] { return measurement_begins(clock_.loop); }),
      unfinished_(config_.ranks) {
  for (unsigned n = 0; n < config_.ranks; ++n) {
    const std::string number = n == 0 ? "" : fmt::format(" {}", n);
    auto from = open_program(configuration, cluster.node(config_.initiator), true, "initiator" + number);
    auto to = open_program(configuration, cluster.node(config_.target), false, "target" + number);
    pairs_.push_back(std::make_unique<Pair>(n, std::move(from), std::move(to), configuration, strategy_, seed));
  }
  failed_.resize(config_.ranks);
  cluster.steps().listen(breakdown_);
}

void Reuse::start() {
  for (const auto& pair : pairs_) tasks_.start(run(*pair));
}

std::vector<PartResult> Reuse::senders() const {
  std::vector<PartResult> all;
  for (const auto& pair : pairs_) {
    if (pairs_.size() > 1) all.push_back({fmt::format("rank {}", pair->number), "with pools of its own", {}});
  }
  return all;
}

// Each buffer is used once before anything counts: from then on it is one that has been used.
Task<void> Reuse::run(Pair& pair) {
  const sim::Time begun = now();
  co_await set_up(pair, pair.source);
  co_await set_up(pair, pair.target);
  setup_time_ = std::max(setup_time_, now() - begun);
  co_await set_up_.come();
  if (strategy_.serves_at_target()) {
    for (unsigned i = 0; i < buffers_; ++i) {
      pair.answering.add({pair.target.buffer(i, pair.sizes[i]), true, pair.source.endpoint.get()});
    }
    tasks_.start(pair.answering.serve());
  }
  for (unsigned i = 0; i < buffers_; ++i) co_await make_transfer(pair, i, false, false);
  sim::Time due{0};
  for (std::uint64_t i = 0; i < config_.warmup + config_.iterations; ++i) {
    const bool measured = i >= config_.warmup;
    if (i == config_.warmup) {
      co_await warmed_up_.come();
      due = now();
    }
    if (measured) co_await keep_pace(due);
    const bool is_new = pair.fresh.chance(1 - again_);
    co_await make_transfer(pair, pair.draw.next(), is_new, measured);
  }
  if (--unfinished_ > 0) co_return;
  measurement_ends(now());
  finish_run();
}

Task<void> Reuse::keep_pace(sim::Time& due) const {
  if (period_ > sim::Time{0} && due > now()) co_await clock_.loop.delay(due - now());
  due += period_;
}

Task<void> Reuse::set_up(Pair& pair, Side& side) {
  Endpoint& endpoint = *side.endpoint;
  side.mapper = &endpoint.new_thread("mapper");
  co_await endpoint.open();
  for (unsigned i = 0; i < buffers_; ++i) {
    side.addresses.push_back(endpoint.map_buffer(pair.sizes[i], 0));
    check_buffer(co_await side.buffer(i, pair.sizes[i]).add(endpoint.thread()), "setting up", endpoint.vm());
  }
}

Task<void> Reuse::make_transfer(Pair& pair, unsigned index, bool is_new, bool measured) {
  if (const sim::Time pause = pair.start_phase.next(); pause > sim::Time{0}) {
    if (!samples_.empty() && pairs_.size() == 1) paused_ += pause;  // of several pairs others go on
    co_await clock_.loop.delay(pause);
  }
  Endpoint& from = *pair.source.endpoint;
  Endpoint& to = *pair.target.endpoint;
  if (is_new) {
    const sim::Time begun = now();
    const std::uint64_t gone = pair.target.addresses[index];
    co_await pair.asking.forget(*pair.source.mapper, {gone, gone + config_.size}, index);
    co_await on_both_sides(pair, &Reuse::remap, index);
    if (measured) {
      ++remaps_;
      remapping_ += now() - begun;
    }
  } else if (measured) {
    ++reused_;
  }
  const std::uint64_t address = pair.source.addresses[index];
  const std::uint64_t bytes = pair.sizes[index];
  check_buffer(co_await from.vm().touch_range(*pair.source.mapper, from.process(), address, bytes, true), "writing",
               from.vm());
  co_await from.vm().store(from.process(), address, bytes, ++pair.contents);

  from.keeps_core();
  const sim::Time begin = now();
  const rdma::RemoteBuffer remote{to.node(), to.process().id(), pair.target.addresses[index]};
  const rdma::ToldTransfer told(from, rdma::Operation::write, address, remote, bytes);
  if (is_new) {
    co_await on_both_sides(pair, &Reuse::register_new, index);
    from.keeps_core();  // that it waits for the target here belongs to the experiment
  }
  const rdma::RegisteredBuffer own = pair.source.buffer(index, bytes);
  MovingTransfer transfer(told, strategy_, {rdma::Operation::write, own, address, remote, bytes, index});
  const auto size = static_cast<std::uint32_t>(bytes);
  transfer.moving.on_prepared = [&] { transfer.expected = from.vm().read(from.process(), address, size); };
  transfer.moving.on_part_ended = [this](const rdma::Posted& part) { breakdown_.on_over(part.transfer); };
  co_await pair.asking.prepare(from.thread(), transfer.moving);
  co_await pair.asking.post(from.thread(), transfer.moving);
  const rdma::Status status = co_await pair.asking.wait(from.thread(), transfer.moving);
  const bool done = status == rdma::Status::done;
  if (done && !(to.vm().read(to.process(), pair.target.addresses[index], size) == transfer.expected)) {
    ++(measured ? data_errors_ : other_data_errors_);
  }
  co_await pair.asking.let_go(from.thread(), transfer.moving);
  work_done_ += work_of_transfer(bytes);
  if (measured && done) {
    samples_.push_back({begin, now(), bytes, pair.number});
    breakdown_.finish(transfer.moving.last().transfer, begin, begin, now());
  }
  transfer.told.ended(now(), done);
  if (measured && !done) ++failed_[pair.number];
  co_await pair.asking.settle(from.thread(), transfer.moving);
}

// free() of the old buffer and malloc() of another, of a size for which both are system calls. A library that keeps
// memory registered until its program lets go of it, does so here.
Task<void> Reuse::remap(Pair& pair, Side& side, unsigned index) {
  Endpoint& endpoint = *side.endpoint;
  os::Vm& vm = endpoint.vm();
  std::uint64_t& address = side.addresses[index];
  const std::uint64_t bytes = pair.sizes[index];
  check_buffer(co_await side.buffer(index, bytes).remove(*side.mapper), "tearing down", vm);
  const os::Range pages = endpoint.pages_of(address, bytes);
  co_await endpoint.registration().unmapping(*side.mapper, pages);
  check_buffer(co_await vm.munmap(*side.mapper, endpoint.process(), pages.begin, pages.end - pages.begin), "unmapping",
               vm);
  os::MmapOptions options;
  options.alignment = os::kHugePage;
  const auto mapped = co_await vm.mmap(*side.mapper, endpoint.process(), bytes, options);
  check_buffer(mapped.error, "mapping", vm);
  address = mapped.value;
  if (touches_ && &side == &pair.target) {
    check_buffer(co_await vm.touch_range(*side.mapper, endpoint.process(), address, bytes, true), "writing", vm);
  }
  if (pair.answering.has_slots() && &side == &pair.target) {
    pair.answering.move_slot(index, side.buffer(index, bytes));
  }
}

Task<void> Reuse::register_new(Pair& pair, Side& side, unsigned index) {
  check_buffer(co_await side.buffer(index, pair.sizes[index]).add(side.endpoint->thread()), "setting up",
               side.endpoint->vm());
}

Task<void> Reuse::on_both_sides(Pair& pair, Step step, unsigned index) {
  sim::Signal done(clock_.loop);
  bool target_done = false;
  tasks_.start([](Reuse& self, Pair& of, Step what, unsigned which, bool& flag, sim::Signal& signal) -> Task<void> {
    co_await (self.*what)(of, of.target, which);
    flag = true;
    signal.notify_all();
  }(*this, pair, step, index, target_done, done));
  co_await (this->*step)(pair, pair.source, index);
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
