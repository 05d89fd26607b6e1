// SPDX-License-Identifier: Apache-2.0
// GIC-400 as far as its lines are concerned, with the entry path of Linux on top: level-triggered
// interrupts, all routed to one core, one taken at a time, lowest line first.
#pragma once

#include <functional>
#include <map>
#include <systemc>
#include <utility>

#include "models/cpu/cpu.hpp"
#include "models/cpu/interrupt_sink.hpp"
#include "models/sim/context.hpp"
#include "models/sim/task.hpp"

namespace faultline::cpu {

class InterruptController : public sc_core::sc_module, private InterruptSink {
 public:
  // A coroutine that runs on cpu.irq_context(), once an interrupt. The object is kept, so a lambda
  // coroutine may capture.
  using Handler = std::function<sim::Task<void>()>;

  sc_core::sc_export<InterruptSink> lines{"lines"};

  // Must not outlive the cpu.
  InterruptController(sc_core::sc_module_name name, Cpu& cpu, const sim::Context& context);

  // While the line is high its handler runs, irq_to_handler after it is taken, again and again.
  // One handler a line; a line that is already high is taken at once.
  void connect(unsigned line, Handler handler);

 private:
  struct Line {
    bool high = false;
    sim::Time since{0};  // the last change
    Handler handler;
  };

  void set_level(unsigned line, bool high) override;
  void take_interrupts();
  sim::Task<void> serve();
  Line* next_line();

  Cpu& cpu_;
  const sim::Context context_;
  std::map<unsigned, Line> lines_;
  bool serving_ = false;
  sim::Counter& taken_;
  sim::Counter& spurious_;
  sim::TaskGroup tasks_;
};

// Deferred work of an interrupt handler, as Linux's tasklets: runs on cpu.softirq_context().
class Tasklet {
 public:
  using Body = std::function<sim::Task<void>()>;
  // Must not outlive the cpu. The body is kept, so a lambda coroutine may capture.
  Tasklet(Cpu& cpu, Body body) : cpu_(cpu), body_(std::move(body)) {}
  Tasklet(const Tasklet&) = delete;
  Tasklet& operator=(const Tasklet&) = delete;

  // Runs the body once, tasklet_delay of softirq work later. Nothing when it is scheduled and has not
  // begun; once more when it is running. Tasklets run one at a time, in the order of scheduling.
  void schedule();

 private:
  sim::Task<void> serve();

  Cpu& cpu_;
  Body body_;
  bool scheduled_ = false;  // and not begun
  bool serving_ = false;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::cpu
