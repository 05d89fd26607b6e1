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
  } else if (packet.kind == PacketKind::pipes_it) {
    co_return co_await start_pipeline(thread, id, arrived);
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
  const rdma::Part whole{0, bytes};
  requests_.at(id).asked = bytes;
  if (packet.kind != PacketKind::copies_it) error = co_await acquire(thread, id, whole);
  if (error != Error::none) co_return co_await ask_for(thread, id, PacketKind::send_chunks, whole);
  if (packet.kind == PacketKind::reads_it) {
    co_return co_await move(thread, id, Operation::read, packet.words[0], whole);
  }
  co_await ask_for(thread, id, PacketKind::write_here, whole);
}

// By chunks, or straight into the memory.
Task<void> Messenger::ask_for(cpu::Execution& thread, RequestId id, PacketKind how, rdma::Part part) {
  const Request& request = requests_.at(id);
  const bool is_all = part.bytes == request.bytes;
  const std::uint64_t to = how == PacketKind::write_here ? request.memory.address + part.offset : 0;
  const Packet packet{.kind = how,
                      .request = request.other,
                      .bytes = static_cast<std::uint32_t>(part.bytes),
                      .words = {to, id, part.offset, is_all ? 0 : request.bytes}};
  co_await put(thread, peer(request.peer), packet);
}

// Three phases (Open MPI's ob1): the begin has come with the envelope; some more is copied, while the first parts are
// registered; the rest is written in parts.
Task<void> Messenger::start_pipeline(cpu::Execution& thread, RequestId id, const Arrived& arrived) {
  const std::uint64_t bytes = requests_.at(id).bytes;
  const std::uint64_t first = std::min(arrived.packet.words[0], bytes);
  requests_.at(id).moved = first;
  const std::uint64_t copied = std::min(config_.pipeline_copied, bytes - first);
  requests_.at(id).asked = first + copied;
  if (copied > 0) co_await ask_for(thread, id, PacketKind::send_chunks, {first, copied});
  if (arrived.packet.lies_in_slot()) co_await copy_from_slot(thread, id, arrived, 0, first);
  if (first == bytes) {  // nothing of the rest is wanted
    co_await put(thread, peer(arrived.packet.from), {.kind = PacketKind::finished, .request = arrived.packet.request});
    co_return end(id, requests_.at(id).outcome.ended);
  }
  co_await ask_for_parts(thread, id);
}

// A part that cannot be registered is tried again when one that is under way has ended. Without one under way all that
// is left is copied (Open MPI would try for ever).
Task<void> Messenger::ask_for_parts(cpu::Execution& thread, RequestId id) {
  for (;;) {
    const Request& request = requests_.at(id);
    if (request.asked == request.bytes || request.registered.size() == config_.pipeline_depth) co_return;
    const std::uint64_t left = request.bytes - request.asked;
    rdma::Part part{request.asked, std::min(config_.pipeline_part, left)};
    const Error error = co_await acquire(thread, id, part);
    if (error != Error::none && !requests_.at(id).registered.empty()) co_return;
    if (error != Error::none) part.bytes = left;
    requests_.at(id).asked += part.bytes;
    if (error != Error::none) co_return co_await ask_for(thread, id, PacketKind::send_chunks, part);
    co_await ask_for(thread, id, PacketKind::write_here, part);
  }
}

Task<void> Messenger::take_chunk(cpu::Execution& thread, const Arrived& arrived) {
  const Packet& chunk = arrived.packet;
  const RequestId id = chunk.request;
  Request* const request = unfinished(id);
  if (request == nullptr) co_return free_slot(chunk.from, arrived.slot);
  co_await copy_from_slot(thread, id, arrived, chunk.words[0], chunk.bytes);
  if (unfinished(id) == nullptr) co_return;
  Request& receiving = requests_.at(id);
  receiving.moved += chunk.bytes;
  if (receiving.moved == receiving.bytes) {
    co_await release_all(thread, id);
    co_return end_if_moved(id);
  }
  // A part that its sender could not register.
  const std::uint64_t end = chunk.words[0] + chunk.bytes;
  const auto part =
      std::ranges::find(receiving.registered, end, [](const rdma::Part& p) { return p.offset + p.bytes; });
  if (part == receiving.registered.end()) co_return;
  co_await release(thread, id, *part);
  co_await ask_for_parts(thread, id);
}

// What the other rank's NIC has moved. A sender whose memory has been read learns so of all of it.
Task<void> Messenger::take_finished(cpu::Execution& thread, const Packet& packet) {
  const RequestId id = packet.request;
  Request* const request = unfinished(id);
  if (request == nullptr) co_return;
  if (packet.words[0] != 0) request->part_failed = true;
  if (request->sends || request->part_failed) {
    co_await release_all(thread, id);
    co_return end(id, packet.words[0] == 0 ? request->outcome.ended : Ended::failed);
  }
  request->moved += packet.bytes;
  co_await release(thread, id, {packet.words[1], packet.bytes});
  co_await ask_for_parts(thread, id);
  end_if_moved(id);
}

Task<Error> Messenger::acquire(cpu::Execution& thread, RequestId id, rdma::Part part) {
  const Request& request = requests_.at(id);
  const rdma::RegisteredBuffer buffer = own_.buffer(request.memory.address, request.memory.bytes);
  const Error error = co_await buffer.part(part.offset, part.bytes).acquire(thread, !request.sends);
  if (error != Error::none && error != Error::limit) check_(error, "registering", vm());
  if (error == Error::none) requests_.at(id).registered.push_back(part);
  co_return error;
}

// Nothing, if the part is not registered.
Task<void> Messenger::release(cpu::Execution& thread, RequestId id, rdma::Part part) {
  Request& request = requests_.at(id);
  const auto found = std::ranges::find(request.registered, part);
  if (found == request.registered.end()) co_return;
  request.registered.erase(found);
  const rdma::RegisteredBuffer buffer = own_.buffer(request.memory.address, request.memory.bytes);
  check_(co_await buffer.part(part.offset, part.bytes).release(thread), "releasing", vm());
}

Task<void> Messenger::release_all(cpu::Execution& thread, RequestId id) {
  while (!requests_.at(id).registered.empty()) co_await release(thread, id, requests_.at(id).registered.back());
}

// By a transfer of this rank's NIC. Who waits for what was written is told before the memory is let go of, as by Open
// MPI and UCX; whose memory was read is told after, as by UCX. What is registered whole at the sender may be more than
// the receiver wants.
Task<void> Messenger::moved(cpu::Execution& thread, Cargo cargo, bool well) {
  const RequestId id = cargo.which;
  if (!requests_.at(id).sends) co_await release_all(thread, id);
  const Packet told{.kind = PacketKind::finished,
                    .request = requests_.at(id).other,
                    .bytes = static_cast<std::uint32_t>(cargo.part.bytes),
                    .words = {well ? 0U : 1U, cargo.part.offset}};
  co_await put(thread, peer(requests_.at(id).peer), told);
  if (config_.way_of_large() == Large::pipeline) {
    co_await release(thread, id, cargo.part);
  } else {
    co_await release_all(thread, id);
  }
  Request& request = requests_.at(id);
  --request.posts;
  request.moved += well ? cargo.part.bytes : 0;
  if (!well) request.part_failed = true;
  if (unfinished(id) != nullptr) end_if_moved(id);
}

}  // namespace faultline::messages
