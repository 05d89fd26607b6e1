// SPDX-License-Identifier: Apache-2.0
// What is kept of faults between the SMMU and the process, and how they are counted.
#include "models/drivers/exanest/fault_log.hpp"

#include "tests/support/os_bench.hpp"

using namespace faultline;
using namespace faultline::test;
using exanest::FaultLog;
using os::FaultCause;
using smmu::FaultKind;

namespace {

struct LogBench {
  explicit LogBench(OsBench& bench) : b(bench), log(b.node.context, b.vm), va(b.map(4 * kPage)) {}
  void refuse(FaultKind kind, bool again = false) {
    log.access_faulted({kind, b.process->id(), b.process->page_table().root(), va + 8, true, again});
  }
  FaultLog::Fault seen() const { return log.of_access(b.process->id(), va, true); }
  nic::FaultRecord record(std::uint32_t attempt, VirtualAddress page) const {
    return {.page = page, .at_source = false, .pdid = b.process->id(), .peer = 0, .key = {7, 0, attempt}};
  }
  FaultLog::Fault stop(std::uint32_t attempt, VirtualAddress page) {
    log.block_stopped(record(attempt, page));
    return log.of_block(record(attempt, page));
  }
  // Attempt 1 of a block stops at an absent page. The page comes, and then another access of it has raced.
  void stop_and_race() {
    refuse(FaultKind::translation);
    log.block_stopped(record(1, va));
    REQUIRE(b.run(b.vm.touch(b.thread, *b.process, va, true)).value == Error::none);
    refuse(FaultKind::translation);
  }
  std::uint64_t counted(const std::string& cause) const { return b.counted("driver.faults_" + cause); }

  OsBench& b;
  FaultLog log;
  VirtualAddress va;
};

}  // namespace

TEST_CASE("a refused access has the cause that its page had at that instant") {
  OsBench b;
  LogBench l(b);
  CHECK(l.seen().reason.cause == FaultCause::no_mapping);  // no bank has ever refused it
  l.refuse(FaultKind::translation);
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, l.va, true)).value == Error::none);
  CHECK(l.seen().reason.cause == FaultCause::absent);
  CHECK_FALSE(l.log.of_access(b.process->id(), l.va, false).reason.cause == FaultCause::absent);
}

TEST_CASE("what is usable was held off, or raced; a descriptor that cannot be read is neither") {
  OsBench b;
  LogBench l(b);
  l.refuse(FaultKind::none);
  CHECK(l.seen().reason.cause == FaultCause::absent);  // for that it would have faulted itself
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, l.va, true)).value == Error::none);
  l.refuse(FaultKind::none);
  CHECK(l.seen().reason.cause == FaultCause::held_off);
  l.refuse(FaultKind::translation);
  CHECK(l.seen().reason.cause == FaultCause::raced);
  l.refuse(FaultKind::external);
  CHECK(l.seen().reason.cause == FaultCause::bus_error);
}

TEST_CASE("each fault that a process is told of counts once, by its cause") {
  OsBench b;
  LogBench l(b);
  l.log.audit(0);
  l.refuse(FaultKind::translation);
  l.log.told_of_access(l.seen());
  l.log.told_of_access(l.seen());
  REQUIRE(b.run(b.vm.touch(b.thread, *b.process, l.va, true)).value == Error::none);
  cpu::Execution& injector = b.cpu.new_thread("injection");
  b.vm.injects(injector);
  REQUIRE(b.run(b.vm.page_events().age(injector, *b.process, {l.va, l.va + kPage})).value == 1);
  l.refuse(FaultKind::access_flag);
  l.log.told_of_access(l.seen());
  CHECK(l.counted("absent") == 2);
  CHECK(l.counted("access_flag") == 1);
  CHECK(l.counted("injected") == 1);
  l.log.audit(3);
  CHECK_THROWS_AS(l.log.audit(4), std::logic_error);
}

TEST_CASE("a block has the cause of its own attempt, whatever other accesses meet there since") {
  OsBench b;
  LogBench l(b);
  l.stop_and_race();
  CHECK(l.seen().reason.cause == FaultCause::raced);
  CHECK(l.log.of_block(l.record(1, l.va)).reason.cause == FaultCause::absent);
  CHECK(l.log.of_block(l.record(2, l.va)).reason.cause == FaultCause::raced);
}

namespace {

// Of a block that stopped, when so many others have stopped since.
FaultCause cause_after(std::uint64_t others) {
  OsBench b;
  LogBench l(b);
  l.stop_and_race();
  nic::FaultRecord other = l.record(0, l.va);
  for (other.key.transfer = 100; other.key.transfer < 100 + others; ++other.key.transfer) l.log.block_stopped(other);
  return l.log.of_block(l.record(1, l.va)).reason.cause;
}

}  // namespace

TEST_CASE("why a block stopped is known after 511 others") { CHECK(cause_after(511) == FaultCause::absent); }
TEST_CASE("why a block stopped is forgotten after 512 others: its page's latest cause stands for it") {
  CHECK(cause_after(512) == FaultCause::raced);
}

TEST_CASE("a refault: the same block again at a page that it was told of, and not merely held off at") {
  OsBench b;
  LogBench l(b);
  l.refuse(FaultKind::translation);
  const auto first = l.stop(0, l.va);
  CHECK_FALSE(first.again);
  CHECK_FALSE(l.stop(1, l.va).again);  // its record was lost: the process has done nothing yet
  l.log.told_of_block(first, {7, 0, 1}, l.va, false);
  CHECK_FALSE(l.stop(2, l.va + kPage).again);
  const auto again = l.stop(3, l.va);
  CHECK(again.again);
  l.log.told_of_block(again, {7, 0, 3}, l.va, false);
  CHECK(b.counted("driver.refaults") == 1);
  CHECK_FALSE(
      l.log.of_block({.page = l.va, .at_source = true, .pdid = b.process->id(), .peer = 0, .key = {7, 0, 4}}).again);

  REQUIRE(b.run(b.vm.touch_range(b.thread, *b.process, l.va, 2 * kPage, true)).value == Error::none);
  l.refuse(FaultKind::none);
  const auto held = l.stop(5, l.va);
  l.log.told_of_block(held, {7, 1, 0}, l.va, false);
  l.log.block_stopped({.page = l.va, .at_source = false, .pdid = b.process->id(), .peer = 0, .key = {7, 1, 1}});
  CHECK_FALSE(
      l.log.of_block({.page = l.va, .at_source = false, .pdid = b.process->id(), .peer = 0, .key = {7, 1, 1}}).again);
}

TEST_CASE("a stalled access that faults after its RESUME is a refault") {
  OsBench b;
  LogBench l(b);
  l.refuse(FaultKind::translation, /*again=*/true);
  l.log.told_of_access(l.seen());
  CHECK(b.counted("driver.refaults") == 1);
}
