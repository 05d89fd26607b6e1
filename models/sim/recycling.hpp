// SPDX-License-Identifier: Apache-2.0
// Memory for what comes and goes all the time: coroutine frames, nodes and chunks of containers, lists that outgrow
// the place that they have in their owner. A block that is given back is kept and handed out again to whoever wants one
// of its size, so that a steady state takes nothing from the host's allocator, whatever it does.
//
// Idle blocks are the thread's, whichever node they served: they have no state, and results do not depend on them. They
// are kept to the end of the program. With the address sanitizer nothing is kept, so that it sees each use of what is
// gone.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <boost/container/deque.hpp>
#include <boost/container/small_vector.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <new>
#include <set>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace faultline::sim {

#ifdef __SANITIZE_ADDRESS__
inline constexpr bool kRecycles = false;
#else
inline constexpr bool kRecycles = true;
#endif

namespace detail {

struct IdleBlock {
  IdleBlock* next;
};

// Blocks come in four sizes for each power of two, the smallest of 64 bytes: 64, 80, 96, 112, 128, 160, ...
struct SizeClass {
  unsigned index;
  std::size_t bytes;
  static constexpr SizeClass of(std::size_t bytes) {
    const std::size_t last = std::max<std::size_t>(bytes, 64) - 1;
    const auto width = static_cast<unsigned>(std::bit_width(last));
    const std::size_t leading = last >> (width - 3);  // 4 to 7
    return {4 * width + static_cast<unsigned>(leading - 4), (leading + 1) << (width - 3)};
  }
};
inline constinit thread_local std::array<IdleBlock*, 4 * 65> idle_blocks{};  // by their size's index

}  // namespace detail

// As operator new and sized operator delete: any size, the alignment of the fundamental types.
inline void* take_block(std::size_t bytes) {
  if constexpr (!kRecycles) return ::operator new(bytes);
  const auto size = detail::SizeClass::of(bytes);
  detail::IdleBlock*& idle = detail::idle_blocks[size.index];
  if (idle == nullptr) return ::operator new(size.bytes);
  return std::exchange(idle, idle->next);
}
inline void give_block(void* block, std::size_t bytes) noexcept {
  if constexpr (!kRecycles) return ::operator delete(block);
  detail::IdleBlock*& idle = detail::idle_blocks[detail::SizeClass::of(bytes).index];
  idle = ::new (block) detail::IdleBlock{idle};
}

// Base of what is allocated one at a time.
struct Recycled {
  static void* operator new(std::size_t bytes) { return take_block(bytes); }
  static void* operator new(std::size_t, std::align_val_t) = delete;
  static void operator delete(void* block, std::size_t bytes) noexcept { give_block(block, bytes); }
};

// Allocator of containers.
template <typename T>
struct Recycling {
  using value_type = T;
  Recycling() = default;
  template <typename U>
  Recycling(const Recycling<U>&) noexcept {}

  T* allocate(std::size_t count) {
    static_assert(alignof(T) <= __STDCPP_DEFAULT_NEW_ALIGNMENT__);
    if (count > SIZE_MAX / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(take_block(count * sizeof(T)));
  }
  void deallocate(T* block, std::size_t count) noexcept { give_block(block, count * sizeof(T)); }
  template <typename U>
  bool operator==(const Recycling<U>&) const {
    return true;
  }
};

template <typename T>
using Vector = std::vector<T, Recycling<T>>;
template <typename T, std::size_t places>  // that the list has in its owner
using SmallVector = boost::container::small_vector<T, places, Recycling<T>>;
template <typename T>  // has no memory while it is empty, unlike std::deque
using Deque = boost::container::deque<T, Recycling<T>>;
template <typename T>
using List = std::list<T, Recycling<T>>;
template <typename Key>
using Set = std::set<Key, std::less<Key>, Recycling<Key>>;
template <typename Key, typename T>
using Map = std::map<Key, T, std::less<Key>, Recycling<std::pair<const Key, T>>>;
template <typename Key>
using HashSet = std::unordered_set<Key, std::hash<Key>, std::equal_to<Key>, Recycling<Key>>;
template <typename Key, typename T>
using HashMap = std::unordered_map<Key, T, std::hash<Key>, std::equal_to<Key>, Recycling<std::pair<const Key, T>>>;

// As std::erase_if.
template <typename T>
void erase_if(Deque<T>& list, auto predicate) {
  list.erase(std::remove_if(list.begin(), list.end(), predicate), list.end());
}

}  // namespace faultline::sim
