// SPDX-License-Identifier: Apache-2.0
// The pin-down cache beside a list: the same hits, the same victims, under random operations; and that what a device
// finds in its table is what the program has, whatever the program unmaps, unless a hook has missed it.
#include <rapidcheck.h>

#include <algorithm>
#include <list>

#include "tests/rdma/cache_bench.hpp"
#include "tests/support/number_of_cases.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

// What the cache is said to be, written down as a list of ranges, the one that was used last in front.
class Model {
 public:
  // `later`: what is invalidated stays pinned until the next miss.
  explicit Model(bool later) : later_(later) {}

  // False: refused, because the device's table has frames of an earlier mapping that is in use.
  bool acquire(Buffer buffer) {
    const os::Range pages = buffer.pages();
    ++gets;
    const auto known = std::ranges::find_if(
        regions_, [&](const Region& r) { return r.valid && r.pages.begin <= pages.begin && pages.end <= r.pages.end; });
    if (known != regions_.end()) {
      ++hits;
      regions_.splice(regions_.begin(), regions_, known);
    } else {
      garbage_ = 0;
      while (held() + size(pages) > kBudget * kPage && evict()) {
      }
      if (std::ranges::any_of(regions_, [&](const Region& r) { return !r.valid && r.pages.overlaps(pages); }))
        return false;
      regions_.push_front({pages, 0, true});
    }
    ++regions_.front().users;
    uses_.push_back({buffer, &regions_.front()});
    return true;
  }
  void release(Buffer buffer) {
    const auto use = std::ranges::find(uses_, buffer, &Use::buffer);
    Region& region = *use->region;
    uses_.erase(use);
    if (--region.users > 0 || (region.valid && held() <= kBudget * kPage)) return;
    if (region.valid) ++evictions;
    erase(region);
  }
  void invalidate(os::Range pages) {
    for (Region& region : regions_) {
      if (!region.valid || !region.pages.overlaps(pages)) continue;
      region.valid = false;
      ++invalidations;
      if (later_ && region.users == 0) garbage_ += size(region.pages);
    }
    std::erase_if(regions_, [](const Region& r) { return !r.valid && r.users == 0; });
  }
  std::uint64_t held() const {
    std::uint64_t sum = garbage_;
    for (const Region& region : regions_) sum += size(region.pages);
    return sum;
  }
  bool uses(Buffer buffer) const { return std::ranges::count(uses_, buffer, &Use::buffer) > 0; }

  std::uint64_t gets = 0;
  std::uint64_t hits = 0;
  std::uint64_t evictions = 0;
  std::uint64_t invalidations = 0;

 private:
  struct Region {
    os::Range pages;
    unsigned users;
    bool valid;
  };
  struct Use {
    Buffer buffer;
    Region* region;
  };
  static std::uint64_t size(os::Range pages) { return pages.end - pages.begin; }
  void erase(Region& region) {
    std::erase_if(regions_, [&](const Region& other) { return &other == &region; });
  }
  bool evict() {
    const auto victim = std::find_if(regions_.rbegin(), regions_.rend(), [](const Region& r) { return r.users == 0; });
    if (victim == regions_.rend()) return false;
    ++evictions;
    erase(*victim);
    return true;
  }
  const bool later_;
  std::list<Region> regions_;
  std::vector<Use> uses_;
  std::uint64_t garbage_ = 0;
};

// One of: acquire, release, remap; of a buffer, the first page of it or both, from its begin or from its middle.
void step(CacheBench& b, Model& model) {
  const auto which = *rc::gen::inRange<std::uint64_t>(0, kBuffers);
  const auto first = *rc::gen::inRange<std::uint64_t>(0, kPagesEach);
  const Buffer buffer = b.buffer(which, *rc::gen::inRange<std::uint64_t>(1, kPagesEach - first + 1), first);
  switch (*rc::gen::inRange(0, 5)) {
    case 0:
    case 1: {
      const bool granted = model.acquire(buffer);
      RC_ASSERT(b.acquire(buffer) == (granted ? Error::none : Error::again));
      RC_ASSERT(!granted || b.is_right(buffer));
    } break;
    case 2:
    case 3:
      if (!model.uses(buffer)) break;
      RC_ASSERT(b.release(buffer) == Error::none);
      model.release(buffer);
      break;
    default:
      b.remap(which);  // also what is being sent: the region stays until then, and is not found any more
      model.invalidate(b.buffer(which).pages());
  }
  RC_ASSERT(b.counted("pin_cache.hits") == model.hits);
  RC_ASSERT(b.counted("pin_cache.gets") == model.gets);
  RC_ASSERT(b.counted("pin_cache.misses") == model.gets - model.hits);
  RC_ASSERT(b.counted("pin_cache.evictions") == model.evictions);
  RC_ASSERT(b.counted("pin_cache.invalidations") == model.invalidations);
  RC_ASSERT(b.vm.pinned_bytes() == model.held());
  b.vm.audit();
}

}  // namespace

TEST_CASE("a pin-down cache is the list that it is said to be", "[property]") {
  CacheBench b("notifier");
  Model model(/*later=*/false);
  set_number_of_cases(200, 100, 3);
  const bool held = rc::check("random operations, which go on where the case before has stopped", [&] {
    for (int i = 0; i < 12; ++i) step(b, model);
  });
  CHECK(held);
}

TEST_CASE("the same where the library hooks the program's calls", "[property]") {
  CacheBench b("hooks");
  Model model(/*later=*/true);
  set_number_of_cases(200, 100, 4);
  const bool held = rc::check("random operations, which go on where the case before has stopped", [&] {
    for (int i = 0; i < 12; ++i) step(b, model);
  });
  CHECK(held);
}

// The mutant: without notifier or hooks the device goes on with the frames of memory that is gone.
TEST_CASE("a hook that misses leaves the device with frames of the mapping that has gone") {
  CacheBench b("hooks", /*coverage=*/0);
  const Buffer buffer = b.buffer(0);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.is_right(buffer));
  CHECK(b.release(buffer) == Error::none);
  b.remap(0);
  REQUIRE(b.vm.make_present(*b.process, buffer.address, kPagesEach * kPage) == Error::none);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.counted("pin_cache.hits") == 1);
  CHECK(b.counted("pin_cache.hooks_missed") == 1);
  CHECK_FALSE(b.is_right(buffer));
}

TEST_CASE("what is looked up costs a lookup, and what is pinned the pin beside") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  const Time lookup = 50ns;
  const auto missed = b.run(b.cache->acquire(b.thread, buffer, true));
  CHECK(missed.took ==
        lookup + b.config.pin_fixed + 2 * (b.config.gup_per_page + b.cold_page()) + 2 * b.config.private_map_per_page);
  CHECK(b.release(buffer) == Error::none);
  const auto hit = b.run(b.cache->acquire(b.thread, buffer, true));
  CHECK(hit.took == lookup);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
}

TEST_CASE("a buffer beyond the budget is pinned for its transfer alone") {
  CacheBench b("notifier", 1, /*budget=*/1);
  const Buffer buffer = b.buffer(0);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.counted("pin_cache.misses") == 1);
}

TEST_CASE("where RLIMIT_MEMLOCK is nearer than the budget, the region that was used longest ago makes room") {
  CacheBench b("notifier", 1, /*budget=*/1024);
  const std::uint64_t limit = kMiB / kPage;
  const VirtualAddress large = b.map((limit - 3) * kPage);
  const Buffer most{large, (limit - 3) * kPage};
  CHECK(b.acquire(most) == Error::none);
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.acquire(b.buffer(1)) == Error::limit);  // both regions are in use
  CHECK(b.release(most) == Error::none);
  CHECK(b.acquire(b.buffer(1)) == Error::none);
  CHECK(b.counted("pin_cache.evictions") == 1);
  CHECK(b.vm.pinned_bytes() == 4 * kPage);
}

TEST_CASE("memory that changes while a transfer uses it is unpinned with the transfer's end") {
  CacheBench b("notifier");
  const Buffer buffer = b.buffer(0);
  CHECK(b.acquire(buffer) == Error::none);
  b.remap(0);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
  CHECK(b.release(buffer) == Error::none);
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK(b.release(buffer) == Error::invalid);
}
