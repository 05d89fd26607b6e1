// SPDX-License-Identifier: Apache-2.0
// The send unit: takes block commands in order, reads each block's cells over AXI and passes them to the network.
#pragma once

#include <boost/container/small_vector.hpp>
#include <cstdint>
#include <deque>
#include <tlm>

#include "models/dma/cells.hpp"
#include "models/dma/counters.hpp"
#include "models/dma/injector.hpp"
#include "models/sim/credit_pool.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::dma {

struct BlockCommand {
  sim::BlockKey key;
  std::uint64_t source = 0;       // virtual address in the local process
  std::uint64_t destination = 0;  // virtual address in the remote process
  std::uint32_t bytes = 0;
  std::uint32_t pdid = 0;
  sim::NodeId peer = 0;
  std::uint32_t peer_pdid = 0;
};

class SendClient {
 public:
  virtual ~SendClient() = default;
  // False when the block has been acknowledged, requeued or given up since it was handed over.
  virtual bool still_wanted(const sim::BlockKey& key) = 0;
  virtual void command_taken() = 0;
  // A read of the block failed on this page; the rest of the block is not sent.
  virtual void source_fault(const BlockCommand& command, std::uint64_t page) = 0;
};

class SendUnit : public SendListener {
 public:
  SendUnit(const DmaConfig& config, Forward& port, Injector& injector, Counters& counters, const sim::Context& context);

  void connect(SendClient& client) { client_ = &client; }
  bool has_room() const { return commands_.size() < config_.send_queue; }
  // Requires has_room().
  void enqueue(const BlockCommand& command);
  // Stops the reads of this transfer's block, if it is the one being read.
  void cancel(std::uint64_t transfer);
  // BEGIN_RESP, RESPONSES_RECALLED and TRAIN_PARTED of one of our payloads.
  void response(tlm::tlm_generic_payload& payload);
  void responses_recalled(tlm::tlm_generic_payload& payload);
  void train_parted(tlm::tlm_generic_payload& payload);

  void cells_leave(std::uint64_t read, const sim::TimeSequence& instants) override;
  void cells_stay(std::uint64_t read, const sim::TimeSequence& instants) override;

 private:
  // A block that holds a context: its reads are being issued or are not all back, or cells of it have not gone out.
  struct Block {
    BlockCommand command;
    Time start{0};
    std::uint32_t issued = 0;  // bytes
    bool stopped = false;      // no read is issued any more, no data that comes back is sent
    bool fault_reported = false;
  };
  // Responses that were announced together. The data of the first `passed_on` cells are the injector's.
  struct Reply {
    std::uint32_t first;  // cell
    bool ok;
    sim::TimeSequence responses;
    std::uint32_t passed_on;
  };
  // Cells whose reads were announced together, or what parted from such.
  struct Read {
    std::uint64_t id;  // number of the first of all cells that were announced
    std::uint64_t block;
    CellRun run;
    sim::TimeSequence issued;
    sim::TimeSequence read_credits;
    sim::TimeSequence buffer_credits;
    tlm::tlm_generic_payload* payload;
    boost::container::small_vector<Reply, 1> replies;
    sim::Content content;    // of the cells that have been answered, be it that their responses were recalled
    sim::TimeSequence left;  // departures of cells that are passed on, as far as they are known

    std::uint32_t answered() const;
  };

  void pump();
  void retire();
  bool start_next();
  bool issuing() const { return !blocks_.empty() && !blocks_.back().stopped && !all_issued(blocks_.back()); }
  static bool all_issued(const Block& block) { return block.issued == block.command.bytes; }
  bool issue();
  // When the next read can go, as far as slots are known.
  Time next_issue() const;
  // Sees to it that pump() runs when there is something to do.
  void wake();
  // When the block's last cell is back and out; kNever while that is not known.
  Time done(std::uint64_t block) const;

  void pass_on(const Read& read, Reply& reply);
  void stop(Block& block);
  // The data of the reply's cells from `kept` on are not sent: their places in the buffer are free at the response.
  void hold_back(const Read& read, Reply& reply, std::uint32_t kept);
  void void_replies(Read& read, std::uint32_t cells);
  // Takes back the reads that go at `from` or later, but for those that went when they were announced.
  void take_back_from(Time from);
  void give(sim::CreditPool& pool, sim::TimeSequence Read::*taken, const sim::TimeSequence& freed);
  // Takes back reads that do not go as announced since slots do not come free as they were said to.
  void reconcile();
  void read_error(std::uint64_t read);

  Read* find(std::uint64_t id);
  Block& block_of(const Read& read) { return blocks_[static_cast<std::size_t>(read.block - first_block_)]; }

  const DmaConfig& config_;
  Forward& port_;
  Injector& injector_;
  Counters& counters_;
  const sim::Context& context_;
  SendClient* client_ = nullptr;
  sim::CreditPool read_credits_;
  sim::CreditPool buffer_;
  Time disturbed_from_ = sim::kNever;
  Time announced_{-1};  // when reads were announced last
  std::deque<BlockCommand> commands_;
  std::deque<Block> blocks_;  // the last one issues; at most one for each context
  std::uint64_t first_block_ = 0;
  std::deque<Read> reads_;  // of these blocks, in order of issue
  std::uint64_t next_id_ = 0;
  sim::Port error_port_;  // before the wake-up's: no read goes at the instant of an error response
  sim::Wakeup<SendUnit, &SendUnit::pump> wakeup_;
};

}  // namespace faultline::dma
