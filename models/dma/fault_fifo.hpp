// SPDX-License-Identifier: Apache-2.0
// Fault records that wait for the driver. A full FIFO drops the newest record: the block's timeout brings it back.
#pragma once

#include <cstdint>
#include <deque>

#include "models/dma/counters.hpp"
#include "models/sim/context.hpp"

namespace faultline::dma {

struct FaultRecord {
  std::uint64_t page = 0;  // virtual address
  bool at_source = false;
  std::uint32_t pdid = 0;  // whose page it is, on this node
  sim::NodeId peer = 0;    // node that sends the block: where a retransmission request goes
  sim::BlockKey key;
};

class FaultFifo {
 public:
  FaultFifo(unsigned depth, const sim::Context& context, Counters& counters)
      : depth_(depth), context_(context), counters_(counters) {}

  void push(const FaultRecord& record) {
    if (records_.size() >= depth_) {
      ++counters_.fault_overflows;
      return;
    }
    records_.push_back(record);
    ++counters_.fault_records;
    context_.report(sim::Step::fault_logged, record.key);
  }
  void pop() {
    if (!records_.empty()) records_.pop_front();
  }
  std::uint64_t size() const { return records_.size(); }
  // The oldest record; one of zeros when there is none.
  FaultRecord front() const { return records_.empty() ? FaultRecord{} : records_.front(); }

 private:
  unsigned depth_;
  const sim::Context& context_;
  Counters& counters_;
  std::deque<FaultRecord> records_;
};

}  // namespace faultline::dma
