// SPDX-License-Identifier: Apache-2.0
// The engine's AXI write path: one queue for received cells and control writes (notifications, mailbox slots), in the
// order in which they are ready, under the port's bound on outstanding bursts.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <tlm>

#include "models/dma/wakeup.hpp"
#include "models/sim/content.hpp"
#include "models/sim/context.hpp"
#include "models/sim/credit_pool.hpp"
#include "models/sim/payload.hpp"

namespace faultline::dma {

// Sends a payload forward on an AXI or network socket; how the parts reach the engine's sockets.
class Forward {
 public:
  virtual ~Forward() = default;
  virtual void begin_request(tlm::tlm_generic_payload& payload) = 0;
};

class WriteClient {
 public:
  virtual ~WriteClient() = default;
  // How many of the request's next cells, which may go at these instants, are to be written; the others are dropped.
  // Asked when they are next, where only 0 counts and drops what is left of the request, and again when they go out.
  virtual std::uint32_t wanted(std::uint64_t tag, const sim::TimeSequence& at) = 0;
  virtual void write_dropped(std::uint64_t tag, std::uint32_t cells) = 0;
  // The request's next cells leave the client's buffer at these instants, written or dropped.
  virtual void left_buffer(std::uint64_t tag, const sim::TimeSequence& freed) = 0;
  // Cells from `address` on have their responses; may be announced before they come.
  virtual void written(std::uint64_t tag, std::uint64_t address, const sim::Train& train, bool ok) = 0;
};

// Cells of one page.
struct WriteRequest {
  std::uint64_t address = 0;
  std::uint32_t master_id = 0;
  std::uint32_t cell_bytes = 0;
  sim::TimeSequence ready;
  sim::Content content;
  WriteClient* client = nullptr;
  std::uint64_t tag = 0;
};

class AxiWriter {
 public:
  AxiWriter(unsigned outstanding, Forward& port, const sim::Context& context);

  void submit(WriteRequest request);
  // BEGIN_RESP of one of our payloads.
  void response(tlm::tlm_generic_payload& payload);

 private:
  struct Staged {
    WriteRequest part;          // ready: the instants at which its cells go out
    sim::TimeSequence credits;  // that they have
  };

  void pump();
  bool stage();
  void send_staged();

  Forward& port_;
  const sim::Context& context_;
  sim::CreditPool credits_;
  std::deque<WriteRequest> queue_;  // by first ready instant
  std::optional<Staged> staged_;
  Wakeup<AxiWriter, &AxiWriter::pump> wakeup_;
};

}  // namespace faultline::dma
