// SPDX-License-Identifier: Apache-2.0
// Firehose: what an initiator holds stays pinned at its target and is found by the target's device, under random
// transfers, moves that overtake each other, and memory that is mapped anew; and what goes wrong without the count of
// leases.
#include <rapidcheck.h>

#include <set>

#include "models/rdma/registration/bucket_table.hpp"
#include "models/rdma/registration/firehose_config.hpp"
#include "models/rdma/registration/remote_buckets.hpp"
#include "tests/rdma/cache_bench.hpp"
#include "tests/support/number_of_cases.hpp"

using namespace faultline;
using namespace faultline::test;

namespace {

using os::Range;
using rdma::BucketMove;
using rdma::Buffer;
using rdma::RemoteBuckets;

constexpr std::uint64_t kFirehoseBuffers = 4;
constexpr std::uint64_t kFirehosePages = 4;  // of a buffer

// A target with a private table, which initiators write to.
struct FirehoseBench : OsBench {
  explicit FirehoseBench(std::uint64_t budget, bool counts_leases = true) : OsBench(CacheBench::limits()) {
    table = vm.create_private_table(*process).value;
    rdma::FirehoseConfig settings;
    settings.budget = budget * kPage;
    settings.peers = 2;
    settings.counts_leases = counts_leases;
    memory = rdma::open_firehose({cpu, vm, *process, table, {}}, settings);
    for (std::uint64_t i = 0; i < kFirehoseBuffers; ++i)
      addresses.push_back(map(kFirehosePages * kPage, CacheBench::aligned()));
  }
  Range range(std::uint64_t which, std::uint64_t first = 0, std::uint64_t pages = kFirehosePages) const {
    const VirtualAddress begin = addresses[which] + first * kPage;
    return {begin, begin + pages * kPage};
  }
  static Buffer buffer(Range range) { return {range.begin, range.end - range.begin}; }
  Error acquire(Range range) { return run(memory->acquire(thread, buffer(range), true)).value; }
  Error release(Range range) { return run(memory->release(thread, buffer(range))).value; }
  Error lease(std::uint64_t initiator, const BucketMove& move) {
    return run(memory->lease(thread, initiator, move.back, move.taken)).value;
  }
  void remap(std::uint64_t which) {
    const Range pages = range(which);
    run([](FirehoseBench& b, Range gone) -> Task<bool> {
      co_return co_await b.vm.munmap(b.thread, *b.process, gone.begin, gone.end - gone.begin) == Error::none;
    }(*this, pages));
    REQUIRE(map(kFirehosePages * kPage, CacheBench::aligned()) == addresses[which]);
  }
  // The device finds the program's own frame.
  bool is_right(VirtualAddress page) const {
    const auto physical = table->table().translate(page);
    return physical && physical == process->page_table().translate(page);
  }
  bool is_right(Range pages) const {
    for (VirtualAddress page = pages.begin; page < pages.end; page += kPage) {
      if (!is_right(page)) return false;
    }
    return true;
  }

  os::PrivateTable* table = nullptr;
  std::unique_ptr<rdma::Registration> memory;
  std::vector<VirtualAddress> addresses;
};

// An initiator, and what it believes that it holds.
struct HoldingInitiator {
  explicit HoldingInitiator(std::size_t most) : buckets(most) {}
  RemoteBuckets buckets;
  std::multiset<VirtualAddress> held;
  std::vector<Range> in_use;
  unsigned exchanges = 0;  // moves that gave something back and took something

  void learn(const BucketMove& move) {
    exchanges += !move.back.empty() && !move.taken.empty() ? 1 : 0;
    for (const Range& each : move.back) {
      for (VirtualAddress page = each.begin; page < each.end; page += kPage) held.erase(held.find(page));
    }
    for (const Range& each : move.taken) {
      for (VirtualAddress page = each.begin; page < each.end; page += kPage) held.insert(page);
    }
  }
};

Range any_range(const FirehoseBench& b) {
  const std::uint64_t which = below(kFirehoseBuffers);
  const std::uint64_t first = below(kFirehosePages);
  return b.range(which, first, 1 + below(kFirehosePages - first));
}

// The beginning of a transfer: what its initiator asks for. Nothing: other transfers leave too few.
std::optional<BucketMove> begin_transfer(HoldingInitiator& initiator, Range range) {
  const std::optional<BucketMove> move = initiator.buckets.use(range);
  if (!move) return std::nullopt;
  for (const Range& back : move->back) {
    for (const Range& used : initiator.in_use) RC_ASSERT_FALSE(back.overlaps(used));
  }
  initiator.in_use.push_back(range);
  initiator.learn(*move);
  return move;
}

void ask(FirehoseBench& b, std::uint64_t number, const std::optional<BucketMove>& move) {
  if (move && !move->is_empty()) RC_ASSERT(b.lease(number, *move) == Error::none);
}

// Its moves arrive in the order in which they are sent, or the second one first.
void two_transfers(FirehoseBench& b, HoldingInitiator& initiator, std::uint64_t number) {
  const std::optional<BucketMove> first = begin_transfer(initiator, any_range(b));
  const std::optional<BucketMove> second = begin_transfer(initiator, any_range(b));
  const bool overtakes = *rc::gen::arbitrary<bool>();
  ask(b, number, overtakes ? second : first);
  ask(b, number, overtakes ? first : second);
}

void end_transfer(HoldingInitiator& initiator) {
  if (initiator.in_use.empty()) return;
  const std::uint64_t which = below(initiator.in_use.size());
  initiator.buckets.end_use(initiator.in_use[which]);
  initiator.in_use.erase(initiator.in_use.begin() + static_cast<std::ptrdiff_t>(which));
}

// The program unmaps a buffer that no transfer uses, after all initiators have given it back. Whether it did.
bool map_anew(FirehoseBench& b, std::vector<HoldingInitiator>& initiators) {
  const std::uint64_t which = below(kFirehoseBuffers);
  const Range gone = b.range(which);
  for (const HoldingInitiator& each : initiators) {
    for (const Range& used : each.in_use) {
      if (used.overlaps(gone)) return false;
    }
  }
  for (std::size_t i = 0; i < initiators.size(); ++i) {
    const BucketMove move = initiators[i].buckets.forget(gone);
    initiators[i].learn(move);
    ask(b, i, move);
  }
  b.remap(which);
  return true;
}

void release_last(FirehoseBench& b, std::vector<Range>& own) {
  RC_ASSERT(b.release(own.back()) == Error::none);
  own.pop_back();
}

// More transfers end than begin, or soon nothing could be given back. Whether memory was mapped anew.
bool firehose_step(FirehoseBench& b, std::vector<HoldingInitiator>& initiators, std::vector<Range>& own) {
  const std::uint64_t number = below(initiators.size());
  HoldingInitiator& initiator = initiators[number];
  const std::uint64_t what = below(15);
  if (what < 2) {
    ask(b, number, begin_transfer(initiator, any_range(b)));
  } else if (what < 4) {
    two_transfers(b, initiator, number);
  } else if (what < 11) {
    end_transfer(initiator);
  } else if (what < 12) {
    own.push_back(any_range(b));
    RC_ASSERT(b.acquire(own.back()) == Error::none);
    RC_ASSERT(b.is_right(own.back()));
  } else if (what < 14) {
    if (!own.empty()) release_last(b, own);
  } else {
    while (!own.empty()) release_last(b, own);  // the device's table keeps the frames of memory that they use
    return map_anew(b, initiators);
  }
  return false;
}

}  // namespace

TEST_CASE("what initiators hold is pinned and found, whatever they move and the target does", "[property]") {
  constexpr std::uint64_t kBudgetPages = 12;
  constexpr std::size_t kMostHeld = 4;  // of each of two initiators, whose share is three quarters of the budget
  FirehoseBench b(kBudgetPages);
  std::vector<HoldingInitiator> initiators(2, HoldingInitiator(kMostHeld));
  std::vector<Range> own;
  unsigned mapped_anew = 0;
  set_number_of_cases(200, 100, 4);
  const bool held = rc::check("random operations, which go on where the case before has stopped", [&] {
    for (int i = 0; i < 12; ++i) {
      mapped_anew += firehose_step(b, initiators, own) ? 1 : 0;
      std::set<VirtualAddress> pinned;
      for (const HoldingInitiator& each : initiators) {
        RC_ASSERT(each.held.size() == each.buckets.held());
        RC_ASSERT(each.held.size() <= kMostHeld);
        for (const VirtualAddress page : each.held) RC_ASSERT(b.is_right(page));
        pinned.insert(each.held.begin(), each.held.end());
      }
      for (const Range& each : own) {
        for (VirtualAddress page = each.begin; page < each.end; page += kPage) pinned.insert(page);
      }
      RC_ASSERT(b.vm.pinned_bytes() >= pinned.size() * kPage);
      RC_ASSERT(b.vm.pinned_bytes() <= std::max<std::uint64_t>(pinned.size(), kBudgetPages) * kPage);
      b.vm.audit();
    }
  });
  CHECK(held);
  CHECK(mapped_anew > 30);
  for (const HoldingInitiator& each : initiators) CHECK(each.exchanges > 100);
}

namespace {

// An initiator holds page V. Its next move gives V back and takes P, the one after that takes V again: and that one
// arrives first. Then the target needs all of its budget for itself.
bool is_held_after_overtaking(bool counts_leases) {
  FirehoseBench b(/*budget=*/3, counts_leases);
  const Range v = b.range(0, 0, 1);
  const Range p = b.range(1, 0, 1);
  CHECK(b.lease(7, {.back = {}, .taken = {v}}) == Error::none);
  CHECK(b.lease(7, {.back = {}, .taken = {v}}) == Error::none);
  CHECK(b.lease(7, {.back = {v}, .taken = {p}}) == Error::none);
  CHECK(b.acquire(b.range(2)) == Error::none);
  CHECK(b.is_right(p));
  return b.is_right(v);
}

}  // namespace

TEST_CASE("a move that takes a page again and overtakes the one that gives it back leaves it held") {
  CHECK(is_held_after_overtaking(true));
}
TEST_CASE("without the count of leases a page that is held is unpinned where moves overtake each other") {
  CHECK_FALSE(is_held_after_overtaking(false));
}

TEST_CASE("a page that two initiators hold stays pinned until both have given it back") {
  FirehoseBench b(/*budget=*/1);
  const Range page = b.range(0, 0, 1);
  CHECK(b.lease(1, {.back = {}, .taken = {page}}) == Error::none);
  CHECK(b.lease(2, {.back = {}, .taken = {page}}) == Error::none);
  CHECK(b.vm.pinned_bytes() == kPage);
  CHECK(b.lease(1, {.back = {page}, .taken = {}}) == Error::none);
  CHECK(b.acquire(b.range(1, 0, 1)) == Error::none);
  CHECK(b.is_right(page));
  CHECK(b.lease(2, {.back = {page}, .taken = {}}) == Error::none);
  CHECK_FALSE(b.is_right(page));  // beyond the budget nobody needs it
  CHECK(b.vm.pinned_bytes() == kPage);
}

TEST_CASE("what comes back rests and is taken again without a pin, as long as the budget has room") {
  FirehoseBench b(/*budget=*/16);  // four of them for what nobody holds
  CHECK(b.lease(1, {.back = {}, .taken = {b.range(0)}}) == Error::none);
  CHECK(b.lease(1, {.back = {b.range(0)}, .taken = {b.range(1)}}) == Error::none);
  CHECK(b.counted("pin_cache.mem_regs") == 2);
  CHECK(b.lease(1, {.back = {b.range(1)}, .taken = {b.range(0)}}) == Error::none);
  CHECK(b.counted("pin_cache.mem_regs") == 2);
  CHECK(b.lease(1, {.back = {b.range(0)}, .taken = {b.range(2)}}) == Error::none);
  CHECK(b.counted("pin_cache.mem_regs") == 3);
  CHECK(b.counted("pin_cache.evictions") == kFirehosePages);
  CHECK_FALSE(b.is_right(b.range(1)));  // the one that has rested longest
  CHECK(b.is_right(b.range(0)));
}

// As of GASNet's two pools: budget of 16 pages, 12 for initiators, 4 for what nobody holds.
TEST_CASE("pages that nobody holds have their part of the budget, and those that initiators hold have theirs") {
  FirehoseBench b(/*budget=*/16);
  CHECK(b.acquire(b.range(0)) == Error::none);
  CHECK(b.release(b.range(0)) == Error::none);
  CHECK(b.acquire(b.range(1)) == Error::none);
  CHECK(b.release(b.range(1)) == Error::none);
  CHECK(b.vm.pinned_bytes() == kFirehosePages * kPage);  // though no initiator holds anything
  CHECK(b.is_right(b.range(1)));
  CHECK(b.lease(1, {.back = {}, .taken = {b.range(2)}}) == Error::none);
  CHECK(b.lease(2, {.back = {}, .taken = {b.range(2), b.range(3, 0, 2)}}) == Error::none);
  CHECK(b.counted("pin_cache.evictions") == kFirehosePages);
  CHECK(b.is_right(b.range(1)));
  CHECK(b.lease(2, {.back = {b.range(2), b.range(3, 0, 2)}, .taken = {}}) == Error::none);
  CHECK(b.counted("pin_cache.evictions") == kFirehosePages + 2);  // 1 holds the others
  CHECK(b.is_right(b.range(2)));
  CHECK(b.is_right(b.range(3, 0, 2)));
  CHECK_FALSE(b.is_right(b.range(1, 0, 1)));
  CHECK(b.lease(1, {.back = {b.range(2)}, .taken = {}}) == Error::none);
  CHECK(b.vm.pinned_bytes() == kFirehosePages * kPage);
  CHECK(b.is_right(b.range(2)));  // the last to come to rest
}

TEST_CASE("memory that goes under a lease is unpinned, and the lease is void") {
  FirehoseBench b(/*budget=*/32);
  const Range pages = b.range(0);
  CHECK(b.lease(1, {.back = {}, .taken = {pages}}) == Error::none);
  CHECK(b.lease(2, {.back = {}, .taken = {pages}}) == Error::none);
  b.remap(0);
  CHECK(b.vm.pinned_bytes() == 0);
  CHECK_FALSE(b.table->table().translate(pages.begin));
  CHECK(b.lease(2, {.back = {}, .taken = {pages}}) == Error::none);
  CHECK(b.lease(1, {.back = {pages}, .taken = {}}) == Error::none);  // of the mapping before: it takes nothing from 2
  CHECK(b.acquire(b.range(1)) == Error::none);
  CHECK(b.acquire(b.range(2)) == Error::none);
  CHECK(b.is_right(pages));
}

TEST_CASE("a move that RLIMIT_MEMLOCK does not allow leaves nothing of it") {
  const std::uint64_t limit = kMiB / kPage;
  FirehoseBench b(/*budget=*/4 * limit);
  const VirtualAddress large = b.map((limit - 2) * kPage);
  CHECK(b.acquire({large, large + (limit - 2) * kPage}) == Error::none);
  CHECK(b.lease(1, {.back = {}, .taken = {b.range(0, 0, 1), b.range(1)}}) == Error::limit);
  CHECK(b.lease(2, {.back = {}, .taken = {b.range(2, 0, 2)}}) == Error::none);  // what 1 had taken makes room
  CHECK(b.counted("pin_cache.evictions") == 1);
  CHECK(b.vm.pinned_bytes() == limit * kPage);
}

TEST_CASE("neighbours that are missing are pinned in one call, and each page goes by itself") {
  FirehoseBench b(/*budget=*/16);
  CHECK(b.acquire(b.range(0)) == Error::none);
  CHECK(b.counted("pin_cache.mem_regs") == 1);
  CHECK(b.release(b.range(0)) == Error::none);
  CHECK(b.acquire(b.range(1, 0, 1)) == Error::none);
  CHECK(b.counted("pin_cache.evictions") == 1);
  CHECK_FALSE(b.is_right(b.range(0, 0, 1)));
  CHECK(b.is_right(b.range(0, 1, 3)));
  CHECK(b.acquire(b.range(0)) == Error::none);  // only the first page is missing
  CHECK(b.counted("pin_cache.misses") == 3);
  CHECK(b.vm.pinned_bytes() == 5 * kPage);  // all are in use
}

TEST_CASE("an initiator gives back what has rested longest, and nothing that a transfer uses") {
  RemoteBuckets held(3);
  const Range a{0, kPage};
  const Range bc{kPage, 3 * kPage};
  const Range d{8 * kPage, 9 * kPage};
  CHECK(held.use(a)->taken.size() == 1);
  const auto two = held.use(bc);
  REQUIRE(two);
  CHECK((two->taken.size() == 1 && two->taken[0] == bc));
  CHECK_FALSE(held.use(d));
  CHECK(held.held() == 3);
  held.end_use(bc);
  CHECK(held.use(bc)->is_empty());  // held already
  held.end_use(bc);
  held.end_use(a);
  const auto moved = held.use(d);
  REQUIRE(moved);
  CHECK((moved->back.size() == 1 && moved->back[0] == Range{kPage, 2 * kPage}));
  CHECK((moved->taken.size() == 1 && moved->taken[0] == d));
}

TEST_CASE("buckets of a range are found by address, whether the range is longer than the table or not") {
  rdma::BucketTable<int> table;
  for (const VirtualAddress page : {9, 2, 5}) table.add(page * kPage, 0);
  using Pages = sim::Vector<VirtualAddress>;
  CHECK(table.in({0, UINT64_MAX}) == Pages{2 * kPage, 5 * kPage, 9 * kPage});
  CHECK(table.in({2 * kPage + 1, 9 * kPage}) == Pages{2 * kPage, 5 * kPage});
  CHECK(table.in({4 * kPage, 6 * kPage}) == Pages{5 * kPage});
  CHECK(table.in({3 * kPage, 3 * kPage}).empty());
}
