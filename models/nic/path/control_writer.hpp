// SPDX-License-Identifier: Apache-2.0
// Single-cell writes of the engine's own: notification words and mailbox slots. One that meets a fault is tried again
// after a block timeout.
#pragma once

#include <cstdint>

#include "models/nic/path/axi_writer.hpp"
#include "models/nic/path/config.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/timer.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::nic {

class ControlWriteClient {
 public:
  virtual ~ControlWriteClient() = default;
  // At the instant of the write's response; ok is false when it was given up.
  virtual void control_written(std::uint64_t tag, bool ok) = 0;
  // Whether it is still to be done; asked when it goes to memory, and before it is tried again.
  virtual bool control_wanted(std::uint64_t /*tag*/) const { return true; }
};

class ControlWriter : public WriteClient, public TimerClient {
 public:
  ControlWriter(const PathConfig& config, AxiWriter& writer, Timer& timer, Counters& counters,
                const sim::Context& context);

  // At most one cell, within one page; goes after what is ready before now.
  void write(std::uint64_t address, std::uint32_t pdid, sim::Content content, ControlWriteClient& client,
             std::uint64_t tag);

  bool wanted(std::uint64_t id) override;
  void left_buffer(std::uint64_t, const sim::TimeSequence&) override {}
  void back_in_buffer(std::uint64_t, std::uint32_t) override {}
  void dropped(std::uint64_t id, std::uint32_t) override { give_up(id); }
  void written(std::uint64_t id, std::uint32_t) override;
  void refused(std::uint64_t id, std::uint32_t) override;
  void write_error(std::uint64_t, std::uint64_t) override {}
  bool deadline_matters(std::uint64_t, const sim::PartKey&) override { return true; }
  void deadline_passed(std::uint64_t id, const sim::PartKey&) override { submit(id); }

 private:
  struct Pending {
    std::uint64_t address;
    std::uint32_t pdid;
    sim::Content content;
    ControlWriteClient* client;
    std::uint64_t tag;
    unsigned failures = 0;
  };
  void submit(std::uint64_t id);
  void give_up(std::uint64_t id);

  const PathConfig& config_;
  AxiWriter& writer_;
  Timer& timer_;
  Counters& counters_;
  const sim::Context& context_;
  sim::HashMap<std::uint64_t, Pending> pending_;
  std::uint64_t next_id_ = 0;
};

}  // namespace faultline::nic
