// SPDX-License-Identifier: Apache-2.0
// The pin-down cache where several things happen at a time: memory that changes beside a pin of it, threads that want
// the same buffer, changes that take a part of a region, a buffer that is mapped anew while it is sent.
#include <catch2/catch.hpp>

#include "tests/rdma/cache_bench.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kMany = 64;  // pages: to unpin them takes longer than to begin a pin

// A buffer of many pages that a region covers, and nobody uses.
Buffer known_buffer(CacheBench& b) {
  const Buffer buffer{b.map(kMany * kPage, CacheBench::aligned()), kMany * kPage};
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.release(buffer) == Error::none);
  return buffer;
}

// One thread drops the pages while another one, so much later, acquires the buffer.
void drop_and_acquire(Time later) {
  CacheBench b("notifier", 1, 2 * kMany);
  const Buffer buffer = known_buffer(b);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> dropped;
  Outcome<Error> acquired;
  const Time begin = b.node.now() + 1ms;
  b.tasks.start(at_core(
      b, other, begin, b.vm.madvise(other, *b.process, buffer.address, buffer.length, os::Advice::dont_need), dropped));
  b.tasks.start(at_core(b, b.thread, begin + later, b.cache->acquire(b.thread, buffer, true), acquired));
  sc_core::sc_start();
  CHECK(dropped.value == Error::none);
  REQUIRE(dropped.at > begin + later);  // they have met
  CHECK(acquired.at > dropped.at);
  CHECK(acquired.value == Error::none);
  CHECK(b.is_right(buffer));
  CHECK(b.vm.pinned_bytes() == kMany * kPage);
  CHECK(b.release(buffer) == Error::none);
  b.vm.audit();
}

}  // namespace

// The change begins 500 ns after the call. The pin comes while the cache unpins the region, while TLBs forget the
// pages, or later.
TEST_CASE("a pin 600 ns after MADV_DONTNEED has begun has the frames of afterwards") { drop_and_acquire(600ns); }
TEST_CASE("a pin 1 us after MADV_DONTNEED has begun has the frames of afterwards") { drop_and_acquire(1us); }
TEST_CASE("a pin 2 us after MADV_DONTNEED has begun has the frames of afterwards") { drop_and_acquire(2us); }
TEST_CASE("a pin 8 us after MADV_DONTNEED has begun has the frames of afterwards") { drop_and_acquire(8us); }
TEST_CASE("a pin 20 us after MADV_DONTNEED has begun has the frames of afterwards") { drop_and_acquire(20us); }

namespace {

// MADV_DONTNEED so long after a pin of the same pages has begun.
void overtake(Time later) {
  CacheBench b("notifier", 1, 2 * kMany);
  const Buffer buffer{b.map(kMany * kPage, CacheBench::aligned()), kMany * kPage};
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> dropped;
  Outcome<Error> acquired;
  const Time begin = b.node.now() + 1ms;
  b.tasks.start(at_core(b, b.thread, begin, b.cache->acquire(b.thread, buffer, true), acquired));
  b.tasks.start(at_core(b, other, begin + later,
                        b.vm.madvise(other, *b.process, buffer.address, buffer.length, os::Advice::dont_need),
                        dropped));
  sc_core::sc_start();
  REQUIRE(dropped.at < acquired.at);
  CHECK(acquired.value == Error::none);
  CHECK(b.is_right(buffer));
  CHECK(b.vm.pinned_bytes() == kMany * kPage);
  CHECK(b.counted("os.nr_foll_pin_acquired") > kMany);  // more than once
  CHECK(b.release(buffer) == Error::none);
  b.vm.audit();
}

}  // namespace

TEST_CASE("a pin is made again when MADV_DONTNEED of its pages overtakes it early") { overtake(30us); }
TEST_CASE("a pin is made again when MADV_DONTNEED of its pages overtakes it late") { overtake(120us); }

namespace {

// A hook tells of pages, which are unmapped, and mapped anew at the same place.
Task<Error> map_anew(CacheBench& b, cpu::Execution& thread, os::Range pages) {
  const std::uint64_t bytes = pages.end - pages.begin;
  co_await b.cache->unmapping(thread, pages);
  const Error error = co_await b.vm.munmap(thread, *b.process, pages.begin, bytes);
  const os::Result<VirtualAddress> again = co_await b.vm.mmap(thread, *b.process, bytes, CacheBench::aligned());
  CHECK(again.value == pages.begin);
  co_await b.vm.touch_range(thread, *b.process, pages.begin, bytes, true);
  co_return error;
}

}  // namespace

// As where another thread's allocator gives memory back. A hook may not wait for the cache's turn; the call that it
// tells of enters the kernel later, and may come behind a pin that has not heard of it.
TEST_CASE("a hook that comes while its pages are pinned is not forgotten") {
  CacheBench b("hooks", 1, 2 * kMany);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  const auto pins_beside = [&](Time later) {
    const Buffer buffer{b.map(kMany * kPage, CacheBench::aligned()), kMany * kPage};
    Outcome<Error> acquired;
    Outcome<Error> mapped;
    const Time begin = b.node.now() + 1ms;
    b.tasks.start(at_core(b, b.thread, begin, b.cache->acquire(b.thread, buffer, true), acquired));
    b.tasks.start(at_core(b, other, begin + later, map_anew(b, other, buffer.pages()), mapped));
    sc_core::sc_start();
    CHECK(mapped.value == Error::none);
    if (acquired.value == Error::none) CHECK(b.release(buffer) == Error::none);
    // Whoever comes next has the memory that is there now.
    CHECK(b.acquire(buffer) == Error::none);
    CHECK(b.is_right(buffer));
    CHECK(b.release(buffer) == Error::none);
    b.vm.audit();
    return acquired.at - begin;
  };
  const Time alone = pins_beside(1ms);
  for (Time later = 1us; later < alone; later += alone / 16) {
    INFO(later.count());
    pins_beside(later);
  }
  for (Time before_end = 0ns; before_end < 1us; before_end += 50ns) {
    INFO(before_end.count());
    pins_beside(alone - before_end);
  }
}

TEST_CASE("two threads that want the same buffer pin it once") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  Outcome<Error> first;
  Outcome<Error> second;
  const Time begin = b.node.now() + 1ms;
  b.tasks.start(at_core(b, b.thread, begin, b.cache->acquire(b.thread, buffer, true), first));
  b.tasks.start(at_core(b, other, begin + 1us, b.cache->acquire(other, buffer, true), second));
  sc_core::sc_start();
  CHECK(first.value == Error::none);
  CHECK(second.value == Error::none);
  CHECK(b.counted("pin_cache.misses") == 1);
  CHECK(b.counted("pin_cache.hits_slow") == 1);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.release(buffer) == Error::invalid);
}

TEST_CASE("two threads that want different buffers do not spend the budget together") {
  CacheBench b("notifier", 1, /*budget=*/3);
  cpu::Execution& other = b.cpu.new_thread("other", 2);
  CHECK(b.acquire(b.buffer(2)) == Error::none);
  CHECK(b.release(b.buffer(2)) == Error::none);
  Outcome<Error> first;
  Outcome<Error> second;
  const Time begin = b.node.now() + 1ms;
  b.tasks.start(at_core(b, b.thread, begin, b.cache->acquire(b.thread, b.buffer(0), true), first));
  b.tasks.start(at_core(b, other, begin, b.cache->acquire(other, b.buffer(1), true), second));
  sc_core::sc_start();
  CHECK(b.vm.pinned_bytes() == 4 * kPage);  // both are in use
  CHECK(b.release(b.buffer(0)) == Error::none);
  CHECK(b.release(b.buffer(1)) == Error::none);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
  CHECK(b.counted("pin_cache.evictions") == 2);
}

TEST_CASE("a pin is made once though it breaks copy-on-write of the zero page by itself") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  for (std::uint64_t page = 0; page < kPagesEach; ++page) {
    REQUIRE(b.run(b.vm.touch(b.thread, *b.process, buffer.address + page * kPage, false)).value == Error::none);
  }
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.is_right(buffer));
  CHECK(b.counted("os.nr_foll_pin_acquired") == kPagesEach);
}

TEST_CASE("a change of one page takes the whole region") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, buffer.address + kPage, kPage, os::Advice::dont_need)).value ==
        Error::none);
  CHECK(b.counted("pin_cache.regions_inv_unmap") == 1);
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.is_right(buffer));
}

TEST_CASE("a change beside a region leaves it") {
  CacheBench b("notifier");
  CHECK(b.acquire(b.buffer(0, 1)) == Error::none);
  CHECK(b.release(b.buffer(0, 1)) == Error::none);
  REQUIRE(b.vm.make_present(*b.process, b.addresses[0] + kPage, kPage) == Error::none);
  CHECK(b.run(b.vm.madvise(b.thread, *b.process, b.addresses[0] + kPage, kPage, os::Advice::dont_need)).value ==
        Error::none);
  CHECK(b.counted("pin_cache.regions_inv_unmap") == 0);
  CHECK(b.acquire(b.buffer(0, 1)) == Error::none);
  CHECK(b.counted("pin_cache.hits_fast") == 1);
}

TEST_CASE("memory that is mapped anew while it is sent cannot be pinned until then") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  CHECK(b.acquire(buffer) == Error::none);
  b.remap(0);
  CHECK(b.acquire(buffer) == Error::again);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.is_right(buffer));
}

TEST_CASE("an earlier mapping whose end a hook has missed makes way for a larger buffer") {
  CacheBench b("hooks", /*coverage=*/0);
  CHECK(b.acquire(b.buffer(0, 1)) == Error::none);
  CHECK(b.release(b.buffer(0, 1)) == Error::none);
  b.remap(0);
  CHECK(b.acquire(b.buffer(0, 2)) == Error::none);
  CHECK(b.is_right(b.buffer(0, 2)));
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
}

TEST_CASE("what a hook has seen is unpinned with the next miss, on its time") {
  CacheBench b("hooks");
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.release(b.buffer(0)) == Error::none);
  CHECK(b.acquire(b.buffer(1)) == Error::none);
  CHECK(b.run([](CacheBench& bench) -> Task<bool> {
           co_await bench.cache->unmapping(bench.thread, bench.buffer(0).pages());
           co_return true;
         }(b))
            .took == 0ns);
  CHECK(b.vm.pinned_bytes() == 4 * kPage);
  CHECK(b.acquire(b.buffer(1)) == Error::none);  // a hit
  CHECK(b.vm.pinned_bytes() == 4 * kPage);
  CHECK(b.acquire(b.buffer(2)) == Error::none);
  CHECK(b.vm.pinned_bytes() == 4 * kPage);
}

TEST_CASE("a cache that the kernel tells of changes does not listen to hooks") {
  CacheBench b("notifier");
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.release(b.buffer(0)) == Error::none);
  b.run([](CacheBench& bench) -> Task<bool> {
    co_await bench.cache->unmapping(bench.thread, bench.buffer(0).pages());
    co_return true;
  }(b));
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.counted("pin_cache.hits_fast") == 1);
}

TEST_CASE("migration leaves what a transfer uses, and takes what none does") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  const os::Range pages = buffer.pages();
  const auto migrated = [&] {
    return b.run(b.vm.page_events().migrate(b.thread, *b.process, pages, os::PageEvents::Mover::move_pages)).value;
  };
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(migrated() == 0);
  CHECK(b.counted("pin_cache.regions_inv_unmap") == 0);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.counted("pin_cache.hits_fast") == 1);
  CHECK(b.release(buffer) == Error::none);
  CHECK(migrated() == 2);
  CHECK(b.counted("pin_cache.regions_inv_unmap") == 1);
}

TEST_CASE("memory that is discarded in no time (set-up) is no longer found, and unpinned with the next miss") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.release(buffer) == Error::none);
  b.vm.discard(*b.process, buffer.address, kPagesEach * kPage);
  CHECK(b.counted("pin_cache.regions_inv_unmap") == 1);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.is_right(buffer));
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
}

TEST_CASE("an empty buffer is refused, whatever lies there") {
  CacheBench b("notifier");
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.acquire({b.addresses[0], 0}) == Error::invalid);
  CHECK(b.acquire({b.addresses[0] + kPage, 0}) == Error::invalid);
}

TEST_CASE("a buffer for which there is no memory is refused, and nothing stays pinned") {
  CacheBench b("notifier", 1, /*budget=*/1 << 14);
  const VirtualAddress large = b.map(kMiB);
  CHECK(b.acquire({large, kMiB}) == Error::none);
  CHECK(b.acquire(b.buffer(0)) == Error::limit);
  CHECK(b.vm.pinned_bytes() == kMiB);
  CHECK(b.release({large, kMiB}) == Error::none);
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
}

TEST_CASE("a process that ends leaves no pins behind, and its cache has nothing to unpin") {
  CacheBench b("notifier");
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.release(b.buffer(0)) == Error::none);
  CHECK(b.acquire(b.buffer(1)) == Error::none);
  b.end(*b.process);
  CHECK(b.vm.pinned_bytes() == 0);
}
