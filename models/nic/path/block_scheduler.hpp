// SPDX-License-Identifier: Apache-2.0
// What decides which block is sent next, and the scoreboard of acknowledgements that the hardware keeps for it.
//
// It is one loop that does one thing at a time, in this order of preference: a message from the mailbox; a read that it
// has served is reported done; the next block, if the send unit's command queue has room (round robin over channels);
// the start of a posted transfer. Acknowledgements, timeouts and notifications need no time of it. Each NIC says who
// runs the loop (firmware, hardware), and what becomes of a block that has met a fault.
//
// RDMA read: the initiator's NIC sends kReadRequest to the node that holds the data, whose NIC sends them under the
// same transfer id as if they had been posted there, then answers kReadDone. Both messages may get lost: the initiator
// asks again after each block timeout, and a request that is known is answered, not started again.
#pragma once

#include <cstdint>
#include <optional>

#include "models/nic/path/control_writer.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/fault_fifo.hpp"
#include "models/nic/path/mailbox.hpp"
#include "models/nic/path/receive_unit.hpp"
#include "models/nic/path/send_unit.hpp"
#include "models/nic/path/steps.hpp"
#include "models/nic/path/timer.hpp"
#include "models/nic/path/transfer_table.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::nic {

class BlockScheduler : public SendClient,
                       public NicInbox,
                       public TimerClient,
                       public ControlWriteClient,
                       public OwnTransfers {
 public:
  // The parts of the path that it works with.
  struct Hardware {
    const PathConfig& config;
    SendUnit& send;
    ReceiveUnit& receive;
    Mailbox& mailbox;
    FaultFifo& faults;
    ControlWriter& writer;
    Timer& timer;
    Counters& counters;
    const sim::Context& context;
  };
  explicit BlockScheduler(Hardware hardware);

  // The transfer's id; 0 when the descriptor is malformed or the channel's queue is full.
  std::uint64_t post(unsigned channel, std::uint32_t pdid, const Descriptor& descriptor);
  std::size_t posted() const { return table_.posted(); }
  // The process of this channel has gone: what it has posted, and what is sent of its memory, ends with an error.
  void end_all(unsigned channel, std::uint32_t pdid);
  // An acknowledgement has reached the scoreboard.
  void acknowledge(const sim::PartKey& key);
  // The target refuses this attempt; what is left of it has been stopped. `word`: what its FaultFifo says of it.
  virtual void refused(const sim::PartKey& /*key*/, std::uint64_t /*word*/) {}

  bool still_wanted(const sim::PartKey& key) override;
  void command_taken() override { work_.notify_all(); }
  void message_waits(const Message& /*message*/) override { work_.notify_all(); }
  bool admits(const Message& /*message*/) override { return true; }
  bool deadline_matters(std::uint64_t what, const sim::PartKey& key) override;
  void deadline_passed(std::uint64_t what, const sim::PartKey& key) override;
  void control_written(std::uint64_t transfer, bool ok) override;
  bool has_ended(std::uint64_t transfer) const override { return table_.has_ended(transfer); }

 protected:
  // Begins with the loop; the last thing that a constructor does.
  void begin() { tasks_.start(work()); }
  // Takes the time of one thing that the loop does. `what` names it in timelines: a literal.
  virtual sim::Task<void> run(Time cost, const char* what) = 0;
  // A message of the NIC's own; false: it has none of this operation.
  virtual sim::Task<bool> handle_own(Message message);

  void hand_over(Transfer& transfer, std::uint32_t block);
  // The block is to be sent again, as a new attempt, for what `why` tells.
  void requeue(Transfer& transfer, std::uint32_t block, sim::Step why = step::kBlockRequeued);
  void finish(Transfer& transfer, std::uint64_t status);

  const Hardware hw_;
  Counters& counters_;
  const sim::Context& context_;
  TransferTable table_;
  sim::Signal work_;

 private:
  // What a deadline was set for.
  static constexpr std::uint64_t kBlockDeadline = 0;
  static constexpr std::uint64_t kReadDeadline = 1;

  struct FinishedRead {
    std::uint64_t id;
    std::uint64_t status;
    sim::NodeId initiator;
  };

  sim::Task<void> work();
  sim::Task<void> start(std::uint64_t id, Role role);
  sim::Task<void> schedule_block(std::uint64_t id);
  sim::Task<void> handle(Message message);
  sim::Task<void> report_finished(FinishedRead read);

  void handle_read_request(const Message& message);
  void handle_read_done(const Message& message);
  void abort(std::uint64_t id);

  static bool well_formed(const Descriptor& descriptor);
  void begin_to_know(Transfer& transfer);
  void forget(Transfer& transfer);
  void request_read(Transfer& transfer);
  void send_to_nic(sim::NodeId node, unsigned count, std::uint64_t operation, std::uint64_t a, std::uint64_t b);
  void block_timed_out(const sim::PartKey& key);
  void read_timed_out(Transfer& transfer);
  const FinishedRead* finished(std::uint64_t id) const;

  const PathConfig& config_;
  sim::Deque<FinishedRead> to_report_;
  sim::Deque<FinishedRead> finished_;  // the latest ones, to answer a request whose answer was lost
  sim::TaskGroup tasks_;               // last: its coroutines use everything above
};

}  // namespace faultline::nic
