// SPDX-License-Identifier: Apache-2.0
// Which notices a receive unit has given: what makes each of them come once, whatever is sent again.
//
// For each channel of each node the record has the lowest number that is open at the source, which the source tells
// with every cell, and a bit for each of the kNoticeWindow numbers from there on. So it is bounded by the channels of
// the cluster, 16 B each. A notice is forgotten when its channel says that all up to it have ended; what comes of it
// later is late, and is refused: it can be a copy only.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "models/nic/path/notice.hpp"
#include "models/sim/recycling.hpp"

namespace faultline::nic {

class NoticeRecord {
 public:
  enum class State { open, given, late };

  // `remembers` = false is a mutant for tests: nothing was ever given before.
  explicit NoticeRecord(bool remembers) : remembers_(remembers) {}

  // A cell with this notice has come: what its source says of older ones is heard.
  void hear(sim::NodeId source, const Notice& notice);
  State state(sim::NodeId source, const Notice& notice) const;
  // Requires State::open.
  void give(sim::NodeId source, const Notice& notice);

  std::size_t channels() const { return channels_.size(); }

 private:
  struct Channel {
    std::uint64_t first_open = 1;
    std::uint64_t given = 0;  // bit i: of number first_open + i
  };
  static std::uint64_t bit(const Channel& channel, const Notice& notice);

  const bool remembers_;
  sim::Map<std::pair<sim::NodeId, std::uint8_t>, Channel> channels_;
};

}  // namespace faultline::nic
