// SPDX-License-Identifier: Apache-2.0
// Waiting for the end of a transfer: from the engine's store of the notification word to the return.
#include "models/drivers/exanest/steps.hpp"
#include "tests/support/rdma_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using exanest::Library;
using rdma::Operation;
using rdma::Posted;
using rdma::Status;
namespace step = exanest::step;

namespace {

constexpr rdma::RemoteBuffer kRemote{1, 1, 0};

Posted post(RdmaBench& b) { return b.run(b.library.post(b.thread, Operation::write, 0, kRemote, 1)).value; }

// The engine stores a notification word.
Time notify(RdmaBench& b, std::uint64_t cookie, std::uint64_t status, Time arrives) {
  const std::uint64_t slot = cookie % Library::kNotifySlots;
  return b.device_stores(b.library.notify_page() + 8 * slot, {cookie << 8 | status}, arrives);
}

Time after_store(const RdmaBench& b) { return b.config.cpu.poll_latency + b.config.library.completion; }

}  // namespace

TEST_CASE("wait returns one polling load and the completion's code after the store") {
  RdmaBench b;
  const Posted posted = post(b);
  const Time stored = notify(b, posted.cookie, reg::kNotifyDone, b.node.now() + 20us);
  const auto waited = b.run(b.library.wait(b.thread, posted));
  CHECK(waited.value == Status::done);
  CHECK(waited.ended == stored + after_store(b));
  CHECK(b.at(step::kCompleted) == std::vector{waited.ended});
  CHECK(b.steps.back().key == sim::PartKey{posted.transfer, 0, 0});
  CHECK(b.registers.taken().size() == 8);  // it looks at memory, not at the engine
}

TEST_CASE("a transfer that failed takes as long, and says so") {
  RdmaBench b;
  const Posted posted = post(b);
  const Time stored = notify(b, posted.cookie, reg::kNotifyError, b.node.now() + 20us);
  const auto waited = b.run(b.library.wait(b.thread, posted));
  CHECK(waited.value == Status::error);
  CHECK(waited.ended == stored + after_store(b));
}

TEST_CASE("waiting for what is there already takes one load and the completion's code") {
  RdmaBench b;
  const Posted posted = post(b);
  notify(b, posted.cookie, reg::kNotifyDone, b.node.now() + 1us);
  b.settle();
  const auto waited = b.run(b.library.wait(b.thread, posted));
  CHECK(waited.value == Status::done);
  CHECK(waited.took() == after_store(b));
}

TEST_CASE("the notification of another transfer in the same slot is not taken") {
  RdmaBench b;
  const Posted posted = post(b);
  Timed<Status> waited;
  b.start(b.thread, b.library.wait(b.thread, posted), waited);
  notify(b, posted.cookie + Library::kNotifySlots, reg::kNotifyDone, b.node.now() + 10us);
  b.settle();
  CHECK(waited.ended == sim::kNever);
  const Time stored = notify(b, posted.cookie, reg::kNotifyError, b.node.now() + 10us);
  b.settle();
  CHECK(waited.value == Status::error);
  CHECK(waited.ended == stored + after_store(b));
}

TEST_CASE("neither is a notification that an earlier transfer left in the slot") {
  RdmaBench b;
  Posted posted = post(b);
  notify(b, posted.cookie, reg::kNotifyDone, b.node.now() + 1us);
  for (unsigned i = 0; i < Library::kNotifySlots; ++i) posted = post(b);
  CHECK(posted.cookie == Library::kNotifySlots + 1);
  const Time stored = notify(b, posted.cookie, reg::kNotifyDone, b.node.now() + 30us);
  const auto waited = b.run(b.library.wait(b.thread, posted));
  CHECK(waited.ended == stored + after_store(b));
}

TEST_CASE("two threads wait for two transfers that end in the other order") {
  RdmaBench b;
  const Posted first = post(b);
  const Posted second = post(b);
  Timed<Status> first_waited;
  Timed<Status> second_waited;
  b.start(b.thread, b.library.wait(b.thread, first), first_waited);
  b.start(b.other_thread, b.library.wait(b.other_thread, second), second_waited);
  const Time second_stored = notify(b, second.cookie, reg::kNotifyDone, b.node.now() + 20us);
  const Time first_stored = notify(b, first.cookie, reg::kNotifyError, b.node.now() + 30us);
  b.settle();
  CHECK(first_waited.value == Status::error);
  CHECK(first_waited.ended == first_stored + after_store(b));
  CHECK(second_waited.value == Status::done);
  CHECK(second_waited.ended == second_stored + after_store(b));
}

TEST_CASE("the completion's code slows down with the cores' clock, the polling load does not") {
  RdmaConfig config;
  config.cpu.clock = sim::Frequency{600'000'000};
  RdmaBench b(config);
  const Posted posted = post(b);
  const Time stored = notify(b, posted.cookie, reg::kNotifyDone, b.node.now() + 20us);
  const auto waited = b.run(b.library.wait(b.thread, posted));
  CHECK(waited.ended == stored + b.config.cpu.poll_latency + 2 * b.config.library.completion);
}
