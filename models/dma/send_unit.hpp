// SPDX-License-Identifier: Apache-2.0
// The send unit: takes block commands in order, reads each block's cells over AXI and passes them to the network.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <tlm>

#include "models/dma/cells.hpp"
#include "models/dma/counters.hpp"
#include "models/dma/deferred.hpp"
#include "models/dma/injector.hpp"
#include "models/dma/wakeup.hpp"

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
  // BEGIN_RESP of one of our payloads.
  void response(tlm::tlm_generic_payload& payload);

  void cells_sent(const Outgoing& cells) override;

 private:
  // A block that holds a context: its reads are being issued or are not all back, or cells of it have not gone out.
  struct Block {
    std::uint64_t id = 0;
    BlockCommand command;
    Time start{0};
    Time stop = sim::kNever;    // no read is issued from then on, no data that came back then is sent
    Time done{0};               // when the last of what is known so far was back and out
    std::uint32_t issued = 0;   // bytes
    std::uint32_t pending = 0;  // cells being read
    std::uint32_t unsent = 0;   // cells at the injector
    bool fault_reported = false;
  };
  struct Staged {
    CellRun run;
    sim::TimeSequence times;  // when its cells are read
    sim::TimeSequence read_credits;
    sim::TimeSequence buffer_credits;
  };

  struct Fault {
    BlockCommand command;
    std::uint64_t page;
  };

  void pump();
  bool start_next();
  bool issuing() const;
  bool stage();
  void issue_staged();
  void retire();
  void stop_for_fault(Block& block, std::uint64_t address, Time at);
  void report_fault(const Fault& fault);
  Block* find(std::uint64_t id);

  const DmaConfig& config_;
  Forward& port_;
  Injector& injector_;
  Counters& counters_;
  const sim::Context& context_;
  SendClient* client_ = nullptr;
  sim::CreditPool read_credits_;
  sim::CreditPool buffer_;
  sim::CreditPool contexts_;
  std::deque<BlockCommand> commands_;
  std::deque<Block> blocks_;      // the last one issues; at most one for each context
  std::optional<Staged> staged_;  // of the last block
  Time last_read_{0};             // when the last read that was handed over is issued
  std::uint64_t next_id_ = 0;
  Wakeup<SendUnit, &SendUnit::pump> wakeup_;
  Deferred<Fault, SendUnit, &SendUnit::report_fault> faults_;  // reported to the client when their response comes
};

}  // namespace faultline::dma
