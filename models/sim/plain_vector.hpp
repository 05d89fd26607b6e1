// SPDX-License-Identifier: Apache-2.0
// A list of plain values that has room for a few of them itself. Time sequences and contents are copied and moved more
// than a hundred times for each page: as long as a list is short that is a copy of a few words, without loop or call.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "models/sim/recycling.hpp"

namespace faultline::sim {

template <typename T, std::uint32_t places>
class PlainVector {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Not defaulted, here and in classes that contain one: {} would write zeros to the room for values.
  PlainVector() noexcept {}  // NOLINT(modernize-use-equals-default)
  PlainVector(const PlainVector& other) : size_(other.size_), own_(other.own_) {
    if (other.block_ != nullptr) [[unlikely]]
      move_to_block(other.block_, other.capacity_);
  }
  PlainVector(PlainVector&& other) noexcept
      : block_(std::exchange(other.block_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        capacity_(std::exchange(other.capacity_, places)),
        own_(other.own_) {}
  PlainVector& operator=(const PlainVector& other) {
    if (block_ != nullptr || other.block_ != nullptr) [[unlikely]]
      return *this = PlainVector(other);
    size_ = other.size_;
    own_ = other.own_;
    return *this;
  }
  // The other one gives back the block that this one had.
  PlainVector& operator=(PlainVector&& other) noexcept {
    std::swap(block_, other.block_);
    std::swap(capacity_, other.capacity_);
    size_ = std::exchange(other.size_, 0);
    own_ = other.own_;
    return *this;
  }
  // Called several hundred times for each page, and nearly always without a block.
  [[gnu::always_inline]] ~PlainVector() {
    if (block_ != nullptr) [[unlikely]]
      give_block(block_, capacity_ * sizeof(T));
  }

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* begin() { return block_ != nullptr ? block_ : reinterpret_cast<T*>(own_.bytes.data()); }
  const T* begin() const { return block_ != nullptr ? block_ : reinterpret_cast<const T*>(own_.bytes.data()); }
  T* end() { return begin() + size_; }
  const T* end() const { return begin() + size_; }
  const T& front() const { return *begin(); }
  T& back() { return end()[-1]; }
  const T& back() const { return end()[-1]; }

  void push_back(const T value) {
    if (size_ == capacity_) [[unlikely]]
      move_to_block(begin(), 2 * capacity_);
    begin()[size_++] = value;
  }
  void pop_back() { --size_; }
  void clear() { size_ = 0; }
  void drop_front(std::uint32_t count) {
    std::copy(begin() + count, end(), begin());
    size_ -= count;
  }

 private:
  // All values are those at `from` now, in a block of their own.
  void move_to_block(const T* from, std::uint32_t capacity) {
    T* block = static_cast<T*>(take_block(capacity * sizeof(T)));
    std::copy_n(from, size_, block);
    if (block_ != nullptr) give_block(block_, capacity_ * sizeof(T));
    block_ = block;
    capacity_ = capacity;
  }

  // Bytes may be copied before anybody has written them.
  struct Room {
    alignas(T) std::array<std::byte, places * sizeof(T)> bytes;
  };

  T* block_ = nullptr;  // where all of them are, when there is no room for them here
  std::uint32_t size_ = 0;
  std::uint32_t capacity_ = places;
  Room own_;
};

}  // namespace faultline::sim
