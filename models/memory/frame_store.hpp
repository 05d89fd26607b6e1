// SPDX-License-Identifier: Apache-2.0
// A node's physical memory: what each frame holds, and since when its mapping is what it is. Takes no
// simulated time; the memory controller charges that.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/sim/content.hpp"
#include "models/sim/payload.hpp"

namespace faultline::memory {

using Address = std::uint64_t;

class FrameStore {
 public:
  // `bytes` of memory from physical address 0 on; a multiple of 4 KiB. Costs no host memory until used.
  explicit FrameStore(std::uint64_t bytes);
  ~FrameStore();

  std::uint64_t bytes() const { return bytes_; }
  bool contains(Address at, std::uint64_t length = 1) const { return at < bytes_ && length <= bytes_ - at; }

  // Data. Memory never written holds zeros.
  sim::Content read(Address at, std::uint32_t length) const;
  void write(Address at, const sim::Content& content);

  // Aligned 8-byte words, kept as real words: page-table descriptors. A frame that holds words and is
  // then written with data, or the other way round, keeps every byte.
  std::uint64_t read_word(Address at) const;
  void write_word(Address at, std::uint64_t value);

  // Truth about mappings (design: a DMA through a translation older than the frame's last map, unmap,
  // copy or migration is a stale access). The epoch counts such changes in the whole node.
  std::uint64_t epoch() const { return epoch_; }
  void mapping_changed(Address frame);  // stamps the frame with a new epoch, and tells who listens
  // A descriptor that is written once and does not follow the mapping (a private table's): what is translated by it is
  // as old as the descriptor, whenever it is walked. forget_descriptor: it is an ordinary word again.
  void date_descriptor(Address descriptor) { dated_[descriptor] = epoch_; }
  void forget_descriptor(Address descriptor) { dated_.erase(descriptor); }
  // The epoch of what the descriptor says at this instant.
  std::uint64_t epoch_of(Address descriptor) const {
    const auto dated = dated_.find(descriptor);
    return dated == dated_.end() ? epoch_ : dated->second;
  }
  void listen(std::function<void(Address frame)> listener) { listener_ = std::move(listener); }
  std::uint64_t changed_at(Address frame) const;
  // True when a translation walked at `translation_epoch` no longer describes this frame.
  bool is_stale(Address frame, std::uint64_t translation_epoch) const { return changed_at(frame) > translation_epoch; }

 private:
  struct Frame;
  struct Chunk;
  struct Region;
  Frame& frame(Address at);
  sim::Content read_frame(Address at, std::uint32_t length) const;
  void write_frame(Address at, const sim::Content& content);
  const Frame* find(Address at) const;

  std::uint64_t bytes_;
  std::uint64_t epoch_ = 1;
  std::unordered_map<Address, std::uint64_t> dated_;
  std::function<void(Address)> listener_ = [](Address) {};
  std::vector<std::unique_ptr<Region>> regions_;
};

}  // namespace faultline::memory
