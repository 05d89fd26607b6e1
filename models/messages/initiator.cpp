// SPDX-License-Identifier: Apache-2.0
#include "models/messages/initiator.hpp"

#include <stdexcept>
#include <utility>

namespace faultline::messages {

using os::Error;
using rdma::Message;
using rdma::Posted;
using rdma::Status;
using sim::Semaphore;
using sim::Task;

Initiator::Initiator(rdma::Endpoint& own, rdma::Endpoint& target, const rdma::Strategy& strategy, Check check)
    : own_(own),
      target_(target),
      strategy_(strategy),
      check_(std::move(check)),
      turn_(own.vm().context().loop, 1),
      work_(own.vm().config(), own.cpu()),
      posted_(own.vm().config(), own.cpu()) {
  if (const auto terms = strategy.registration->lease_terms()) {
    leases_.emplace(own, *terms,
                    Leases::Asking{[this](cpu::Execution& thread, Message move, unsigned words) {
                                     return send_move(thread, move, words);
                                   },
                                   [this](cpu::Execution& thread) { return hear_moved(thread); }});
  }
}

Task<void> Initiator::prepare(cpu::Execution& thread, Moving& moving) {
  if (leases_) co_return co_await prepare_held(thread, moving);
  if (!strategy_.asks_target()) co_return;
  if (!strategy_.deferred) co_return co_await prepare_now(thread, moving);
  waiting_.push_back(&moving);
  if (helper_ == nullptr) {
    helper_ = &own_.new_thread("posting thread");
    tasks_.start(help());
  } else {
    co_await work_.wake(thread);
  }
}

Task<void> Initiator::post(cpu::Execution& thread, Moving& moving) {
  if (!strategy_.deferred) co_await post_now(thread, moving);
}

Task<void> Initiator::help() {
  try {
    for (;;) {
      while (waiting_.empty()) co_await work_.sleep(*helper_);
      Moving& next = *waiting_.front();
      waiting_.pop_front();
      co_await prepare_now(*helper_, next);
      co_await post_now(*helper_, next);
      co_await posted_.wake(*helper_);
    }
  } catch (const rdma::ProcessKilled&) {
  }
  // The program's thread ends, too.
  co_await posted_.wake(*helper_);
}

// Whoever asks hears the answer before another thread asks; of a pipelined transfer until all parts are posted.
Task<void> Initiator::prepare_now(cpu::Execution& thread, Moving& moving) {
  Semaphore::Hold turn = co_await turn_.hold();
  co_await say(thread, kPrepare, moving, 0);
  co_await prepare_part(thread, moving);
  if (moving.is_pipelined()) moving.turn.emplace(std::move(turn));
}

os::Range Initiator::remote_range(const Moving& moving) {
  const std::uint64_t begin = moving.move.remote.address;
  return {sim::page_begin(begin), sim::page_end(begin + moving.move.bytes)};
}

Task<void> Initiator::prepare_held(cpu::Execution& thread, Moving& moving) {
  const Semaphore::Hold turn = co_await turn_.hold();
  co_await leases_->begin(thread, remote_range(moving), moving.move.slot, acquire(thread, moving));
  ++moving.prepared;
}

Task<void> Initiator::send_move(cpu::Execution& thread, Message move, unsigned words) {
  move[0] = kMove;
  return own_.send(thread, target_.node(), target_.process().id(), move, words);
}

Task<void> Initiator::hear_moved(cpu::Execution& thread) {
  const Message answer = co_await own_.receive(thread);
  if (answer[0] != kMoved) throw std::logic_error("a target has answered what nobody has asked");
}

Task<void> Initiator::forget(cpu::Execution& thread, os::Range range, std::uint64_t slot) {
  if (!leases_) co_return;
  const Semaphore::Hold turn = co_await turn_.hold();
  co_await leases_->forget(thread, range, slot);
}

// The next part, at both ends.
Task<void> Initiator::prepare_part(cpu::Execution& thread, Moving& moving) {
  co_await acquire(thread, moving);
  co_await hear_ready(thread, moving);
  ++moving.prepared;
}

// A part of a pipelined transfer that finds no room waits until parts before it have gone.
Task<void> Initiator::acquire(cpu::Execution& thread, Moving& moving) {
  const rdma::Part& part = moving.parts[moving.prepared];
  const rdma::RegisteredBuffer buffer = moving.move.own.part(part.offset, part.bytes);
  for (;;) {
    const Error error = co_await buffer.acquire(thread, moving.move.operation == rdma::Operation::read);
    if (error == Error::none) co_return;
    const bool may_wait = error == Error::limit && moving.ended < moving.posts.size();
    if (!may_wait) check_(error, "preparing", own_.vm());
    co_await end_oldest(thread, moving);
  }
}

// A part that has no room yet is prepared when the target is told that another one has ended: it has none prepared but
// those that are posted.
Task<void> Initiator::hear_ready(cpu::Execution& thread, Moving& moving) {
  while (moving.ready.erase(moving.prepared) == 0) {
    const Answer answer = co_await hear(thread, moving);
    if (answer.kind == kLetGo) throw std::logic_error("a target has let go of what it is to prepare");
    if (answer.kind == kReady) moving.ready.insert(answer.part);
    const bool is_late = answer.kind == kLater && answer.part == moving.prepared;
    if (is_late && moving.ended < moving.posts.size()) co_await end_oldest(thread, moving);
  }
}

Task<Initiator::Answer> Initiator::hear(cpu::Execution& thread, const Moving& moving) {
  const Message answer = co_await own_.receive(thread);
  if (answer[1] != moving.move.slot) throw std::logic_error("a target has answered what nobody has asked");
  co_return Answer{static_cast<Kind>(answer[0]), moving.is_pipelined() ? answer[2] : 0};
}

Task<void> Initiator::post_now(cpu::Execution& thread, Moving& moving) {
  const std::optional<Semaphore::Hold> turn = std::move(moving.turn);
  if (moving.on_prepared) moving.on_prepared();
  co_await post_part(thread, moving);
  while (moving.posts.size() < moving.parts.size()) {
    if (moving.posts.size() - moving.ended == strategy_.pipeline.depth) co_await end_oldest(thread, moving);
    co_await prepare_part(thread, moving);
    co_await post_part(thread, moving);
  }
  moving.is_posted = true;
}

Task<void> Initiator::post_part(cpu::Execution& thread, Moving& moving) {
  const Move& move = moving.move;
  const rdma::Part& part = moving.parts[moving.posts.size()];
  const rdma::RemoteBuffer remote{move.remote.node, move.remote.process, move.remote.address + part.offset};
  moving.posts.push_back(co_await own_.post(thread, move.operation, move.local + part.offset, remote, part.bytes));
  if (moving.posts.size() == moving.parts.size() && moving.on_posted) moving.on_posted(moving.last());
}

Task<Status> Initiator::wait_oldest(cpu::Execution& thread, Moving& moving) {
  const Posted posted = moving.posts[moving.ended];
  Status status = Status::error;
  if (posted.transfer != 0) status = co_await own_.wait(thread, posted);
  if (status != Status::done) moving.failed = true;
  ++moving.ended;
  co_return status;
}

Task<void> Initiator::end_oldest(cpu::Execution& thread, Moving& moving) {
  const std::size_t part = moving.ended;
  co_await wait_oldest(thread, moving);
  if (moving.on_part_ended) moving.on_part_ended(moving.posts[part]);
  co_await say(thread, kRelease, moving, part);
  co_await release(thread, moving, part);
}

Task<Status> Initiator::wait(cpu::Execution& thread, Moving& moving) {
  while (!moving.is_posted) {
    if (own_.killed()) throw rdma::ProcessKilled();
    co_await posted_.sleep(thread);
  }
  while (moving.ended + 1 < moving.posts.size()) co_await end_oldest(thread, moving);
  co_await wait_oldest(thread, moving);
  co_return moving.failed ? Status::error : Status::done;
}

Task<void> Initiator::let_go(cpu::Execution& thread, Moving& moving) {
  if (leases_) leases_->end(remote_range(moving));
  return release(thread, moving, moving.parts.size() - 1);
}

Task<void> Initiator::release(cpu::Execution& thread, const Moving& moving, std::size_t part) {
  const rdma::Part& which = moving.parts[part];
  const char* what = strategy_.registration->abilities().pins_late ? "pinning" : "releasing";
  check_(co_await moving.move.own.part(which.offset, which.bytes).release(thread), what, own_.vm());
}

Task<void> Initiator::settle(cpu::Execution& thread, Moving& moving) {
  if (!strategy_.asks_target()) co_return;
  const Semaphore::Hold turn = co_await turn_.hold();
  const std::size_t last = moving.parts.size() - 1;
  co_await say(thread, kRelease, moving, last);
  Answer answer{kLater, 0};  // of a part that has been prepared since
  while (answer.kind == kLater) answer = co_await hear(thread, moving);
  if (answer.kind != kLetGo) throw std::logic_error("a target prepares what it is to let go of");
}

Task<void> Initiator::say(cpu::Execution& thread, Kind kind, const Moving& moving, std::size_t part) {
  return own_.send(thread, target_.node(), target_.process().id(), {kind, moving.move.slot, part},
                   moving.is_pipelined() ? 3 : 2);
}

}  // namespace faultline::messages
