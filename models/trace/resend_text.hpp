// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>

namespace faultline::trace {

// What is put behind a label: " (resend)", " (resend 2)"; of the first attempt nothing.
inline std::string resend_text(std::uint32_t attempt) {
  if (attempt == 0) return "";
  return attempt == 1 ? " (resend)" : fmt::format(" (resend {})", attempt);
}

}  // namespace faultline::trace
