// SPDX-License-Identifier: Apache-2.0
#include "models/messages/leases.hpp"

#include <fmt/format.h>

#include <utility>

#include "models/sim/failure.hpp"

namespace faultline::messages {

using os::Range;
using rdma::BucketMove;
using rdma::Message;
using sim::Task;

namespace {

constexpr std::size_t kRanges = 4;   // of a move: what a small message has room for
constexpr unsigned kPagesBits = 28;  // 1 TiB, which is more than a transfer may have

std::uint64_t pages_of(const os::Ranges& ranges) {
  std::uint64_t sum = 0;
  for (const Range& each : ranges) sum += each.pages();
  return sum;
}

std::uint64_t packed(Range range) { return (range.begin / os::kPage) << kPagesBits | range.pages(); }

Range unpacked(std::uint64_t word) {
  const os::VirtualAddress begin = (word >> kPagesBits) * os::kPage;
  return {begin, begin + (word & ((std::uint64_t{1} << kPagesBits) - 1)) * os::kPage};
}

// The first page of each range, and how many pages.
Message to_message(std::uint64_t number, const BucketMove& move) {
  Message message{0, number, move.back.size() << 8 | move.taken.size()};
  std::size_t word = 3;
  for (const Range& each : move.back) message[word++] = packed(each);
  for (const Range& each : move.taken) message[word++] = packed(each);
  return message;
}

BucketMove from_message(const Message& message) {
  BucketMove move;
  const std::size_t back = message[2] >> 8;
  const std::size_t all = back + (message[2] & 255);
  for (std::size_t i = 0; i < all; ++i) (i < back ? move.back : move.taken).push_back(unpacked(message[3 + i]));
  return move;
}

}  // namespace

Task<os::Error> carry_out(const Message& move, cpu::Execution& thread, rdma::Endpoint& target,
                          std::uint64_t initiator) {
  auto [back, taken] = from_message(move);
  return target.registration().lease(thread, initiator, std::move(back), std::move(taken));
}

Leases::Leases(rdma::Endpoint& own, const rdma::LeaseTerms& terms, Asking asking)
    : own_(own),
      terms_(terms),
      asking_(std::move(asking)),
      buckets_(terms.most),
      count_(own.vm().context().statistics) {}

Task<void> Leases::begin(cpu::Execution& thread, Range range, std::uint64_t number, Task<void> meanwhile) {
  ++count_.gets;
  const std::uint64_t pages = range.pages();
  co_await own_.cpu().run(thread, cpu::Work::user, terms_.lookup * static_cast<std::int64_t>(pages));
  std::optional<BucketMove> wanted = buckets_.use(range);
  if (!wanted) {
    throw sim::RunFailure(
        fmt::format(
            "node {}: an initiator may hold {} pages of a target, and a transfer of {} pages does not fit beside "
            "those that other transfers use",
            own_.node(), terms_.most, pages),
        {"strategy.firehose.budget", "strategy.firehose.remote_share", "strategy.firehose.peers", "workload.size",
         "workload.window"},
        /*refused=*/true);
  }
  if (wanted->is_empty()) {
    ++count_.hits;
    co_return co_await std::move(meanwhile);
  }
  co_await ask(thread, *wanted, number);
  co_await std::move(meanwhile);
  co_await finish(thread, std::move(*wanted), number);
}

Task<void> Leases::forget(cpu::Execution& thread, Range range, std::uint64_t number) {
  BucketMove gone = buckets_.forget(range);
  if (gone.is_empty()) co_return;
  co_await ask(thread, gone, number);
  co_await finish(thread, std::move(gone), number);
}

// What is given back goes first: it is the room for what is taken.
Task<void> Leases::ask(cpu::Execution& thread, BucketMove& all, std::uint64_t number) {
  BucketMove next;
  for (std::size_t room = kRanges; room > 0 && !all.is_empty(); --room) {
    os::Ranges& from = all.back.empty() ? all.taken : all.back;
    (all.back.empty() ? next.taken : next.back).push_back(from.front());
    from.erase(from.begin());
  }
  ++count_.moves;
  count_.taken += pages_of(next.taken);
  count_.given_back += pages_of(next.back);
  const auto words = static_cast<unsigned>(3 + next.back.size() + next.taken.size());
  co_await asking_.send(thread, to_message(number, next), words);
}

Task<void> Leases::finish(cpu::Execution& thread, BucketMove rest, std::uint64_t number) {
  co_await asking_.hear(thread);
  while (!rest.is_empty()) {
    co_await ask(thread, rest, number);
    co_await asking_.hear(thread);
  }
}

}  // namespace faultline::messages
