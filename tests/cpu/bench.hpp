// SPDX-License-Identifier: Apache-2.0
// Cores with a register file and a DDR controller, and what the tests of this room write down.
#pragma once

#include <tlm_utils/simple_target_socket.h>
#include <map>
#include <vector>

#include "models/cpu/cpu.hpp"
#include "models/cpu/interrupt_controller.hpp"
#include "models/soc/ddr.hpp"
#include "tests/support/child.hpp"
#include "tests/support/memory_master.hpp"
#include "tests/support/node.hpp"

namespace faultline::test {

using namespace std::chrono_literals;
using cpu::Execution;
using cpu::Work;
using sim::Task;
using sim::Time;

inline constexpr Time kSwitch = 3500ns;
inline constexpr Time kTick = 4ms;  // 250 a second

inline cpu::CpuConfig cores(unsigned count, cpu::SchedPolicy policy = cpu::SchedPolicy::cfs) {
  cpu::CpuConfig config;
  config.cores = count;
  config.sched.policy = policy;
  return config;
}
// Its scheduler's times are not scaled: CFS has a period of 6 ms.
inline cpu::CpuConfig one_core(cpu::SchedPolicy policy = cpu::SchedPolicy::cfs) { return cores(1, policy); }

// Keeps what is written; addresses from kNobody on are an error.
class Registers : public sc_core::sc_module {
 public:
  static constexpr std::uint64_t kNobody = 0x10000;
  tlm_utils::simple_target_socket<Registers> socket{"socket"};
  std::map<std::uint64_t, std::uint64_t> values;
  std::vector<std::pair<Time, std::uint64_t>> accesses;  // when, address

  Registers(sc_core::sc_module_name name, const sim::Context& context) : sc_module(name), context_(context) {
    socket.register_b_transport(this, &Registers::access);
  }

 private:
  void access(tlm::tlm_generic_payload& payload, sc_core::sc_time&) {
    const std::uint64_t at = payload.get_address();
    accesses.emplace_back(context_.now(), at);
    payload.set_response_status(at < kNobody ? tlm::TLM_OK_RESPONSE : tlm::TLM_ADDRESS_ERROR_RESPONSE);
    if (at >= kNobody) return;
    auto* data = reinterpret_cast<std::uint64_t*>(payload.get_data_ptr());
    if (payload.is_read()) {
      *data = values[at];
    } else {
      values[at] = *data;
    }
  }
  const sim::Context& context_;
};

struct CpuBench {
  explicit CpuBench(const cpu::CpuConfig& wanted = {}, const soc::DdrConfig& memory = {},
                    const cpu::SchedRules& kernel = {})
      : config(wanted), ddr_config(memory), rules(kernel) {
    cpu.mmio.bind(registers.socket);
    cpu.memory.bind(ddr.port);
    master.socket.bind(ddr.port);
  }
  // Before trains are sent to memory from a test: sockets work only then.
  static void elaborate() { sc_core::sc_start(sc_core::SC_ZERO_TIME); }

  // Each returns at once; the work runs in simulated time and its end is written to `done`.
  void run(Execution& who, Work kind, Time cost, Time from = Time{0}) {
    const std::size_t slot = new_slot();
    tasks.start(run_from(*this, who, kind, cost, from, slot));
  }
  std::size_t new_slot() {
    done.push_back(sim::kNever);
    return done.size() - 1;
  }
  static Task<void> run_from(CpuBench& b, Execution& who, Work kind, Time cost, Time from, std::size_t slot) {
    co_await b.node.loop.until(from);
    co_await b.cpu.run(who, kind, cost);
    b.done[slot] = b.node.now();
  }
  // Sleeps from the beginning, is woken at `at` and runs; the end of its work is written to `done`.
  void wake(Execution& who, Work kind, Time cost, Time at) {
    const std::size_t slot = new_slot();
    tasks.start(sleep_until_woken(*this, who, kind, cost, at, slot));
  }
  static Task<void> sleep_until_woken(CpuBench& b, Execution& who, Work kind, Time cost, Time at, std::size_t slot) {
    sim::Signal alarm(b.node.loop);
    b.notify(alarm, at);
    co_await b.cpu.sleep(who, alarm);
    co_await b.cpu.run(who, kind, cost);
    b.done[slot] = b.node.now();
  }
  // Notifies a signal at an instant.
  void notify(sim::Signal& signal, Time at) { tasks.start(notify_at(*this, signal, at)); }
  static Task<void> notify_at(CpuBench& b, sim::Signal& signal, Time at) {
    co_await b.node.loop.until(at);
    signal.notify_all();
  }

  Time switch_cost() const { return config.context_switch; }

  Node node;
  cpu::CpuConfig config;
  soc::DdrConfig ddr_config;
  cpu::SchedRules rules;
  cpu::Cpu cpu{"cpu", config, node.context, rules};
  Registers registers{"registers", node.context};
  soc::DdrController ddr{"ddr", ddr_config, node.context};
  MemoryMaster master{"master", node.context};
  std::vector<Time> done;
  sim::TaskGroup tasks;
};

// What an interrupt handler on the interrupt core does: wakes a thread at its end.
inline Task<void> interrupt(CpuBench& b, Time at, Time cost, sim::Signal& signal) {
  co_await b.node.loop.until(at);
  co_await b.cpu.run(b.cpu.irq_context(), Work::irq, cost);
  signal.notify_all();
}

inline Task<void> sleep_and_run(CpuBench& b, Execution& who, sim::Signal& signal, Time cost, std::size_t slot,
                                cpu::Waking how = cpu::Waking::plain) {
  co_await b.cpu.sleep(who, signal, how);
  co_await b.cpu.run(who, Work::user, cost);
  b.done[slot] = b.node.now();
}

// What happened in a simulation of its own, in a child process: `done` of the bench, and what the body returns.
struct Ends {
  std::vector<Time> done;
  std::int64_t value = 0;
};
inline Ends simulated(const cpu::CpuConfig& config, const cpu::SchedRules& rules,
                      const std::function<std::int64_t(CpuBench&)>& body) {
  std::istringstream text(text_from_child([&] {
    CpuBench b(config, {}, rules);
    std::ostringstream out;
    out << body(b);
    for (const Time time : b.done) out << ' ' << time.count();
    return out.str();
  }));
  Ends ends;
  text >> ends.value;
  for (std::int64_t time = 0; text >> time;) ends.done.push_back(Time{time});
  return ends;
}
inline Ends simulated(const cpu::CpuConfig& config, const std::function<void(CpuBench&)>& set_up) {
  return simulated(config, {}, [&](CpuBench& b) {
    set_up(b);
    sc_core::sc_start();
    return std::int64_t{0};
  });
}

inline Task<void> run_pieces(CpuBench& b, Execution& who, Work kind, Time piece, unsigned pieces, bool gives_way,
                             std::size_t slot) {
  for (unsigned i = 0; i < pieces; ++i) {
    co_await b.cpu.run(who, kind, piece);
    if (gives_way) co_await b.cpu.cond_resched(who);
  }
  b.done[slot] = b.node.now();
}

// The time after which a thread that wakes at `at` has got its core from one that runs in user mode.
inline Time wait_of_woken(const cpu::CpuConfig& config, Time at, const cpu::SchedRules& rules = {}) {
  const Ends ends = simulated(config, rules, [at](CpuBench& b) {
    b.run(b.cpu.new_thread("runs", 0), Work::user, 40ms);
    b.wake(b.cpu.new_thread("wakes", 0), Work::user, 0us, at);
    sc_core::sc_start();
    return std::int64_t{0};
  });
  return ends.done[1] - at;
}

// How long the first of two threads runs that want the core at once.
inline Time first_turn(const cpu::CpuConfig& config) {
  return simulated(config,
                   [](CpuBench& b) {
                     b.run(b.cpu.new_thread("a"), Work::user, 100ms);
                     b.run(b.cpu.new_thread("b"), Work::user, 1us);
                   })
             .done[1] -
         kSwitch - 1us;
}

}  // namespace faultline::test
