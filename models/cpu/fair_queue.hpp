// SPDX-License-Identifier: Apache-2.0
// The runnable fair threads of one core, and whose turn it is: what CFS and EEVDF decide differently.
// Queues are short, so they are searched from end to end; of equals the one that came first goes first.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "models/cpu/execution.hpp"
#include "models/cpu/sched_config.hpp"
#include "models/cpu/sched_rules.hpp"

namespace faultline::cpu {

// How a thread comes to a queue.
enum class Arrival : std::uint8_t {
  woken,  // it has slept
  moved,  // pulled from another core's queue, where it waited
};

class FairQueue {
 public:
  virtual ~FairQueue() = default;
  // The queue of config.policy: cfs, eevdf or work_conserving (the caller has resolved `kernel`). The times of
  // `config` are scaled by the number of cores already.
  static std::unique_ptr<FairQueue> make(const SchedConfig& config, const SchedRules& rules);

  const std::vector<Execution*>& threads() const { return threads_; }
  std::size_t size() const { return threads_.size(); }
  // The thread whose turn it is; null: the core is idle, or a FIFO thread has it.
  Execution* current() const { return current_; }

  // Both say whether the scheduler wants the core from current(), which goes on running until pick().
  [[nodiscard]] bool add(Execution& thread, Arrival how);
  [[nodiscard]] bool remove(Execution& thread);
  // The thread that was current() and left an empty queue asks for more, and counts as one that has not been away.
  void go_on(Execution& thread);
  // A thread that changes queues keeps its distance to the virtual time of its queue: leave_for_another() takes the old
  // queue's time off, come_from_another() adds the new queue's. Under EEVDF the thread's lag is that distance, and both
  // do nothing.
  virtual void leave_for_another(SchedEntity&) const {}
  virtual void come_from_another(SchedEntity&) const {}

  // Makes the thread that should run now the current one. The queue must not be empty.
  Execution& pick();
  // current() has lost the core, and no thread of this queue has it now.
  void put_back();
  // Accounts for the core's time between two instants. `current_ran`: current() ran; otherwise an interrupt, a context
  // switch or a FIFO thread did, and current() is charged nothing.
  void pass(sim::Time from, sim::Time to, bool current_ran);
  // Asked at the timer's tick: whether current()'s turn is over.
  virtual bool turn_is_over() = 0;

 protected:
  explicit FairQueue(const SchedConfig& config) : config_(config), tick_(config.tick()) {}

  static sim::Time virtual_time(sim::Time real, const SchedEntity& entity) {
    return sim::Time{real.count() * 1024 / entity.weight};
  }
  const SchedConfig& config() const { return config_; }

  // Sets the virtual time at which a thread joins the queue; threads() does not contain it yet.
  virtual void place(SchedEntity& entity, Arrival how) = 0;
  virtual void before_removal(SchedEntity&) {}
  virtual void after_removal() {}
  virtual Execution& choose() const = 0;
  // Linux's update_curr(), at ticks and before threads come, go or are chosen. True: another thread waits, and
  // current() has used up its slice or (since 6.12) has had more than its share beyond its first slice.
  virtual bool look_at_current() { return false; }
  // Whether a thread that has just come takes the core from current().
  virtual bool preempts(const Execution& thread) const = 0;
  // pick() has chosen this thread. `again`: it was the current one already.
  virtual void chosen(SchedEntity&, bool /*again*/) {}
  // The current thread's virtual time has grown.
  virtual void advanced(SchedEntity&) {}

 private:
  void charge(sim::Time elapsed);

  const SchedConfig config_;
  const sim::Time tick_;             // time between two ticks
  sim::Time next_tick_{0};           // the first tick after the instant that was looked at last
  std::vector<Execution*> threads_;  // with the current one; in the order in which they came or were put back
  Execution* current_ = nullptr;
};

}  // namespace faultline::cpu
