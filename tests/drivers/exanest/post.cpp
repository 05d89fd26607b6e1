// SPDX-License-Identifier: Apache-2.0
// Posting a transfer: which registers are written when, and what comes back.
#include <array>

#include "models/drivers/exanest/steps.hpp"
#include "tests/support/rdma_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using exanest::Library;
using rdma::Operation;
using rdma::Posted;
namespace step = exanest::step;

namespace {

constexpr std::array kDescriptor = {reg::kSource, reg::kDestination, reg::kLength, reg::kPeer,
                                    reg::kNotify, reg::kCookie,      reg::kCommand};
using Values = std::array<std::uint64_t, kDescriptor.size()>;

// The register accesses of one post whose user code is done at `from`.
Accesses descriptor(const RdmaBench& b, Time from, const Values& values, std::uint64_t status) {
  Accesses expected;
  for (std::size_t i = 0; i < values.size(); ++i) {
    from += b.config.cpu.mmio_write;
    expected.push_back({from, kRegisters + kDescriptor[i], values[i]});
  }
  expected.push_back({from + b.config.cpu.mmio_read, kRegisters + reg::kStatus, status, false});
  return expected;
}

Time accesses_take(const RdmaBench& b) { return 7 * b.config.cpu.mmio_write + b.config.cpu.mmio_read; }

}  // namespace

TEST_CASE("the seven register writes and the status read of an RDMA write come when they should") {
  RdmaBench b;
  const auto posted = b.run(b.library.post(b.thread, Operation::write, 0x1234, {5, 9, 0x77000}, 4097));
  CHECK(posted.value.transfer == 100);
  CHECK(posted.value.cookie == 1);
  CHECK(posted.began == b.config.cpu.context_switch);
  CHECK(posted.took() == b.config.library.post + accesses_take(b));
  const Values values = {0x1234, 0x77000, 4097, std::uint64_t{9} << 32 | 5, b.library.notify_page() + 8, 1, 1};
  CHECK(b.registers.taken() == descriptor(b, posted.began + b.config.library.post, values, 100));
  CHECK(b.at(step::kPostBegin) == std::vector{posted.began});
  CHECK(b.at(step::kPosted) == std::vector{posted.ended - b.config.cpu.mmio_read});
  for (const sim::StepRecord& record : b.steps) CHECK(record.key == sim::PartKey{100, 0, 0});
  CHECK(b.thread.time(cpu::Work::user) == posted.took());
}

TEST_CASE("of a read the remote buffer is the source") {
  RdmaBench b;
  const std::uint64_t four_gib = std::uint64_t{4} << 30;
  const auto posted = b.run(b.library.post(b.thread, Operation::read, 0x1234, {511, 0xffff, 0x7f'0000'0001}, four_gib));
  const Values values = {
      0x7f'0000'0001, 0x1234, four_gib, std::uint64_t{0xffff} << 32 | 511, b.library.notify_page() + 8, 1, 2};
  CHECK(b.registers.taken() == descriptor(b, posted.began + b.config.library.post, values, 100));
}

TEST_CASE("the user code of a post slows down with the cores' clock, its register accesses do not") {
  RdmaConfig config;
  config.cpu.clock = sim::Frequency{400'000'000};
  RdmaBench b(config);
  const auto posted = b.run(b.library.post(b.thread, Operation::write, 0, {1, 1, 0}, 1));
  CHECK(posted.began == 3 * b.config.cpu.context_switch);
  CHECK(posted.took() == 3 * b.config.library.post + accesses_take(b));
}

TEST_CASE("a refused post has no transfer and leaves no trace, but has cost its time") {
  RdmaBench b;
  b.registers.refuse = true;
  const auto refused = b.run(b.library.post(b.thread, Operation::write, 0, {1, 1, 0}, 1));
  CHECK(refused.value.transfer == 0);
  CHECK(refused.took() == b.config.library.post + accesses_take(b));
  CHECK(b.steps.empty());
  CHECK(b.registers.taken().size() == 8);
  // Tried again it has a notification word of its own.
  b.registers.refuse = false;
  const auto accepted = b.run(b.library.post(b.thread, Operation::write, 0, {1, 1, 0}, 1));
  CHECK(accepted.value.transfer == 100);
  CHECK(accepted.value.cookie == 2);
}

TEST_CASE("each of 512 transfers under way has a notification word of its own") {
  RdmaBench b;
  for (std::uint64_t cookie = 1; cookie <= Library::kNotifySlots + 2; ++cookie) {
    const auto posted = b.run(b.library.post(b.thread, Operation::write, 0, {1, 1, 0}, 1));
    CHECK(posted.value.cookie == cookie);
    CHECK(b.registers.values[kRegisters + reg::kCookie] == cookie);
    CHECK(b.registers.values[kRegisters + reg::kNotify] == b.library.notify_page() + cookie % 512 * 8);
  }
}

TEST_CASE("two threads that post at once do not mix their descriptors") {
  RdmaBench b;
  Timed<Posted> first;
  Timed<Posted> second;
  b.start(b.thread, b.library.post(b.thread, Operation::write, 0x1000, {3, 4, 0x2000}, 64), first);
  b.start(b.other_thread, b.library.post(b.other_thread, Operation::read, 0x5000, {7, 8, 0x6000}, 128), second);
  b.settle();
  REQUIRE(second.ended != sim::kNever);
  CHECK(first.began == second.began);
  // Their user code runs side by side; the second waits for the registers.
  const Time free = first.began + b.config.library.post;
  const Time woken = free + accesses_take(b) + b.config.cpu.context_switch;
  const std::uint64_t words = b.library.notify_page();
  Accesses expected = descriptor(b, free, {0x1000, 0x2000, 64, std::uint64_t{4} << 32 | 3, words + 8, 1, 1}, 100);
  const Accesses later = descriptor(b, woken, {0x6000, 0x5000, 128, std::uint64_t{8} << 32 | 7, words + 16, 2, 2}, 101);
  expected.insert(expected.end(), later.begin(), later.end());
  CHECK(b.registers.taken() == expected);
  CHECK(first.value.transfer == 100);
  CHECK(second.value.transfer == 101);
  CHECK(first.ended == free + accesses_take(b));
  CHECK(second.ended == woken + accesses_take(b));
  CHECK(b.other_thread.time(cpu::Work::user) == b.config.library.post + accesses_take(b));  // it sleeps meanwhile
}
