// SPDX-License-Identifier: Apache-2.0
// The firmware on the R5, and the scoreboard of acknowledgements that the hardware keeps for it.
//
// The firmware is one loop that does one thing at a time, in this order of preference: a message from the mailbox; a
// read that it has served is reported done; the next block, if the send unit's command queue has room (round robin over
// channels); the start of a posted transfer. Acknowledgements, timeouts and notifications need no R5 time.
//
// RDMA read: the initiator's firmware sends kReadRequest to the node that holds the data, whose firmware sends them
// under the same transfer id as if they had been posted there, then answers kReadDone. Both messages may get lost: the
// initiator asks again after each block timeout, and a request that is known is answered, not started again.
#pragma once

#include <cstdint>
#include <optional>

#include "models/cpu/r5.hpp"
#include "models/nic/exanest/control_writer.hpp"
#include "models/nic/exanest/counters.hpp"
#include "models/nic/exanest/fault_fifo.hpp"
#include "models/nic/exanest/mailbox.hpp"
#include "models/nic/exanest/send_unit.hpp"
#include "models/nic/exanest/timer.hpp"
#include "models/nic/exanest/transfer_table.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::exanest {

class BlockScheduler : public SendClient, public FirmwareInbox, public TimerClient, public ControlWriteClient {
 public:
  // The parts of the engine that the firmware works with.
  struct Hardware {
    SendUnit& send;
    Mailbox& mailbox;
    FaultFifo& faults;
    ControlWriter& writer;
    Timer& timer;
  };
  BlockScheduler(const EngineConfig& config, cpu::R5Core& r5, Hardware hardware, Counters& counters,
                 const sim::Context& context);

  // The transfer's id; 0 when the descriptor is malformed or the channel's queue is full.
  std::uint64_t post(unsigned channel, std::uint32_t pdid, const Descriptor& descriptor);
  std::size_t posted() const { return table_.posted(); }
  // The process of this channel has gone: what it has posted, and what is sent of its memory, ends with an error.
  void end_all(unsigned channel, std::uint32_t pdid);
  // An acknowledgement has reached the scoreboard.
  void acknowledge(const sim::PartKey& key);

  bool still_wanted(const sim::PartKey& key) override;
  void command_taken() override { work_.notify_all(); }
  void source_fault(const BlockCommand& command, std::uint64_t page) override;
  void message_waits() override { work_.notify_all(); }
  bool deadline_matters(std::uint64_t what, const sim::PartKey& key) override;
  void deadline_passed(std::uint64_t what, const sim::PartKey& key) override;
  void control_written(std::uint64_t transfer, bool ok) override;

 private:
  // What a deadline was set for.
  static constexpr std::uint64_t kBlockDeadline = 0;
  static constexpr std::uint64_t kReadDeadline = 1;

  struct FinishedRead {
    std::uint64_t id;
    std::uint64_t status;
    sim::NodeId initiator;
  };

  sim::Task<void> firmware();
  sim::Task<void> start(std::uint64_t id, Role role);
  sim::Task<void> schedule_block(std::uint64_t id);
  sim::Task<void> handle(Message message);
  sim::Task<void> report_finished(FinishedRead read);

  void handle_retransmit(const Message& message);
  void handle_read_request(const Message& message);
  void handle_read_done(const Message& message);
  void abort(std::uint64_t id);

  static bool well_formed(const Descriptor& descriptor);
  void hand_over(Transfer& transfer, std::uint32_t block);
  void requeue(Transfer& transfer, std::uint32_t block);
  void finish(Transfer& transfer, std::uint64_t status);
  void begin_to_know(Transfer& transfer);
  void forget(Transfer& transfer);
  void request_read(Transfer& transfer);
  void send_to_firmware(sim::NodeId node, unsigned count, std::uint64_t operation, std::uint64_t a, std::uint64_t b);
  void block_timed_out(const sim::PartKey& key);
  void read_timed_out(Transfer& transfer);
  const FinishedRead* finished(std::uint64_t id) const;

  const EngineConfig& config_;
  cpu::R5Core& r5_;
  Hardware hw_;
  Counters& counters_;
  const sim::Context& context_;
  TransferTable table_;
  sim::Signal work_;
  sim::Deque<FinishedRead> to_report_;
  sim::Deque<FinishedRead> finished_;  // the latest ones, to answer a request whose answer was lost
  sim::TaskGroup tasks_;               // last: its coroutines use everything above
};

}  // namespace faultline::exanest
