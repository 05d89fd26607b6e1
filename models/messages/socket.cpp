// SPDX-License-Identifier: Apache-2.0
#include "models/messages/socket.hpp"

#include <algorithm>
#include <utility>

namespace faultline::messages {

using cpu::Work;
using rdma::NoticeKind;
using rdma::Operation;
using rdma::Posted;
using sim::Task;

Socket::Socket(rdma::Endpoint& own, rdma::Endpoint& kernel, const SocketConfig& config, Check check)
    : own_(own),
      kernel_(kernel),
      config_(config),
      check_(std::move(check)),
      kernel_process_(kernel.process().id()),
      sending_(kernel.keep_buffer(config.window * stride() + kHeader)),
      receiving_(kernel.keep_buffer(config.window * stride() + kHeader)),
      posted_(config.window),
      has_come_(config.window),
      writers_(own.vm().config(), own.cpu()),
      readers_(own.vm().config(), own.cpu()) {
  kernel_.expect(NoticeKind::queue, 0);
}

std::uint64_t Socket::bytes_of_segments(const SocketConfig& config) {
  return 2 * sim::page_end(config.window * (kHeader + config.segment) + kHeader);
}

void Socket::connect(Socket& one, Socket& other) {
  one.other_ = &other;
  other.other_ = &one;
}

rdma::RemoteBuffer Socket::there(std::uint64_t address) const {
  return {other_->kernel_.node(), other_->kernel_process_, address};
}

Task<bool> Socket::write(cpu::Execution& thread, Span memory) {
  co_await own_.cpu().run(thread, Work::system, vm().config().syscall + config_.call);
  for (std::uint64_t at = 0; at < memory.bytes;) {
    waits_ = "for room to write";
    while (sent_ - acknowledged_ == config_.window && !is_broken_) co_await writers_.sleep(thread);
    waits_ = "";
    if (own_.killed()) throw rdma::ProcessKilled();
    if (is_broken_) co_return false;
    const std::uint64_t bytes = std::min(config_.segment, memory.bytes - at);
    if (!co_await send_segment(thread, memory.address + at, bytes)) co_return false;
    at += bytes;
  }
  co_return true;
}

// A segment's memory is free when the other end has taken it; what the NIC says of it comes before.
Task<bool> Socket::send_segment(cpu::Execution& thread, std::uint64_t from, std::uint64_t bytes) {
  const std::uint64_t number = sent_++;
  const auto slot = static_cast<std::uint16_t>(number % config_.window);
  const bool is_free = co_await finish(thread, &posted_[slot]);
  if (!is_free) co_return false;
  const std::uint64_t own = own_segment(number);
  co_await vm().write(kernel_.process(), own, sim::Content::literal(bytes, 8));
  check_(co_await vm().copy_between(thread, {kernel_.process(), own + kHeader}, {own_.process(), from}, bytes,
                                    Work::system),
         "sending", vm());
  co_await own_.cpu().run(thread, Work::system, config_.transmit);
  posted_[slot] = co_await kernel_.post(thread, Operation::write, own, there(other_->segment_from_other(number)),
                                        kHeader + bytes, {NoticeKind::queue, slot});
  posted_one();
  co_return posted_[slot].transfer != 0;
}

// Completions of all others that have ended are taken, too: a completion word is another transfer's after a while
// (rdma::PolledWord::kWords).
Task<bool> Socket::finish(cpu::Execution& thread, const Posted* posted) {
  bool well = true;
  for (std::size_t i = 0; i <= posted_.size(); ++i) {
    Posted& each = i < posted_.size() ? posted_[i] : last_acknowledgement_;
    const bool is_due = each.transfer != 0 && (&each == posted || kernel_.has_ended(each));
    if (!is_due) continue;
    const rdma::Status status = co_await kernel_.wait(thread, std::exchange(each, {}));
    if (status == rdma::Status::done) continue;
    break_off();
    well = false;
  }
  co_return well;
}

bool Socket::has_under_way() const {
  const auto is_used = [](const Posted& each) { return each.transfer != 0; };
  return is_used(last_acknowledgement_) || std::ranges::any_of(posted_, is_used);
}

void Socket::posted_one() {
  last_posted_ = vm().context().now();
  if (!std::exchange(is_watched_, true)) tasks_.start(watch());
}

// The kernel's timer. It wakes the kernel's thread, which looks.
Task<void> Socket::watch() {
  while (has_under_way() && !is_broken_ && !kernel_.killed()) {
    const sim::Time due = last_posted_ + config_.timeout;
    co_await vm().context().loop.until(due);
    if (due < last_posted_ + config_.timeout || kernel_.killed()) continue;
    last_posted_ = due;
    kernel_.nothing_will_come();
  }
  is_watched_ = false;
}

// The other end is told as by an experiment that knows: TCP's own keepalive is off, or takes hours.
void Socket::break_off() {
  if (std::exchange(is_broken_, true)) return;
  if (!kernel_.killed()) kernel_.nothing_will_come();
  other_->break_off();
}

Task<bool> Socket::read(cpu::Execution& thread, Span memory) {
  co_await own_.cpu().run(thread, Work::system, vm().config().syscall + config_.call);
  for (std::uint64_t at = 0; at < memory.bytes;) {
    const std::uint64_t slot = taken_ % config_.window;
    waits_ = "for something to read";
    while (!has_come_[slot] && !is_broken_) co_await readers_.sleep(thread);
    waits_ = "";
    if (own_.killed()) throw rdma::ProcessKilled();
    if (!has_come_[slot]) co_return false;
    const std::uint64_t segment = segment_from_other(taken_);
    const std::uint64_t length = vm().read(kernel_.process(), segment, 8).word(0);
    const std::uint64_t bytes = std::min(length - offset_, memory.bytes - at);
    check_(co_await vm().copy_between(thread, {own_.process(), memory.address + at},
                                      {kernel_.process(), segment + kHeader + offset_}, bytes, Work::system),
           "receiving", vm());
    at += bytes;
    offset_ += bytes;
    if (offset_ < length) continue;
    offset_ = 0;
    has_come_[slot] = false;
    ++taken_;
    if (taken_ - told_ >= std::min(config_.acknowledge_every, (config_.window + 1) / 2)) co_await acknowledge(thread);
  }
  co_return true;
}

// Says how many segments have been taken in all, so that one that overtakes another does no harm.
Task<void> Socket::acknowledge(cpu::Execution& thread) {
  told_ = taken_;
  co_await own_.cpu().run(thread, Work::system, config_.acknowledge);
  co_await finish(thread, &last_acknowledgement_);
  const std::uint64_t word = sending_ + config_.window * stride();
  co_await vm().write(kernel_.process(), word, sim::Content::literal(taken_, 8));
  const std::uint64_t remote = other_->receiving_ + config_.window * stride();
  last_acknowledgement_ = co_await kernel_.post(thread, Operation::write, word, there(remote), 8,
                                                {NoticeKind::queue, static_cast<std::uint16_t>(config_.window)});
  posted_one();
}

Task<void> Socket::serve(cpu::Execution& thread) {
  for (;;) {
    const auto index = co_await kernel_.learn(thread, {NoticeKind::queue, 0, rdma::Waiting::sleeps});
    if (index) {
      co_await take(thread, *index);
    } else {
      co_await finish(thread, nullptr);
    }
    if (!is_broken_) continue;
    co_await readers_.wake(thread);
    co_await writers_.wake(thread);
  }
}

Task<void> Socket::take(cpu::Execution& thread, unsigned index) {
  if (index < config_.window) {
    co_await kernel_.cpu().run(thread, Work::system, config_.receive);
    has_come_[index] = true;
    co_await readers_.wake(thread);
  } else {
    co_await kernel_.cpu().run(thread, Work::system, config_.acknowledge);
    const std::uint64_t word = receiving_ + config_.window * stride();
    acknowledged_ = std::max(acknowledged_, vm().read(kernel_.process(), word, 8).word(0));
    co_await writers_.wake(thread);
  }
}

}  // namespace faultline::messages
