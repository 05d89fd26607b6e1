// SPDX-License-Identifier: Apache-2.0
// What VmCore asks of the swap device when it changes an entry that refers to a slot, or frees a frame that has one.
// Virtual, because Swap (reclaim/swap.hpp), which implements it, is itself made of VmCore.
#pragma once

#include "models/os/vm/frame_table.hpp"

namespace faultline::os {

class SwapSlots {
 public:
  virtual ~SwapSlots() = default;

  // One entry that refers to the slot more, or less. `written`: the page may differ from the slot.
  virtual void retain(SwapSlot slot, bool written) = 0;
  virtual void release(SwapSlot slot) = 0;
  // Gives the slot of a page in memory up, unless an entry refers to it or something is under way with either.
  virtual void forget(Address frame) = 0;
  // Whether entries refer to the slot of this page in memory: others than those who map it will want it.
  virtual bool wanted(Address frame) const = 0;
};

}  // namespace faultline::os
