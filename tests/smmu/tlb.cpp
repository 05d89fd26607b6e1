// SPDX-License-Identifier: Apache-2.0
#include "models/smmu/tlb.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>
#include <list>

using namespace faultline;
using namespace faultline::smmu;

namespace {

// What a set-associative cache is, without places: of each set the entries, the least recently used one first.
struct Reference {
  struct Entry {
    TlbKey key;
    int value;
  };
  unsigned ways;
  std::vector<std::list<Entry>> sets;

  std::list<Entry>& set_of(const TlbKey& key) { return sets[key.page % sets.size()]; }
  const Entry* find(const TlbKey& key) {
    std::list<Entry>& set = set_of(key);
    for (auto e = set.begin(); e != set.end(); ++e) {
      if (e->key != key) continue;
      set.splice(set.end(), set, e);
      return &set.back();
    }
    return nullptr;
  }
  std::optional<TlbKey> insert(const TlbKey& key, int value) {
    std::list<Entry>& set = set_of(key);
    if (find(key) != nullptr) {
      set.back().value = value;
      return std::nullopt;
    }
    std::optional<TlbKey> replaced;
    if (set.size() == ways) {
      replaced = set.front().key;
      set.pop_front();
    }
    set.push_back({key, value});
    return replaced;
  }
  void invalidate(const Invalidation& what) {
    for (auto& set : sets) {
      std::erase_if(set, [&](const Entry& e) {
        return what.matches(e.key.tag, e.key.page << level_shift(e.key.level), e.key.level);
      });
    }
  }
};

}  // namespace

TEST_CASE("a cache of translations holds what a list by age holds, and says what it replaces") {
  CHECK(rc::check([] {
    const auto ways = *rc::gen::inRange(1U, 5U);
    const auto sets = *rc::gen::inRange(1U, 4U);
    SetAssociative<int> cache(ways * sets, ways);
    Reference reference{ways, std::vector<std::list<Reference::Entry>>(sets)};
    const auto steps = *rc::gen::inRange(1, 200);
    for (int step = 0; step < steps; ++step) {
      const Tag tag{*rc::gen::element<std::uint16_t>(1, 2), 0};
      const auto level = *rc::gen::inRange(1U, 4U);
      const std::uint64_t va = *rc::gen::inRange<std::uint64_t>(0, 6) << level_shift(level);
      const TlbKey key = TlbKey::of(tag, va, level);
      switch (*rc::gen::inRange(0, 5)) {
        case 0:
        case 1: RC_ASSERT(cache.insert(tag, va, level, step) == reference.insert(key, step)); break;
        case 2: {
          Invalidation what;
          using Scope = Invalidation::Scope;
          what.scope = *rc::gen::element(Scope::everything, Scope::asid, Scope::address, Scope::address);
          what.tag = tag;
          what.va = va;
          cache.invalidate(what);
          reference.invalidate(what);
          break;
        }
        default: {
          const int* found = cache.find(tag, va, level);
          const Reference::Entry* expected = reference.find(key);
          RC_ASSERT((found == nullptr) == (expected == nullptr));
          if (found != nullptr) RC_ASSERT(*found == expected->value);
        }
      }
    }
  }));
}

TEST_CASE("a translation by a block goes to the block's end, but while an entry is for a part of it to the page's") {
  Tlb tlb(8, 8);
  const Tag tag{1, 0};
  const Leaf block{.level = 2};
  const std::uint64_t other = 3 * level_bytes(2);
  tlb.insert(tag, 0, block);
  tlb.insert(tag, other, block);
  const auto check = [&](std::uint64_t span) {
    for (int time = 0; time < 2; ++time) {
      CHECK(tlb.span(tag, 0x4000, block) == span);
      CHECK(tlb.span(tag, other, block) == level_bytes(2));
    }
  };
  check(level_bytes(2));
  tlb.insert(tag, 0x5000, {.level = 3});
  check(level_bytes(3));
  CHECK(tlb.span(tag, 0x5000, {.level = 3}) == level_bytes(3));
  Invalidation page;
  page.scope = Invalidation::Scope::address;
  page.tag = tag;
  page.va = 0x5000;
  page.last_level_only = true;
  tlb.invalidate(page);
  check(level_bytes(2));
}
