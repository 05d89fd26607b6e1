// SPDX-License-Identifier: Apache-2.0
#include "models/memory/frame_store.hpp"

#include <algorithm>
#include <cassert>
#include <stdexcept>

#include "models/sim/recycling.hpp"

namespace faultline::memory {
namespace {

constexpr std::uint64_t kFrameBytes = sim::kPageBytes;
constexpr std::size_t kWords = kFrameBytes / 8;
// Host memory is taken a chunk at a time, where the node's programs and kernel have been.
constexpr std::uint64_t kFramesPerChunk = 64;
constexpr std::uint64_t kChunksPerRegion = 256;
constexpr std::uint64_t kFramesPerRegion = kFramesPerChunk * kChunksPerRegion;

// Writes of this size or less into a frame of words, or into an empty one, are kept as words: rings
// and counters are written a few bytes at a time and would break a description into splinters.
constexpr std::uint32_t kSmall = 64;

struct Words : std::array<std::uint64_t, kWords>, sim::Recycled {};

std::uint32_t offset_of(Address at) { return static_cast<std::uint32_t>(at % kFrameBytes); }
std::uint32_t left_in_frame(Address at) { return static_cast<std::uint32_t>(kFrameBytes) - offset_of(at); }

sim::Content content_of(const Words& words, std::uint32_t at, std::uint32_t length) {
  sim::Content content;
  while (length > 0) {
    const std::uint32_t skip = at % 8;
    const std::uint32_t part = std::min(8 - skip, length);
    const std::uint64_t value = words[at / 8] >> (8 * skip);
    // Zeros merge into one extent, literals do not.
    content.append(value == 0 ? sim::Content::zeros(part) : sim::Content::literal(value, part));
    at += part;
    length -= part;
  }
  return content;
}

void poke(Words& words, std::uint32_t at, const sim::Content& content) {
  for (std::uint32_t i = 0; i < content.size(); ++i, ++at) {
    const std::uint32_t shift = 8 * (at % 8);
    words[at / 8] &= ~(std::uint64_t{0xff} << shift);
    words[at / 8] |= std::uint64_t{content.byte(i)} << shift;
  }
}

}  // namespace

// Holds words, or content of 4096 bytes, or (never written, or cleared) neither.
struct FrameStore::Frame {
  sim::Content content;
  std::unique_ptr<Words> words;
  std::uint64_t changed_at = 0;

  bool empty() const { return !words && content.empty(); }
};

struct FrameStore::Chunk {
  std::array<Frame, kFramesPerChunk> frames;
};

struct FrameStore::Region {
  std::array<std::unique_ptr<Chunk>, kChunksPerRegion> chunks;
};

FrameStore::FrameStore(std::uint64_t bytes) : bytes_(bytes) {
  if (bytes % kFrameBytes != 0) throw std::logic_error("memory is a whole number of frames");
  const std::uint64_t frames = bytes / kFrameBytes;
  regions_.resize((frames + kFramesPerRegion - 1) / kFramesPerRegion);
}

FrameStore::~FrameStore() = default;

FrameStore::Frame& FrameStore::frame(Address at) {
  assert(contains(at));
  const std::uint64_t number = at / kFrameBytes;
  std::unique_ptr<Region>& region = regions_[number / kFramesPerRegion];
  if (!region) region = std::make_unique<Region>();
  std::unique_ptr<Chunk>& chunk = region->chunks[number / kFramesPerChunk % kChunksPerRegion];
  if (!chunk) chunk = std::make_unique<Chunk>();
  return chunk->frames[number % kFramesPerChunk];
}

const FrameStore::Frame* FrameStore::find(Address at) const {
  assert(contains(at));
  const std::uint64_t number = at / kFrameBytes;
  const Region* region = regions_[number / kFramesPerRegion].get();
  if (region == nullptr) return nullptr;
  const Chunk* chunk = region->chunks[number / kFramesPerChunk % kChunksPerRegion].get();
  return chunk == nullptr ? nullptr : &chunk->frames[number % kFramesPerChunk];
}

sim::Content FrameStore::read(Address at, std::uint32_t length) const {
  if (offset_of(at) + length <= kFrameBytes) return read_frame(at, length);
  sim::Content content;
  for (std::uint32_t done = 0; done < length;) {
    const std::uint32_t part = std::min(length - done, left_in_frame(at + done));
    content.append(read_frame(at + done, part));
    done += part;
  }
  return content;
}

void FrameStore::write(Address at, const sim::Content& content) {
  if (offset_of(at) + content.size() <= kFrameBytes) return write_frame(at, content);
  for (std::uint32_t done = 0; done < content.size();) {
    const std::uint32_t part = std::min(content.size() - done, left_in_frame(at + done));
    write_frame(at + done, content.slice(done, part));
    done += part;
  }
}

sim::Content FrameStore::read_frame(Address at, std::uint32_t length) const {
  const Frame* found = find(at);
  if (found == nullptr || found->empty()) return sim::Content::zeros(length);
  if (found->words) return content_of(*found->words, offset_of(at), length);
  return found->content.slice(offset_of(at), length);
}

void FrameStore::write_frame(Address at, const sim::Content& content) {
  if (content.empty()) return;
  Frame& target = frame(at);
  if (content.size() == kFrameBytes && content == sim::Content::zeros(kFrameBytes)) {
    target.words.reset();
    target.content = {};
    return;
  }
  if (target.content.empty() && content.size() <= kSmall) {
    if (!target.words) target.words = std::make_unique<Words>();
    poke(*target.words, offset_of(at), content);
    return;
  }
  if (target.content.empty() && content.size() < kFrameBytes) {
    target.content = target.words ? content_of(*target.words, 0, kFrameBytes) : sim::Content::zeros(kFrameBytes);
  }
  target.words.reset();
  if (content.size() == kFrameBytes) {
    target.content = content;
  } else {
    target.content.overwrite(offset_of(at), content);
  }
}

std::uint64_t FrameStore::read_word(Address at) const {
  assert(at % 8 == 0);
  const Frame* found = find(at);
  if (found == nullptr || found->empty()) return 0;
  if (found->words) return (*found->words)[offset_of(at) / 8];
  return found->content.word(offset_of(at));
}

void FrameStore::write_word(Address at, std::uint64_t value) {
  assert(at % 8 == 0);
  Frame& target = frame(at);
  if (!target.content.empty()) {
    target.content.overwrite(offset_of(at), sim::Content::literal(value, 8));
    return;
  }
  if (!target.words) target.words = std::make_unique<Words>();
  (*target.words)[offset_of(at) / 8] = value;
}

void FrameStore::mapping_changed(Address frame_address) {
  frame(frame_address).changed_at = ++epoch_;
  listener_(frame_address);
}

std::uint64_t FrameStore::changed_at(Address frame_address) const {
  const Frame* found = find(frame_address);
  return found == nullptr ? 0 : found->changed_at;
}

}  // namespace faultline::memory
