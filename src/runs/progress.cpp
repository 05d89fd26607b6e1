// SPDX-License-Identifier: Apache-2.0
#include "src/runs/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "src/runs/speed.hpp"

namespace faultline::app {
namespace {

constexpr auto kQuietFor = std::chrono::seconds(2);
constexpr auto kBetweenLines = std::chrono::seconds(5);
constexpr auto kSignOfLife = std::chrono::seconds(30);  // a line even though no point has ended
constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kLeastBarWidth = 5;

}  // namespace

std::string clock_text(double seconds) {
  const auto whole = std::lround(seconds);
  const long hours = whole / 3600;
  const long minutes = whole / 60 % 60;
  return hours > 0 ? fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60)
                   : fmt::format("{}:{:02}", minutes, whole % 60);
}

void Progress::draw(std::size_t done, const std::string& text) {
  // A line that wraps could not be drawn over. The figures say more than the bar; the last column stays free.
  const std::size_t room = columns_ > text.size() + 4 ? columns_ - text.size() - 4 : 0;
  std::string line = text;
  if (room >= kLeastBarWidth) {
    const std::size_t width = std::min(room, kBarWidth);
    const std::size_t filled = total_ == 0 ? width : width * done / total_;
    line = fmt::format("[{}{}] {}", std::string(filled, '#'), std::string(width - filled, '.'), text);
  }
  out_ << "\r" << line.substr(0, columns_ - 1) << "\033[K" << std::flush;
  drawn_ = true;
}

void Progress::update(std::size_t done, const workloads::Totals& so_far, Clock::time_point now) {
  if (now - start_ < kQuietFor) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  std::string left = "time left unknown";
  if (done > 0)
    left = "about " + clock_text(elapsed / static_cast<double>(done) * static_cast<double>(total_ - done)) + " left";
  const std::string simulated = so_far.events > 0 ? "; " + speed_text(so_far, elapsed) : "";
  if (columns_ > 0) return draw(done, fmt::format("{}/{} {}, {}{}", done, total_, what_, left, simulated));
  const auto since = now - std::max(last_line_, start_);
  if ((done != last_done_ && now - last_line_ >= kBetweenLines) || since >= kSignOfLife) {
    out_ << fmt::format("{} of {} {} done, {}{}\n", done, total_, what_, left, simulated) << std::flush;
    last_line_ = now;
    last_done_ = done;
  }
}

Progress::~Progress() {
  if (drawn_) out_ << "\r\033[K" << std::flush;
}

}  // namespace faultline::app
