// SPDX-License-Identifier: Apache-2.0
#include "src/runs/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>

namespace faultline::runs {

namespace {

// Three digits and a prefix; `prefixes` from that of `value` on, each a thousand times the one before.
std::string short_number(double value, std::initializer_list<const char*> prefixes) {
  auto prefix = prefixes.begin();
  // What would be rounded to 1000 has the next prefix, too.
  while (value >= 999.5 && prefix + 1 != prefixes.end()) {
    value /= 1000;
    ++prefix;
  }
  if (value >= 999.5) return fmt::format("{:.0f}{}", value, *prefix);
  return fmt::format("{:.3g}{}", value, *prefix);
}

std::string count(double number) { return short_number(number, {"", " k", " M", " G", " T"}); }
std::string time(double ps) { return short_number(ps, {" ps", " ns", " us", " ms", " s"}); }

}  // namespace

std::string speed_text(const workloads::Totals& totals, double host_seconds) {
  const auto with_rate = [&](std::uint64_t total, const char* what, std::string (*text)(double)) {
    const auto number = static_cast<double>(total);
    std::string both = text(number) + what;
    if (host_seconds > 0) both += " (" + text(number / host_seconds) + "/s)";
    return both;
  };
  return with_rate(totals.events, " events", count) + ", " + with_rate(totals.cell_hops, " cell-hops", count) + ", " +
         with_rate(totals.simulated_ps, " simulated", time);
}

void add_speed(nlohmann::ordered_json& json, const workloads::Totals& totals, double host_seconds) {
  const auto rate = [&](double total) {
    return host_seconds > 0 ? nlohmann::ordered_json(total / host_seconds) : nlohmann::ordered_json();
  };
  json["events"] = totals.events;
  json["cell_hops"] = totals.cell_hops;
  json["simulated_ps"] = totals.simulated_ps;
  json["events_per_host_second"] = rate(static_cast<double>(totals.events));
  json["cell_hops_per_host_second"] = rate(static_cast<double>(totals.cell_hops));
  json["simulated_seconds_per_host_second"] = rate(static_cast<double>(totals.simulated_ps) / 1e12);
}

namespace {

constexpr auto kQuietFor = std::chrono::seconds(2);
constexpr auto kBetweenLines = std::chrono::seconds(5);
constexpr auto kLongestSilence = std::chrono::seconds(30);  // a line even though no point has ended
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
  const auto simulated = static_cast<double>(standing.done - standing.shared);
  if (simulated == 0 && !standing.seconds_left) return "time left unknown";
  const double each = elapsed / simulated;
  const double left = standing.seconds_left.value_or(each * static_cast<double>(total - standing.done));
  const std::string text = fmt::format("about {} left", clock_text(left));
  if (simulated == 0) return text;
  return (each < 1 ? fmt::format("{:.3g}/s, ", 1 / each) : fmt::format("one in {:.3g} s, ", each)) + text;
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
  if ((done != last_done_ && now - last_line_ >= kBetweenLines) || since >= kLongestSilence) {
    out_ << fmt::format("{} of {} {} done, {}\n", done, total_, what_, rest) << std::flush;
    last_line_ = now;
    last_done_ = done;
  }
}

Progress::~Progress() {
  if (drawn_) out_ << "\r\033[K" << std::flush;
}

}  // namespace faultline::runs
