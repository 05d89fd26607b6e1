// SPDX-License-Identifier: Apache-2.0
#include "models/cpu/cpu.hpp"

#include <algorithm>
#include <stdexcept>

#include "models/cpu/clock_scaling.hpp"
#include "models/cpu/core.hpp"
#include "models/memory/axi.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/transport.hpp"

namespace faultline::cpu {

using sim::Task;
using sim::Time;

Cpu::Counters::Counters(sim::Statistics& statistics)
    : time{&statistics.counter("cpu.time_user", "ps", "core time in user mode, polling included"),
           &statistics.counter("cpu.time_system", "ps",
                               "core time in the kernel for threads, context switches included"),
           &statistics.counter("cpu.time_softirq", "ps", "core time in tasklets"),
           &statistics.counter("cpu.time_irq", "ps", "core time in interrupt handlers and on the way to them")},
      time_polling(statistics.counter("cpu.time_polling", "ps", "the part of cpu.time_user that threads spin")),
      context_switches(statistics.counter("cpu.context_switches", "count", "a core got another thread")),
      wake_ups(statistics.counter("cpu.wake_ups", "count", "sleeping threads woken")),
      migrations(statistics.counter("cpu.migrations", "count", "wake-ups that moved a thread to an idle core")),
      tasklets(statistics.counter("cpu.tasklets", "count", "runs of tasklets")),
      mmio_errors(statistics.counter("cpu.mmio_errors", "count", "register accesses with an error response")) {}

Cpu::Cpu(sc_core::sc_module_name name, const CpuConfig& config, const sim::Context& context)
    : sc_module(name),
      config_(config),
      context_(context),
      counters_(std::make_unique<Counters>(context.statistics)),
      next_core_((config.interrupt_core + 1) % std::max(config.cores, 1U)),
      tasklet_turn_(context.loop, 1) {
  // The two ranges cannot say this; the configuration's check refuses it before a platform is built.
  if (config.interrupt_core >= config.cores) throw std::invalid_argument("cpu.interrupt_core must be below cpu.cores");
  for (unsigned i = 0; i < config.cores; ++i) {
    cores_.push_back(std::make_unique<Core>(*this, i, context.loop.new_core_port()));
  }
  const auto interrupt_context = [this](const char* label) {
    executions_.emplace_back(new Execution(label, config_.interrupt_core, false, true));
    return executions_.back().get();
  };
  memory.register_nb_transport_bw(this, &Cpu::bulk_answer);
  irq_context_ = interrupt_context("irq");
  softirq_context_ = interrupt_context("softirq");
}

Cpu::~Cpu() = default;

Time Cpu::scaled(Time at_reference_clock) const {
  return scale_to_clock(at_reference_clock, kReferenceClock, config_.clock);
}

Execution& Cpu::new_thread(std::string name, std::optional<unsigned> core) {
  if (core && *core >= config_.cores) throw std::invalid_argument("thread " + name + ": there is no such core");
  const unsigned home = core.value_or(next_core_);
  if (!core) next_core_ = (next_core_ + 1) % config_.cores;
  executions_.emplace_back(new Execution(std::move(name), home, true, core.has_value()));
  move_to_idle_core(*executions_.back());
  return *executions_.back();
}

Task<void> Cpu::run(Execution& execution, Work kind, Time cost) { return run_unscaled(execution, kind, scaled(cost)); }

Task<void> Cpu::run_unscaled(Execution& execution, Work kind, Time duration) {
  Request request{execution, kind, duration};
  const Submission done{core_of(execution), request};
  co_await done;
}

Task<void> Cpu::sleep(Execution& thread, sim::Signal& signal) {
  core_of(thread).leave(thread);
  co_await signal;
  ++counters_->wake_ups;
  if (move_to_idle_core(thread)) ++counters_->migrations;
  // It returns from the system call that it slept in: kernel work, so it pre-empts user work.
  Request back{thread, Work::system, Time{0}};
  const Submission done{core_of(thread), back};
  co_await done;
}

bool Cpu::move_to_idle_core(Execution& thread) {
  if (thread.pinned_ || core_of(thread).idle()) return false;
  for (unsigned step = 1; step < config_.cores; ++step) {
    const unsigned candidate = (thread.core_ + step) % config_.cores;
    if (cores_[candidate]->idle()) {
      thread.core_ = candidate;
      return true;
    }
  }
  return false;
}

Task<void> Cpu::poll(Execution& thread, sim::Signal& changed, std::function<bool()> predicate) {
  Request spin{thread, Work::user, config_.poll_latency};
  spin.polling = true;
  // Already true: the first load finds it.
  if (!predicate()) {
    spin.endless = true;
    watchers_.start(watch(changed, predicate, spin));
  }
  const Submission done{core_of(thread), spin};
  co_await done;
}

Task<void> Cpu::watch(sim::Signal& changed, const std::function<bool()>& predicate, Request& spin) {
  do {
    co_await changed;
  } while (!predicate());
  spin.seen_at = context_.now() + config_.poll_latency;
  core_of(spin.who).spin_ends(spin);
}

Task<std::uint64_t> Cpu::mmio_read(Execution& execution, Work kind, std::uint64_t address, unsigned bytes) {
  co_await run_unscaled(execution, kind, config_.mmio_read);
  std::uint64_t value = 0;
  access(tlm::TLM_READ_COMMAND, address, value, bytes);
  co_return value;
}

Task<void> Cpu::mmio_write(Execution& execution, Work kind, std::uint64_t address, std::uint64_t value,
                           unsigned bytes) {
  co_await run_unscaled(execution, kind, config_.mmio_write);
  access(tlm::TLM_WRITE_COMMAND, address, value, bytes);
}

void Cpu::mmio_set_up(std::uint64_t address, std::uint64_t value, unsigned bytes) {
  access(tlm::TLM_WRITE_COMMAND, address, value, bytes);
}

void Cpu::access(tlm::tlm_command command, std::uint64_t address, std::uint64_t& value, unsigned bytes) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_ptr(reinterpret_cast<unsigned char*>(&value));
  payload.set_data_length(bytes);
  payload.set_streaming_width(bytes);
  sc_core::sc_time delay = sc_core::SC_ZERO_TIME;
  mmio->b_transport(payload, delay);
  if (!payload.is_response_ok()) {
    ++counters_->mmio_errors;
    value = UINT64_MAX;
  }
  payload.set_data_ptr(nullptr);
  payload.release();
}

Task<void> Cpu::memory_bulk(Execution& execution, Work kind, std::uint64_t physical_address, std::uint64_t bytes,
                            sim::ByteRate rate, bool is_write) {
  const tlm::tlm_command command = is_write ? tlm::TLM_WRITE_COMMAND : tlm::TLM_READ_COMMAND;
  // DDR must not see the first cells before the core has begun.
  co_await run_unscaled(execution, kind, Time{0});
  while (bytes > 0) {
    const std::uint64_t page_left = sim::kPageBytes - physical_address % sim::kPageBytes;
    const std::uint64_t chunk = std::min(bytes, page_left);
    const auto cells = static_cast<std::uint32_t>(std::max<std::uint64_t>(chunk / sim::kCellBytes, 1));
    const auto cell_bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(chunk, sim::kCellBytes));
    tlm::tlm_generic_payload& payload = begin_bulk(command, physical_address, cells, cell_bytes, rate);
    co_await run_unscaled(execution, kind, rate.time_for(cells * cell_bytes));
    // All its cells have arrived there by now, so nothing will put the last one off.
    const Time moved = sim::train_of(payload).responses.back();
    if (moved > context_.now()) co_await run_unscaled(execution, kind, moved - context_.now());
    payload.release();
    physical_address += std::uint64_t{cells} * cell_bytes;
    bytes -= std::uint64_t{cells} * cell_bytes;
  }
}

tlm::tlm_generic_payload& Cpu::begin_bulk(tlm::tlm_command command, std::uint64_t address, std::uint32_t cells,
                                          std::uint32_t cell_bytes, sim::ByteRate rate) {
  tlm::tlm_generic_payload& payload = context_.payloads.acquire();
  sim::Train& train = sim::train_of(payload);
  train.times = sim::TimeSequence::regular(context_.now(), rate.time_for(cell_bytes), cells);
  train.cell_bytes = cell_bytes;
  auto& axi = sim::extension<memory::AxiAttributes>(payload);
  axi = {};
  axi.bulk = true;
  payload.set_command(command);
  payload.set_address(address);
  payload.set_data_length(train.bytes());
  payload.set_streaming_width(train.bytes());
  sim::send_on(memory, payload);
  return payload;
}

// The train holds the answer; the core looks at it when it has done its part.
tlm::tlm_sync_enum Cpu::bulk_answer(tlm::tlm_generic_payload&, tlm::tlm_phase&, sc_core::sc_time&) {
  return tlm::TLM_ACCEPTED;
}

void Cpu::count_tasklet() { ++counters_->tasklets; }

Time Cpu::charged(unsigned core, Work kind) const { return cores_.at(core)->charged(kind); }

void Cpu::settle() {
  for (const auto& core : cores_) core->settle();
}

}  // namespace faultline::cpu
