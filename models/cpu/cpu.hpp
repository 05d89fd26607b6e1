// SPDX-License-Identifier: Apache-2.0
// The application cores (Cortex-A53) as resources that software costs are charged to. Software is
// coroutines (sim::Task); what it costs it spends here:
//
//   cpu::Execution& thread = cpu.new_thread("library");
//   co_await cpu.run(thread, Work::system, costs.trap);
//   co_await cpu.sleep(thread, message_arrived);
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/cpu/clock_scaling.hpp"
#include "models/cpu/config.hpp"
#include "models/cpu/execution.hpp"
#include "models/cpu/sched_rules.hpp"
#include "models/sim/context.hpp"
#include "models/sim/task.hpp"
#include "models/sim/transport.hpp"

namespace faultline::cpu {

class Balancer;
class Core;

class Cpu : public sc_core::sc_module {
 public:
  tlm_utils::simple_initiator_socket<Cpu> mmio{"mmio"};  // b_transport, 8 bytes, to devices
  sim::InitiatorSocket<Cpu> memory{"memory"};            // bulk trains, to the DDR controller

  // `rules`: the scheduler's, in place of the rules of config.kernel.
  Cpu(sc_core::sc_module_name name, const CpuConfig& config, const sim::Context& context,
      const std::optional<SchedRules>& rules = {});
  ~Cpu() override;

  const CpuConfig& config() const { return config_; }
  // The scheduler's parameters in force: times scaled by the number of cores, and the policy of the kernel's version.
  const SchedConfig& sched() const { return sched_; }

  // `core`: the thread is bound to that core. Without, it begins on the next idle core in turn (the one after the
  // interrupt core first), and may go to another core at each wake-up. Nice: -20 (many shares) to 19 (few).
  Execution& new_thread(std::string name, std::optional<unsigned> core = {}, SchedClass sched_class = SchedClass::fair,
                        int nice = 0);
  Execution& irq_context() { return *irq_context_; }
  Execution& softirq_context() { return *softirq_context_; }

  // Occupies the core for a cost stated at cpu.stated_clock, give or take cpu.jitter. Interrupt work is first come,
  // first served. A thread keeps the core until the scheduler wants it for another, in system work until it gives way
  // (cond_resched()) or goes back to user mode; with sched.preemption = full at once. A thread that gets the core from
  // another or from idle pays the context switch first, as system work. Whoever waits for anything else than its core
  // has slept, and is woken.
  sim::Task<void> run(Execution& execution, Work kind, sim::Time cost);
  // The same for time that does not depend on the clock (memory, devices).
  sim::Task<void> run_unscaled(Execution& execution, Work kind, sim::Time duration);

  // Gives up the core until the signal is notified. It continues, in the kernel, when it has a core, context switch
  // paid. As with condition variables the caller tests its condition.
  // `how`: the kind of wake-up when the signal is notified from an interrupt's context.
  sim::Task<void> sleep(Execution& thread, sim::Signal& signal, Waking how = Waking::plain);

  // For waits that belong to the experiment and not to the program (a pause between two measurements), called when the
  // wait is over. If its core has been idle since the thread stopped, the thread pays no context switch for core time
  // that it asks for at this very instant.
  void keeps_core(const Execution& thread);

  // Linux's cond_resched(), in long system calls and kernel threads: lets a thread run that is due on this core. Takes
  // no time when none is.
  sim::Task<void> cond_resched(Execution& thread);
  // The same where the kernel is built for voluntary pre-emption (sched.preemption); else nothing.
  sim::Task<void> might_sleep(Execution& thread);
  // System work of many short pieces with a cond_resched() after each: another thread that is due need not wait.
  sim::Task<void> run_giving_way(Execution& thread, sim::Time cost);

  // Spins in user mode until the predicate, looked at when `changed` is notified (at the store), is
  // true. Continues poll_latency after that store, or when the thread is next running. `seen`, of loads that are far
  // between: when they see what is stored at an instant, instead.
  sim::Task<void> poll(Execution& thread, sim::Signal& changed, std::function<bool()> predicate,
                       std::function<sim::Time(sim::Time stored)> seen = {});

  // One register access of up to 8 bytes, at the end of its time; the core is busy meanwhile. An error
  // response reads as all ones and is counted.
  sim::Task<std::uint64_t> mmio_read(Execution& execution, Work kind, std::uint64_t address, unsigned bytes = 8);
  sim::Task<void> mmio_write(Execution& execution, Work kind, std::uint64_t address, std::uint64_t value,
                             unsigned bytes = 8);
  // The same write by software that is not under study (boot, device set-up): takes no time.
  void mmio_set_up(std::uint64_t address, std::uint64_t value, unsigned bytes = 8);

  // The cores whose TLBs may hold entries of the address space, as far as its kernel knows: those that run one of its
  // threads, and those that have run none of another since (Linux's mm_cpumask).
  CoreSet cores_with(AddressSpaceId space) const;
  // The address space has gone, and its number may be given to another one: no core has it loaded any more.
  void forget_space(AddressSpaceId space);
  // Interrupts each of the cores but the caller's own (smp_call_function_many()), which takes the caller
  // cpu.ipi_send a core. Each interrupted core spends cpu.ipi_to_handler and `cost`, at the stated clock. The caller
  // spins in the kernel and is not pre-empted until the last core is done. Of cores that have an address space loaded
  // and do not use it (lazy) `skips_lazy` interrupts none; otherwise they are interrupted, and forget that space.
  sim::Task<void> call_cores(Execution& caller, CoreSet cores, sim::Time cost, bool skips_lazy);

  // Zeroing and copying: the core moves the bytes at its own rate, or slower when DDR is busy; DDR sees
  // them page by page. Only time: the caller changes the frames.
  sim::Task<void> memory_bulk(Execution& execution, Work kind, std::uint64_t physical_address, std::uint64_t bytes,
                              sim::ByteRate rate, bool is_write);

  sim::Time scaled(sim::Time stated) const { return scaled_(stated); }

  // Charged to one core so far, up to the last pre-emption or completion.
  sim::Time charged(unsigned core, Work kind) const;
  // User and system time of all threads that use this memory, polling included, as far as they are charged.
  sim::Time spent_in(AddressSpaceId space) const;
  // For how long the core has done anything but spin, as far as it is charged.
  sim::Time busy(unsigned core) const;
  // Charges what runs at present up to now: call it before reading counters in mid-run.
  void settle();

  const sim::Context& context() const { return context_; }

 private:
  friend class Core;
  friend struct Submission;
  friend class Tasklet;
  struct Counters;

  Execution& add_execution(std::string name, unsigned core, bool thread, bool bound);
  sim::Time drawn(Execution& execution, sim::Time mean) const;
  // In which the core takes the interrupts of other cores.
  Execution& call_context(unsigned core);
  // The interrupted core's side of call_cores(): the last one to answer ends the caller's `wait`.
  sim::Task<void> answer(unsigned core, sim::Time cost, std::size_t& awaited, Request& wait);
  Core& core_of(const Execution& execution) const { return *cores_[execution.core_]; }
  Balancer& balancer() { return *balancer_; }
  void submit(Request& request);
  std::optional<unsigned> interrupted_core(const sim::Signal& signal) const;
  void count_tasklet();
  sim::Task<void> watch(sim::Signal& changed, const std::function<bool()>& predicate,
                        const std::function<sim::Time(sim::Time)>& seen, Request& spin);
  void access(tlm::tlm_command command, std::uint64_t address, std::uint64_t& value, unsigned bytes);
  // The core, left alone, moves these cells from now on. The payload is the caller's to release.
  tlm::tlm_generic_payload& begin_bulk(tlm::tlm_command command, std::uint64_t address, std::uint32_t cells,
                                       std::uint32_t cell_bytes, sim::ByteRate rate);
  tlm::tlm_sync_enum bulk_answer(tlm::tlm_generic_payload& payload, sim::Message& message, sc_core::sc_time& delay);

  const CpuConfig config_;
  const SchedRules rules_;
  const SchedConfig sched_;
  const ClockScaling scaled_;
  const sim::Context& context_;
  std::unique_ptr<Counters> counters_;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::vector<std::unique_ptr<Core>> cores_;
  std::unique_ptr<Balancer> balancer_;
  Execution* irq_context_;
  Execution* softirq_context_;
  std::vector<Execution*> call_contexts_;  // by core; null: it has not been called yet
  unsigned next_core_;
  sim::Semaphore tasklet_turn_;
  sim::TaskGroup watchers_;
};

}  // namespace faultline::cpu
