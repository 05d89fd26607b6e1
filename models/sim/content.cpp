// SPDX-License-Identifier: Apache-2.0
#include "models/sim/content.hpp"

#include <algorithm>
#include <cassert>

namespace faultline::sim {
namespace {

// SplitMix64's finaliser: any fixed mixing of seed and position will do.
std::uint64_t mix(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

std::uint64_t literal_mask(std::uint32_t length) {
  return length >= 8 ? UINT64_MAX : (std::uint64_t{1} << (8 * length)) - 1;
}

std::uint8_t byte_of(const Content::Extent& e, std::uint32_t at) {
  if (e.seed == Content::kZeros) return 0;
  if (e.seed == Content::kLiteral) return static_cast<std::uint8_t>(e.start >> (8 * at));
  return static_cast<std::uint8_t>(mix(e.seed ^ mix(e.start + at)));
}

bool has_bytes(const Content::Extent& e) { return e.seed == Content::kLiteral || e.seed == Content::kZeros; }

Content::Extent cut(const Content::Extent& e, std::uint32_t begin, std::uint32_t length) {
  if (e.seed == Content::kZeros) return {e.seed, 0, length};
  if (e.seed == Content::kLiteral) return {e.seed, (e.start >> (8 * begin)) & literal_mask(length), length};
  return {e.seed, e.start + begin, length};
}

}  // namespace

Content Content::zeros(std::uint32_t length) { return pattern(kZeros, 0, length); }

Content Content::pattern(std::uint64_t seed, std::uint64_t start, std::uint32_t length) {
  Content content;
  if (length > 0) content.append(Extent{seed, start, length});
  return content;
}

Content Content::literal(std::uint64_t value, std::uint32_t length) {
  assert(length >= 1 && length <= 8);
  return pattern(kLiteral, value & literal_mask(length), length);
}

Content Content::spelt_out(const std::uint8_t* bytes, std::uint32_t length) {
  Content content;
  for (std::uint32_t at = 0; at < length; at += 8) {
    const std::uint32_t taken = std::min(length - at, 8U);
    std::uint64_t value = 0;
    for (std::uint32_t i = 0; i < taken; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
    content.append(Extent{value == 0 ? kZeros : kLiteral, value, taken});
  }
  return content;
}

void Content::append(Extent extent) {
  size_ += extent.length;
  if (!extents_.empty()) {
    Extent& last = extents_.back();
    const bool continues = last.seed == extent.seed && extent.seed != kLiteral &&
                           (extent.seed == kZeros || last.start + last.length == extent.start);
    if (continues) {
      last.length += extent.length;
      return;
    }
  }
  extents_.push_back(extent);
}

std::uint8_t Content::byte(std::uint32_t at) const {
  assert(at < size_);
  for (const Extent& e : extents_) {
    if (at < e.length) return byte_of(e, at);
    at -= e.length;
  }
  return 0;
}

std::uint64_t Content::word(std::uint32_t at, std::uint32_t length) const {
  std::uint64_t value = 0;
  for (std::uint32_t i = 0; i < length; ++i) value |= std::uint64_t{byte(at + i)} << (8 * i);
  return value;
}

void Content::copy_to(std::uint8_t* bytes) const {
  for (const Extent& e : extents_) {
    for (std::uint32_t i = 0; i < e.length; ++i) *bytes++ = byte_of(e, i);
  }
}

Content Content::slice(std::uint32_t begin, std::uint32_t length) const {
  assert(begin + length <= size_);
  Content part;
  for (const Extent& e : extents_) {
    if (length == 0) break;
    if (begin >= e.length) {
      begin -= e.length;
      continue;
    }
    const std::uint32_t taken = std::min(length, e.length - begin);
    part.append(cut(e, begin, taken));
    begin = 0;
    length -= taken;
  }
  return part;
}

void Content::append(const Content& other) {
  for (const Extent& e : other.extents_) append(e);
}

void Content::overwrite(std::uint32_t at, const Content& other) {
  assert(at + other.size_ <= size_);
  if (at == 0 && other.size_ == size_) {
    *this = other;
    return;
  }
  Content merged = slice(0, at);
  merged.append(other);
  merged.append(slice(at + other.size_, size_ - at - other.size_));
  *this = merged;
}

bool Content::operator==(const Content& other) const {
  if (size_ != other.size_) return false;
  auto a = extents_.begin();
  auto b = other.extents_.begin();
  std::uint32_t used_a = 0;
  std::uint32_t used_b = 0;
  while (a != extents_.end() && b != other.extents_.end()) {
    const std::uint32_t length = std::min(a->length - used_a, b->length - used_b);
    const Extent left = cut(*a, used_a, length);
    const Extent right = cut(*b, used_b, length);
    if (left != right) {
      // Literals and zeros spell their bytes out, and a pattern's may happen to be the same (one byte in 256 is zero):
      // only then are bytes compared.
      if (!has_bytes(left) && !has_bytes(right)) return false;
      for (std::uint32_t i = 0; i < length; ++i) {
        if (byte_of(left, i) != byte_of(right, i)) return false;
      }
    }
    used_a += length;
    used_b += length;
    if (used_a == a->length) ++a, used_a = 0;
    if (used_b == b->length) ++b, used_b = 0;
  }
  return true;
}

}  // namespace faultline::sim
