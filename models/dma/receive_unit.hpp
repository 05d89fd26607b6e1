// SPDX-License-Identifier: Apache-2.0
// The receive unit: writes the data cells of blocks to memory, acknowledges complete blocks and reports faulted ones.
#pragma once

#include <cstdint>
#include <deque>
#include <tlm>
#include <vector>

#include "models/dma/axi_writer.hpp"
#include "models/dma/config.hpp"
#include "models/dma/counters.hpp"
#include "models/dma/deferred.hpp"
#include "models/dma/fault_fifo.hpp"
#include "models/dma/injector.hpp"
#include "models/dma/reassembly.hpp"

namespace faultline::dma {

class ReceiveUnit : public WriteClient {
 public:
  ReceiveUnit(const DmaConfig& config, Forward& freed, AxiWriter& writer, Injector& injector, FaultFifo& faults,
              Counters& counters, const sim::Context& context);

  // Data cells from the router. The payload is the router's until all its slots are freed.
  void receive(tlm::tlm_generic_payload& payload);

  std::uint32_t wanted(std::uint64_t tag, const sim::TimeSequence& at) override;
  void write_dropped(std::uint64_t tag, std::uint32_t cells) override;
  void left_buffer(std::uint64_t tag, const sim::TimeSequence& freed) override;
  void written(std::uint64_t tag, std::uint64_t address, const sim::Train& train, bool ok) override;

 private:
  // A train from the network: in the buffer, or with writes under way.
  struct Arrived {
    tlm::tlm_generic_payload* payload = nullptr;  // until its slots are freed
    sim::NodeId source = 0;
    sim::BlockKey key;
    std::uint32_t pdid = 0;
    std::uint32_t block_offset = 0;
    std::uint32_t block_bytes = 0;
    std::uint32_t cell_bytes = 0;
    std::uint32_t in_buffer = 0;   // cells
    std::uint32_t unfinished = 0;  // cells neither dropped nor answered
    Reassembly::Verdict verdict = Reassembly::Verdict::write;
  };
  // What happens at an instant that was announced before it came.
  struct Due {
    sim::NodeId source = 0;
    sim::BlockKey key;
    std::uint32_t pdid = 0;
    std::uint64_t page = 0;
    bool fault = false;  // else the block is complete
  };

  void finish_cells(std::uint64_t tag, std::uint32_t cells);
  void drop_foreign(tlm::tlm_generic_payload& payload);
  void come_due(const Due& due);
  void acknowledge(sim::NodeId source, const sim::BlockKey& key, Time at);

  const DmaConfig& config_;
  Forward& freed_;
  AxiWriter& writer_;
  Injector& injector_;
  FaultFifo& faults_;
  Counters& counters_;
  const sim::Context& context_;
  Deferred<Due, ReceiveUnit, &ReceiveUnit::come_due> due_;
  Reassembly reassembly_;
  std::vector<Arrived> arrived_;
  std::vector<std::uint64_t> idle_arrived_;
};

}  // namespace faultline::dma
