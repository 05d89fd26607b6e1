// SPDX-License-Identifier: Apache-2.0
// The receiver's half: what becomes of a message that a receive has taken.
#include <algorithm>
#include <utility>

#include "models/messages/messenger.hpp"

namespace faultline::messages {

using os::Error;
using rdma::Operation;
using sim::Task;

// The next message of its sender's.
Task<void> Messenger::arrive(cpu::Execution& thread, std::uint64_t message) {
  const Packet& packet = arrived_.at(message).packet;
  Matching::Found found{};
  do {  // a receive that has failed waits for nothing
    found = matching_.arrive({packet.from, packet.tag}, message);
    co_await own_.cpu().run(thread, cpu::Work::user, config_.match * found.looked_at);
  } while (found.id && unfinished(static_cast<RequestId>(*found.id)) == nullptr);
  if (found.id) co_await start(thread, static_cast<RequestId>(*found.id), message);
}

// A receive has its message.
Task<void> Messenger::start(cpu::Execution& thread, RequestId id, std::uint64_t message) {
  const Arrived arrived = arrived_.at(message);
  arrived_.erase(message);
  const Packet& packet = arrived.packet;
  Request& request = requests_.at(id);
  request.peer = packet.from;
  request.number = packet.number;
  request.other = packet.request;
  request.bytes = std::min<std::uint64_t>(packet.bytes, request.memory.bytes);
  const Ended ended = request.bytes < packet.bytes ? Ended::truncated : Ended::well;
  request.outcome = {ended, packet.from, packet.tag, request.bytes};
  if (packet.from == number_) {
    co_await copy_from_self(thread, id, packet);
  } else if (packet.kind == PacketKind::whole) {
    co_await store_words(thread, id, packet);
  } else if (packet.kind == PacketKind::eager) {
    co_await copy_from_slot(thread, id, arrived, 0, request.bytes);
  } else {
    co_return co_await start_rendezvous(thread, id, packet);
  }
  end(id, ended);
}

Task<void> Messenger::store_words(cpu::Execution& thread, RequestId id, const Packet& packet) {
  const Request& request = requests_.at(id);
  sim::Content data;
  for (const std::uint64_t word : packet.words) data.append(sim::Content::literal(word, 8));
  co_await touch(thread, request.memory.address, request.bytes, true);
  co_await vm().write(process(), request.memory.address, data.slice(0, static_cast<std::uint32_t>(request.bytes)));
}

Task<void> Messenger::copy_from_slot(cpu::Execution& thread, RequestId id, const Arrived& arrived, std::uint64_t offset,
                                     std::uint64_t bytes) {
  const std::uint64_t to = requests_.at(id).memory.address + offset;
  const std::uint64_t from = slot_address(receiving_, arrived.packet.from, arrived.slot) + Packet::kHeaderBytes;
  check_(co_await vm().copy_memory(thread, process(), to, from, bytes), "receiving", vm());
  free_slot(arrived.packet.from, arrived.slot);
}

// Its sender learns of it with the next packet.
void Messenger::free_slot(unsigned from, unsigned slot) { peer(from).freed |= std::uint32_t{1} << slot; }

Task<void> Messenger::copy_from_self(cpu::Execution& thread, RequestId id, const Packet& packet) {
  const Span to = requests_.at(id).memory;
  const std::uint64_t bytes = requests_.at(id).bytes;
  const std::uint64_t from = requests_.at(packet.request).memory.address;
  check_(co_await vm().copy_memory(thread, process(), to.address, from, bytes), "receiving", vm());
  end(packet.request, Ended::well);
}

// Nothing moves of a message of which nothing is wanted. Memory that cannot be registered is copied to.
Task<void> Messenger::start_rendezvous(cpu::Execution& thread, RequestId id, const Packet& packet) {
  Peer& from = peer(packet.from);
  const Request& request = requests_.at(id);
  const auto bytes = static_cast<std::uint32_t>(request.bytes);
  if (bytes == 0) {
    co_await put(thread, from, {.kind = PacketKind::finished, .request = packet.request});
    co_return end(id, request.outcome.ended);
  }
  Error error = Error::limit;
  if (packet.kind != PacketKind::copies_it) error = co_await acquire(thread, id);
  Packet answer{.kind = PacketKind::send_chunks, .request = packet.request, .bytes = bytes, .words = {0, id}};
  if (error == Error::none && packet.kind == PacketKind::reads_it) {
    co_return co_await move(thread, id, Operation::read, packet.words[0]);
  }
  if (error == Error::none) {
    answer.kind = PacketKind::write_here;
    answer.words[0] = requests_.at(id).memory.address;
  }
  co_await put(thread, from, answer);
}

Task<void> Messenger::take_chunk(cpu::Execution& thread, const Arrived& arrived) {
  const Packet& chunk = arrived.packet;
  const RequestId id = chunk.request;
  Request* const request = unfinished(id);
  if (request == nullptr) co_return free_slot(chunk.from, arrived.slot);
  request->moved += chunk.bytes;
  const bool is_last = request->moved == request->bytes;
  co_await copy_from_slot(thread, id, arrived, chunk.words[0], chunk.bytes);
  if (!is_last || unfinished(id) == nullptr) co_return;
  co_await release(thread, id);
  end(id, requests_.at(id).outcome.ended);
}

Task<Error> Messenger::acquire(cpu::Execution& thread, RequestId id) {
  const Request& request = requests_.at(id);
  const std::uint64_t bytes = request.bytes;
  const rdma::RegisteredBuffer buffer = own_.buffer(request.memory.address, bytes);
  const Error error = co_await buffer.acquire(thread, !request.sends);
  if (error != Error::none && error != Error::limit) check_(error, "registering", vm());
  requests_.at(id).registered = error == Error::none ? bytes : 0;
  co_return error;
}

Task<void> Messenger::release(cpu::Execution& thread, RequestId id) {
  Request& request = requests_.at(id);
  const std::uint64_t bytes = std::exchange(request.registered, 0);
  if (bytes > 0) check_(co_await own_.buffer(request.memory.address, bytes).release(thread), "releasing", vm());
}

// By a transfer of this rank's NIC. The other rank may use its memory again.
Task<void> Messenger::moved(cpu::Execution& thread, RequestId id, bool well) {
  co_await release(thread, id);
  const Request request = requests_.at(id);
  const Packet told{.kind = PacketKind::finished, .request = request.other, .words = {well ? 0U : 1U}};
  co_await put(thread, peer(request.peer), told);
  end(id, well ? request.outcome.ended : Ended::failed);
}

}  // namespace faultline::messages
