// SPDX-License-Identifier: Apache-2.0
// Which of an engine's DMA channels processes have.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

namespace faultline::library {

class Channels {
 public:
  explicit Channels(unsigned count) : taken_(count) {}

  // The lowest that nobody has; nothing: all are taken.
  std::optional<unsigned> take() {
    const auto free = std::ranges::find(taken_, false);
    if (free == taken_.end()) return std::nullopt;
    *free = true;
    return static_cast<unsigned>(free - taken_.begin());
  }
  void give_back(unsigned channel) { taken_[channel] = false; }

 private:
  std::vector<bool> taken_;
};

}  // namespace faultline::library
