// SPDX-License-Identifier: Apache-2.0
#include "models/messages/collectives.hpp"

#include <fmt/format.h>

#include <bit>

#include "models/sim/failure.hpp"

namespace faultline::messages {

using sim::Task;

Task<bool> Collectives::send(cpu::Execution& thread, unsigned to, Span memory) {
  const RequestId sent = co_await messenger_.send(thread, {to, tag()}, memory);
  const Outcome outcome = co_await messenger_.wait(thread, sent);
  co_return outcome.ended == Ended::well;
}

Task<bool> Collectives::receive(cpu::Execution& thread, unsigned from, Span memory) {
  const RequestId received = co_await messenger_.receive(thread, {from, tag()}, memory);
  const Outcome outcome = co_await messenger_.wait(thread, received);
  co_return outcome.ended == Ended::well;
}

Task<bool> Collectives::exchange(cpu::Execution& thread, unsigned to, Span sent, unsigned from, Span received) {
  const RequestId in = co_await messenger_.receive(thread, {from, tag()}, received);
  const RequestId out = co_await messenger_.send(thread, {to, tag()}, sent);
  const Outcome in_outcome = co_await messenger_.wait(thread, in);
  const Outcome out_outcome = co_await messenger_.wait(thread, out);
  co_return in_outcome.ended == Ended::well&& out_outcome.ended == Ended::well;
}

Task<bool> Collectives::barrier(cpu::Execution& thread) {
  ++calls_;
  const unsigned ranks = messenger_.ranks();
  const unsigned me = messenger_.number();
  bool well = true;
  for (unsigned distance = 1; distance < ranks; distance *= 2) {
    well &= co_await exchange(thread, (me + distance) % ranks, {}, (me + ranks - distance) % ranks, {});
  }
  co_return well;
}

// By numbers relative to the root: a rank receives from the one without its lowest bit, and sends to those with one
// more, below that bit.
Task<bool> Collectives::broadcast(cpu::Execution& thread, unsigned root, Span memory) {
  ++calls_;
  const unsigned ranks = messenger_.ranks();
  const unsigned me = (messenger_.number() + ranks - root) % ranks;
  unsigned bit = std::bit_ceil(ranks);
  bool well = true;
  if (me != 0) {
    bit = me & (~me + 1);
    well &= co_await receive(thread, (me - bit + root) % ranks, memory);
  }
  for (bit /= 2; bit > 0; bit /= 2) {
    if (me + bit < ranks) well &= co_await send(thread, (me + bit + root) % ranks, memory);
  }
  co_return well;
}

// What has come is loaded, and both are added and stored: the time of a copy. The first one may be the first to touch
// the rank's memory.
Task<void> Collectives::add(cpu::Execution& thread, Span memory) {
  rdma::Endpoint& own = messenger_.endpoint();
  os::Vm& vm = own.vm();
  const os::Error error = co_await vm.touch_range(thread, own.process(), memory.address, memory.bytes, true);
  if (error != os::Error::none) {
    throw sim::RunFailure(fmt::format("node {}: adding up failed: {}", own.node(), os::to_string(error)),
                          {"workload.size", "workload.memory_limit", "os.user_memory"});
  }
  std::uint64_t sum = vm.read(own.process(), memory.address, 8).word(0);
  if (messenger_.config().adds_up) sum += vm.read(own.process(), scratch_.address, 8).word(0);
  co_await own.cpu().run_unscaled(thread, cpu::Work::user, vm.config().copy_bandwidth.time_for(memory.bytes));
  co_await vm.write(own.process(), memory.address, sim::Content::literal(sum, 8));
}

Task<bool> Collectives::allreduce(cpu::Execution& thread, Span memory) {
  ++calls_;
  const unsigned ranks = messenger_.ranks();
  const unsigned me = messenger_.number();
  const unsigned power = std::bit_floor(ranks);
  const unsigned beyond = ranks - power;
  const Span scratch{scratch_.address, memory.bytes};
  bool well = true;
  if (me >= power) {
    well &= co_await send(thread, me - power, memory);
    well &= co_await receive(thread, me - power, memory);
    co_return well;
  }
  if (me < beyond) {
    well &= co_await receive(thread, me + power, scratch);
    co_await add(thread, memory);
  }
  for (unsigned bit = 1; bit < power; bit *= 2) {
    well &= co_await exchange(thread, me ^ bit, memory, me ^ bit, scratch);
    co_await add(thread, memory);
  }
  if (me < beyond) well &= co_await send(thread, me + power, memory);
  co_return well;
}

Task<bool> Collectives::all_to_all(cpu::Execution& thread, std::vector<Span> from, std::vector<Span> to) {
  ++calls_;
  const unsigned ranks = messenger_.ranks();
  const unsigned me = messenger_.number();
  bool well = true;
  for (unsigned round = 0; round < ranks; ++round) {
    const unsigned next = (me + round) % ranks;
    const unsigned last = (me + ranks - round) % ranks;
    well &= co_await exchange(thread, next, from.at(next), last, to.at(last));
  }
  co_return well;
}

}  // namespace faultline::messages
