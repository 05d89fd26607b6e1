// SPDX-License-Identifier: Apache-2.0
// One core's scheduler. Private to the room: everybody else uses Cpu.
#pragma once

#include <array>
#include <coroutine>
#include <vector>

#include "models/cpu/cpu.hpp"

namespace faultline::cpu {

// What one execution wants of its core at present. Lives in the frame of the coroutine that waits for it.
struct Request {
  Execution& who;
  Work kind;
  sim::Time remaining;
  bool polling = false;             // charged as polling, too
  bool endless = false;             // a spin: `remaining` means nothing, it ends when
  sim::Time seen_at = sim::kNever;  // the polling load sees the value: known once it is stored
  std::coroutine_handle<> waiter = {};
};

// co_await Submission{core, request}: until the request is done.
struct Submission {
  Core& core;
  Request& request;
  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> waiter) const;
  void await_resume() const {}
};

struct Cpu::Counters {
  explicit Counters(sim::Statistics& statistics);
  std::array<sim::Counter*, kWorks> time;
  sim::Counter& time_polling;
  sim::Counter& context_switches;
  sim::Counter& wake_ups;
  sim::Counter& migrations;
  sim::Counter& tasklets;
  sim::Counter& mmio_errors;
};

class Core {
 public:
  Core(Cpu& cpu, unsigned number, sim::Port port) : cpu_(cpu), number_(number), port_(port) {}

  void submit(Request& request);
  // The thread gives the core up; it has no request.
  void leave(const Execution& thread);
  // The request's seen_at has become known.
  void spin_ends(const Request&) { dispatch(); }
  // No thread has it or wants it. An interrupt's work on top of the idle loop does not count.
  bool idle() const;

  // Charges what runs at present up to now.
  void settle();
  sim::Time charged(Work kind) const { return charged_[static_cast<std::size_t>(kind)]; }

 private:
  // Decides what runs now and when that ends, and arms the event for it.
  void dispatch();
  Request* choose_above_threads();
  Request* choose_thread();
  Request* request_of_current(std::vector<Request*>& queue);
  bool slice_used_up() const;
  sim::Time end_of(const Request& request) const;
  void begin_switch(Execution& next);
  void on_deadline(std::uint64_t generation);
  void complete(Request& request);
  void charge(Execution& who, Work kind, sim::Time elapsed);
  void record(sim::Time elapsed) const;
  std::vector<Request*>& queue(Work kind) { return queues_[static_cast<std::size_t>(kind)]; }
  const std::vector<Request*>& queue(Work kind) const { return queues_[static_cast<std::size_t>(kind)]; }

  Cpu& cpu_;
  unsigned number_;
  sim::Port port_;
  std::array<std::vector<Request*>, kWorks> queues_;  // waiting and running, in order of arrival: few

  Execution* current_ = nullptr;  // the thread whose context the core holds; null: the idle loop's
  sim::Time slice_used_{0};       // by current_, since it was switched in
  Execution* switching_to_ = nullptr;
  sim::Time switch_remaining_{0};

  // What runs: a request, or the switch (running_ null, running_switch_ true), or nothing.
  Request* running_ = nullptr;
  bool running_switch_ = false;
  sim::Time since_{0};
  sim::Time deadline_ = sim::kNever;
  std::uint64_t generation_ = 0;  // of the armed event; others are void

  bool resuming_ = false;         // a coroutine that may ask for more at this very instant
  bool resuming_thread_ = false;  // and is a thread

  std::array<sim::Time, kWorks> charged_{};
};

}  // namespace faultline::cpu
