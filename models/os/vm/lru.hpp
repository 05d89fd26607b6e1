// SPDX-License-Identifier: Apache-2.0
// The lists that the kernel keeps its pages on to choose which to take back: two ages of anonymous pages and of those
// of files, and those that are not to be taken (mlock). What moves a page from list to list is Reclaim's and Vm's
// business.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <stdexcept>

#include "models/os/vm/frame_table.hpp"

namespace faultline::os {

// Through the frames' records, as Linux threads its lists through struct page: every operation takes constant time. A
// huge page that nobody has split is on a list as one, by its first frame.
class Lru {
 public:
  explicit Lru(FrameTable& frames) : frames_(frames) {}

  // As the newest. The frame is on no list yet.
  void add(Address frame, LruList list) {
    FrameRecord& record = frames_.at(frame);
    if (record.list != LruList::none || list == LruList::none) throw std::logic_error("a frame on two lists");
    Ends& ends = of(list);
    record.list = list;
    record.newer = 0;
    record.older = ends.newest;
    if (ends.newest != 0) at(ends.newest).newer = number(frame);
    ends.newest = number(frame);
    if (ends.oldest == 0) ends.oldest = number(frame);
    ++ends.size;
  }
  // Nothing happens when it is on none.
  void remove(Address frame) {
    FrameRecord& record = frames_.at(frame);
    if (record.list == LruList::none) return;
    Ends& ends = of(record.list);
    (record.newer != 0 ? at(record.newer).older : ends.newest) = record.older;
    (record.older != 0 ? at(record.older).newer : ends.oldest) = record.newer;
    record.newer = record.older = 0;
    record.list = LruList::none;
    --ends.size;
  }
  // To another list; nothing happens when it is on none.
  void move(Address frame, LruList list) {
    if (frames_.find(frame).list == LruList::none) return;
    remove(frame);
    add(frame, list);
  }

  std::optional<Address> oldest(LruList list) const {
    const Ends& ends = of(list);
    if (ends.oldest == 0) return {};
    return Address{ends.oldest - 1} * kPage;
  }
  std::uint64_t size(LruList list) const { return of(list).size; }

 private:
  struct Ends {
    std::uint32_t newest = 0;
    std::uint32_t oldest = 0;
    std::uint64_t size = 0;
  };
  static std::uint32_t number(Address frame) { return static_cast<std::uint32_t>(frame / kPage) + 1; }
  FrameRecord& at(std::uint32_t number) { return frames_.at(Address{number - 1} * kPage); }
  Ends& of(LruList list) { return lists_[static_cast<std::size_t>(list)]; }
  const Ends& of(LruList list) const { return lists_[static_cast<std::size_t>(list)]; }

  FrameTable& frames_;
  std::array<Ends, 6> lists_{};
};

}  // namespace faultline::os
