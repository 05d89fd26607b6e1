// SPDX-License-Identifier: Apache-2.0
#include "workloads/handshake.hpp"

#include "workloads/stream.hpp"

namespace faultline::workloads {

using os::Error;
using rdma::Endpoint;
using rdma::Message;
using sim::Task;

namespace {

// Requests of an initiator to the target's program, and its one answer.
enum Request : std::uint64_t { kPrepare = 1, kRelease = 2, kReady = 3 };

}  // namespace

Handshake::Handshake(Endpoint& initiator, Endpoint& target)
    : initiator_(initiator), target_(target), answer_(initiator.vm().context().loop, 1) {}

Task<void> Handshake::ask(cpu::Execution& thread, std::uint64_t request, std::uint64_t slot) {
  co_await initiator_.send(thread, target_.node(), target_.process().id(), {request, slot}, 2);
}

Task<void> Handshake::prepare(cpu::Execution& thread, rdma::RegisteredBuffer own, bool written, std::uint64_t slot) {
  co_await answer_.acquire();
  co_await ask(thread, kPrepare, slot);
  check_buffer(co_await own.acquire(thread, written), "preparing", initiator_.vm());
  co_await initiator_.receive(thread);
  answer_.release();
}

Task<void> Handshake::release(cpu::Execution& thread, std::uint64_t slot) {
  co_await answer_.acquire();
  co_await ask(thread, kRelease, slot);
  co_await initiator_.receive(thread);
  answer_.release();
}

Task<void> serve_handshakes(Endpoint& target, const std::vector<HandshakeSlot>& slots,
                            std::function<Task<void>(std::uint64_t slot)> used) {
  for (;;) {
    const Message request = co_await target.receive(target.thread());
    const HandshakeSlot& slot = slots.at(request[1]);
    Error error = Error::none;
    if (request[0] == kPrepare) {
      if (used) co_await used(request[1]);
      error = co_await slot.buffer.acquire(target.thread(), slot.written);
    } else {
      error = co_await slot.buffer.release(target.thread());
    }
    check_buffer(error, "preparing or releasing", target.vm());
    const Message ready{kReady, request[1]};
    co_await target.send(target.thread(), slot.initiator.node(), slot.initiator.process().id(), ready, 2);
  }
}

}  // namespace faultline::workloads
