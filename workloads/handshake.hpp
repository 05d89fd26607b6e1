// SPDX-License-Identifier: Apache-2.0
// Preparation around each transfer, where the strategy wants it (pin-per-transfer): the initiator asks the target's
// program by a small message, prepares its own buffer meanwhile, and posts when the answer has come. After the transfer
// the target releases while the program goes on; the buffer is free again when the target says so.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "models/rdma/endpoint.hpp"
#include "models/sim/task.hpp"

namespace faultline::workloads {

// The initiator's side.
class Handshake {
 public:
  Handshake(rdma::Endpoint& initiator, rdma::Endpoint& target);

  // Both ends are prepared when it returns. `own`, and whether the device writes it; `slot`: the target's buffer.
  sim::Task<void> prepare(cpu::Execution& thread, rdma::RegisteredBuffer own, bool written, std::uint64_t slot);
  // The target has released its buffer when it returns. The own one is the caller's.
  sim::Task<void> release(cpu::Execution& thread, std::uint64_t slot);

 private:
  sim::Task<void> ask(cpu::Execution& thread, std::uint64_t request, std::uint64_t slot);

  rdma::Endpoint& initiator_;
  rdma::Endpoint& target_;
  sim::Semaphore answer_;  // for one question at a time, whichever thread asks
};

// A buffer of the target's program: how it is registered, and for whom.
struct HandshakeSlot {
  rdma::RegisteredBuffer buffer;
  bool written;  // by the device
  rdma::Endpoint& initiator;
};

// The target's side: answers for ever. `used`, if there is one: what the program does with the buffer of this slot
// before it is prepared.
sim::Task<void> serve_handshakes(rdma::Endpoint& target, const std::vector<HandshakeSlot>& slots,
                                 std::function<sim::Task<void>(std::uint64_t slot)> used = {});

}  // namespace faultline::workloads
