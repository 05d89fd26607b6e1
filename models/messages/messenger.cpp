// SPDX-License-Identifier: Apache-2.0
// Calls of the program, and progress: taking what has come, giving credits back, going on with what waited for them.
#include "models/messages/messenger.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "models/sim/units.hpp"

namespace faultline::messages {

using rdma::NoticeKind;
using rdma::Status;
using sim::Semaphore;
using sim::Task;

Messenger::Messenger(rdma::Endpoint& own, Place place, const MessageConfig& config, Check check)
    : own_(own),
      number_(place.number),
      credits_(credits(place.ranks, place.mailbox)),
      process_id_(own.process().id()),
      config_(config),
      check_(std::move(check)),
      peers_(place.ranks),
      sending_(own.keep_buffer(place.ranks * config.slots * slot_stride())),
      receiving_(own.keep_buffer(place.ranks * config.slots * slot_stride())),
      turn_(own.vm().context().loop, 1),
      progressed_(own.vm().context().loop) {
  own_.expect(NoticeKind::queue, 0);
}

void Messenger::connect(const std::vector<Messenger*>& all) {
  for (unsigned rank = 0; rank < ranks(); ++rank) {
    peers_[rank].other = all.at(rank);
    peers_[rank].credits = credits_;
    peers_[rank].free = every_slot();
  }
}

// Of the places of a mailbox four for each other rank are for packets that give credits back: of small messages it has
// two there at most, because each gives half of them back, and of slots two likewise. With one credit three are enough.
unsigned Messenger::credits(unsigned ranks, unsigned mailbox) {
  const unsigned each = mailbox / std::max(ranks - 1, 1u);
  if (each < 4) return 0;
  return std::clamp(each - 4, 1u, 16u);
}

std::uint64_t Messenger::bytes_of_slots(unsigned ranks, const MessageConfig& config) {
  return 2 * sim::page_end(ranks * config.slots * (Packet::kHeaderBytes + config.slot_bytes));
}

Task<Semaphore::Hold> Messenger::enter(cpu::Execution& thread) {
  sim::Time cost = config_.call;
  if (config_.progress == Progress::thread) cost += config_.lock;
  co_await own_.cpu().run(thread, cpu::Work::user, cost);
  co_return co_await turn_.hold();
}

Task<RequestId> Messenger::send(cpu::Execution& thread, Destination destination, Span memory) {
  const Semaphore::Hold turn = co_await enter(thread);
  const RequestId id = new_request({.sends = true,
                                    .memory = memory,
                                    .selector = {destination.to, destination.tag},
                                    .peer = destination.to,
                                    .number = peer(destination.to).next_number++,
                                    .bytes = memory.bytes,
                                    .outcome = {Ended::well, number_, destination.tag, memory.bytes}});
  const Request& request = requests_.at(id);
  sent_[{destination.to, request.number}].content =
      vm().read(process(), memory.address, static_cast<std::uint32_t>(memory.bytes));
  if (peer(destination.to).has_failed) {
    end(id, Ended::failed);
  } else if (destination.to == number_) {
    co_await send_to_self(thread, id);
  } else {
    co_await begin(thread, id);
  }
  co_return id;
}

Task<RequestId> Messenger::receive(cpu::Execution& thread, Selector selector, Span memory) {
  const Semaphore::Hold turn = co_await enter(thread);
  const RequestId id = new_request({.sends = false, .memory = memory, .selector = selector});
  const Matching::Found found = matching_.receive(selector, id);
  co_await own_.cpu().run(thread, cpu::Work::user, config_.match * found.looked_at);
  if (found.id) co_await start(thread, id, *found.id);
  co_return id;
}

Task<Outcome> Messenger::wait(cpu::Execution& thread, RequestId request) {
  co_await enter(thread);  // the turn is over at once
  const Request& waited = requests_.at(request);
  waits_for_ = request;
  if (config_.progress == Progress::thread) {
    co_await own_.cpu().poll(thread, progressed_, [&] { return waited.done || own_.killed(); });
    if (own_.killed()) throw rdma::ProcessKilled();
  }
  while (!waited.done) {
    {
      const Semaphore::Hold turn = co_await turn_.hold();
      co_await progress(thread);
    }
    if (!waited.done) co_await own_.poll(thread, [this] { return has_work(); });
  }
  waits_for_ = 0;
  co_await release_all(thread, request);  // of one whose other rank has failed
  const Outcome outcome = waited.outcome;
  requests_.erase(request);
  co_return outcome;
}

Task<void> Messenger::settle(cpu::Execution& thread) {
  settles_ = true;
  for (;;) {
    {
      const Semaphore::Hold turn = co_await turn_.hold();
      co_await progress(thread);
    }
    if (is_settled()) break;
    co_await own_.poll(thread, [this] { return has_work() || is_settled(); });
  }
  settles_ = false;
}

bool Messenger::is_settled() const { return under_way_.empty() && leftovers().kept_back == 0; }

// The program, which may wait for it, learns of the end, too.
Task<void> Messenger::take_for_ever(cpu::Execution& thread) {
  try {
    for (;;) {
      co_await own_.poll(thread, [this] { return has_work(); });
      const Semaphore::Hold turn = co_await turn_.hold();
      co_await progress(thread);
      progressed_.notify_all();
    }
  } catch (const rdma::ProcessKilled&) {
    progressed_.notify_all();
    throw;
  }
}

bool Messenger::has_work() const { return own_.has_message() || own_.has_event() || first_ended() < under_way_.size(); }

std::size_t Messenger::first_ended() const {
  const auto ended =
      std::ranges::find_if(under_way_, [&](const UnderWay& each) { return own_.has_ended(each.posted); });
  return static_cast<std::size_t>(ended - under_way_.begin());
}

Task<void> Messenger::progress(cpu::Execution& thread) {
  for (;;) {
    if (own_.has_message()) {
      const rdma::Message message = co_await own_.receive(thread);
      const Packet packet = Packet::of(message);
      if (packet.kind != PacketKind::credits) ++peer(packet.from).taken;
      co_await take(thread, packet);
    } else if (own_.has_event()) {
      const auto index = co_await own_.learn(thread, {NoticeKind::queue});
      co_await take_slot(thread, *index);
    } else if (first_ended() < under_way_.size()) {
      co_await reap(thread);
    } else {
      break;
    }
  }
  for (Peer& each : peers_) co_await push(thread, each);
  co_await give_credits(thread);
}

// The NIC has ended a transfer.
Task<void> Messenger::reap(cpu::Execution& thread) {
  const auto at = under_way_.begin() + static_cast<std::ptrdiff_t>(first_ended());
  const UnderWay ended = *at;
  under_way_.erase(at);
  const Status status = co_await own_.wait(thread, ended.posted);
  const bool well = status == Status::done;
  Peer& to = peer(ended.peer);
  if (ended.cargo.moves == Moves::slot) {
    to.writing &= ~(std::uint32_t{1} << ended.cargo.which);
    if (!well) fail(to);
  } else {
    co_await moved(thread, ended.cargo, well);
  }
  ended.told.ended(vm().context().now(), well);
}

// A packet in a slot that its receiver's NIC has not taken: nothing more will be of use there, and nothing is expected
// from there. What this rank's own NIC moves ends with that transfer.
void Messenger::fail(Peer& to) {
  to.has_failed = true;
  to.waiting.clear();
  to.chunking.clear();
  const std::uint32_t rank = rank_of(to);
  for (auto& [id, request] : requests_) {
    const bool is_its = request.peer == rank || (request.peer == kAny && request.selector.source == rank);
    if (is_its && !request.done && request.posts == 0) end(id, Ended::failed);
  }
}

Task<void> Messenger::take(cpu::Execution& thread, const Packet& packet) {
  Peer& from = peer(packet.from);
  from.credits += packet.credits;
  from.free |= packet.freed;
  from.eager &= ~packet.freed;
  switch (packet.kind) {
    case PacketKind::credits: co_return;
    case PacketKind::write_here: co_return co_await write_there(thread, packet);
    case PacketKind::send_chunks: co_return co_await send_chunks(thread, packet);
    case PacketKind::finished: co_return co_await take_finished(thread, packet);
    default: co_return co_await take_envelope(thread, {packet});
  }
}

Task<void> Messenger::take_slot(cpu::Execution& thread, unsigned index) {
  const unsigned from = index / config_.slots;
  const unsigned slot = index % config_.slots;
  const std::uint64_t address = slot_address(receiving_, from, slot);
  const Packet packet = Packet::of(vm().read(process(), address, Packet::kHeaderBytes));
  Packet credits = packet;
  credits.kind = PacketKind::credits;
  co_await take(thread, credits);
  if (packet.kind == PacketKind::chunk) co_return co_await take_chunk(thread, {packet, slot});
  co_await take_envelope(thread, {packet, slot});
}

// Slots and small messages overtake each other on their way.
Task<void> Messenger::take_envelope(cpu::Execution& thread, Arrived arrived) {
  Peer& from = peer(arrived.packet.from);
  const std::uint64_t message = next_message_++;
  arrived_.emplace(message, arrived);
  if (!config_.keeps_order) co_return co_await arrive(thread, message);
  from.early.emplace(arrived.packet.number, message);
  while (!from.early.empty() && from.early.begin()->first == from.expected) {
    const std::uint64_t next = from.early.begin()->second;
    from.early.erase(from.early.begin());
    ++from.expected;
    co_await arrive(thread, next);
  }
}

// What the other rank has to know, because it may wait for it: half of its credits, or of its slots.
Task<void> Messenger::give_credits(cpu::Execution& thread) {
  for (Peer& each : peers_) {
    const auto freed = static_cast<unsigned>(std::popcount(each.freed));
    if (each.has_failed) continue;
    if (each.taken < (credits_ + 1) / 2 && freed < (config_.slots + 1) / 2) continue;
    co_await put_now(thread, each, {.kind = PacketKind::credits});
  }
}

// What waits for credits, in the order in which it began to.
Task<void> Messenger::push(cpu::Execution& thread, Peer& to) {
  while (!to.waiting.empty() && (to.credits > 0 || !config_.honours_credits)) {
    const Packet next = to.waiting.front();
    to.waiting.pop_front();
    co_await put_now(thread, to, next);
  }
  co_await push_chunks(thread, to);
}

RequestId Messenger::new_request(Request request) {
  const RequestId id = next_request_++;
  requests_.emplace(id, request);
  return id;
}

Request* Messenger::unfinished(RequestId id) {
  const auto found = requests_.find(id);
  return found == requests_.end() || found->second.done ? nullptr : &found->second;
}

void Messenger::end(RequestId id, Ended ended) {
  Request& request = requests_.at(id);
  request.done = true;
  request.outcome.ended = ended;
  if (!request.sends && ended != Ended::failed) compare(request);
  progressed_.notify_all();
}

// What the sender had when it began to send, as far as it fits.
void Messenger::compare(const Request& request) {
  auto& sent = peer(request.peer).other->sent_;
  const auto entry = sent.find({number_, request.number});
  const auto bytes = static_cast<std::uint32_t>(request.outcome.bytes);
  const bool is_right = entry != sent.end() && bytes <= entry->second.content.size() &&
                        vm().read(process(), request.memory.address, bytes) == entry->second.content.slice(0, bytes);
  if (entry != sent.end() && entry->second.told) entry->second.told->ended(vm().context().now(), is_right);
  if (entry != sent.end()) sent.erase(entry);
  if (!is_right && on_wrong_data) on_wrong_data();
}

Messenger::Leftovers Messenger::leftovers() const {
  Leftovers left{.requests = requests_.size(), .unreceived = arrived_.size()};
  for (const Peer& each : peers_) left.kept_back += each.keeps_back();
  for (const auto& [message, each] : arrived_) left.held_slots += each.packet.lies_in_slot() ? 1 : 0;
  for (const auto& [id, each] : requests_) left.registered += each.registered.empty() ? 0 : 1;
  return left;
}

std::string Messenger::waits() const {
  if (settles_) {
    const auto full = std::ranges::find_if(peers_, &Peer::keeps_back);
    if (full == peers_.end()) return "";
    return fmt::format("rank {} waits for rank {} to give credits back for what it still sends there", number_,
                       rank_of(*full));
  }
  if (waits_for_ == 0) return "";
  const Request& request = requests_.at(waits_for_);
  const auto name = [](std::uint32_t value, const char* what) {
    return value == kAny ? fmt::format("any {}", what) : fmt::format("{} {}", what, value);
  };
  const std::string tag = request.selector.tag != kAny && request.selector.tag >= kOwnTags
                              ? "a collective call"
                              : name(request.selector.tag, "tag");
  if (request.sends) {
    return fmt::format("rank {} waits for rank {} to receive {} ({})", number_, request.peer,
                       sim::format_bytes(request.memory.bytes), tag);
  }
  return fmt::format("rank {} waits to receive from {} ({})", number_, name(request.selector.source, "rank"), tag);
}

}  // namespace faultline::messages
