// SPDX-License-Identifier: Apache-2.0
#include "models/memory/frame_store.hpp"

#include <rapidcheck.h>
#include <catch2/catch.hpp>

#include <vector>

using namespace faultline;
using memory::FrameStore;
using sim::Content;

namespace {

constexpr std::uint64_t kFrames = 3;
constexpr std::uint64_t kBytes = kFrames * sim::kPageBytes;

// What the store must behave as.
struct PlainBytes {
  std::vector<std::uint8_t> bytes = std::vector<std::uint8_t>(kBytes);

  void write(std::uint64_t at, const Content& content) {
    for (std::uint32_t i = 0; i < content.size(); ++i) bytes[at + i] = content.byte(i);
  }
  void write_word(std::uint64_t at, std::uint64_t value) {
    for (unsigned i = 0; i < 8; ++i) bytes[at + i] = static_cast<std::uint8_t>(value >> (8 * i));
  }
  std::uint64_t word(std::uint64_t at) const {
    std::uint64_t value = 0;
    for (unsigned i = 0; i < 8; ++i) value |= std::uint64_t{bytes[at + i]} << (8 * i);
    return value;
  }
  bool holds(std::uint64_t at, const Content& content) const {
    for (std::uint32_t i = 0; i < content.size(); ++i) {
      if (bytes[at + i] != content.byte(i)) return false;
    }
    return true;
  }
};

Content arbitrary_content(std::uint32_t length) {
  switch (*rc::gen::inRange(0, 3)) {
    case 0: return Content::zeros(length);
    case 1:
      return Content::pattern(*rc::gen::inRange<std::uint64_t>(1, 5), *rc::gen::inRange<std::uint64_t>(0, 99), length);
    default: {
      Content content = Content::literal(*rc::gen::arbitrary<std::uint64_t>(), std::min(length, 8U));
      if (length > content.size()) content.append(Content::pattern(7, 0, length - content.size()));
      return content;
    }
  }
}

// Several pages, cells and a few bytes are all likely.
std::uint32_t arbitrary_length(std::uint32_t most) {
  const std::uint32_t bound = *rc::gen::element(8U, 64U, 256U, sim::kPageBytes, 3 * sim::kPageBytes);
  return *rc::gen::inRange(1U, std::min(bound, most) + 1);
}

void random_step(FrameStore& store, PlainBytes& plain) {
  const std::uint64_t at = *rc::gen::inRange<std::uint64_t>(0, kBytes);
  const auto most = static_cast<std::uint32_t>(kBytes - at);
  const std::uint64_t aligned = at & ~std::uint64_t{7};
  switch (*rc::gen::inRange(0, 5)) {
    case 0: {
      const Content content = arbitrary_content(arbitrary_length(most));
      store.write(at, content);
      plain.write(at, content);
      break;
    }
    case 1: {
      const Content page = arbitrary_content(sim::kPageBytes);
      store.write(at - at % sim::kPageBytes, page);
      plain.write(at - at % sim::kPageBytes, page);
      break;
    }
    case 2: {
      const std::uint64_t value = *rc::gen::arbitrary<std::uint64_t>();
      store.write_word(aligned, value);
      plain.write_word(aligned, value);
      break;
    }
    case 3: RC_ASSERT(store.read_word(aligned) == plain.word(aligned)); break;
    default: {
      const std::uint32_t length = arbitrary_length(most);
      const Content read = store.read(at, length);
      RC_ASSERT(read.size() == length);
      RC_ASSERT(plain.holds(at, read));
    }
  }
}

}  // namespace

TEST_CASE("frames behave as plain bytes under any mix of data and words") {
  CHECK(rc::check([] {
    FrameStore store(kBytes);
    PlainBytes plain;
    const int steps = *rc::gen::inRange(0, 60);
    for (int i = 0; i < steps; ++i) random_step(store, plain);
    for (std::uint64_t frame = 0; frame < kFrames; ++frame) {
      RC_ASSERT(plain.holds(frame * sim::kPageBytes, store.read(frame * sim::kPageBytes, sim::kPageBytes)));
    }
  }));
}

TEST_CASE("frames: memory never written holds zeros") {
  const FrameStore store(std::uint64_t{16} << 30);
  const std::uint64_t last_page = store.bytes() - sim::kPageBytes;
  CHECK(store.read(last_page, sim::kPageBytes) == Content::zeros(sim::kPageBytes));
  CHECK(store.read_word(last_page + 8) == 0);
}

TEST_CASE("frames: memory may end with any frame") {
  // 4097 frames: the last one is alone in what the store makes at once.
  FrameStore store((std::uint64_t{16} << 20) + sim::kPageBytes);
  const std::uint64_t last_page = store.bytes() - sim::kPageBytes;
  store.write_word(last_page + sim::kPageBytes - 8, 3);
  CHECK(store.read(last_page, sim::kPageBytes).word(sim::kPageBytes - 8) == 3);
  CHECK(store.contains(last_page, sim::kPageBytes));
  CHECK_FALSE(store.contains(store.bytes()));
  CHECK_THROWS_AS(FrameStore((std::uint64_t{16} << 20) + 2048), std::logic_error);
}

TEST_CASE("frames: a page's content comes back as one piece") {
  FrameStore store(kBytes);
  const Content page = Content::pattern(3, 0, sim::kPageBytes);
  for (std::uint32_t cell = 0; cell < 16; ++cell) store.write(256 * cell, page.slice(256 * cell, 256));
  CHECK(store.read(0, sim::kPageBytes) == page);
  CHECK_FALSE(store.read(1, 256) == page.slice(0, 256));
}

TEST_CASE("frames: the range is checked without overflow") {
  const FrameStore store(kBytes);
  CHECK(store.contains(kBytes - 1));
  CHECK_FALSE(store.contains(kBytes));
  CHECK(store.contains(0, kBytes));
  CHECK_FALSE(store.contains(1, kBytes));
  CHECK_FALSE(store.contains(UINT64_MAX, 2));
}

TEST_CASE("frames: a translation is stale once its frame's mapping has changed") {
  FrameStore store(kBytes);
  store.mapping_changed(0);
  const std::uint64_t walked = store.epoch();
  CHECK_FALSE(store.is_stale(0, walked));
  store.mapping_changed(sim::kPageBytes);
  CHECK_FALSE(store.is_stale(0, walked));
  CHECK(store.is_stale(sim::kPageBytes, walked));
  store.mapping_changed(17);  // any address of the frame
  CHECK(store.is_stale(4095, walked));
  CHECK_FALSE(store.is_stale(0, store.epoch()));
}

TEST_CASE("frames far apart do not share what they hold") {
  const std::uint64_t bytes = std::uint64_t{16} << 30;
  FrameStore store(bytes);
  for (std::uint64_t at = sim::kPageBytes; at < bytes; at *= 2) store.write_word(at, at);
  store.write_word(bytes - 8, 1);
  for (std::uint64_t at = sim::kPageBytes; at < bytes; at *= 2) {
    CHECK(store.read_word(at) == at);
    CHECK(store.read_word(at + sim::kPageBytes / 2) == 0);
    CHECK(store.read_word(at - sim::kPageBytes) == (at == 2 * sim::kPageBytes ? sim::kPageBytes : 0));
  }
  CHECK(store.read_word(bytes - 8) == 1);
}
