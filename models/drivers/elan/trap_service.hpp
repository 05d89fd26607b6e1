// SPDX-License-Identifier: Apache-2.0
// The driver's answer to the NIC's traps: an interrupt handler that takes their records, and a kernel thread for each
// process that makes the page present, loads its entry and answers the trap: the NIC restarts what is parked for it,
// and traps the page anew from then on. The source of a block that was refused comes again by itself.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "models/cpu/interrupt_controller.hpp"
#include "models/drivers/elan/pushed_table.hpp"
#include "models/drivers/library/event_service.hpp"
#include "models/drivers/library/fault_book.hpp"
#include "models/drivers/library/work_clock.hpp"
#include "models/nic/elan/mmu.hpp"
#include "models/rdma/nic.hpp"
#include "models/rdma/strategy.hpp"

namespace faultline::elan {

class TrapService {
 public:
  // `base`: bus address of the NIC's privileged page. Connects the interrupt, for `events`, too.
  TrapService(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu, os::Vm& vm,
              cpu::InterruptController& interrupts, unsigned line, std::uint64_t base, NicTable& table,
              library::EventService& events);

  // Serves the process's traps until close(), as strategy.resolve says.
  void open(os::Process& process, PushedTable& pushed, const rdma::Strategy& strategy);
  // Ends when the process's thread is in no call that concerns its memory, and makes no further one.
  sim::Task<void> close(std::uint32_t pdid);

  // The MMU has refused an access: why is found out now, and counted when the driver takes the trap.
  void access_refused(const Mmu::Refusal& refusal);
  void block_stopped(const nic::FaultRecord& record) { book_.block_stopped(record); }
  // For how long the thread of each process has had traps to answer, until now.
  void add_busy(std::vector<rdma::Nic::Busy>& all) const;
  void audit() const { book_.audit(records_.value()); }

 private:
  enum class Broken : std::uint8_t { not_yet, taken, no_room };
  struct Served {
    Served(os::Process& p, PushedTable& t, const rdma::Strategy& s, cpu::Execution& e, sim::EventLoop& loop)
        : process(p), pushed(t), strategy(s), thread(e), trap(loop), idle(loop), work(loop) {}
    os::Process& process;
    PushedTable& pushed;
    const rdma::Strategy strategy;
    cpu::Execution& thread;
    sim::Deque<nic::FaultRecord> waiting;
    sim::Signal trap;
    sim::Signal idle;
    library::WorkClock work;
    bool stops = false;
    Broken broken = Broken::not_yet;
  };

  sim::Task<void> handle();
  sim::Task<void> serve(std::shared_ptr<Served> served);
  sim::Task<void> answer(Served& served, nic::FaultRecord record);
  // Of a strategy that is a bound: notes what a refusal says of it; throws sim::RunFailure where it is none.
  void note_bound(Served& served, const os::FaultReason& reason, bool is_present) const;
  void check_bound(const Served& served) const;
  // Makes the page present, and those ahead of it that the strategy wants, and loads them.
  sim::Task<bool> resolve(Served& served, os::VirtualAddress page, bool write);

  const DriverConfig& config_;
  const sim::Context& context_;
  cpu::Cpu& cpu_;
  os::Vm& vm_;
  const std::uint64_t base_;
  NicTable& table_;
  library::EventService& events_;
  library::FaultBook book_;
  std::map<std::uint32_t, std::shared_ptr<Served>> served_;
  sim::Counter& records_;
  sim::Counter& resolved_;
  sim::Counter& merged_;
  sim::Counter& refused_;
  sim::Counter& gone_;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::elan
