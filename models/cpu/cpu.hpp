// SPDX-License-Identifier: Apache-2.0
// The application cores (Cortex-A53) as resources that software costs are charged to. Software is
// coroutines (sim::Task); what it costs it spends here:
//
//   cpu::Execution& thread = cpu.new_thread("library");
//   co_await cpu.run(thread, Work::system, costs.trap);
//   co_await cpu.sleep(thread, message_arrived);
#pragma once

#include <tlm_utils/simple_initiator_socket.h>
#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <systemc>
#include <tlm>
#include <vector>

#include "models/cpu/config.hpp"
#include "models/sim/context.hpp"
#include "models/sim/task.hpp"

namespace faultline::cpu {

// What time is spent on, and its priority: each pre-empts those before it. Pre-empted work resumes
// with what is left of it.
enum class Work : std::uint8_t { user, system, softirq, irq };
inline constexpr std::size_t kWorks = 4;

class Core;
struct Request;

// Who spends the time: a thread, or the irq or softirq context of the interrupt core. A thread does
// one thing at a time: it awaits each call before the next.
class Execution {
 public:
  Execution(const Execution&) = delete;
  Execution& operator=(const Execution&) = delete;

  const std::string& name() const { return name_; }
  // The core that it runs on, or ran on last.
  unsigned core() const { return core_; }
  // Charged so far, up to the last pre-emption or completion (Cpu::settle() brings it up to date).
  sim::Time time(Work kind) const { return time_[static_cast<std::size_t>(kind)]; }

 private:
  friend class Core;
  friend class Cpu;
  Execution(std::string name, unsigned core, bool thread, bool pinned)
      : name_(std::move(name)), core_(core), thread_(thread), pinned_(pinned) {}

  std::string name_;
  unsigned core_;
  bool thread_;
  bool pinned_;
  std::array<sim::Time, kWorks> time_{};
};

class Cpu : public sc_core::sc_module {
 public:
  // The clock at which software costs are stated.
  static constexpr sim::Frequency kReferenceClock{1'200'000'000};

  tlm_utils::simple_initiator_socket<Cpu> mmio{"mmio"};      // b_transport, 8 bytes, to devices
  tlm_utils::simple_initiator_socket<Cpu> memory{"memory"};  // bulk trains, to the DDR controller

  Cpu(sc_core::sc_module_name name, const CpuConfig& config, const sim::Context& context);
  ~Cpu() override;

  const CpuConfig& config() const { return config_; }

  // With a core it stays there. Without, it starts on the next core in turn (the one after the
  // interrupt core first); at its start and at each wake-up it goes to an idle core when that is busy.
  Execution& new_thread(std::string name, std::optional<unsigned> core = {});
  Execution& irq_context() { return *irq_context_; }
  Execution& softirq_context() { return *softirq_context_; }

  // Occupies the core for a cost stated at kReferenceClock. FIFO among the contexts of one priority;
  // a thread that goes on with the same kind of work keeps the core (user work: until its time slice
  // is used up and another thread wants it). A thread that gets the core from another or from idle pays
  // the context switch first, as system work.
  sim::Task<void> run(Execution& execution, Work kind, sim::Time cost);
  // The same for time that does not depend on the clock (memory, devices).
  sim::Task<void> run_unscaled(Execution& execution, Work kind, sim::Time duration);

  // Gives up the core until the signal is notified. Waking it pre-empts user work; it continues when
  // it has the core, context switch paid. As with condition variables the caller tests its condition.
  sim::Task<void> sleep(Execution& thread, sim::Signal& signal);

  // Spins in user mode until the predicate, looked at when `changed` is notified (at the store), is
  // true. Continues poll_latency after that store, or when the thread is next running.
  sim::Task<void> poll(Execution& thread, sim::Signal& changed, std::function<bool()> predicate);

  // One register access of up to 8 bytes, at the end of its time; the core is busy meanwhile. An error
  // response reads as all ones and is counted.
  sim::Task<std::uint64_t> mmio_read(Execution& execution, Work kind, std::uint64_t address, unsigned bytes = 8);
  sim::Task<void> mmio_write(Execution& execution, Work kind, std::uint64_t address, std::uint64_t value,
                             unsigned bytes = 8);
  // The same write by software that is not under study (boot, device set-up): takes no time.
  void mmio_set_up(std::uint64_t address, std::uint64_t value, unsigned bytes = 8);

  // Zeroing and copying: the core moves the bytes at its own rate, or slower when DDR is busy; DDR sees
  // them page by page. Only time: the caller changes the frames.
  sim::Task<void> memory_bulk(Execution& execution, Work kind, std::uint64_t physical_address, std::uint64_t bytes,
                              sim::ByteRate rate, bool is_write);

  sim::Time scaled(sim::Time at_reference_clock) const;

  // Charged to one core so far, up to the last pre-emption or completion.
  sim::Time charged(unsigned core, Work kind) const;
  // Charges what runs at present up to now: call it before reading counters in mid-run.
  void settle();

  const sim::Context& context() const { return context_; }

 private:
  friend class Core;
  friend class Tasklet;
  struct Counters;

  Core& core_of(const Execution& execution) const { return *cores_[execution.core_]; }
  bool move_to_idle_core(Execution& thread);
  void count_tasklet();
  sim::Task<void> watch(sim::Signal& changed, const std::function<bool()>& predicate, Request& spin);
  void access(tlm::tlm_command command, std::uint64_t address, std::uint64_t& value, unsigned bytes);
  // The core, left alone, moves these cells from now on. The payload is the caller's to release.
  tlm::tlm_generic_payload& begin_bulk(tlm::tlm_command command, std::uint64_t address, std::uint32_t cells,
                                       std::uint32_t cell_bytes, sim::ByteRate rate);
  tlm::tlm_sync_enum bulk_answer(tlm::tlm_generic_payload& payload, tlm::tlm_phase& phase, sc_core::sc_time& delay);

  CpuConfig config_;
  const sim::Context& context_;
  std::unique_ptr<Counters> counters_;
  std::vector<std::unique_ptr<Execution>> executions_;
  std::vector<std::unique_ptr<Core>> cores_;
  Execution* irq_context_;
  Execution* softirq_context_;
  unsigned next_core_;
  sim::Semaphore tasklet_turn_;
  sim::TaskGroup watchers_;
};

}  // namespace faultline::cpu
