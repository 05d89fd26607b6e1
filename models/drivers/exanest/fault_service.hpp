// SPDX-License-Identifier: Apache-2.0
// The kernel half of a DMA page fault: interrupt handler, tasklet that drains the engine's fault FIFO,
// netlink messages to the process that owns the page. The other half is exanest::FaultThread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <vector>

#include "models/cpu/interrupt_controller.hpp"
#include "models/drivers/exanest/driver_config.hpp"
#include "models/drivers/exanest/fault_log.hpp"
#include "models/drivers/library/work_clock.hpp"
#include "models/drivers/mmu500/smmu_driver.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/trace.hpp"

namespace faultline::exanest {

// What a process is told about one fault.
struct FaultMessage {
  std::uint64_t page = 0;  // page-aligned virtual address
  bool write = false;      // the device wanted to write it: the fault is at a transfer's destination
  bool stalled = false;    // the access waits in the SMMU for RESUME of `bank`; key and peer are unknown
  // No FAR has named this access's page: the SMMU may have terminated the access only because another one of the
  // process had faulted before it (HUPCF = 0). If it has a fault of its own, it will fault again.
  bool held_off = false;
  unsigned bank = 0;
  sim::NodeId peer = 0;  // node whose firmware sends the block again
  sim::PartKey key;
};

// The netlink socket of one process.
class FaultSocket {
 public:
  FaultSocket(const DriverConfig& config, cpu::Cpu& cpu, sim::EventLoop& loop)
      : config_(config), cpu_(cpu), arrived_(loop), work_(loop) {}

  // recvmsg(): blocks until there are records, then gives all of them. A socket wakes with WF_SYNC
  // (sock_def_readable); a kernel thread, which no socket wakes, says `plain`.
  sim::Task<sim::Vector<FaultMessage>> receive(cpu::Execution& thread, cpu::Waking how = cpu::Waking::sync);
  // recvmsg() with MSG_DONTWAIT: nothing if there are none, for `empty`, the cost of a system call that does nothing.
  sim::Task<sim::Vector<FaultMessage>> receive_now(cpu::Execution& thread, sim::Time empty);
  // False: too many records wait already, and the message is lost whole. As in Linux, a message that comes before
  // that is taken whatever its length.
  bool deliver(const sim::Vector<FaultMessage>& records);
  // What waits is lost.
  void clear() { waiting_.clear(); }
  // For how long the process's thread has dealt with records, up to now: it was not in receive() without any.
  sim::Time busy() const { return work_.worked(); }

 private:
  const DriverConfig& config_;
  cpu::Cpu& cpu_;
  sim::Signal arrived_;
  sim::Vector<FaultMessage> waiting_;
  library::WorkClock work_;
};

class FaultService {
 public:
  // `engine_base`: bus address of the privileged page of the DMA engine. Connects the interrupt.
  FaultService(const DriverConfig& config, const sim::Context& context, cpu::Cpu& cpu,
               cpu::InterruptController& interrupts, unsigned line, mmu500::SmmuDriver& driver, FaultLog& log,
               std::uint64_t engine_base);

  // The socket on which the process is told about its faults; lives as long as the service.
  FaultSocket& open(std::uint32_t pdid);
  // The process has ended: what waits is lost, and so is what comes until another process opens a socket by its number.
  void close(std::uint32_t pdid);
  // The sockets that are open, by PDID.
  const std::map<std::uint32_t, std::unique_ptr<FaultSocket>>& sockets() const { return sockets_; }
  // System call of the fault thread: lets all stalled transactions of the bank go. Terminated ones become
  // records of the engine, so the tasklet looks at its FIFO again.
  sim::Task<void> resume(cpu::Execution& thread, unsigned bank, bool retry);
  // Of the log: each fault that a process was told of has a cause.
  void audit() const { log_.audit(records_.value()); }

 private:
  struct Handled {
    sim::Time entered{0};
    sim::Time done{0};
  };
  // A record on its way through the tasklet: which handler's interrupt brought it, when the tasklet began with it.
  struct Found {
    FaultMessage record;
    Handled handler;
    sim::Time begun;
    FaultLog::Fault fault;
  };
  struct Stalled {
    mmu500::BankFault access;
    FaultLog::Fault fault;
  };
  // By PDID, so that the order of messages does not depend on addresses of the host.
  using ByProcess = sim::Map<std::uint32_t, sim::Vector<Found>>;

  struct Named {
    std::uint32_t pdid = 0;
    std::uint64_t page = 0;
    bool operator==(const Named&) const = default;
  };

  bool is_named(const Named& fault) const;
  sim::Task<void> handle();
  sim::Task<void> drain();
  sim::Task<void> read_fifo(ByProcess& by_process, Handled handler, sim::Time begun);
  sim::Task<void> send(std::uint32_t pdid, const sim::Vector<Found>& found);
  void count(const Found& told);

  const DriverConfig config_;
  sim::Context context_;
  cpu::Cpu& cpu_;
  mmu500::SmmuDriver& driver_;
  FaultLog& log_;
  std::uint64_t engine_;
  std::map<std::uint32_t, std::unique_ptr<FaultSocket>> sockets_;
  std::vector<std::unique_ptr<FaultSocket>> closed_;  // whose threads still wait
  sim::Vector<Stalled> stalled_;
  // The faults that FAR has named since the tasklet began to run, and between that and its run before.
  sim::Vector<Named> named_;
  sim::Vector<Named> named_before_;
  Handled last_handled_;
  cpu::Tasklet tasklet_;
  sim::Counter& records_;
  sim::Counter& messages_;
  sim::Counter& undelivered_;
};

}  // namespace faultline::exanest
