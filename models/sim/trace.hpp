// SPDX-License-Identifier: Apache-2.0
// The life of transfers and faults as a stream of steps, and what each part does meanwhile. Models report; whoever
// wants to know (the fault breakdown, a trace file) listens. With no listener a report costs one comparison.
#pragma once

#include <compare>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/sim/time.hpp"

namespace faultline::sim {

using NodeId = std::uint32_t;

// One attempt to move one part of one transfer. Transfer ids are unique in the cluster.
struct PartKey {
  std::uint64_t transfer = 0;
  std::uint32_t part = 0;
  std::uint32_t attempt = 0;
  auto operator<=>(const PartKey&) const = default;
};

// In the order in which a transfer with a destination fault meets them.
enum class Step : std::uint8_t {
  post_begin,          // library entered by the caller
  posted,              // descriptor written to the channel's registers
  transfer_started,    // R5 has set the transfer up
  block_scheduled,     // R5 has handed the block to the send unit
  read_issued,         // send unit: first AXI read of the block
  cell_sent,           // send unit: first cell handed to the network
  cell_arrived,        // receive unit: first cell of the block
  block_written,       // receive unit: the block's last write is answered (told to timelines alone)
  fault_detected,      // receive or send unit: first error response of the block
  fault_logged,        // record in the fault FIFO
  handler_entered,     // CPU: first instruction of the context-fault handler
  handler_done,        // handler has read and cleared the bank
  tasklet_run,         // tasklet starts on the record
  message_sent,        // netlink message queued to the library
  library_woken,       // library's fault thread has the message
  resolve_begin,       // library has parsed it and starts to resolve
  resolve_end,         // page (or pages) present
  retry_requested,     // RAPF or local retry handed to the mailbox / R5
  retry_received,      // source R5 has the request
  block_requeued,      // source R5 has put the block back on its queue
  block_acknowledged,  // source: acknowledgement of the block arrived
  notified,            // completion notification written
  completed,           // polling library saw it
  timed_out,           // source: timeout of the block

  // Of a node, whichever transfer it is about: their keys are empty.
  access_faulted,    // SMMU: a page's accesses have missed and the walk, or a permission, says no
  interrupt_raised,  // a line has gone high at the interrupt controller
  interrupt_taken,   // first instruction of a handler
  stall_resumed,     // the driver has told the SMMU to try a stalled access again, or to end it

  // Of a small message between programs, which has no block: its key is empty.
  message_begin,      // library entered by the sender
  message_composed,   // library's code done, register writes begin
  message_posted,     // send command written to the packetizer
  message_injected,   // packetizer hands the cell to the network
  message_arrived,    // mailbox has the whole cell
  message_delivered,  // mailbox issues the write of the slot
  message_seen,       // the receiver's polling load has it
  message_received,   // the receiver's library has copied it
  message_returned,   // slot given back; the library returns
};
std::string_view to_string(Step step);

struct StepRecord {
  Time at;
  NodeId node;
  Step step;
  PartKey key;  // part and attempt are 0 for steps of the whole transfer
};

class StepListener {
 public:
  virtual ~StepListener() = default;
  virtual void on_step(const StepRecord& record) = 0;
};

// What a timeline has tracks for: parts that do one thing after the other, and levels.
enum class Part : std::uint8_t {
  core,          // its number
  r5,            // firmware
  channel,       // of the DMA engine, its number: transfers from post to notification, and how many it holds
  served_reads,  // transfers that another node has posted and this one sends
  send_unit,     // blocks that hold a context
  smmu_tbu,      // number of the TBU: misses of its micro-TLB
  smmu_walker,   // the TCU's, number of the walk slot
  link,          // number of the router's port by which cells leave
  interrupt,     // number of the line: high, and its level

  // Levels: how many at a time.
  send_queue,     // block commands that wait for the send unit
  send_blocks,    // blocks that hold a context of the send unit
  receive_queue,  // trains that the receive unit has, or knows to come
  fault_fifo,     // records that wait for the driver
  smmu_walks,     // page-table walks under way
  smmu_stalls,    // accesses that wait for RESUME
};

struct Track {
  NodeId node = 0;  // or a router's id
  Part part{};
  std::uint32_t number = 0;
  auto operator<=>(const Track&) const = default;
};

// Told when its end is known: mostly then, by the firmware ahead. Slices of one core, walk slot or line do not overlap
// and come in order of time; those of other tracks may.
struct Slice {
  Track track;
  Time begin;
  Time end;
  std::string_view name;      // valid during the call
  std::string_view category;  // likewise
  PartKey key;                // what it was for; transfer 0: nobody's
};

// An access by a device that faulted, and why.
struct PageFault {
  Time at;
  NodeId node = 0;
  std::uint32_t process = 0;
  std::uint64_t address = 0;
  bool write = false;
  std::string_view cause;  // valid during the call, as are the others
  std::string_view state;  // of the page
  std::string_view by;     // what took the page, or the right
  bool injected = false;
};

// Wants to know everything.
class Timeline : public StepListener {
 public:
  virtual void on_slice(const Slice& slice) = 0;
  virtual void on_level(Time at, const Track& track, std::uint64_t level) = 0;
  // Cells of a train are going to leave by a link from `begin` to `end`, as far as is known. What was said of this
  // train before is void, but for what has passed by then. None are when both are the same.
  virtual void on_link(const Slice& plan, const void* train) = 0;
  virtual void on_fault(const PageFault&) {}
};

class Trace {
 public:
  void listen(StepListener& listener) { listeners_.push_back(&listener); }
  void record(Timeline& timeline) { timelines_.push_back(&timeline); }
  // What happens from here on is nobody's.
  void stop_recording() { timelines_.clear(); }
  // Whether anybody wants more than steps; asked before a slice is made up.
  bool records() const { return !timelines_.empty(); }
  void report(Time at, NodeId node, Step step, const PartKey& key) const {
    for (StepListener* listener : listeners_) listener->on_step({at, node, step, key});
    record_step(at, node, step, key);
  }
  void record_step(Time at, NodeId node, Step step, const PartKey& key) const {
    for (Timeline* timeline : timelines_) timeline->on_step({at, node, step, key});
  }
  void slice(const Slice& slice) const {
    for (Timeline* timeline : timelines_) timeline->on_slice(slice);
  }
  void level(Time at, const Track& track, std::uint64_t level) const {
    for (Timeline* timeline : timelines_) timeline->on_level(at, track, level);
  }
  void fault(const PageFault& fault) const {
    for (Timeline* timeline : timelines_) timeline->on_fault(fault);
  }
  void link(const Slice& plan, const void* train) const {
    for (Timeline* timeline : timelines_) timeline->on_link(plan, train);
  }

 private:
  std::vector<StepListener*> listeners_;
  std::vector<Timeline*> timelines_;
};

}  // namespace faultline::sim
