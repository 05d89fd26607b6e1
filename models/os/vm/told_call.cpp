// SPDX-License-Identifier: Apache-2.0
#include "models/os/vm/told_call.hpp"

#include <fmt/format.h>

namespace faultline::os {

std::string ToldCall::category_of(std::uint32_t process) { return fmt::format("process {}, ", process); }

void ToldCall::tell() const {
  const std::uint64_t pages = range_.pages();
  const std::string where =
      pages == 0 ? "" : fmt::format(" of {} page{} from {:#x} on", pages, pages == 1 ? "" : "s", range_.begin);
  const std::string held = holder_ == nullptr ? "" : fmt::format(", which '{}' holds", holder_->name());
  context_.slice(track::kCalls, 0, begin_, context_.now(), fmt::format("{}{}{}", name_, where, held),
                 category_of(process_) + thread_.name());
}

}  // namespace faultline::os
