// SPDX-License-Identifier: Apache-2.0
// The send unit: takes block commands in order, reads each block's cells over AXI and passes them to the network.
#pragma once

#include <cstdint>
#include <tlm>

#include "models/nic/path/cells.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/injector.hpp"
#include "models/nic/path/notice.hpp"
#include "models/sim/answers.hpp"
#include "models/sim/issue_queue.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::nic {

struct BlockCommand {
  sim::PartKey key;
  std::uint64_t source = 0;       // virtual address in the local process
  std::uint64_t destination = 0;  // virtual address in the remote process
  std::uint32_t bytes = 0;
  std::uint32_t pdid = 0;
  sim::NodeId peer = 0;
  std::uint32_t peer_pdid = 0;
  Notice notice{};
};

class SendClient {
 public:
  virtual ~SendClient() = default;
  // False when the block has been acknowledged, requeued or given up since it was handed over.
  virtual bool still_wanted(const sim::PartKey& key) = 0;
  virtual void command_taken() = 0;
  // A read of the block failed on this page; the rest of the block is not sent.
  virtual void source_fault(const BlockCommand& command, std::uint64_t page) = 0;
};

class SendUnit : public SendListener {
 public:
  SendUnit(const PathConfig& config, Forward& port, Injector& injector, Counters& counters,
           const sim::Context& context);

  void connect(SendClient& client) { client_ = &client; }
  bool has_room() const { return commands_.size() < config_.send_queue; }
  // Requires has_room().
  void enqueue(const BlockCommand& command);
  // Stops the reads of this transfer's block, if it is the one being read.
  void cancel(std::uint64_t transfer);
  // Stops this attempt, if it is being read or goes out: what has not left for the network by now does not leave, nor
  // what would leave at this instant. The bytes that are so not sent.
  std::uint64_t cut_short(const sim::PartKey& key);
  // Of one of our payloads.
  void answered(tlm::tlm_generic_payload& payload, const sim::Answers& answers);
  void parted(tlm::tlm_generic_payload& payload, tlm::tlm_generic_payload& rest);

  void cells_leave(std::uint64_t read, const sim::TimeSequence& instants) override;
  void cells_stay(std::uint64_t read, const sim::TimeSequence& instants) override;

  // Counts as sent again what has left by now; without it a block's cells are counted when its last one is out.
  void settle_resent();

 private:
  // A block that holds a context: its reads are being issued or are not all back, or cells of it have not gone out.
  struct Block {
    BlockCommand command;
    Time start{0};
    bool stopped = false;  // no read is issued any more, no data that comes back is sent
    bool fault_reported = false;
  };
  // Cells of a block to be read.
  struct ReadRequest {
    std::uint64_t block = 0;
    CellRun run;
    sim::TimeSequence ready;
    std::uint64_t number = 0;  // the queue's

    ReadRequest split(std::uint32_t first);
  };
  // Of responses that were announced together: the data of the train's cells before this one are the injector's.
  struct PassedOn {
    std::uint32_t to = 0;
  };
  using Replies = sim::AnswerList<PassedOn>;
  // Of cells whose reads were announced together, or of what parted from such.
  struct Read {
    std::uint64_t id = 0;  // number of the first of all cells that were announced
    tlm::tlm_generic_payload* payload = nullptr;
    Replies replies;
    sim::Content content;       // of the cells that have been answered, be it that their responses were recalled
    sim::TimeSequence left;     // departures of cells that are passed on, as far as they are known
    std::uint32_t counted = 0;  // of these, in retransmitted_bytes
  };
  // A read needs a slot of the port and a place in the buffer.
  static constexpr std::size_t kPort = 0;
  static constexpr std::size_t kBuffer = 1;
  using Queue = sim::IssueQueue<ReadRequest, Read, SendUnit>;
  friend Queue;

  void pump();
  void retire();
  bool start_next();
  // Announces the block's next reads. Requires that they go now.
  void issue();
  // Sees to it that pump() runs when there is something to do.
  void wake();
  // When the block's last cell is back and out; kNever while that is not known.
  Time done(std::uint64_t block);

  void pass_on(const Queue::Run& run, Replies::Part& reply);
  void stop(std::uint64_t block);
  static std::uint32_t passed_on(const Replies::Part& reply);
  // The data of the reply's cells from this one on are not sent: their places in the buffer are free at the response,
  // or now.
  void hold_back(const Queue::Run& run, Replies::Part& reply, std::uint32_t from);
  // Cells from this one on are not answered as was said. Whether any were.
  bool void_replies(Read& read, std::uint32_t from);
  void taken_back(Queue::Run& run, const ReadRequest& rest, const sim::TimeSequence& instants);
  void read_error(std::uint64_t id);
  void count_resent(Queue::Run& run);

  Block& block_of(const Queue::Run& run) { return blocks_[static_cast<std::size_t>(run.item.block - first_block_)]; }

  const PathConfig& config_;
  Forward& port_;
  Injector& injector_;
  Counters& counters_;
  const sim::Context& context_;
  SendClient* client_ = nullptr;
  Queue queue_;
  sim::Deque<BlockCommand> commands_;
  sim::Deque<Block> blocks_;  // cells of the last one wait; at most one for each context
  std::uint64_t first_block_ = 0;
  std::uint64_t next_id_ = 0;
  sim::Port error_port_;  // before the wake-up's: no read goes at the instant of an error response
  sim::Wakeup<SendUnit, &SendUnit::pump> wakeup_;
};

}  // namespace faultline::nic
