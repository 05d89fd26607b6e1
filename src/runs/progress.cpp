// SPDX-License-Identifier: Apache-2.0
#include "src/runs/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "src/runs/speed.hpp"

namespace faultline::runs {
namespace {

constexpr auto kQuietFor = std::chrono::seconds(2);
constexpr auto kBetweenLines = std::chrono::seconds(5);
constexpr auto kSignOfLife = std::chrono::seconds(30);  // a line even though no point has ended
constexpr std::size_t kBarWidth = 30;
constexpr std::size_t kLeastBarWidth = 5;

// "1 failed, 2 running, ", as far as there are any.
std::string what_beside(const Standing& standing) {
  std::string text;
  if (standing.failed > 0) text += fmt::format("{} failed, ", standing.failed);
  if (standing.shared > 0) text += fmt::format("{} of them by others that draw nothing, ", standing.shared);
  if (standing.running > 0) text += fmt::format("{} running, ", standing.running);
  if (!standing.elsewhere.empty()) text += standing.elsewhere + ", ";
  return text;
}

// Points a second, or seconds a point where there are fewer, and the time that is left: as somebody has estimated it,
// else at this rate.
std::string time_text(const Standing& standing, std::size_t total, double elapsed) {
  const std::size_t simulated = standing.done - standing.shared;
  if (simulated == 0) return "time left unknown";
  const double each = elapsed / static_cast<double>(simulated);
  const std::string rate = each < 1 ? fmt::format("{:.3g}/s", 1 / each) : fmt::format("one in {:.3g} s", each);
  const double left = standing.seconds_left.value_or(each * static_cast<double>(total - standing.done));
  return fmt::format("{}, about {} left", rate, clock_text(left));
}

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

void Progress::update(const Standing& standing, Clock::time_point now) {
  if (now - start_ < kQuietFor) return;
  const double elapsed = std::chrono::duration<double>(now - start_).count();
  const std::size_t done = there_ + standing.done;
  const std::string rest = what_beside(standing) + time_text(standing, total_ - there_, elapsed) +
                           (standing.so_far.events > 0 ? "; " + speed_text(standing.so_far, elapsed) : "");
  if (columns_ > 0) return draw(done, fmt::format("{}/{} {}, {}", done, total_, what_, rest));
  const auto since = now - std::max(last_line_, start_);
  if ((done != last_done_ && now - last_line_ >= kBetweenLines) || since >= kSignOfLife) {
    out_ << fmt::format("{} of {} {} done, {}\n", done, total_, what_, rest) << std::flush;
    last_line_ = now;
    last_done_ = done;
  }
}

Progress::~Progress() {
  if (drawn_) out_ << "\r\033[K" << std::flush;
}

}  // namespace faultline::runs
