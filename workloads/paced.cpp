// SPDX-License-Identifier: Apache-2.0
#include "workloads/paced.hpp"

namespace faultline::workloads {
namespace {

using sim::Task;

struct OpenLoop {
  Paced& program;
  sim::EventLoop& loop;
  std::uint64_t transfers;
  sim::Semaphore buffers;  // that are free
  sim::Semaphore posted;   // transfers whose ends nobody waits for yet
};

Task<void> see_ends(OpenLoop& of, sim::Signal& over, bool& ended) {
  for (std::uint64_t i = 0; i < of.transfers; ++i) {
    co_await of.posted.acquire();
    co_await of.program.finish_oldest();
    of.buffers.release();
  }
  ended = true;
  over.notify_all();
}

}  // namespace

Task<void> run_open_loop(Paced& program, Arrivals arrivals, std::uint64_t transfers, unsigned window,
                         sim::EventLoop& loop) {
  OpenLoop of{program, loop, transfers, {loop, window}, {loop, 0}};
  sim::Signal over(loop);
  bool ended = false;
  sim::TaskGroup tasks;
  tasks.start(see_ends(of, over, ended));
  const sim::Time start = loop.now();
  for (std::uint64_t i = 0; i < transfers; ++i) {
    const sim::Time arrived = start + arrivals.next();
    if (arrived > loop.now()) co_await loop.delay(arrived - loop.now());
    co_await of.buffers.acquire();
    co_await program.begin_next(arrived);
    of.posted.release();
  }
  while (!ended) co_await over;  // NOLINT(bugprone-infinite-loop): the other coroutine sets it
}

}  // namespace faultline::workloads
