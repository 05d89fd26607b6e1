// SPDX-License-Identifier: Apache-2.0
// Small messages: to other processes, from the mailbox, and to the firmware of a node.

#include "models/drivers/exanest/steps.hpp"
#include "tests/support/rdma_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using rdma::Message;
namespace step = exanest::step;

namespace {

constexpr Message kSeven = {11, 22, 33, 44, 55, 66, UINT64_MAX};

// Register accesses of a message whose user code is done at `from`.
Accesses message(const RdmaBench& b, Time from, const std::vector<std::uint64_t>& words, std::uint64_t send) {
  Accesses expected;
  for (std::size_t i = 0; i < words.size(); ++i) {
    from += b.config.cpu.mmio_write;
    expected.push_back({from, kRegisters + reg::kMessageWord0 + 8 * i, words[i]});
  }
  expected.push_back({from + b.config.cpu.mmio_write, kRegisters + reg::kMessageSend, send});
  return expected;
}

std::uint64_t to_user(std::uint64_t node, std::uint64_t pdid, std::uint64_t words) {
  return node | pdid << 32 | words << 48;
}
std::uint64_t to_firmware(std::uint64_t node, std::uint64_t words) {
  return node | words << 48 | std::uint64_t{1} << 56;
}

// What the engine stores for message n (from 0) of seven words from node 3.
std::vector<std::uint64_t> slot_words(std::uint64_t n) {
  std::vector<std::uint64_t> words;
  for (std::uint64_t i = 0; i < 7; ++i) words.push_back(1000 * n + i + 1);
  words.push_back(n + 1 | std::uint64_t{3} << 32 | std::uint64_t{7} << 56);
  return words;
}
Message content(std::uint64_t n) {
  Message words{};
  for (std::size_t i = 0; i < words.size(); ++i) words[i] = slot_words(n)[i];
  return words;
}
Time store(RdmaBench& b, std::uint64_t n, Time arrives) {
  return b.device_stores(b.library.mailbox_ring() + n % 64 * 64, slot_words(n), arrives);
}

Time after_store(const RdmaBench& b) {
  return b.config.cpu.poll_latency + b.config.library.message_receive + b.config.cpu.mmio_write;
}

}  // namespace

TEST_CASE("a message is its words, then the register that sends them") {
  RdmaBench b;
  for (const unsigned words : {1u, 4u, 7u}) {
    const auto sent = b.run(b.library.send(b.thread, 12, 0xabc, kSeven, words));
    CHECK(sent.took() == b.config.library.message_send + (words + 1) * b.config.cpu.mmio_write);
    CHECK(b.at(step::kMessageBegin).back() == sent.began);
    CHECK(b.at(step::kMessageComposed).back() == sent.began + b.config.library.message_send);
    const std::vector<std::uint64_t> written(kSeven.begin(), kSeven.begin() + words);
    CHECK(b.registers.taken() ==
          message(b, sent.began + b.config.library.message_send, written, to_user(12, 0xabc, words)));
  }
}

TEST_CASE("a retry names the block and its attempt") {
  RdmaBench b;
  const sim::PartKey key{0xffff'0000'0001, 0x8000'0007, 3};
  const auto asked = b.run(b.library.request_retry(b.thread, 6, key));
  CHECK(asked.took() == b.config.library.post_retry + 4 * b.config.cpu.mmio_write);
  CHECK(b.registers.taken() == message(b, asked.began + b.config.library.post_retry,
                                       {1, 0xffff'0000'0001, std::uint64_t{3} << 32 | 0x8000'0007}, to_firmware(6, 3)));
  CHECK(b.at(step::kRetryRequested) == std::vector{asked.ended});
  CHECK(b.steps.back().key == key);
}

TEST_CASE("an abort names the transfer") {
  RdmaBench b;
  const auto asked = b.run(b.library.request_abort(b.thread, 511, 0xffff'0000'0001));
  CHECK(asked.took() == b.config.library.post_retry + 3 * b.config.cpu.mmio_write);
  CHECK(b.registers.taken() ==
        message(b, asked.began + b.config.library.post_retry, {4, 0xffff'0000'0001}, to_firmware(511, 2)));
  CHECK(b.steps.empty());
}

TEST_CASE("threads that send at once do not mix their words, whatever they send") {
  RdmaBench b;
  Timed<bool> sent;
  Timed<bool> retried;
  b.start(b.thread, b.library.send(b.thread, 2, 3, kSeven, 7), sent);
  const sim::PartKey key{5, 4, 3};
  b.start(b.other_thread, b.library.request_retry(b.other_thread, 6, key), retried);
  b.settle();
  REQUIRE(sent.began == retried.began);
  const Time sending = sent.began + b.config.library.message_send;
  const Time free = sending + 8 * b.config.cpu.mmio_write;
  // It finds the lock taken, sleeps and is woken.
  const Time woken = free + b.config.cpu.context_switch;
  REQUIRE(retried.began + b.config.library.post_retry < free);
  Accesses expected = message(b, sending, {kSeven.begin(), kSeven.end()}, to_user(2, 3, 7));
  const Accesses later = message(b, woken, {1, 5, std::uint64_t{3} << 32 | 4}, to_firmware(6, 3));
  expected.insert(expected.end(), later.begin(), later.end());
  CHECK(b.registers.taken() == expected);
  CHECK(b.at(step::kMessageComposed) == std::vector{sending});
  CHECK(sent.ended == free);
  CHECK(retried.ended == woken + 4 * b.config.cpu.mmio_write);
}

TEST_CASE("a post and a message of two threads do not wait for each other") {
  RdmaBench b;
  Timed<bool> sent;
  Timed<rdma::Posted> posted;
  b.start(b.thread, b.library.post(b.thread, rdma::Operation::write, 0, {1, 1, 0}, 1), posted);
  b.start(b.other_thread, b.library.request_abort(b.other_thread, 1, 1), sent);
  b.settle();
  CHECK(sent.took() == b.config.library.post_retry + 3 * b.config.cpu.mmio_write);
  CHECK(posted.took() == b.config.library.post + 7 * b.config.cpu.mmio_write + b.config.cpu.mmio_read);
}

TEST_CASE("receive returns one polling load, its code and the head's register write after the store") {
  RdmaBench b;
  CHECK(b.library.mailbox_slots() == 64);
  const Time stored = store(b, 0, 20us);
  const auto received = b.run(receive(b.library, b.thread));
  CHECK(received.value == content(0));
  CHECK(received.ended == stored + after_store(b));
  CHECK(b.registers.taken() == Accesses{{received.ended, kRegisters + reg::kMailboxHead, 1}});
  const Time seen = stored + b.config.cpu.poll_latency;
  CHECK(b.at(step::kMessageSeen) == std::vector{seen});
  CHECK(b.at(step::kMessageReceived) == std::vector{seen + b.config.library.message_receive});
  CHECK(b.at(step::kMessageReturned) == std::vector{received.ended});
}

TEST_CASE("the program has a message before its slot is given back") {
  RdmaBench b;
  const Time stored = store(b, 0, 20us);
  const auto taken = b.run(b.library.take(b.thread));
  CHECK(taken.value == content(0));
  CHECK(taken.ended == stored + b.config.cpu.poll_latency + b.config.library.message_receive);
  CHECK(b.registers.taken().empty());
  const auto given = b.run(b.library.give_back(b.thread));
  CHECK(given.took() == b.config.cpu.mmio_write);
  CHECK(b.registers.taken() == Accesses{{given.ended, kRegisters + reg::kMailboxHead, 1}});
}

TEST_CASE("messages that are there already are taken in order, one load each") {
  RdmaBench b;
  for (std::uint64_t n = 0; n < 3; ++n) store(b, n, 10us + n * 1us);
  b.settle();
  for (std::uint64_t n = 0; n < 3; ++n) {
    const auto received = b.run(receive(b.library, b.thread));
    CHECK(received.value == content(n));
    CHECK(received.took() == after_store(b));
    CHECK(b.registers.taken() == Accesses{{received.ended, kRegisters + reg::kMailboxHead, n + 1}});
  }
}

TEST_CASE("the ring wraps after 64 messages, and what is left of the last round is not taken") {
  RdmaBench b;
  for (std::uint64_t n = 0; n < 130; ++n) {
    Timed<Message> received;
    b.start(b.thread, receive(b.library, b.thread), received);
    b.settle();
    REQUIRE(received.ended == sim::kNever);
    const Time stored = store(b, n, b.node.now() + 5us);
    b.settle();
    CHECK(received.value == content(n));
    CHECK(received.ended == stored + after_store(b));
    CHECK(b.registers.taken() == Accesses{{received.ended, kRegisters + reg::kMailboxHead, n + 1}});
  }
}

TEST_CASE("the library's pages are resident and apart from each other") {
  RdmaBench b;
  const std::uint64_t notify = b.library.notify_page();
  const std::uint64_t ring = b.library.mailbox_ring();
  CHECK(notify % kPage == 0);
  CHECK(ring % kPage == 0);
  CHECK(b.pages(notify, 1) == "c");
  CHECK(b.pages(ring, 1) == "c");
  CHECK(b.page(notify)->frame != b.page(ring)->frame);
}
