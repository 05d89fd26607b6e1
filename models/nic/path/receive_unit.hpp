// SPDX-License-Identifier: Apache-2.0
// The receive unit: writes the data cells of blocks to memory, acknowledges complete blocks and reports faulted ones.
#pragma once

#include <cstdint>
#include <tlm>

#include "models/nic/path/axi_writer.hpp"
#include "models/nic/path/config.hpp"
#include "models/nic/path/counters.hpp"
#include "models/nic/path/event_unit.hpp"
#include "models/nic/path/fault_fifo.hpp"
#include "models/nic/path/injector.hpp"
#include "models/nic/path/reassembly.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::nic {

// How the receive unit reaches the router that sends to it.
class SlotReturn {
 public:
  virtual ~SlotReturn() = default;
  virtual void tell(tlm::tlm_generic_payload& payload, const sim::Answers& slots) = 0;
};

// Knows the transfers that have been posted on this node.
class OwnTransfers {
 public:
  virtual ~OwnTransfers() = default;
  // It was posted here, and is over.
  virtual bool has_ended(std::uint64_t transfer) const = 0;
};

class ReceiveUnit : public WriteClient {
 public:
  ReceiveUnit(const PathConfig& config, SlotReturn& slots, AxiWriter& writer, Injector& injector, FaultFifo& faults,
              EventUnit& events, Counters& counters, const sim::Context& context);

  void connect(const OwnTransfers& own) { own_ = &own; }
  // What still comes of this transfer, which was posted here, is not wanted.
  void transfer_ended(std::uint64_t transfer);

  // Data cells from the router. The payload is the router's until all its slots are free.
  void receive(tlm::tlm_generic_payload& payload);
  // Not all of its cells come.
  void recall(tlm::tlm_generic_payload& payload);

  bool wanted(std::uint64_t tag) override;
  void left_buffer(std::uint64_t tag, const sim::TimeSequence& freed) override;
  void back_in_buffer(std::uint64_t tag, std::uint32_t cells) override;
  void dropped(std::uint64_t tag, std::uint32_t cells) override;
  void written(std::uint64_t tag, std::uint32_t cells) override;
  void refused(std::uint64_t tag, std::uint32_t cells) override;
  void write_error(std::uint64_t tag, std::uint64_t address) override;

 private:
  // A train from the network: in the buffer, or with writes under way.
  struct Arrived {
    tlm::tlm_generic_payload* payload = nullptr;
    sim::NodeId source = 0;
    sim::PartKey key;
    std::uint32_t pdid = 0;
    std::uint32_t block_offset = 0;
    std::uint32_t block_bytes = 0;
    std::uint32_t cell_bytes = 0;
    std::uint32_t cells = 0;       // that come
    std::uint32_t unfinished = 0;  // of these neither dropped nor answered
    Reassembly::Verdict verdict = Reassembly::Verdict::write;
    std::uint32_t left = 0;  // the buffer, or are going to: their slots have been announced
    bool begun = false;      // its first cell has left the buffer
    Notice notice{};
    sim::Time last_arrival{0};  // of its cells; with a notice

    bool is_of_block(const Arrived& other) const {  // in any attempt
      return source == other.source && key.transfer == other.key.transfer && key.part == other.key.part;
    }
  };

  Arrived& arrived(std::uint64_t tag) { return arrived_[static_cast<std::size_t>(tag - first_tag_)]; }
  bool is_over(const Arrived& cells) const;
  bool is_on_its_way(const Arrived& newer) const;
  bool has_stale_copy(const Arrived& newer) const;
  void finish_cells(std::uint64_t tag, std::uint32_t cells);
  void drop_foreign(tlm::tlm_generic_payload& payload);
  // True: the block may be acknowledged. Where all blocks of a transfer are placed, none may be until its notice is
  // given.
  bool notify_if_whole(const Arrived& block);
  void acknowledge(sim::NodeId source, const sim::PartKey& key);
  // Tells the source to send no more of this attempt, where stops are sent.
  void stop(const Arrived& block, std::uint64_t why);
  void tell(sim::NodeId source, network::PacketKind what, const sim::PartKey& key, std::uint64_t word = 0);

  const PathConfig& config_;
  SlotReturn& slots_;
  AxiWriter& writer_;
  Injector& injector_;
  FaultFifo& faults_;
  EventUnit& events_;
  Counters& counters_;
  const sim::Context& context_;
  const OwnTransfers* own_ = nullptr;
  NoticeRecord notices_;
  Reassembly reassembly_;
  sim::Deque<Arrived> arrived_;
  std::uint64_t first_tag_ = 0;  // of arrived_.front()
};

}  // namespace faultline::nic
