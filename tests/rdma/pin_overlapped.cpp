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
  const std::uint64_t beyond = 2 * kMiB / kPage;
  const Buffer buffer{b.map(beyond * kPage, CacheBench::aligned()), beyond * kPage};
  Awaited last;
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  b.tasks.start([](CacheBench& bench, Buffer which) -> Task<void> {
    co_await bench.cache->acquire(bench.thread, which, true);
  }(b, buffer));
  b.tasks.start(await(b, other, buffer.address + (beyond - 1) * kPage, last));
  sc_core::sc_start();
  CHECK(last.error == Error::limit);
  CHECK(b.vm.pinned_bytes() > 0);
  CHECK(b.release(buffer) == Error::limit);
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
