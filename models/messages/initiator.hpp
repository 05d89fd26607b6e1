// SPDX-License-Identifier: Apache-2.0
// The side that begins transfers, of one program to one other. A transfer goes through five calls:
//
//   Moving moving(strategy, move);
//   co_await initiator.prepare(thread, moving);  // both ends are prepared: of a pipelined transfer, the first part
//   co_await initiator.post(thread, moving);     // all of it is posted
//   status = co_await initiator.wait(thread, moving);
//   co_await initiator.let_go(thread, moving);   // of its own memory
//   co_await initiator.settle(thread, moving);   // the target has let go of its memory, too
//
// A deferred transfer is prepared and posted by a thread of the library: prepare() and post() return at once. Of a
// strategy with leases the target is asked for what the initiator does not hold, and for nothing else. Of a process
// that is killed the calls throw rdma::ProcessKilled.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>

#include "models/messages/leases.hpp"
#include "models/messages/protocol.hpp"
#include "models/os/ipc.hpp"
#include "models/rdma/endpoint.hpp"
#include "models/rdma/strategy.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::messages {

struct Move {
  rdma::Operation operation = rdma::Operation::write;
  rdma::RegisteredBuffer own;
  std::uint64_t local = 0;
  rdma::RemoteBuffer remote{};
  std::uint64_t bytes = 0;
  std::uint64_t slot = 0;  // the target's buffer, by its number there
};

// A transfer under way, which stays where it is until it has settled.
struct Moving {
  Moving(const rdma::Strategy& strategy, const Move& what) : move(what), parts(strategy.pipeline.parts(what.bytes)) {}
  Moving(const Moving&) = delete;
  Moving& operator=(const Moving&) = delete;

  const Move move;
  const sim::Vector<rdma::Part> parts;
  std::size_t prepared = 0;         // parts, at both ends
  sim::Set<std::size_t> ready;      // further parts, at the target: its answers may overtake each other on their way
  sim::Vector<rdma::Posted> posts;  // of parts, in order
  std::size_t ended = 0;            // of these
  bool failed = false;              // one of those that have ended
  bool is_posted = false;           // all of it
  // What others want to know, if they are set: both ends are prepared (of a pipelined transfer, for its first part),
  // and nothing is posted; the last part is posted; a part before the last one has ended.
  std::function<void()> on_prepared;
  std::function<void(const rdma::Posted&)> on_posted;
  std::function<void(const rdma::Posted&)> on_part_ended;
  // Of a pipelined transfer that has been prepared, until post().
  std::optional<sim::Semaphore::Hold> turn;
  bool is_pipelined() const { return parts.size() > 1; }
  // The last part, which decides when the transfer ends.
  const rdma::Posted& last() const { return posts.back(); }
};

class Initiator {
 public:
  // The strategy outlives it, as the endpoints do.
  Initiator(rdma::Endpoint& own, rdma::Endpoint& target, const rdma::Strategy& strategy, Check check);

  sim::Task<void> prepare(cpu::Execution& thread, Moving& moving);
  sim::Task<void> post(cpu::Execution& thread, Moving& moving);
  // done: all parts have arrived.
  sim::Task<rdma::Status> wait(cpu::Execution& thread, Moving& moving);
  sim::Task<void> let_go(cpu::Execution& thread, Moving& moving);
  sim::Task<void> settle(cpu::Execution& thread, Moving& moving);
  // The target's program is about to unmap memory that no transfer uses any more: the initiator gives back what it
  // holds of it. `slot`: a buffer of the initiator's at the target.
  sim::Task<void> forget(cpu::Execution& thread, os::Range range, std::uint64_t slot);

 private:
  sim::Task<void> prepare_now(cpu::Execution& thread, Moving& moving);
  sim::Task<void> prepare_held(cpu::Execution& thread, Moving& moving);
  sim::Task<void> send_move(cpu::Execution& thread, rdma::Message move, unsigned words);
  sim::Task<void> hear_moved(cpu::Execution& thread);
  static os::Range remote_range(const Moving& moving);
  sim::Task<void> post_now(cpu::Execution& thread, Moving& moving);
  sim::Task<void> prepare_part(cpu::Execution& thread, Moving& moving);
  sim::Task<void> acquire(cpu::Execution& thread, Moving& moving);
  sim::Task<void> hear_ready(cpu::Execution& thread, Moving& moving);
  // The target's next answer.
  struct Answer {
    Kind kind;
    std::size_t part;
  };
  sim::Task<Answer> hear(cpu::Execution& thread, const Moving& moving);
  sim::Task<void> post_part(cpu::Execution& thread, Moving& moving);
  sim::Task<void> end_oldest(cpu::Execution& thread, Moving& moving);
  sim::Task<rdma::Status> wait_oldest(cpu::Execution& thread, Moving& moving);
  sim::Task<void> release(cpu::Execution& thread, const Moving& moving, std::size_t part);
  sim::Task<void> say(cpu::Execution& thread, Kind kind, const Moving& moving, std::size_t part);
  sim::Task<void> help();

  rdma::Endpoint& own_;
  rdma::Endpoint& target_;
  const rdma::Strategy& strategy_;
  const Check check_;
  sim::Semaphore turn_;           // to ask and to hear the answer, whichever thread does
  std::optional<Leases> leases_;  // where the strategy has terms
  // Of deferred transfers.
  cpu::Execution* helper_ = nullptr;
  sim::Deque<Moving*> waiting_;
  os::WaitQueue work_;
  os::WaitQueue posted_;
  sim::TaskGroup tasks_;
};

}  // namespace faultline::messages
