// SPDX-License-Identifier: Apache-2.0
// The caches of translations: micro-TLBs and macro TLB hold leaves, the walk caches hold pointers to
// tables. All replace the least recently used entry of a set.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "models/smmu/translation.hpp"

namespace faultline::smmu {

// What an entry translates: the addresses of a page of its level, for its owner.
struct TlbKey {
  std::uint64_t page = 0;  // number
  Tag tag;
  std::uint8_t level = 0;

  bool operator==(const TlbKey&) const = default;
  bool covers(const Tag& owner, std::uint64_t va) const { return page == va >> level_shift(level) && tag == owner; }
};

// Entries keyed by owner, level and the address bits that the level translates.
template <typename Value>
class SetAssociative {
 public:
  // entries = 0 is a cache that never hits. Entries that do not fill a set are left out.
  SetAssociative(unsigned entries, unsigned ways)
      : ways_(ways < entries ? ways : entries), sets_(ways_ == 0 ? 0 : entries / ways_) {}

  // nullptr: no entry. The pointer stays valid until the next insertion.
  const Value* find(const Tag& tag, std::uint64_t va, unsigned level) {
    if (entries_.empty()) return nullptr;
    const TlbKey key{va >> level_shift(level), tag, static_cast<std::uint8_t>(level)};
    // A stream of bursts to one page hits the entry that was hit last.
    if (entries_[last_].is(key)) return &touch(last_);
    const std::size_t first = set_of(key.page);
    for (std::size_t i = first; i < first + ways_; ++i) {
      if (entries_[i].is(key)) return &touch(i);
    }
    return nullptr;
  }

  // Returns what it replaced.
  std::optional<TlbKey> insert(const Tag& tag, std::uint64_t va, unsigned level, const Value& value) {
    if (sets_ == 0) return std::nullopt;
    if (entries_.empty()) entries_.resize(std::size_t{sets_} * ways_);
    const std::uint64_t page = va >> level_shift(level);
    const TlbKey key{page, tag, static_cast<std::uint8_t>(level)};
    const std::size_t first = set_of(page);
    std::size_t victim = first;
    for (std::size_t i = first; i < first + ways_; ++i) {
      if (entries_[i].is(key)) {
        victim = i;
        break;
      }
      if (entries_[i].last_use < entries_[victim].last_use) victim = i;
    }
    const Entry before = std::exchange(entries_[victim], {key, 0, true, value});
    touch(victim);
    return before.valid && before.key != key ? std::optional(before.key) : std::nullopt;
  }

  void invalidate(const Invalidation& what) {
    if (uses_ == 0) return;  // it never held anything
    if (!what.by_address() || sets_ == 1) {
      invalidate(what, 0, entries_.size());
      return;
    }
    // An entry that translates the address is, whatever its level, in the set of that level's page.
    for (unsigned level = 0; level <= 3; ++level) {
      const std::size_t first = set_of(what.va >> level_shift(level));
      invalidate(what, first, first + ways_);
    }
  }

 private:
  struct Entry {
    TlbKey key;
    std::uint64_t last_use = 0;  // 0: never, so that invalid entries are replaced first
    bool valid = false;
    Value value{};
    bool is(const TlbKey& wanted) const { return valid && key == wanted; }
  };

  std::size_t set_of(std::uint64_t page) const { return static_cast<std::size_t>(page % sets_) * ways_; }
  void invalidate(const Invalidation& what, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      Entry& e = entries_[i];
      if (e.valid && what.matches(e.key.tag, e.key.page << level_shift(e.key.level), e.key.level)) e = {};
    }
  }
  const Value& touch(std::size_t i) {
    last_ = i;
    entries_[i].last_use = ++uses_;
    return entries_[i].value;
  }

  unsigned ways_;
  unsigned sets_;
  std::vector<Entry> entries_;  // none before the first insertion: most TBUs of a large cluster never translate
  std::size_t last_ = 0;
  std::uint64_t uses_ = 0;
};

// Leaves of every size in one structure.
class Tlb {
 public:
  Tlb(unsigned entries, unsigned ways) : leaves_(entries, ways) {}

  const Leaf* find(const Tag& tag, std::uint64_t va) {
    for (unsigned level = 3; level >= 1; --level) {
      if (!seen_[level]) continue;
      if (const Leaf* leaf = leaves_.find(tag, va, level)) return leaf;
    }
    return nullptr;
  }
  // Returns what it replaced.
  std::optional<TlbKey> insert(const Tag& tag, std::uint64_t va, const Leaf& leaf) {
    seen_[leaf.level] = true;
    return leaves_.insert(tag, va, leaf.level, leaf);
  }
  void invalidate(const Invalidation& what) { leaves_.invalidate(what); }

 private:
  SetAssociative<Leaf> leaves_;
  std::array<bool, 4> seen_{};  // levels that were ever inserted: the others need no search
};

// Pointers to the tables that levels 0, 1 and 2 point to.
class WalkCache {
 public:
  WalkCache(const std::array<unsigned, 3>& entries, unsigned ways)
      : levels_{SetAssociative<std::uint64_t>(entries[0], ways), SetAssociative<std::uint64_t>(entries[1], ways),
                SetAssociative<std::uint64_t>(entries[2], ways)} {}

  struct Start {
    unsigned level;       // of the first descriptor to read
    std::uint64_t table;  // where it is
  };
  // The deepest known table for `va`, or `root`.
  Start find(const Tag& tag, std::uint64_t va, const Start& root) {
    for (unsigned level = 3; level > root.level; --level) {
      if (const std::uint64_t* table = levels_[level - 1].find(tag, va, level - 1)) return {level, *table};
    }
    return root;
  }
  // The descriptor of this level (0 to 2) points to `table`.
  void insert(const Tag& tag, std::uint64_t va, unsigned level, std::uint64_t table) {
    levels_[level].insert(tag, va, level, table);
  }
  void invalidate(const Invalidation& what) {
    if (what.last_level_only) return;
    for (auto& level : levels_) level.invalidate(what);
  }

 private:
  std::array<SetAssociative<std::uint64_t>, 3> levels_;
};

}  // namespace faultline::smmu
