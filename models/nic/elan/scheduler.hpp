// SPDX-License-Identifier: Apache-2.0
// The DMA processor: hardware that schedules blocks, one thing at a time. A block whose read the MMU refuses is parked
// until the driver restarts it. One that the target refuses (a NAK) is sent again after a back-off. Others go on
// meanwhile.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "models/nic/elan/config.hpp"
#include "models/nic/path/block_scheduler.hpp"
#include "models/nic/path/deferred.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::elan {

class Scheduler final : public nic::BlockScheduler {
 public:
  Scheduler(const ElanConfig& config, Hardware hardware);

  void refused(const sim::PartKey& key, std::uint64_t word) override;
  void source_fault(const nic::BlockCommand& command, std::uint64_t page) override;
  bool deadline_matters(std::uint64_t what, const sim::PartKey& key) override;
  void deadline_passed(std::uint64_t what, const sim::PartKey& key) override;

  // For how long it has worked, up to now.
  sim::Time busy() const;
  // The driver has answered the page's trap: blocks that are parked for it are sent again, or their transfers end with
  // an error.
  void answer(std::uint32_t pdid, std::uint64_t page, bool give_up);
  // Nobody answers traps of the process any more: what is parked for it ends.
  void forget_traps(std::uint32_t pdid);

 private:
  static constexpr std::uint64_t kParkDeadline = 2;
  struct Parked {
    sim::PartKey key;
    std::uint32_t pdid;
    std::uint64_t page;
    bool told = true;  // its trap's record has found room, or may yet
  };

  sim::Task<void> run(Time cost, const char* what) override;
  // Whether a trap of its own tells the driver of this fault: of one page, until the driver has answered, one does; and
  // so many traps wait for an answer as the FIFO has places.
  bool traps(const nic::FaultRecord& fault);
  // The trap of a parked block comes again when there is room.
  void trap_lost(const nic::FaultRecord& fault);
  void trap_again();
  // The block of this attempt, if it is held: parked, or waits for the end of its back-off.
  nic::Block* held(const sim::PartKey& key);
  void back_off_ends(const sim::PartKey& key);
  // Those that are still held, no longer parked.
  sim::Vector<Parked> take_parked(const std::function<bool(const Parked&)>& wanted);

  const ElanConfig& config_;
  nic::Deferred<sim::PartKey, Scheduler, &Scheduler::back_off_ends> back_offs_;
  sim::Vector<Parked> parked_;
  sim::Set<std::pair<std::uint32_t, std::uint64_t>> trapped_;  // pages of processes, whose traps are not answered
  sim::Time busy_{0};                                          // work accepted
  sim::Time free_{0};                                          // when it is done
  sim::Counter& parks_;
  sim::Counter& naks_;
  sim::Counter& nak_failures_;
};

}  // namespace faultline::elan
