// SPDX-License-Identifier: Apache-2.0
// The engine's AXI write path: one queue for received cells and control writes (notifications, mailbox slots), in the
// order in which they are ready, under the port's bound on outstanding bursts.
//
// A cell goes out when the queue says so (sim::IssueQueue) if its client still wants it then; else it is dropped, for
// which it needs no slot.
#pragma once

#include <cstdint>
#include <tlm>

#include "models/sim/answers.hpp"
#include "models/sim/content.hpp"
#include "models/sim/context.hpp"
#include "models/sim/issue_queue.hpp"
#include "models/sim/payload.hpp"
#include "models/sim/wakeup.hpp"

namespace faultline::nic {

using sim::Time;

// Tells of a payload's cells forward on an AXI or network socket; how the parts reach the engine's sockets.
class Forward {
 public:
  virtual ~Forward() = default;
  virtual void tell(tlm::tlm_generic_payload& payload, const sim::Cells& cells) = 0;
};

class WriteClient {
 public:
  virtual ~WriteClient() = default;
  // Whether the request's next cell, whose turn it is now, is to be written; else it is dropped with those behind it.
  virtual bool wanted(std::uint64_t tag) = 0;
  // The request's next cells leave the client's buffer at these instants, written or dropped.
  virtual void left_buffer(std::uint64_t tag, const sim::TimeSequence& freed) = 0;
  // The last of them do not leave it then.
  virtual void back_in_buffer(std::uint64_t tag, std::uint32_t cells) = 0;

  // What happens to cells, each at the instant of the last of them.
  virtual void dropped(std::uint64_t tag, std::uint32_t cells) = 0;
  virtual void written(std::uint64_t tag, std::uint32_t cells) = 0;
  virtual void refused(std::uint64_t tag, std::uint32_t cells) = 0;
  // At the instant of the first error response of cells that lie from `address` on.
  virtual void write_error(std::uint64_t tag, std::uint64_t address) = 0;
};

// Cells that lie one behind the other.
struct WriteRequest {
  std::uint64_t address = 0;
  std::uint32_t master_id = 0;
  std::uint32_t cell_bytes = 0;
  sim::TimeSequence ready;
  sim::Content content;
  WriteClient* client = nullptr;
  std::uint64_t tag = 0;
  std::uint64_t number = 0;  // the queue's

  WriteRequest split(std::uint32_t first);
};

class AxiWriter {
 public:
  AxiWriter(unsigned outstanding, Forward& port, const sim::Context& context);

  void submit(WriteRequest request);
  // The last cells of the client's request do not come.
  void recall(const WriteClient& client, std::uint64_t tag, std::uint32_t cells);
  // Clients may want less of what has not gone out by now.
  void verdicts_changed();
  // Of one of our payloads.
  void answered(tlm::tlm_generic_payload& payload, const sim::Answers& answers);
  void parted(tlm::tlm_generic_payload& payload, tlm::tlm_generic_payload& rest);
  // Tells the clients of the cells that are dropped or refused by now; without it of those of a train with the last.
  void settle_losses();

 private:
  // What the client has been told of responses that were announced together.
  struct Told {
    bool error = false;
    std::uint32_t cells = 0;
  };
  using Replies = sim::AnswerList<Told>;
  // Of a run of cells: what became of them.
  struct Fate {
    std::uint64_t id = 0;                         // number of the first of all cells that went or were dropped
    tlm::tlm_generic_payload* payload = nullptr;  // none: dropped
    Replies replies;
    std::uint32_t drops_told = 0;  // cells
  };
  using Queue = sim::IssueQueue<WriteRequest, Fate, AxiWriter>;
  friend Queue;

  void wake();
  void pump();
  void send();
  void drop();
  void remember(Queue::Run& run);
  void taken_back(Queue::Run& run, const WriteRequest& rest, const sim::TimeSequence& instants);
  // Cells from this one on are not answered as was said. Whether any were.
  bool void_replies(Fate& fate, std::uint32_t from);
  void settle(std::uint64_t id);
  void settle_at(Time when, std::uint64_t id);
  // Tells the client of the cells whose instants have come since it was told last.
  void tell_dropped(Queue::Run& run);
  void tell_answered(Queue::Run& run, Replies::Part& reply);
  static bool is_over(const Queue::Run& run);
  void forget();

  Forward& port_;
  const sim::Context& context_;
  Queue queue_;
  bool judged_ = false;  // the head, which has no slot
  std::uint64_t next_id_ = 0;
  sim::Port settle_port_;  // before the next one: nothing goes out at the instant of an error response
  sim::Port turn_;         // of the wake-up
  sim::Wakeup<AxiWriter, &AxiWriter::pump> wakeup_;
};

}  // namespace faultline::nic
