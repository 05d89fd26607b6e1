// SPDX-License-Identifier: Apache-2.0
// What bytes are, without the bytes. A run of data is described by where it came from: byte k of an
// extent is a fixed function of (seed, start + k). Copying a page copies one extent, any alignment is
// exact, and comparing two descriptions finds wrong data as surely as comparing bytes would.
#pragma once

#include <cstdint>

#include "models/sim/plain_vector.hpp"

namespace faultline::sim {

class Content {
 public:
  // seed 0: zeros. seed kLiteral: `start` holds up to 8 bytes, lowest address in the lowest byte.
  // Any other seed: the pattern that a program wrote in one go.
  struct Extent {
    std::uint64_t seed;
    std::uint64_t start;
    std::uint32_t length;
    bool operator==(const Extent&) const = default;
  };
  static constexpr std::uint64_t kZeros = 0;
  static constexpr std::uint64_t kLiteral = UINT64_MAX;

  Content() noexcept {}  // NOLINT(modernize-use-equals-default): see PlainVector
  static Content zeros(std::uint32_t length);
  static Content pattern(std::uint64_t seed, std::uint64_t start, std::uint32_t length);
  // The lowest `length` (1 to 8) bytes of value, little-endian.
  static Content literal(std::uint64_t value, std::uint32_t length);
  // Of bytes that a model of somebody else's has: literals, and zeros where all of eight bytes are.
  static Content spelt_out(const std::uint8_t* bytes, std::uint32_t length);

  std::uint32_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  void clear() {
    extents_.clear();
    size_ = 0;
  }
  std::uint8_t byte(std::uint32_t at) const;
  // Up to 8 bytes from `at` on, little-endian. Requires at + length <= size().
  std::uint64_t word(std::uint32_t at, std::uint32_t length = 8) const;
  // Writes all size() bytes.
  void copy_to(std::uint8_t* bytes) const;

  Content slice(std::uint32_t begin, std::uint32_t length) const;
  void append(const Content& other);
  // Replaces the bytes from `at` on. Requires at + other.size() <= size().
  void overwrite(std::uint32_t at, const Content& other);

  // True when every byte is the same (two patterns of different origin are taken to differ).
  bool operator==(const Content& other) const;

 private:
  void append(Extent extent);

  PlainVector<Extent, 2> extents_;
  std::uint32_t size_ = 0;
};

}  // namespace faultline::sim
