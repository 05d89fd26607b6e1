// SPDX-License-Identifier: Apache-2.0
// A rank's library for messages, after MPI's point-to-point calls: what is sent is taken by a receive that asks for its
// sender and tag, in the order in which it was sent. Calls are awaited, and cost the calling thread's time:
//
//   RequestId sent = co_await messenger.send(thread, {.to = 1, .tag = 7}, {address, bytes});
//   RequestId received = co_await messenger.receive(thread, {.source = 1, .tag = kAny}, {address, bytes});
//   Outcome outcome = co_await messenger.wait(thread, received);
//
// A message goes one of five ways, by its length (MessageConfig): within a small message of the NIC; through a slot of
// the receiver's; from buffer to buffer by a rendezvous, registered by the strategy at both ends; in chunks through
// the slots; or by pipeline, which is chunks first and then parts from buffer to buffer. All data that wait at a
// receiver have a bound, for which its senders have credits: a sender without one waits, or takes a way that needs
// none. Of a message that was announced a record remains.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/messages/matching.hpp"
#include "models/messages/message_config.hpp"
#include "models/messages/packet.hpp"
#include "models/messages/protocol.hpp"
#include "models/messages/request.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/rdma/told_transfer.hpp"
#include "models/sim/recycling.hpp"
#include "models/sim/task.hpp"

namespace faultline::messages {

using RequestId = std::uint32_t;

class Messenger {
 public:
  struct Destination {
    std::uint32_t to;   // rank
    std::uint32_t tag;  // below kOwnTags, for programs
  };

  // Which of how many ranks it is; how many small messages wait in its NIC's mailbox at most.
  struct Place {
    unsigned number;
    unsigned ranks;
    unsigned mailbox;
  };

  // Before the endpoint opens: maps the slots. Throws sim::RunFailure when there is no memory for them. `check` as of
  // Initiator.
  Messenger(rdma::Endpoint& own, Place place, const MessageConfig& config, Check check);
  Messenger(const Messenger&) = delete;
  Messenger& operator=(const Messenger&) = delete;

  // All ranks know each other, as after MPI_Init. Takes no simulated time.
  void connect(const std::vector<Messenger*>& all);

  // Begin, and take nothing that has come. A send has ended when its memory may be used again, a receive when the
  // message is in its memory. `memory`: up to 4 GiB - 1 B. Like all calls they throw ProcessKilled.
  sim::Task<RequestId> send(cpu::Execution& thread, Destination destination, Span memory);
  sim::Task<RequestId> receive(cpu::Execution& thread, Selector selector, Span memory);
  // The request is over, and its number may be given to another one.
  sim::Task<Outcome> wait(cpu::Execution& thread, RequestId request);
  // Until nothing of this rank's is under way. To be called before the process ends, by all ranks, before a barrier.
  sim::Task<void> settle(cpu::Execution& thread);

  // What is sent from now on is not what the program is measured by: no story tells of it unasked.
  void set_aside(bool aside) { aside_ = aside; }

  // Progress::thread: takes what comes, until the process is killed.
  sim::Task<void> take_for_ever(cpu::Execution& thread);

  unsigned number() const { return number_; }
  unsigned ranks() const { return static_cast<unsigned>(peers_.size()); }
  rdma::Endpoint& endpoint() { return own_; }
  const MessageConfig& config() const { return config_; }
  // Told when a message has arrived otherwise than it was sent.
  std::function<void()> on_wrong_data;
  // What the rank's program waits for in wait() or settle(), for a person; empty: it does not wait.
  std::string waits() const;
  // Whether this rank's NIC has given up what it should have written to another one.
  bool has_given_up() const { return std::ranges::any_of(peers_, &Peer::has_failed); }

  // What is still there of messages: to be 0 when all have been received.
  struct Leftovers {
    std::size_t requests = 0;
    std::size_t unreceived = 0;  // messages that nobody has asked for
    std::size_t held_slots = 0;  // of this rank's
    std::size_t kept_back = 0;   // packets and chunks that wait for a credit
    std::size_t registered = 0;  // requests whose memory is registered for them
  };
  Leftovers leftovers() const;
  // Small messages that each other rank may have in this one's mailbox, beside those that give credits back; 0: the
  // mailbox is too small for so many ranks.
  static unsigned credits(unsigned ranks, unsigned mailbox);
  // Memory for slots that a rank has.
  static std::uint64_t bytes_of_slots(unsigned ranks, const MessageConfig& config);

 private:
  // Of a send, the bytes that are still to be copied.
  struct Chunking {
    RequestId request;
    std::uint64_t begin;  // where the chunks begin to grow
    std::uint64_t next;
    std::uint64_t end;
  };
  // Another rank, as this one knows it.
  struct Peer {
    Messenger* other = nullptr;
    bool has_failed = false;
    // To it.
    unsigned credits = 0;
    std::uint32_t free = 0;     // slots there that hold nothing
    std::uint32_t eager = 0;    // of the others, those that hold a message
    std::uint32_t writing = 0;  // own slots that the NIC still sends from
    std::uint32_t next_number = 0;
    sim::Deque<Packet> waiting{};     // for a credit
    sim::Deque<Chunking> chunking{};  // what goes in chunks
    // From it.
    unsigned taken = 0;                              // small messages, that it does not know of
    std::uint32_t freed = 0;                         // likewise slots
    std::uint32_t expected = 0;                      // number of its next message
    sim::Map<std::uint32_t, std::uint64_t> early{};  // messages that have come before one that was sent earlier

    std::size_t keeps_back() const { return waiting.size() + chunking.size(); }
  };
  // A message that has come. slot: where its data are.
  struct Arrived {
    Packet packet;
    unsigned slot = 0;
  };
  enum class Moves : std::uint8_t { slot, part };
  struct Cargo {
    Moves moves;
    std::uint32_t which;  // slot, or request
    rdma::Part part;      // of it
  };
  // A transfer of this rank's NIC: of a slot, or of a part of a message or all of it.
  struct UnderWay {
    rdma::Posted posted;
    Cargo cargo;
    std::uint32_t peer;
    rdma::ToldTransfer told;
  };
  // A message that this rank has sent, until it is compared. told: of one that goes whole.
  struct Sent {
    sim::Content content;
    std::optional<rdma::ToldTransfer> told{};
  };

  // messenger.cpp
  sim::Task<sim::Semaphore::Hold> enter(cpu::Execution& thread);
  sim::Task<void> progress(cpu::Execution& thread);
  bool has_work() const;
  bool is_settled() const;
  std::size_t first_ended() const;
  sim::Task<void> reap(cpu::Execution& thread);
  sim::Task<void> take(cpu::Execution& thread, const Packet& packet);
  sim::Task<void> take_slot(cpu::Execution& thread, unsigned index);
  sim::Task<void> take_envelope(cpu::Execution& thread, Arrived arrived);
  sim::Task<void> give_credits(cpu::Execution& thread);
  sim::Task<void> push(cpu::Execution& thread, Peer& peer);
  void fail(Peer& peer);

  // messenger_send.cpp
  sim::Task<void> send_to_self(cpu::Execution& thread, RequestId id);
  sim::Task<void> begin(cpu::Execution& thread, RequestId id);
  sim::Task<void> begin_large(cpu::Execution& thread, RequestId id, Packet envelope);
  sim::Task<void> put(cpu::Execution& thread, Peer& peer, Packet packet);
  sim::Task<void> put_now(cpu::Execution& thread, Peer& peer, Packet packet);
  sim::Task<void> fill_slot(cpu::Execution& thread, Peer& peer, Packet packet, std::uint64_t from, std::uint64_t bytes);
  sim::Task<void> write_there(cpu::Execution& thread, const Packet& packet);
  sim::Task<void> send_chunks(cpu::Execution& thread, const Packet& packet);
  sim::Task<void> push_chunks(cpu::Execution& thread, Peer& to);
  sim::Task<void> send_chunk(cpu::Execution& thread, Peer& peer);
  sim::Task<void> copy_part(cpu::Execution& thread, RequestId id, rdma::Part part);
  sim::Task<void> move(cpu::Execution& thread, RequestId id, rdma::Operation operation, std::uint64_t remote,
                       rdma::Part part);
  sim::Task<void> post(cpu::Execution& thread, rdma::Operation operation, std::uint64_t local, const Peer& to,
                       std::uint64_t remote, Cargo cargo, rdma::Notice notice);
  std::uint32_t usable(const Peer& peer) const;
  bool has_eager_slot(const Peer& peer) const;
  std::uint64_t chunk_bytes(std::uint64_t moved) const;

  // messenger_receive.cpp
  sim::Task<void> arrive(cpu::Execution& thread, std::uint64_t message);
  sim::Task<void> start(cpu::Execution& thread, RequestId id, std::uint64_t message);
  sim::Task<void> store_words(cpu::Execution& thread, RequestId id, const Packet& packet);
  sim::Task<void> copy_from_slot(cpu::Execution& thread, RequestId id, const Arrived& arrived, std::uint64_t offset,
                                 std::uint64_t bytes);
  sim::Task<void> copy_from_self(cpu::Execution& thread, RequestId id, const Packet& packet);
  sim::Task<void> start_rendezvous(cpu::Execution& thread, RequestId id, const Packet& packet);
  sim::Task<void> start_pipeline(cpu::Execution& thread, RequestId id, const Arrived& arrived);
  sim::Task<void> ask_for_parts(cpu::Execution& thread, RequestId id);
  sim::Task<void> ask_for(cpu::Execution& thread, RequestId id, PacketKind how, rdma::Part part);
  sim::Task<void> take_chunk(cpu::Execution& thread, const Arrived& arrived);
  sim::Task<void> take_finished(cpu::Execution& thread, const Packet& packet);
  void free_slot(unsigned from, unsigned slot);

  // Of both.
  sim::Task<void> touch(cpu::Execution& thread, std::uint64_t address, std::uint64_t bytes, bool writes);
  RequestId new_request(Request request);
  // Nothing: it has ended, and may be there no more.
  Request* unfinished(RequestId id);
  static void stamp(Peer& to, Packet& packet, unsigned from);
  std::uint32_t rank_of(const Peer& peer) const { return static_cast<std::uint32_t>(&peer - peers_.data()); }
  sim::Task<os::Error> acquire(cpu::Execution& thread, RequestId id, rdma::Part part);
  sim::Task<void> release(cpu::Execution& thread, RequestId id, rdma::Part part);
  sim::Task<void> release_all(cpu::Execution& thread, RequestId id);
  sim::Task<void> moved(cpu::Execution& thread, Cargo cargo, bool well);
  void end_if_moved(RequestId id);
  void end(RequestId id, Ended ended);
  void compare(const Request& request);
  Peer& peer(std::uint32_t rank) { return peers_.at(rank); }
  std::uint64_t slot_stride() const { return Packet::kHeaderBytes + config_.slot_bytes; }
  std::uint64_t slot_address(std::uint64_t begin, unsigned rank, unsigned slot) const {
    return begin + (std::uint64_t{rank} * config_.slots + slot) * slot_stride();
  }
  std::uint32_t every_slot() const {
    return config_.slots == 32 ? UINT32_MAX : (std::uint32_t{1} << config_.slots) - 1;
  }
  os::Vm& vm() const { return own_.vm(); }
  os::Process& process() const { return own_.process(); }

  rdma::Endpoint& own_;
  const unsigned number_;
  const unsigned credits_;          // of each other rank
  const std::uint32_t process_id_;  // which others know when the process has ended
  const MessageConfig config_;
  const Check check_;
  std::vector<Peer> peers_;  // by rank; this rank's own sends to itself
  std::uint64_t sending_;    // slots that this rank sends from, by receiver
  std::uint64_t receiving_;  // slots that others write, by sender
  Matching matching_;
  sim::HashMap<RequestId, Request> requests_;
  sim::HashMap<std::uint64_t, Arrived> arrived_;  // that no receive has taken, by a number of their own
  sim::Deque<UnderWay> under_way_;
  sim::Map<std::pair<std::uint32_t, std::uint32_t>, Sent> sent_;  // by receiver and number
  bool aside_ = false;
  std::uint64_t last_cookie_ = 0;  // of its posts
  RequestId next_request_ = 1;
  std::uint64_t next_message_ = 1;
  RequestId waits_for_ = 0;
  bool settles_ = false;
  sim::Semaphore turn_;     // the program's, or the library's thread's
  sim::Signal progressed_;  // the library's thread has taken something
};

}  // namespace faultline::messages
