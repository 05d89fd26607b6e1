// SPDX-License-Identifier: Apache-2.0
// A queue in one block of memory, of three words in its owner: for queues of which there are many, and that are short.
// It grows, and does not shrink.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>

namespace faultline::sim {

template <typename T>
class Ring {
 public:
  Ring() = default;
  Ring(Ring&&) = default;
  Ring& operator=(Ring&&) = default;

  bool empty() const { return size_ == 0; }
  std::uint32_t size() const { return size_; }
  T& operator[](std::uint32_t i) { return places_[(first_ + i) & last_place_]; }
  const T& operator[](std::uint32_t i) const { return places_[(first_ + i) & last_place_]; }
  const T& front() const { return places_[first_]; }
  void push(const T& item) {
    if (!places_ || size_ > last_place_) grow();
    (*this)[size_++] = item;
  }
  void pop() {
    first_ = (first_ + 1) & last_place_;
    --size_;
  }

 private:
  void grow() {
    const std::uint32_t places = std::max(4U, 2 * size_);  // a power of two
    auto bigger = std::make_unique<T[]>(places);
    for (std::uint32_t i = 0; i < size_; ++i) bigger[i] = (*this)[i];
    places_ = std::move(bigger);
    last_place_ = places - 1;
    first_ = 0;
  }

  std::unique_ptr<T[]> places_;
  std::uint32_t last_place_ = 0;
  std::uint32_t first_ = 0;
  std::uint32_t size_ = 0;
};

}  // namespace faultline::sim
