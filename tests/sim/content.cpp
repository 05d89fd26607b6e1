// SPDX-License-Identifier: Apache-2.0
// Symbolic content against plain bytes.
#include "models/sim/content.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <vector>

using faultline::sim::Content;

namespace {

std::vector<std::uint8_t> bytes(const Content& c) {
  std::vector<std::uint8_t> all;
  for (std::uint32_t i = 0; i < c.size(); ++i) all.push_back(c.byte(i));
  return all;
}

Content any_content(std::uint32_t length) {
  switch (*rc::gen::inRange(0, length <= 8 ? 3 : 2)) {
    case 0: return Content::zeros(length);
    case 1:
      return Content::pattern(*rc::gen::inRange<std::uint64_t>(1, 4), *rc::gen::inRange<std::uint64_t>(0, 100), length);
    default: return Content::literal(*rc::gen::arbitrary<std::uint64_t>(), length);
  }
}

}  // namespace

TEST_CASE("overwriting a symbolic page equals overwriting its bytes") {
  REQUIRE(rc::check([] {
    Content page = Content::zeros(128);
    std::vector<std::uint8_t> plain(128, 0);
    const int writes = *rc::gen::inRange(1, 10);
    for (int i = 0; i < writes; ++i) {
      const auto at = *rc::gen::inRange<std::uint32_t>(0, 127);
      const Content piece = any_content(*rc::gen::inRange<std::uint32_t>(1, 128 - at + 1));
      page.overwrite(at, piece);
      const auto raw = bytes(piece);
      std::copy(raw.begin(), raw.end(), plain.begin() + at);
    }
    RC_ASSERT(bytes(page) == plain);
    const auto begin = *rc::gen::inRange<std::uint32_t>(0, 128);
    const auto length = *rc::gen::inRange<std::uint32_t>(0, 128 - begin + 1);
    const Content part = page.slice(begin, length);
    RC_ASSERT(bytes(part) == std::vector<std::uint8_t>(plain.begin() + begin, plain.begin() + begin + length));
    Content rebuilt = page.slice(0, begin);
    rebuilt.append(page.slice(begin, 128 - begin));
    RC_ASSERT(rebuilt == page);
  }));
}

TEST_CASE("content of another origin, or shifted by one byte, is not equal") {
  CHECK(Content::pattern(1, 0, 64) == Content::pattern(1, 0, 64));
  CHECK_FALSE(Content::pattern(1, 0, 64) == Content::pattern(2, 0, 64));
  CHECK_FALSE(Content::pattern(1, 0, 64) == Content::pattern(1, 1, 64));
  CHECK_FALSE(Content::pattern(1, 0, 64) == Content::zeros(64));
}

TEST_CASE("content equals what spells out the same bytes, zeros included") {
  std::uint32_t zero = 0;  // a position at which the pattern's byte is zero
  while (Content::pattern(7, zero, 1).byte(0) != 0) ++zero;
  CHECK(Content::pattern(7, zero, 1) == Content::zeros(1));
  CHECK(Content::pattern(7, zero, 1) == Content::literal(0, 1));
  CHECK_FALSE(Content::pattern(7, zero, 2) == Content::zeros(2));
}

TEST_CASE("a literal holds its value at any alignment") {
  Content page = Content::zeros(64);
  page.overwrite(13, Content::literal(0x1122334455667788, 8));
  CHECK(page.word(13) == 0x1122334455667788);
  CHECK(page.slice(15, 8).word(0, 4) == 0x33445566);
  page.overwrite(13, Content::literal(0, 8));
  CHECK(page == Content::zeros(64));
}

TEST_CASE("content that is spelt out has the bytes that it was made of") {
  REQUIRE(rc::check([](const std::vector<std::uint8_t>& plain) {
    const Content content = Content::spelt_out(plain.data(), static_cast<std::uint32_t>(plain.size()));
    RC_ASSERT(bytes(content) == plain);
    std::vector<std::uint8_t> copy(plain.size());
    content.copy_to(copy.data());
    RC_ASSERT(copy == plain);
  }));
  const Content pattern = Content::pattern(3, 17, 100);
  std::vector<std::uint8_t> copy(100);
  pattern.copy_to(copy.data());
  CHECK(copy == bytes(pattern));
  CHECK(Content::spelt_out(copy.data(), 100) == pattern);
  const std::vector<std::uint8_t> nothing(64);
  CHECK(Content::spelt_out(nothing.data(), 64) == Content::zeros(64));
}
