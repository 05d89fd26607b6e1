// SPDX-License-Identifier: Apache-2.0
// When pins go that no transfer needs: at once, many in one call, by a thread of its own. What waits is in nobody's
// way.
#include <catch2/catch.hpp>

#include "tests/rdma/cache_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// Pins for each transfer.
CacheBench::Further per_transfer(const char* unpin, std::int64_t batch = 4) {
  return {{"strategy.registration", std::string("pin-per-transfer")},
          {"strategy.unpin", std::string(unpin)},
          {"strategy.unpin_batch", batch}};
}
constexpr const char* kCalls = "registration.unpin_calls";

Time released(CacheBench& b, Buffer buffer) { return b.run(b.cache->release(b.thread, buffer)).took; }

}  // namespace

TEST_CASE("batched: the call that lets go of four pins costs one system call and one invalidation") {
  CacheBench b("notifier", 1, kBudget, per_transfer("batched"));
  for (std::uint64_t i = 0; i < 4; ++i) CHECK(b.acquire(b.buffer(i)) == Error::none);
  const std::uint64_t invalidations = b.counted("os.tlb_invalidations");
  for (std::uint64_t i = 0; i < 3; ++i) CHECK(released(b, b.buffer(i)) == Time{0});
  CHECK(b.vm.pinned_bytes() == 8 * kPage);
  CHECK(b.counted(kCalls) == 0);
  CHECK(released(b, b.buffer(3)) > Time{0});
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.counted(kCalls) == 1);
  CHECK(b.counted("os.tlb_invalidations") == invalidations + 1);
  b.vm.audit();
}

TEST_CASE("batched: what waits to be unpinned makes room when the limit is reached") {
  CacheBench b("notifier", 1, kBudget, per_transfer("batched", 1000));
  const std::uint64_t limit = kMiB / kPage;
  const VirtualAddress large = b.map((limit - 1) * kPage);
  const Buffer most{large, (limit - 1) * kPage};
  CHECK(b.acquire(most) == Error::none);
  CHECK(b.acquire(b.buffer(0)) == Error::limit);
  CHECK(b.release(most) == Error::none);
  CHECK(b.vm.pinned_bytes() == (limit - 1) * kPage);
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.vm.pinned_bytes() == kPagesEach * kPage);
  CHECK(b.counted(kCalls) == 1);
}

TEST_CASE("batched: memory that is mapped anew meets no frames of what waits to be unpinned") {
  CacheBench b("notifier", 1, kBudget, per_transfer("batched", 1000));
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.release(b.buffer(0)) == Error::none);
  b.remap(0);
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.is_right(b.buffer(0)));
  CHECK(b.counted(kCalls) == 1);
  b.vm.audit();
}

TEST_CASE("helper: who releases does not wait for the pins to go") {
  CacheBench b("notifier", 1, kBudget, per_transfer("helper"));
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.acquire(b.buffer(1)) == Error::none);
  Time first{0};
  Time second{0};
  const Time begin = b.node.now();
  b.tasks.start([](CacheBench& bench, Time& one, Time& other) -> Task<void> {
    co_await bench.cache->release(bench.thread, bench.buffer(0));
    one = bench.node.now();
    co_await bench.cache->release(bench.thread, bench.buffer(1));
    other = bench.node.now();
  }(b, first, second));
  sc_core::sc_start();
  CHECK(first == begin);  // its helper begins
  CHECK(second == begin);
  CHECK(b.node.now() > begin + 1us);
  CHECK(b.vm.pinned_bytes() == 0);
  b.vm.audit();
}

TEST_CASE("helper: a process that exits waits for the call that its helper is in, and no longer") {
  CacheBench b("notifier", 1, kBudget, per_transfer("helper"));
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.acquire(b.buffer(1)) == Error::none);
  Outcome<Error> released;
  Outcome<Error> late;
  Time stopped{0};
  const Time begin = b.node.now() + 1ms;
  b.tasks.start(at_core(b, b.thread, begin, b.cache->release(b.thread, b.buffer(0)), released));
  b.tasks.start([](CacheBench& bench, Time when, Time& at) -> Task<void> {
    co_await bench.node.loop.delay(when - bench.node.now());
    co_await bench.cache->stop(bench.thread);
    at = bench.node.now();
  }(b, begin + 1us, stopped));
  b.tasks.start(at_core(b, b.thread, begin + 1ms, b.cache->release(b.thread, b.buffer(1)), late));
  sc_core::sc_start();
  CHECK(stopped > begin + 1us);
  CHECK(stopped < begin + 1ms);
  CHECK(b.vm.pinned_bytes() == kPagesEach * kPage);  // the kernel takes it
}

TEST_CASE("a pin-down cache lets go in batches, too") {
  CacheBench b("notifier", 1, /*budget=*/2,
               {{"strategy.unpin", std::string("batched")}, {"strategy.unpin_batch", std::int64_t{3}}});
  for (std::uint64_t i = 0; i < 4; ++i) {
    CHECK(b.acquire(b.buffer(i)) == Error::none);
    CHECK(b.release(b.buffer(i)) == Error::none);
  }
  CHECK(b.counted("pin_cache.mem_deregs") == 3);
  CHECK(b.counted(kCalls) == 1);
  CHECK(b.vm.pinned_bytes() == kPagesEach * kPage);
}

TEST_CASE("a registration that lets go of nothing is not asked when it does") {
  rdma::Strategy strategy;
  strategy.registration = "pin-once";
  CHECK(rdma::conflicts(strategy).empty());
  strategy.unpin.time = rdma::UnpinTime::helper;
  const auto found = rdma::conflicts(strategy);
  REQUIRE(found.size() == 1);
  CHECK(found.front().keys == std::vector<std::string>{"strategy.unpin", "strategy.registration"});
  CHECK(found.front().instead ==
        "set strategy.unpin to now, or strategy.registration to pin-per-transfer, pin-cache or firehose");
  strategy.registration = "pin-per-transfer";
  CHECK(rdma::conflicts(strategy).empty());
}

TEST_CASE("batched: a pin that fails for another reason than room does not let go of what waits") {
  CacheBench b("notifier", 1, kBudget, per_transfer("batched", 1000));
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.release(b.buffer(0)) == Error::none);
  const Buffer nowhere{b.addresses.front() - 64 * kPage, kPage};
  CHECK(b.acquire(nowhere) == Error::bad_address);
  CHECK(b.counted(kCalls) == 0);
  CHECK(b.vm.pinned_bytes() == kPagesEach * kPage);
}
