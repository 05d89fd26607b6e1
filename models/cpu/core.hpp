// SPDX-License-Identifier: Apache-2.0
// One core: what runs on it now, and until when. Private to the room: everybody else uses Cpu.
// Its queue (fair_queue.hpp) decides which of its threads runs; the Balancer decides which core a thread is on.
#pragma once

#include <array>
#include <coroutine>
#include <memory>
#include <optional>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/cpu/fair_queue.hpp"

namespace faultline::cpu {

// What one execution wants of its core at present. Lives in the frame of the coroutine that waits for it.
struct Request {
  Execution& who;
  Work kind;
  sim::Time remaining;
  bool polling = false;             // charged as polling, too
  bool endless = false;             // a spin: it ends at `seen_at`, and `remaining` means nothing
  sim::Time seen_at = sim::kNever;  // when a spin's load sees the awaited value: known once the value is stored
  bool gives_way = false;           // system work that another thread may take the core from (cond_resched)
  bool keeps_core = false;          // no thread may take the core, whatever sched.preemption says (preempt_disable)
  std::optional<Waker> waker{};     // the interrupt that has woken the thread
  std::coroutine_handle<> waiter{};
};

// co_await Submission{cpu, request}: until the request is done.
struct Submission {
  Cpu& cpu;
  Request& request;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) const {
    request.waiter = waiter;
    cpu.submit(request);
  }
  void await_resume() const {}
};

struct Cpu::Counters {
  explicit Counters(sim::Statistics& statistics);
  std::array<sim::Counter*, kWorks> time;
  sim::Counter& time_polling;
  sim::Counter& context_switches;
  sim::Counter& preemptions;
  sim::Counter& wake_ups;
  sim::Counter& migrations;
  sim::Counter& pulls;
  sim::Counter& time_waiting;
  sim::Counter& tasklets;
  sim::Counter& calls;
  sim::Counter& mmio_errors;
};

class Core {
 public:
  Core(Cpu& cpu, unsigned number, sim::Port port, const SchedConfig& sched, const SchedRules& rules);

  // Work of the interrupt contexts.
  void interrupt(Request& request);
  // goes_on(): the thread has the core still, at the instant at which its last request has ended. go_on(): it asks for
  // more time at that instant, and no other thread gets a turn between the two requests.
  bool goes_on(const Execution& thread) const;
  void go_on(Execution& thread);
  // The thread asks for the core again at this instant. If the core has been idle since the thread left it, the thread
  // gets it without a context switch.
  void keep_for(const Execution& thread);
  // A runnable thread comes to this core; or goes, before it has run.
  void enqueue(Execution& thread, Arrival how);
  void take_away(Execution& waiting);
  // The thread gives the core up; it has no request.
  void leave(const Execution& thread);
  // The seen_at of a request of this core has become known.
  void spin_ends() { dispatch(); }

  // No thread has the core or waits for it. An interrupt's work on top of the idle loop does not count.
  bool idle() const { return runnable() == 0 && !switching_; }
  sim::Time idle_since() const { return idle_since_; }
  // How long the core was idle lately between one thread and the next, as a running mean: Linux's rq->avg_idle.
  sim::Time average_idle() const { return average_idle_; }
  std::size_t runnable() const { return fair_->size() + fifo_.size(); }
  bool runs_fifo() const { return current_ != nullptr && current_->entity.sched_class == SchedClass::fifo; }
  bool has_fifo() const { return !fifo_.empty(); }
  // The first FIFO thread that waits and may run elsewhere; null: none does.
  Execution* movable_fifo() const;
  // Runnable threads besides the one that has the core.
  bool has_waiting() const { return runnable() > (current_ != nullptr ? 1U : 0U); }
  const FairQueue& fair() const { return *fair_; }
  const Execution* current() const { return current_; }
  // The address space of the last thread that had one, of which the core's TLB may hold entries. 0: none.
  AddressSpaceId loaded_space() const { return loaded_space_; }
  // A kernel thread has the core, or none has, so that nobody uses the space that is loaded (lazy TLB mode).
  bool is_lazy() const { return current_ == nullptr || current_->address_space() != loaded_space_; }
  // Its TLB holds no entries of the space that was loaded: leave_mm().
  void forget_space() { loaded_space_ = 0; }
  // The thread has the core, and the scheduler wants the core for another thread.
  bool is_others_turn(const Execution& thread) const { return current_ == &thread && need_resched_; }
  // The coroutine that is being resumed at this instant is an interrupt handler or a tasklet.
  bool resumes_interrupt_context() const { return interrupt_context_at_ == cpu_.context().now(); }
  sim::Port port() const { return port_; }
  unsigned number() const { return number_; }

  void tick();
  // Charges what runs at present up to now.
  void settle();
  sim::Time charged(Work kind) const { return charged_[static_cast<std::size_t>(kind)]; }
  // All that but what threads have spun.
  sim::Time busy() const;

  // The Balancer's record of this core's looks for work on other cores (Linux's sched_domain: one, of all cores).
  struct Balance {
    sim::Time last{-1};
    sim::Time interval{0};
    unsigned failed = 0;  // looks at the tick that found only threads that had just run
  };
  Balance balance;

 private:
  // Decides what runs now and when that ends, and arms the event for it.
  void dispatch();
  // Chooses the thread that runs next. If it is another than the current one, a context switch to it begins.
  void reschedule();
  bool may_reschedule() const;
  Request* choose_interrupt() const;
  sim::Time end_of(const Request& request) const;
  void on_deadline(std::uint64_t generation);
  void complete(Request& request);
  void block();
  // Whether the scheduler now wants the core for another thread than current_.
  bool dequeue(Execution& thread);
  void charge(Execution& who, Work kind, sim::Time elapsed);
  void record(sim::Time elapsed) const;
  void stop_waiting(const Execution& thread);
  void load_space_of(const Execution& thread);

  Cpu& cpu_;
  unsigned number_;
  sim::Port port_;
  std::vector<Request*> irq_;  // first come, first served
  std::vector<Request*> softirq_;
  std::unique_ptr<FairQueue> fair_;
  std::vector<Execution*> fifo_;

  Execution* current_ = nullptr;  // the thread that has the core, or gets it by the switch that runs; null: idle
  const Execution* lingering_ = nullptr;  // left an idle core at left_at_; its context is still loaded
  const Execution* last_ = nullptr;       // thread that left the core last
  sim::Time left_at_{-1};
  AddressSpaceId loaded_space_ = 0;
  bool need_resched_ = false;
  bool switching_ = false;
  sim::Time switch_remaining_{0};
  bool leaves_for_good_ = false;  // current_ sleeps: coming back costs a switch, even at the same instant
  sim::Time idle_since_{0};
  sim::Time average_idle_;

  // What runs: a request, or the switch (running_ null, running_switch_ true), or nothing.
  Request* running_ = nullptr;
  bool running_switch_ = false;
  sim::Time since_{0};
  sim::Time deadline_ = sim::kNever;
  std::uint64_t generation_ = 0;  // of the armed event; others are void

  const Execution* resuming_ = nullptr;  // thread whose coroutine runs, and may ask for more time at this very instant
  sim::Time interrupt_context_at_{-1};

  std::array<sim::Time, kWorks> charged_{};
  sim::Time polled_{0};  // of that, by threads that spun
};

}  // namespace faultline::cpu
