// SPDX-License-Identifier: Apache-2.0
// The sender's half: which way a message goes, packets and slots under their credits, chunks.
#include <algorithm>
#include <bit>
#include <stdexcept>
#include <utility>

#include "models/messages/messenger.hpp"
#include "models/rdma/completion/polled_word.hpp"

namespace faultline::messages {
namespace {

constexpr std::uint64_t kMostUnseen = rdma::PolledWord::kWords - 64;  // posts that other threads may make meanwhile

}  // namespace

using os::Error;
using rdma::Notice;
using rdma::NoticeKind;
using rdma::Operation;
using rdma::Posted;
using sim::Task;

Task<void> Messenger::send_to_self(cpu::Execution& thread, RequestId id) {
  const Request& request = requests_.at(id);
  const Packet packet{.kind = PacketKind::copies_it,
                      .from = static_cast<std::uint16_t>(number_),
                      .number = request.number,
                      .tag = request.selector.tag,
                      .request = id,
                      .bytes = static_cast<std::uint32_t>(request.bytes)};
  co_await take_envelope(thread, {packet});
}

// The program's loads or stores of a few bytes, which may trap.
Task<void> Messenger::touch(cpu::Execution& thread, std::uint64_t address, std::uint64_t bytes, bool writes) {
  if (bytes == 0) co_return;
  check_(co_await vm().touch_range(thread, process(), address, bytes, writes), writes ? "receiving" : "sending", vm());
}

// A message has ended for its sender when its data are out of its memory.
Task<void> Messenger::begin(cpu::Execution& thread, RequestId id) {
  const Request& request = requests_.at(id);
  Peer& to = peer(request.peer);
  Packet envelope{.number = request.number,
                  .tag = request.selector.tag,
                  .request = id,
                  .bytes = static_cast<std::uint32_t>(request.bytes)};
  const bool has_slot = has_eager_slot(to);
  const bool by_length = config_.way == Way::by_length;
  const bool is_whole = request.bytes <= (by_length ? config_.short_bytes : 0);
  const bool is_eager = config_.is_eager(request.bytes);
  if (is_whole) {
    envelope.kind = PacketKind::whole;
    co_await touch(thread, request.memory.address, request.bytes, false);
    const sim::Content data = vm().read(process(), request.memory.address, envelope.bytes);
    for (std::uint32_t at = 0; at < envelope.bytes; at += 8) {
      envelope.words[at / 8] = data.word(at, std::min(envelope.bytes - at, 8U));
    }
    const rdma::RemoteBuffer nowhere{to.other->own_.node(), to.other->process_id_, 0};
    sent_.at({request.peer, request.number})
        .told.emplace(own_, Operation::write, 0, nowhere, envelope.bytes, rdma::ToldAs{.bystander = aside_});
    co_await put(thread, to, envelope);
    end(id, Ended::well);
  } else if (is_eager && (has_slot || !config_.honours_credits)) {
    envelope.kind = PacketKind::eager;
    co_await fill_slot(thread, to, envelope, request.memory.address, request.bytes);
    if (unfinished(id) != nullptr) end(id, Ended::well);
  } else {
    co_await begin_large(thread, id, envelope);
  }
}

// Memory that is to be read must be registered before the receiver knows of it; memory that is to be written from may
// be while the receiver prepares its own. What cannot be registered is copied. What goes by pipeline takes its first
// chunk with the envelope, if there is a slot.
Task<void> Messenger::begin_large(cpu::Execution& thread, RequestId id, Packet envelope) {
  Peer& to = peer(requests_.at(id).peer);
  const rdma::Part whole{0, requests_.at(id).bytes};
  envelope.kind = PacketKind::copies_it;
  if (config_.way_of_large() == Large::pipeline) {
    envelope.kind = PacketKind::pipes_it;
    if (has_eager_slot(to)) {
      const std::uint64_t first = std::min(config_.chunk_first, whole.bytes);
      envelope.words[0] = requests_.at(id).moved = first;
      co_return co_await fill_slot(thread, to, envelope, requests_.at(id).memory.address, first);
    }
  } else if (config_.way_of_large() == Large::rendezvous_read) {
    const Error error = co_await acquire(thread, id, whole);
    if (error == Error::none) envelope.kind = PacketKind::reads_it;
    envelope.words[0] = requests_.at(id).memory.address;
  } else if (config_.way_of_large() == Large::rendezvous_write) {
    envelope.kind = PacketKind::writes_it;
  }
  co_await put(thread, to, envelope);
  if (envelope.kind == PacketKind::writes_it) co_await acquire(thread, id, whole);
}

// Packets go in order: behind those that wait, if there are any.
Task<void> Messenger::put(cpu::Execution& thread, Peer& to, Packet packet) {
  if (to.has_failed) co_return;
  const bool may_go = to.waiting.empty() && to.credits > 0;
  if (may_go || !config_.honours_credits) co_return co_await put_now(thread, to, packet);
  to.waiting.push_back(packet);
}

Task<void> Messenger::put_now(cpu::Execution& thread, Peer& to, Packet packet) {
  if (packet.kind != PacketKind::credits && to.credits > 0) --to.credits;
  stamp(to, packet, number_);
  rdma::Endpoint& far = to.other->own_;
  return own_.send(thread, far.node(), to.other->process_id_, packet.message(), packet.message_words());
}

// What each packet says beside.
void Messenger::stamp(Peer& to, Packet& packet, unsigned from) {
  packet.from = static_cast<std::uint16_t>(from);
  packet.credits = static_cast<std::uint8_t>(std::exchange(to.taken, 0));
  packet.freed = std::exchange(to.freed, 0);
}

// Own slots have the numbers of those that they are written to.
std::uint32_t Messenger::usable(const Peer& to) const { return to.free & ~to.writing; }

bool Messenger::has_eager_slot(const Peer& to) const {
  return usable(to) != 0 && static_cast<unsigned>(std::popcount(to.eager)) < config_.eager_slots();
}

Task<void> Messenger::fill_slot(cpu::Execution& thread, Peer& to, Packet packet, std::uint64_t from,
                                std::uint64_t bytes) {
  const std::uint32_t usable_slots = usable(to);
  const auto slot = static_cast<unsigned>(usable_slots == 0 ? 0 : std::countr_zero(usable_slots));
  const std::uint32_t bit = std::uint32_t{1} << slot;
  const std::uint32_t rank = rank_of(to);
  to.free &= ~bit;
  to.writing |= bit;
  if (packet.lies_in_slot()) to.eager |= bit;
  stamp(to, packet, number_);
  const std::uint64_t own = slot_address(sending_, rank, slot);
  const std::uint64_t data = own + Packet::kHeaderBytes;
  co_await vm().write(process(), own, packet.header());
  check_(co_await vm().copy_memory(thread, process(), data, from, bytes), "sending", vm());
  const std::uint64_t there = slot_address(to.other->receiving_, number_, slot);
  const auto index = static_cast<std::uint16_t>(number_ * config_.slots + slot);
  const Cargo cargo{Moves::slot, slot, {0, Packet::kHeaderBytes + bytes}};
  co_await post(thread, Operation::write, own, to, there, cargo, {NoticeKind::queue, index});
}

Task<void> Messenger::post(cpu::Execution& thread, Operation operation, std::uint64_t local, const Peer& to,
                           std::uint64_t remote, Cargo cargo, Notice notice) {
  const rdma::RemoteBuffer there{to.other->own_.node(), to.other->process_id_, remote};
  rdma::ToldTransfer told(own_, operation, local, there, cargo.part.bytes, {.bystander = aside_});
  for (;;) {
    // A transfer's completion word is another one's after so many posts.
    const bool has_word = under_way_.empty() || last_cookie_ - under_way_.front().posted.cookie < kMostUnseen;
    Posted posted{};
    if (has_word) posted = co_await own_.post(thread, operation, local, there, cargo.part.bytes, notice);
    last_cookie_ = std::max(last_cookie_, posted.cookie);
    if (posted.transfer != 0) {
      told.posted(posted);
      under_way_.push_back({posted, cargo, rank_of(to), told});
      co_return;
    }
    // The NIC's queue is full, until a transfer of this rank's ends.
    if (under_way_.empty()) throw std::logic_error("a NIC without transfers has no room for one");
    co_await own_.poll(thread, [this] { return first_ended() < under_way_.size(); });
    co_await reap(thread);
  }
}

// A part of a message, or all of it, by the rank that has its other end's address.
Task<void> Messenger::move(cpu::Execution& thread, RequestId id, Operation operation, std::uint64_t remote,
                           rdma::Part part) {
  Request& request = requests_.at(id);
  const std::uint64_t local = request.memory.address + part.offset;
  ++request.posts;
  co_await post(thread, operation, local, peer(request.peer), remote, {Moves::part, id, part}, {});
}

// By pipeline each part is registered when its turn comes; else all of the memory has been, if it could be.
Task<void> Messenger::write_there(cpu::Execution& thread, const Packet& packet) {
  Request* const request = unfinished(packet.request);
  if (request == nullptr) co_return;
  const rdma::Part part{packet.words[2], packet.bytes};
  request->other = static_cast<std::uint32_t>(packet.words[1]);
  request->bytes = packet.received();
  bool is_registered = !request->registered.empty();
  if (config_.way_of_large() == Large::pipeline) {
    const Error error = co_await acquire(thread, packet.request, part);
    is_registered = error == Error::none;
  }
  if (!is_registered) co_return co_await copy_part(thread, packet.request, part);
  co_await move(thread, packet.request, Operation::write, packet.words[0], part);
}

// The receiver cannot register its memory, or the sender could not; or it is the begin of a pipeline.
Task<void> Messenger::send_chunks(cpu::Execution& thread, const Packet& packet) {
  Request* const request = unfinished(packet.request);
  if (request == nullptr) co_return;
  request->other = static_cast<std::uint32_t>(packet.words[1]);
  request->bytes = packet.received();
  if (config_.way_of_large() != Large::pipeline) co_await release_all(thread, packet.request);
  co_await copy_part(thread, packet.request, {packet.words[2], packet.bytes});
}

Task<void> Messenger::copy_part(cpu::Execution& thread, RequestId id, rdma::Part part) {
  Peer& to = peer(requests_.at(id).peer);
  to.chunking.push_back({id, part.offset, part.offset, part.offset + part.bytes});
  co_await push_chunks(thread, to);
}

Task<void> Messenger::push_chunks(cpu::Execution& thread, Peer& to) {
  while (!to.chunking.empty() && usable(to) != 0) co_await send_chunk(thread, to);
}

std::uint64_t Messenger::chunk_bytes(std::uint64_t moved) const {
  std::uint64_t chunk = config_.chunk_first;
  for (std::uint64_t at = chunk; at <= moved && chunk < config_.chunk_last; at += chunk) {
    chunk = std::min(2 * chunk, config_.chunk_last);
  }
  return chunk;
}

Task<void> Messenger::send_chunk(cpu::Execution& thread, Peer& to) {
  Chunking& chunking = to.chunking.front();
  const RequestId id = chunking.request;
  Request& request = requests_.at(id);
  const std::uint64_t offset = chunking.next;
  const std::uint64_t bytes = std::min(chunk_bytes(offset - chunking.begin), chunking.end - offset);
  chunking.next += bytes;
  if (chunking.next == chunking.end) to.chunking.pop_front();
  const Packet chunk{.kind = PacketKind::chunk,
                     .request = request.other,
                     .bytes = static_cast<std::uint32_t>(bytes),
                     .words = {offset}};
  co_await fill_slot(thread, to, chunk, request.memory.address + offset, bytes);
  if (unfinished(id) == nullptr) co_return;
  requests_.at(id).moved += bytes;
  end_if_moved(id);
}

// A send or a receive of which nothing is left to move.
void Messenger::end_if_moved(RequestId id) {
  const Request& request = requests_.at(id);
  if (request.posts > 0) return;
  if (request.moved == request.bytes) {
    end(id, request.outcome.ended);
  } else if (request.part_failed || peer(request.peer).has_failed) {
    sim::erase_if(peer(request.peer).chunking, [id](const Chunking& each) { return each.request == id; });
    end(id, Ended::failed);
  }
}

}  // namespace faultline::messages
