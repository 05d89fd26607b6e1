// SPDX-License-Identifier: Apache-2.0
#include "src/progress.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>

namespace faultline::app {
namespace {

constexpr auto kQuietFor = std::chrono::seconds(2);
constexpr auto kBetweenLines = std::chrono::seconds(5);
constexpr std::size_t kBarWidth = 30;

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = std::lround(seconds);
  const long hours = whole / 3600;
  const long minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

void Progress::update(std::size_t done, Clock::time_point now) {
  if (now - start_ < kQuietFor) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string left = "time left unknown";
  if (done > 0)
    left = "about " + clock_text(elapsed / static_cast<double>(done) * static_cast<double>(total_ - done)) + " left";
  if (terminal_) {
    const std::size_t filled = total_ == 0 ? kBarWidth : kBarWidth * done / total_;
    out_ << fmt::format("\r[{}{}] {}/{} points, {}\033[K", std::string(filled, '#'),
                        std::string(kBarWidth - filled, '.'), done, total_, left)
         << std::flush;
    drawn_ = true;
  } else if (done != last_done_ && now - last_line_ >= kBetweenLines) {
    out_ << fmt::format("{} of {} points done, {}\n", done, total_, left) << std::flush;
    last_line_ = now;
    last_done_ = done;
  }
}

Progress::~Progress() {
  if (drawn_) out_ << "\r\033[K" << std::flush;
}

}  // namespace faultline::app
