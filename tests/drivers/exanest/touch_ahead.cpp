// SPDX-License-Identifier: Apache-2.0
// Touch-ahead: how many pages a fault brings, in how many calls, and what it answers meanwhile.
#include "models/drivers/exanest/steps.hpp"
#include "tests/drivers/exanest/fault_thread_bench.hpp"
#include "tests/support/child.hpp"

using namespace faultline;
using namespace faultline::test;
namespace step = exanest::step;

TEST_CASE("touch-ahead makes as many pages present as it is told to") {
  FaultBench b(Resolve::touch_ahead, 3);
  const std::uint64_t buffer = b.map(6);
  REQUIRE(b.vm.make_present(b.process, buffer + 2 * kPage, kPage) == Error::none);
  b.handle({fault(buffer + kPage)});
  const Time resolved = b.parsed() + b.call(3, 2);
  CHECK(b.at(step::kResolveBegin) == std::vector{b.parsed()});
  CHECK(b.at(step::kResolveEnd) == std::vector{resolved});
  CHECK(b.registers.taken() == b.retry_of(resolved, {40, 0, 2}));
  CHECK(b.pages(buffer, 6) == "-ddd--");
}

TEST_CASE("touch-ahead ends where the mapping ends") {
  FaultBench b(Resolve::touch_ahead, 4);
  const std::uint64_t buffer = b.map(3);
  b.handle({fault(buffer + kPage)});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(2, 2), {40, 0, 2}));
  CHECK(b.pages(buffer, 3) == "-dd");
}

TEST_CASE("touch-ahead of 2^20 pages in one call ends where the mapping ends") {
  constexpr unsigned kMost = 1U << 20;
  FaultBench b(Resolve::touch_ahead, kMost, kMost);
  const std::uint64_t buffer = b.map(6);
  b.handle({fault(buffer + 4 * kPage)});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(2, 2), {40, 0, 2}));
  CHECK(b.pages(buffer, 6) == "----dd");
}

TEST_CASE("touch-ahead from the address space's last page is refused as any other where nothing is mapped") {
  FaultBench b(Resolve::touch_ahead, 4);
  b.handle({fault(b.process.space().all().end - kPage)});
  CHECK(b.registers.taken() == b.abort_of(b.parsed() + b.config.os.syscall, {40, 0, 2}));
}

TEST_CASE("touch-ahead that runs out of memory behind the faulting page has resolved that") {
  FaultBench b(Resolve::touch_ahead, 4);
  const std::uint64_t buffer = b.map(5);
  REQUIRE(b.vm.make_present(b.process, buffer, kPage) == Error::none);
  b.leave_free(2);
  b.handle({fault(buffer + kPage)});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(2, 2) + b.config.os.anon_minor_fault, {40, 0, 2}));
  CHECK(b.pages(buffer, 5) == "cdd--");
  CHECK(b.counted("library.pages_resolved") == 1);
}

TEST_CASE("without memory for the faulting page touch-ahead aborts the transfer") {
  FaultBench b(Resolve::touch_ahead, 4);
  const std::uint64_t buffer = b.map(2);
  b.leave_free(0);
  b.handle({fault(buffer)});
  CHECK(b.registers.taken() == b.abort_of(b.parsed() + b.config.os.syscall + b.config.os.anon_minor_fault, {40, 0, 2}));
  CHECK(b.counted("library.faults_refused") == 1);
}

TEST_CASE("a fault where nothing is mapped aborts the transfer, by touch-ahead") {
  FaultBench b(Resolve::touch_ahead);
  const std::uint64_t nowhere = b.map(1) + kPage;
  b.handle({fault(nowhere, 0, false)});
  CHECK(b.registers.taken() == b.abort_of(b.parsed() + b.config.os.syscall, {40, 0, 2}));
  CHECK(b.at(step::kRetryRequested).empty());
}

TEST_CASE("a page that touch-ahead has brought along is asked for again, at the cost of finding it") {
  FaultBench b(Resolve::touch_ahead, 2);
  const std::uint64_t buffer = b.map(8);
  b.handle({fault(buffer, 7), fault(buffer + kPage, 8)});
  const Time first = b.parsed() + b.call(2, 2);
  const Time second = first + b.retry() + b.call(2, 1);
  CHECK(b.registers.taken() == b.retry_of(first, {40, 7, 2}) + b.retry_of(second, {40, 8, 2}));
  CHECK(b.pages(buffer, 8) == "ddd-----");
}

TEST_CASE("with several calls the fault is answered after the first, and the others follow") {
  FaultBench b(Resolve::touch_ahead, 10, 4);
  const std::uint64_t buffer = b.map(12);
  b.handle({fault(buffer + kPage)});
  const Time resolved = b.parsed() + b.call(4, 4);
  CHECK(b.at(step::kResolveEnd) == std::vector{resolved});
  CHECK(b.registers.taken() == b.retry_of(resolved, {40, 0, 2}));
  CHECK(b.pages(buffer, 12) == "-dddddddddd-");
  CHECK(b.counted("library.calls_ahead") == 2);
  // Each look for further faults is a system call.
  const Time user = b.config.library.parse_fault + b.retry();
  const Time system =
      b.config.driver.netlink_receive + b.call(4, 4) + 2 * b.config.os.syscall + b.call(4, 4) + b.call(2, 2);
  CHECK(b.node.now() == b.woken() - b.config.driver.netlink_receive + user + system);
}

TEST_CASE("one call that covers all pages is answered when it is done, whatever more it might cover") {
  for (const unsigned a_call : {10U, 512U}) {
    const Facts f = facts_from_child([=] {
      FaultBench b(Resolve::touch_ahead, 10, a_call);
      const std::uint64_t buffer = b.map(12);
      b.handle({fault(buffer)});
      return Facts{{"in time", b.registers.taken() == b.retry_of(b.parsed() + b.call(10, 10), {40, 0, 2})},
                   {"calls", b.count("library.calls_ahead")}};
    });
    CHECK(f == Facts{{"in time", 1}, {"calls", 0}});
  }
}

TEST_CASE("a fault that comes during a call is answered before the calls that are left") {
  FaultBench b(Resolve::touch_ahead, 12, 4);
  const std::uint64_t buffer = b.map(24);
  const Time answered = b.parsed() + b.call(4, 4) + b.retry();
  const Time second_call = answered + b.config.os.syscall;
  b.deliver({fault(buffer, 7)});
  // Of the pages that the last call is to bring.
  b.deliver({fault(buffer + 8 * kPage, 9)}, second_call + Time{1});
  b.settle();
  const Time woken = second_call + b.call(4, 4) + b.config.driver.netlink_receive;
  const Time resolved = woken + b.config.library.parse_fault + b.call(4, 4);
  CHECK(b.at(step::kLibraryWoken) == std::vector{b.woken(), woken});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(4, 4), {40, 7, 2}) + b.retry_of(resolved, {40, 9, 2}));
  // What both asked for is brought once: pages 12 to 19 are left, in two calls.
  CHECK(b.pages(buffer, 24) == "dddddddddddddddddddd----");
  CHECK(b.counted("library.calls_ahead") == 1 + 2);
}

TEST_CASE("a fault that comes as the socket is looked at waits for one call and no longer") {
  FaultBench b(Resolve::touch_ahead, 12, 4);
  const std::uint64_t buffer = b.map(24);
  const Time answered = b.parsed() + b.call(4, 4) + b.retry();
  b.deliver({fault(buffer, 7)});
  b.deliver({fault(buffer, 8)}, answered - Time{1});
  b.settle();
  const Time woken = answered + b.config.driver.netlink_receive;
  CHECK(b.at(step::kLibraryWoken) == std::vector{b.woken(), woken});
  CHECK(b.registers.taken() == b.retry_of(b.parsed() + b.call(4, 4), {40, 7, 2}) +
                                   b.retry_of(woken + b.config.library.parse_fault + b.call(4, 0), {40, 8, 2}));
  CHECK(b.counted("library.calls_ahead") == 2);
}

TEST_CASE("the calls that are left end where the mapping or the memory ends") {
  for (const bool memory : {false, true}) {
    const Facts f = facts_from_child([=] {
      FaultBench b(Resolve::touch_ahead, 64, 4);
      const std::uint64_t buffer = b.map(memory ? 64 : 6);
      REQUIRE(b.vm.make_present(b.process, buffer, kPage) == Error::none);
      if (memory) b.leave_free(5);
      b.handle({fault(buffer)});
      return Facts{{"present", b.pages(buffer, 6) == "dddddd"},
                   {"calls", b.count("library.calls_ahead")},
                   {"refused", b.count("library.faults_refused")},
                   {"answered", std::ssize(b.at(step::kRetryRequested))}};
    });
    INFO("memory " << memory);
    CHECK(f == Facts{{"present", 1}, {"calls", 1}, {"refused", 0}, {"answered", 1}});
  }
}
