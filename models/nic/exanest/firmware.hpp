// SPDX-License-Identifier: Apache-2.0
// The firmware on the R5, which schedules blocks. It sends a faulted block again when the fault thread of a library
// asks for that (kRetransmit, from the other node a RAPF), or when the block's timeout has come.
#pragma once

#include "models/cpu/r5.hpp"
#include "models/nic/exanest/config.hpp"
#include "models/nic/exanest/registers.hpp"
#include "models/nic/path/block_scheduler.hpp"
#include "models/sim/random.hpp"

namespace faultline::exanest {

class Firmware final : public BlockScheduler {
 public:
  Firmware(const EngineConfig& config, Hardware hardware);

  bool admits(const Message& message) override;
  void message_waits(const Message& message) override;
  void source_fault(const BlockCommand& command, std::uint64_t page) override;
  // For how long the R5 has run, up to now.
  sim::Time busy() const { return r5_.busy(); }

 private:
  sim::Task<void> run(Time cost, const char* what) override { return r5_.run(cost, what); }
  sim::Task<bool> handle_own(Message message) override;
  void handle_retransmit(const Message& message);

  const EngineConfig& config_;
  cpu::R5Core r5_;
  sim::RandomStream losses_;  // its name is older than the parameter's, and decides what is drawn
  sim::Counter& refault_failures_;
  sim::Counter& requests_;
  sim::Counter& stale_;
  sim::Counter& ignored_;
  sim::Counter& lost_;
};

}  // namespace faultline::exanest
