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

#include "models/sim/time.hpp"
#include "models/smmu/translation.hpp"

namespace faultline::smmu {

// What an entry translates: the addresses of a page of its level, for its owner.
struct TlbKey {
  static constexpr std::uint8_t kNoLevel = UINT8_MAX;
  std::uint64_t page = 0;  // number
  Tag tag;
  std::uint8_t level = kNoLevel;

  static TlbKey of(const Tag& tag, std::uint64_t va, unsigned level) {
    return {va >> level_shift(level), tag, static_cast<std::uint8_t>(level)};
  }
  bool valid() const { return level != kNoLevel; }
  bool covers(const Tag& owner, std::uint64_t va) const { return valid() && *this == of(owner, va, level); }
  // Whether one of these bytes lies in the page, or the page among them.
  bool meets(const Tag& owner, std::uint64_t va, std::uint64_t bytes) const {
    if (!valid() || tag != owner) return false;
    const std::uint64_t begin = page << level_shift(level);
    return begin < va + bytes && va < begin + level_bytes(level);
  }
  bool operator==(const TlbKey&) const = default;
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
    if (keys_.empty()) return nullptr;
    const TlbKey key = TlbKey::of(tag, va, level);
    // A stream of bursts to one page hits the entry that was hit last.
    const std::size_t at = keys_[last_] == key ? last_ : place_of(key);
    return at == keys_.size() ? nullptr : &touch(at);
  }

  // The same for who only looks: it is no use of the entry.
  std::optional<Value> peek(const Tag& tag, std::uint64_t va, unsigned level) const {
    if (keys_.empty()) return std::nullopt;
    const std::size_t at = place_of(TlbKey::of(tag, va, level));
    return at == keys_.size() ? std::nullopt : std::optional(values_[at]);
  }

  // Returns what it replaced.
  std::optional<TlbKey> insert(const Tag& tag, std::uint64_t va, unsigned level, const Value& value) {
    if (sets_ == 0) return std::nullopt;
    if (keys_.empty()) {
      keys_.resize(std::size_t{sets_} * ways_);
      last_uses_.resize(keys_.size());
      values_.resize(keys_.size());
    }
    const TlbKey key = TlbKey::of(tag, va, level);
    std::size_t at = place_of(key);
    const bool is_new = at == keys_.size();
    if (is_new) {
      const auto first = last_uses_.begin() + static_cast<std::ptrdiff_t>(set_of(key.page));
      at = static_cast<std::size_t>(std::min_element(first, first + ways_) - last_uses_.begin());
    }
    const TlbKey before = std::exchange(keys_[at], key);
    values_[at] = value;
    touch(at);
    return is_new && before.valid() ? std::optional(before) : std::nullopt;
  }

  // Whether there are entries for smaller pages within this one.
  bool is_split(const TlbKey& block) const {
    return std::any_of(keys_.begin(), keys_.end(), [&block](const TlbKey& key) {
      return key.level > block.level && key.valid() && block.covers(key.tag, key.page << level_shift(key.level));
    });
  }

  void invalidate(const Invalidation& what) {
    if (uses_ == 0) return;  // it never held anything
    if (!what.by_address() || sets_ == 1) {
      invalidate(what, 0, keys_.size());
      return;
    }
    // An entry that translates the address is, whatever its level, in the set of that level's page.
    for (unsigned level = 0; level <= 3; ++level) {
      const std::size_t first = set_of(what.va >> level_shift(level));
      invalidate(what, first, first + ways_);
    }
  }

 private:
  std::size_t set_of(std::uint64_t page) const {
    const auto number = static_cast<std::int64_t>(page);  // a short one mostly, whose remainder costs less this way
    return static_cast<std::size_t>(number - sim::divide(number, sets_) * sets_) * ways_;
  }
  // keys_.size(): nowhere.
  std::size_t place_of(const TlbKey& key) const {
    const auto first = keys_.begin() + static_cast<std::ptrdiff_t>(set_of(key.page));
    const auto found = std::find(first, first + ways_, key);
    return found == first + ways_ ? keys_.size() : static_cast<std::size_t>(found - keys_.begin());
  }
  void invalidate(const Invalidation& what, std::size_t first, std::size_t end) {
    for (std::size_t i = first; i < end; ++i) {
      const TlbKey& key = keys_[i];
      if (!key.valid() || !what.matches(key.tag, key.page << level_shift(key.level), key.level)) continue;
      keys_[i] = {};
      last_uses_[i] = 0;
    }
  }
  const Value& touch(std::size_t i) {
    last_ = i;
    last_uses_[i] = ++uses_;
    return values_[i];
  }

  unsigned ways_;
  unsigned sets_;
  // By entry; none before the first insertion: most TBUs of a large cluster never translate.
  std::vector<TlbKey> keys_;
  std::vector<std::uint64_t> last_uses_;  // 0: never, so that invalid entries are replaced first
  std::vector<Value> values_;
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
  std::optional<Leaf> peek(const Tag& tag, std::uint64_t va) const {
    for (unsigned level = 3; level >= 1; --level) {
      if (!seen_[level]) continue;
      if (const auto leaf = leaves_.peek(tag, va, level)) return leaf;
    }
    return std::nullopt;
  }
  // Returns what it replaced.
  std::optional<TlbKey> insert(const Tag& tag, std::uint64_t va, const Leaf& leaf) {
    seen_[leaf.level] = true;
    changed();
    return leaves_.insert(tag, va, leaf.level, leaf);
  }
  // How far the translation of this address by its entry goes: to the end of its page or block, if no entry is for a
  // part of that.
  std::uint64_t span(const Tag& tag, std::uint64_t va, const Leaf& leaf) {
    return level_bytes(leaf.level == 3 || is_whole(TlbKey::of(tag, va, leaf.level)) ? leaf.level : 3);
  }
  bool has_blocks() const { return seen_[1] || seen_[2]; }
  void invalidate(const Invalidation& what) {
    changed();
    leaves_.invalidate(what);
  }
  // Grows whenever what peek() says may have changed.
  std::uint64_t changes() const { return changes_; }

 private:
  void changed() {
    ++changes_;
    whole_.clear();
  }
  bool is_whole(const TlbKey& block) {
    if (std::find(whole_.begin(), whole_.end(), block) != whole_.end()) return true;
    const bool whole = !leaves_.is_split(block);
    if (whole) whole_.push_back(block);
    return whole;
  }

  SetAssociative<Leaf> leaves_;
  std::uint64_t changes_ = 0;
  std::vector<TlbKey> whole_;   // blocks with an entry and none for a part of them, of those asked for since a change
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
