// SPDX-License-Identifier: Apache-2.0
// Pinning that goes on while the transfer has begun: who asks for a page waits for that page and no longer.
#include <catch2/catch.hpp>

#include "tests/rdma/cache_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kOverlappedPages = 64;  // pages

CacheBench::Further overlapped() { return {{"strategy.registration", std::string("pin-overlapped")}}; }

struct Awaited {
  Error error = Error::none;
  Time at{0};
  bool is_right = false;
};

Task<void> await(CacheBench& b, cpu::Execution& thread, VirtualAddress page, Awaited& found) {
  found.error = co_await b.cache->await_page(thread, page);
  found.at = b.node.now();
  found.is_right = b.is_right({page, kPage});
}

}  // namespace

TEST_CASE("overlapped: a page can be had as soon as it is pinned, and a later page later") {
  CacheBench b("notifier", 1, kBudget, overlapped());
  const Buffer buffer{b.map(kOverlappedPages * kPage, CacheBench::aligned()), kOverlappedPages * kPage};
  Awaited first;
  Awaited last;
  Awaited elsewhere;
  Time returned{0};
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  cpu::Execution& third = b.cpu.new_thread("third", 3);
  const Time begin = b.node.now();
  b.tasks.start([](CacheBench& bench, Buffer which, Time& back) -> Task<void> {
    co_await bench.cache->acquire(bench.thread, which, true);
    back = bench.node.now();
  }(b, buffer, returned));
  b.tasks.start(await(b, other, buffer.address, first));
  b.tasks.start(await(b, third, buffer.address + (kOverlappedPages - 1) * kPage, last));
  b.tasks.start(await(b, b.thread, buffer.address - kPage, elsewhere));
  sc_core::sc_start();
  CHECK(returned == begin);
  CHECK(elsewhere.error == Error::bad_address);
  CHECK(elsewhere.at == begin);
  CHECK(first.error == Error::none);
  CHECK(first.is_right);
  CHECK(last.error == Error::none);
  CHECK(last.is_right);
  CHECK(first.at < last.at);
  CHECK(b.counted("os.nr_foll_pin_acquired") == kOverlappedPages);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.vm.pinned_bytes() == 0);
  b.vm.audit();
}

TEST_CASE("overlapped: pins that fail are told to who waits for them, and nothing stays pinned") {
  CacheBench b("notifier", 1, kBudget, overlapped());
  const std::uint64_t pages = kOverlappedPages;
  const Buffer buffer{b.map(pages * kPage, CacheBench::aligned()), pages * kPage};
  // There is nothing behind its first half.
  b.run(b.vm.munmap(b.thread, *b.process, buffer.address + pages / 2 * kPage, pages / 2 * kPage));
  Awaited last;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  b.tasks.start([](CacheBench& bench, Buffer which) -> Task<void> {
    co_await bench.cache->acquire(bench.thread, which, true);
  }(b, buffer));
  b.tasks.start(await(b, other, buffer.address + (pages - 1) * kPage, last));
  sc_core::sc_start();
  CHECK(last.error == Error::bad_address);
  CHECK(last.at > Time{0});
  CHECK(b.vm.pinned_bytes() > 0);
  CHECK(b.release(buffer) == Error::bad_address);
  CHECK(b.vm.pinned_bytes() == 0);
  b.vm.audit();
}

// The limit is 1 MiB. What is charged for one buffer is not there for another one, pinned or not, until it is let go.
TEST_CASE("overlapped: a buffer that RLIMIT_MEMLOCK has no room for is refused before its transfer begins") {
  CacheBench b("notifier", 1, kBudget, overlapped());
  const auto map = [&b](std::uint64_t bytes) { return Buffer{b.map(bytes, CacheBench::aligned()), bytes}; };
  const Buffer too_long = map(kMiB + kPage);
  const Buffer half = map(kMiB / 2);
  const Buffer other_half = map(kMiB / 2);
  const Buffer one_page = map(kPage);
  CHECK(b.acquire(too_long) == Error::limit);
  CHECK(b.vm.pinned_bytes() == 0);
  Error second = Error::invalid;
  Error third = Error::none;
  b.tasks.start([](CacheBench& bench, Buffer a, Buffer c, Buffer d, Error& one, Error& two) -> Task<void> {
    co_await bench.cache->acquire(bench.thread, a, true);
    one = co_await bench.cache->acquire(bench.thread, c, true);
    two = co_await bench.cache->acquire(bench.thread, d, true);
  }(b, half, other_half, one_page, second, third));
  sc_core::sc_start();
  CHECK(second == Error::none);
  CHECK(third == Error::limit);
  CHECK(b.vm.pinned_bytes() == kMiB);
  CHECK(b.release(half) == Error::none);
  CHECK(b.acquire(one_page) == Error::none);
  CHECK(b.release(one_page) == Error::none);
  CHECK(b.release(other_half) == Error::none);
  CHECK(b.acquire(half) == Error::none);
  CHECK(b.release(half) == Error::none);
  CHECK(b.vm.pinned_bytes() == 0);
  b.vm.audit();
}

TEST_CASE("overlapped: a buffer that is not acquired is not released") {
  CacheBench b("notifier", 1, kBudget, overlapped());
  CHECK(b.release(b.buffer(0)) == Error::invalid);
}

TEST_CASE("overlapped: a process that exits ends all waits for pages, after the call that its helper is in") {
  CacheBench b("notifier", 1, kBudget, overlapped());
  const Buffer buffer{b.map(kOverlappedPages * kPage, CacheBench::aligned()), kOverlappedPages * kPage};
  Awaited last;
  Time stopped{0};
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  cpu::Execution& kernel = b.cpu.new_thread("exit", 3);
  const Time begin = b.node.now();
  b.tasks.start([](CacheBench& bench, Buffer which) -> Task<void> {
    co_await bench.cache->acquire(bench.thread, which, true);
  }(b, buffer));
  b.tasks.start(await(b, other, buffer.address + (kOverlappedPages - 1) * kPage, last));
  b.tasks.start([](CacheBench& bench, cpu::Execution& by, Time when, Time& at) -> Task<void> {
    co_await bench.node.loop.until(when);
    co_await bench.cache->stop(by);
    at = bench.node.now();
  }(b, kernel, begin + 30us, stopped));
  sc_core::sc_start();
  CHECK(last.error == Error::bad_address);
  CHECK(last.at < stopped + 20us);
  CHECK(b.vm.pinned_bytes() > 0);
  CHECK(b.vm.pinned_bytes() < kOverlappedPages * kPage);  // the rest is not pinned any more
  b.vm.audit();
}
