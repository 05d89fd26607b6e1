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

struct Options {
  bool later = false;  // what is invalidated stays pinned until the next miss
  bool merge = false;
  bool by_size = false;
  std::size_t most = 1000;  // regions
};

// What the cache is said to be, written down as a list of ranges, the one that was used last in front.
class Model {
 public:
  explicit Model(Options options) : options_(options) {}

  // False: refused, because the device's table has frames of an earlier mapping that is in use.
  bool acquire(Buffer buffer) {
    ++gets;
    const os::Range pages = buffer.pages();
    const auto known = std::ranges::find_if(regions_, [&](const Region& r) { return r.found && r.covers(pages); });
    if (known != regions_.end()) {
      ++hits;
      regions_.splice(regions_.begin(), regions_, known);
    } else {
      deregs += garbage_.size();
      garbage_.clear();
      const os::Range wide = options_.merge ? merge(pages) : pages;
      if (!pin(wide) && (wide == pages || !pin(pages))) return false;
    }
    Region& region = regions_.front();
    ++region.users;
    region.used = ++uses;
    uses_.push_back({buffer, &region});
    return true;
  }
  void release(Buffer buffer) {
    const auto use = std::ranges::find(uses_, buffer, &Use::buffer);
    Region& region = *use->region;
    uses_.erase(use);
    ++puts;
    if (--region.users > 0 || (region.found && fits(0, 0))) return;
    if (region.found) ++evictions;
    ++deregs;
    erase(region);
  }
  void change(os::Range pages) {
    ++events;
    for (Region& region : regions_) {
      if (!region.pages.overlaps(pages)) continue;
      region.moved = true;
      if (!region.found) continue;
      region.found = false;
      ++invalidations;
      if (region.users > 0) continue;
      if (options_.later) {
        garbage_.push_back(size(region.pages));
      } else {
        ++deregs;
      }
    }
    std::erase_if(regions_, [](const Region& r) { return !r.found && r.users == 0; });
  }
  std::uint64_t held() const {
    std::uint64_t sum = 0;
    for (const std::uint64_t bytes : garbage_) sum += bytes;
    for (const Region& region : regions_) sum += size(region.pages);
    return sum;
  }
  // Once for each acquisition that was not released.
  std::vector<Buffer> used() const {
    std::vector<Buffer> all;
    for (const Use& use : uses_) all.push_back(use.buffer);
    return all;
  }

  std::uint64_t gets = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t merged = 0;
  std::uint64_t events = 0;
  std::uint64_t invalidations = 0;
  std::uint64_t puts = 0;
  std::uint64_t regs = 0;
  std::uint64_t deregs = 0;
  std::uint64_t evictions = 0;
  std::uint64_t uses = 0;

 private:
  struct Region {
    os::Range pages;
    unsigned users = 0;
    bool found = true;
    bool moved = false;  // its frames are not the program's any more
    std::uint64_t used = 0;
    bool covers(os::Range wanted) const { return pages.begin <= wanted.begin && wanted.end <= pages.end; }
  };
  struct Use {
    Buffer buffer;
    Region* region;
  };
  static std::uint64_t size(os::Range pages) { return pages.end - pages.begin; }
  bool fits(std::uint64_t bytes, std::size_t more) const {
    return held() + bytes <= kBudget * kPage && regions_.size() + more <= options_.most;
  }
  void erase(Region& region) {
    std::erase_if(regions_, [&](const Region& other) { return &other == &region; });
  }
  bool pin(os::Range pages) {
    while (!fits(size(pages), 1) && evict()) {
    }
    ++regs;
    if (std::ranges::any_of(regions_, [&](const Region& r) { return r.moved && r.pages.overlaps(pages); }))
      return false;
    ++misses;
    regions_.push_front({.pages = pages});
    return true;
  }
  os::Range merge(os::Range pages) {
    for (std::size_t i = 0; i < regions_.size(); ++i) {  // each pass takes in one more, at the least
      for (const Region& r : regions_) {
        if (r.found && r.pages.overlaps(pages)) {
          pages = {std::min(pages.begin, r.pages.begin), std::max(pages.end, r.pages.end)};
        }
      }
    }
    for (Region& r : regions_) {
      if (!r.found || !r.pages.overlaps(pages)) continue;
      r.found = false;
      ++merged;
      if (r.users == 0) ++deregs;
    }
    std::erase_if(regions_, [](const Region& r) { return !r.found && r.users == 0; });
    return pages;
  }
  bool evict() {
    Region* victim = nullptr;
    std::uint64_t most = 0;
    for (Region& region : regions_) {
      if (region.users > 0) continue;
      const std::uint64_t weight = (uses - region.used + 1) * (options_.by_size ? size(region.pages) : 1);
      if (weight < most) continue;
      most = weight;
      victim = &region;
    }
    if (victim == nullptr) return false;
    ++evictions;
    ++deregs;
    erase(*victim);
    return true;
  }
  const Options options_;
  std::list<Region> regions_;
  std::vector<Use> uses_;
  std::vector<std::uint64_t> garbage_;
};

// One of: acquire, release, remap; of a buffer, the first page of it or both, from its begin or from its middle. More
// is released than acquired, or soon nothing could be evicted.
void step(CacheBench& b, Model& model) {
  const std::uint64_t which = below(kBuffers);
  const std::uint64_t first = below(kPagesEach);
  const Buffer buffer = b.buffer(which, 1 + below(kPagesEach - first), first);
  const std::uint64_t what = below(20);
  if (what < 9) {
    const bool granted = model.acquire(buffer);
    RC_ASSERT(b.acquire(buffer) == (granted ? Error::none : Error::again));
    RC_ASSERT(!granted || b.is_right(buffer));
  } else if (what < 19) {
    if (model.used().empty()) return;
    const Buffer used = model.used()[below(model.used().size())];
    RC_ASSERT(b.release(used) == Error::none);
    model.release(used);
  } else {
    b.remap(which);  // also what is being sent: the region stays until then, and is not found any more
    model.change(b.buffer(which).pages());
  }
  RC_ASSERT(b.counted("pin_cache.gets") == model.gets);
  RC_ASSERT(b.counted("pin_cache.hits_fast") == model.hits);
  RC_ASSERT(b.counted("pin_cache.hits_slow") == 0);  // there is one thread
  RC_ASSERT(b.counted("pin_cache.misses") == model.misses);
  RC_ASSERT(b.counted("pin_cache.regions_merged") == model.merged);
  RC_ASSERT(b.counted("pin_cache.unmap_events") == model.events);
  RC_ASSERT(b.counted("pin_cache.regions_inv_unmap") == model.invalidations);
  RC_ASSERT(b.counted("pin_cache.puts") == model.puts);
  RC_ASSERT(b.counted("pin_cache.mem_regs") == model.regs);
  RC_ASSERT(b.counted("pin_cache.mem_deregs") == model.deregs);
  RC_ASSERT(b.counted("pin_cache.evictions") == model.evictions);
  RC_ASSERT(b.vm.pinned_bytes() == model.held());
  b.vm.audit();
}

void check_against_list(const char* emptied_by, Options options, const CacheBench::Further& further = {}) {
  CacheBench b(emptied_by, 1, kBudget, further);
  Model model(options);
  set_number_of_cases(200, 100, 4);
  const bool held = rc::check("random operations, which go on where the case before has stopped", [&] {
    for (int i = 0; i < 12; ++i) step(b, model);
  });
  CHECK(held);
  CHECK(model.hits > 100);
  CHECK(model.evictions > 100);
}

// A cache with one region in use and one that is not, when the program forks.
void fork_with(double coverage) {
  CacheBench b("hooks", coverage);
  const bool sees = coverage == 1.0;
  CHECK(b.acquire(b.buffer(0)) == Error::none);
  CHECK(b.acquire(b.buffer(1)) == Error::none);
  CHECK(b.release(b.buffer(1)) == Error::none);
  b.run([](CacheBench& bench) -> Task<bool> {
    co_await bench.cache->forking(bench.thread);
    co_return true;
  }(b));
  CHECK(b.counted("pin_cache.hooks_missed") == (sees ? 0 : 1));
  CHECK(b.acquire(b.buffer(1)) == Error::none);
  CHECK(b.counted("pin_cache.misses") == (sees ? 3 : 2));
  CHECK(b.counted("pin_cache.mem_deregs") == (sees ? 1 : 0));
  CHECK(b.is_right(b.buffer(0)));
  CHECK(b.release(b.buffer(0)) == Error::none);
  CHECK(b.counted("pin_cache.mem_deregs") == (sees ? 2 : 0));
}

}  // namespace

TEST_CASE("a pin-down cache is the list that it is said to be", "[property]") { check_against_list("notifier", {}); }
TEST_CASE("a pin-down cache where the library hooks the program's calls is that list", "[property]") {
  check_against_list("hooks", {.later = true});
}
TEST_CASE("a pin-down cache that merges is that list", "[property]") {
  check_against_list("notifier", {.merge = true}, {{"strategy.pin_cache.merge", true}});
}
TEST_CASE("a pin-down cache that merges and has hooks is that list", "[property]") {
  check_against_list("hooks", {.later = true, .merge = true}, {{"strategy.pin_cache.merge", true}});
}
TEST_CASE("a pin-down cache that looks at sizes and at how many regions it has is that list", "[property]") {
  check_against_list("notifier", {.by_size = true, .most = 3},
                     {{"strategy.pin_cache.replacement", std::string("size-and-recency")},
                      {"strategy.pin_cache.max_regions", std::int64_t{3}}});
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
  CHECK(b.counted("pin_cache.hits_fast") == 1);
  CHECK(b.counted("pin_cache.hooks_missed") == 1);
  CHECK_FALSE(b.is_right(buffer));
}

// UCX's purge on fork.
TEST_CASE("hooks that see a fork empty the cache, and what a transfer uses is unpinned with its end") { fork_with(1); }
TEST_CASE("hooks that miss a fork leave the cache as it is") { fork_with(0); }

TEST_CASE("a cache that nobody tells anything has frames of the mapping that has gone") {
  CacheBench b("nothing");
  const Buffer buffer = b.buffer(0);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.release(buffer) == Error::none);
  b.remap(0);
  REQUIRE(b.vm.make_present(*b.process, buffer.address, kPagesEach * kPage) == Error::none);
  CHECK(b.acquire(buffer) == Error::none);
  CHECK(b.counted("pin_cache.unmap_events") == 0);
  CHECK_FALSE(b.is_right(buffer));
}

TEST_CASE("a region that takes the place of one in use leaves that one its pins") {
  CacheBench b("notifier", 1, kBudget, {{"strategy.pin_cache.merge", true}});
  const Buffer part = b.buffer(0, 1);
  const Buffer whole = b.buffer(0);
  CHECK(b.acquire(part) == Error::none);
  CHECK(b.acquire(whole) == Error::none);
  CHECK(b.counted("pin_cache.regions_merged") == 1);
  CHECK(b.vm.pinned_bytes() == 3 * kPage);
  CHECK(b.acquire(part) == Error::none);  // in the new one
  CHECK(b.counted("pin_cache.hits_fast") == 1);
  CHECK(b.release(part) == Error::none);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);  // the use that began first was of the old one
  CHECK(b.release(part) == Error::none);
  CHECK(b.release(whole) == Error::none);
  CHECK(b.vm.pinned_bytes() == 2 * kPage);
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
