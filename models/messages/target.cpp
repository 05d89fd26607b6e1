// SPDX-License-Identifier: Apache-2.0
#include "models/messages/target.hpp"

#include <utility>

#include "models/messages/leases.hpp"

namespace faultline::messages {

using os::Error;
using rdma::Message;
using sim::Task;

Target::Target(rdma::Endpoint& endpoint, const rdma::Strategy& strategy, Check check)
    : endpoint_(endpoint), strategy_(strategy), check_(std::move(check)) {}

Task<void> Target::serve(std::function<Task<void>(std::uint64_t slot)> used) {
  for (;;) {
    const Message request = co_await endpoint_.receive(endpoint_.thread());
    const std::uint64_t number = request[1];
    if (request[0] == kMove) {
      co_await move_pages(request);
      continue;
    }
    if (request[0] == kRelease) {
      co_await release(number, request[2]);
      continue;
    }
    if (used) co_await used(number);
    Served& served = slots_.at(number);
    served.parts = strategy_.pipeline.parts(served.slot.buffer.bytes());
    served.prepared = served.let_go = 0;
    co_await prepare_ahead(number);
  }
}

// As many parts as may be prepared at a time, one after the other. One that finds no room is tried again when another
// one has gone.
Task<void> Target::prepare_ahead(std::uint64_t number) {
  for (;;) {
    Served& served = slots_.at(number);
    const std::size_t part = served.prepared;
    const std::size_t held = part - served.let_go;
    if (part == served.parts.size() || held == strategy_.pipeline.depth) co_return;
    const rdma::Part which = served.parts[part];
    const rdma::RegisteredBuffer buffer = served.slot.buffer.part(which.offset, which.bytes);
    const Error error = co_await buffer.acquire(endpoint_.thread(), served.slot.written);
    if (error == Error::limit && held > 0) co_return co_await answer(number, kLater, part);
    check_(error, "preparing or releasing", endpoint_.vm());
    ++served.prepared;
    co_await answer(number, kReady, part);
  }
}

Task<void> Target::release(std::uint64_t number, std::size_t part) {
  Served& served = slots_.at(number);
  const rdma::Part which = served.parts.at(part);
  const rdma::RegisteredBuffer buffer = served.slot.buffer.part(which.offset, which.bytes);
  check_(co_await buffer.release(endpoint_.thread()), "preparing or releasing", endpoint_.vm());
  if (++served.let_go == served.parts.size()) co_return co_await answer(number, kLetGo, part);
  co_await prepare_ahead(number);
}

Task<void> Target::move_pages(const Message& request) {
  const std::uint64_t number = request[1];
  rdma::Endpoint& initiator = *slots_.at(number).slot.initiator;
  const std::uint64_t name = std::uint64_t{initiator.node()} << 32 | initiator.process().id();
  check_(co_await carry_out(request, endpoint_.thread(), endpoint_, name), "pinning", endpoint_.vm());
  co_await endpoint_.send(endpoint_.thread(), initiator.node(), initiator.process().id(), {kMoved, number}, 2);
}

Task<void> Target::answer(std::uint64_t number, Kind kind, std::size_t part) {
  const Served& served = slots_.at(number);
  rdma::Endpoint& initiator = *served.slot.initiator;
  return endpoint_.send(endpoint_.thread(), initiator.node(), initiator.process().id(), {kind, number, part},
                        served.parts.size() > 1 ? 3 : 2);
}

}  // namespace faultline::messages
