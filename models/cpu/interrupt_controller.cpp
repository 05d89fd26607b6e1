// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/interrupt_controller.hpp"

#include <stdexcept>
#include <utility>

#include "models/cpu/steps.hpp"
#include "models/cpu/tracks.hpp"

namespace faultline::cpu {

InterruptController::InterruptController(sc_core::sc_module_name name, Cpu& cpu, const sim::Context& context)
    : sc_module(name),
      cpu_(cpu),
      context_(context),
      taken_(context.statistics.counter("cpu.interrupts", "count", "interrupts handled")),
      spurious_(context.statistics.counter("cpu.spurious_interrupts", "count",
                                           "interrupts whose line was low again before the handler ran")) {
  lines.bind(*this);
}

void InterruptController::connect(unsigned line, Handler handler) {
  Line& wire = lines_[line];
  if (wire.handler) throw std::logic_error("an interrupt line has one handler");
  wire.handler = std::move(handler);
  take_interrupts();
}

void InterruptController::set_level(unsigned line, bool high) {
  Line& wire = lines_[line];
  if (wire.high == high) return;
  wire.high = high;
  context_.level(track::kInterrupt, high ? 1 : 0, line);
  if (!high) context_.slice(track::kInterrupt, line, wire.since, context_.now(), "high", "interrupt");
  wire.since = context_.now();
  if (high) context_.report(step::kInterruptRaised, {});
  if (high) take_interrupts();
}

void InterruptController::take_interrupts() {
  if (serving_ || next_line() == nullptr) return;
  serving_ = true;
  tasks_.start(serve());
}

InterruptController::Line* InterruptController::next_line() {
  for (auto& [number, wire] : lines_) {
    if (wire.high && wire.handler) return &wire;
  }
  return nullptr;
}

sim::Task<void> InterruptController::serve() {
  while (Line* wire = next_line()) {
    co_await cpu_.run(cpu_.irq_context(), Work::irq, cpu_.config().irq_to_handler);
    if (!wire->high) {
      ++spurious_;
      continue;
    }
    ++taken_;
    context_.report(step::kInterruptTaken, {});
    co_await wire->handler();
  }
  serving_ = false;
}

void Tasklet::schedule() {
  if (scheduled_) return;
  scheduled_ = true;
  if (serving_) return;
  serving_ = true;
  tasks_.start(serve());
}

sim::Task<void> Tasklet::serve() {
  while (scheduled_) {
    co_await cpu_.tasklet_turn_.acquire();
    co_await cpu_.run(cpu_.softirq_context(), Work::softirq, cpu_.config().tasklet_delay);
    scheduled_ = false;
    cpu_.count_tasklet();
    co_await body_();
    cpu_.tasklet_turn_.release();
  }
  serving_ = false;
}

}  // namespace faultline::cpu
