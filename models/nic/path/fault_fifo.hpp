// SPDX-License-Identifier: Apache-2.0
// Fault records that wait for the driver. Logging one takes some cycles; a full FIFO drops the newest. Then the block's
// timeout brings it back, or the NIC logs it again (on_lost, on_room).
#pragma once

#include <cstdint>
#include <functional>

#include "models/nic/path/config.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/deferred.hpp"
#include "models/nic/path/steps.hpp"
#include "models/nic/path/tracks.hpp"
#include "models/sim/context.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::nic {

struct FaultRecord {
  std::uint64_t page = 0;  // virtual address
  bool at_source = false;
  std::uint32_t pdid = 0;  // whose page it is, on this node
  sim::NodeId peer = 0;    // node that sends the block: where a retransmission request goes
  sim::PartKey key;
};

class FaultFifo {
 public:
  FaultFifo(const PathConfig& config, const sim::Context& context, Counters& counters)
      : config_(config), context_(context), counters_(counters), coming_(context.loop, *this) {}

  // At the instant of the error response.
  void log(const FaultRecord& record) {
    if (on_log) on_log(record);
    coming_.at(context_.now() + config_.clock.cycles(config_.fault_logging), record);
  }
  void pop() {
    if (records_.empty()) return;
    records_.pop_front();
    if (on_change) on_change();
    context_.level(track::kFaultFifo, records_.size());
    if (on_room) on_room();
  }
  std::uint64_t size() const { return records_.size(); }
  // The oldest record; one of zeros when there is none.
  FaultRecord front() const { return records_.empty() ? FaultRecord{} : records_.front(); }

  std::function<void(const FaultRecord&)> on_log;  // for observers
  std::function<void()> on_change;                 // size() has changed
  // Asked of a record for which there is room: false: it is known already, or the NIC takes no further one now.
  std::function<bool(const FaultRecord&)> wanted;
  std::function<void(const FaultRecord&)> on_lost;  // a record for which there is no room
  std::function<void()> on_room;                    // a record has been taken

 private:
  void push(const FaultRecord& record) {
    if (records_.size() >= config_.fault_fifo) {
      ++counters_.fault_overflows;
      if (on_lost) on_lost(record);
      return;
    }
    if (wanted && !wanted(record)) return;
    records_.push_back(record);
    ++counters_.fault_records;
    if (on_change) on_change();
    context_.level(track::kFaultFifo, records_.size());
    context_.report(step::kFaultLogged, record.key);
  }

  const PathConfig& config_;
  const sim::Context& context_;
  Counters& counters_;
  Deferred<FaultRecord, FaultFifo, &FaultFifo::push> coming_;
  sim::Deque<FaultRecord> records_;
};

}  // namespace faultline::nic
