// SPDX-License-Identifier: Apache-2.0
#include "models/sim/time_sequence.hpp"

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace faultline::sim {

std::uint32_t TimeSequence::count_before(Time t) const {
  if (empty() || back() < t) return size_;
  std::uint32_t before = 0;
  for (const Segment& s : segments_) {
    if (s.first >= t) break;
    if (s.last() < t) {
      before += s.count;
      continue;
    }
    // first < t <= last implies gap > 0.
    return before + static_cast<std::uint32_t>(divide_up((t - s.first).count(), s.gap.count()));
  }
  return before;
}

TimeSequence TimeSequence::slice(std::uint32_t begin, std::uint32_t count) const {
  assert(begin + count <= size_);
  if (count == size_) return *this;
  TimeSequence part;
  if (count == 0) return part;
  auto [first, next] = place_of(begin);
  part.append(first.first, first.gap, std::min(first.count, count));
  for (; part.size_ < count; ++next) {
    part.append(next->first, next->gap, std::min(next->count, count - part.size_));
  }
  return part;
}

void TimeSequence::drop_front(std::uint32_t count) {
  assert(count <= size_);
  size_ -= count;
  auto kept = segments_.begin();
  for (; count > 0 && kept->count <= count; ++kept) count -= kept->count;
  if (count > 0) *kept = {kept->at(count), kept->gap, kept->count - count};
  segments_.drop_front(static_cast<std::uint32_t>(kept - segments_.begin()));
}

void TimeSequence::drop_back(std::uint32_t count) {
  assert(count <= size_);
  size_ -= count;
  while (count > 0 && segments_.back().count <= count) {
    count -= segments_.back().count;
    segments_.pop_back();
  }
  if (count > 0) segments_.back().count -= count;
}

std::uint32_t TimeSequence::common_prefix(const TimeSequence& other) const {
  std::uint32_t common = 0;
  auto ia = segments_.begin();
  auto ib = other.segments_.begin();
  std::uint32_t used_a = 0;
  std::uint32_t used_b = 0;
  while (ia != segments_.end() && ib != other.segments_.end()) {
    if (ia->at(used_a) != ib->at(used_b)) break;
    const std::uint32_t both = std::min(ia->count - used_a, ib->count - used_b);
    const std::uint32_t step = ia->gap == ib->gap ? both : 1;
    common += step;
    used_a += step;
    used_b += step;
    if (used_a == ia->count) ++ia, used_a = 0;
    if (used_b == ib->count) ++ib, used_b = 0;
  }
  return common;
}

bool TimeSequence::operator==(const TimeSequence& other) const {
  return size_ == other.size_ && common_prefix(other) == size_;
}

TimeSequence serve_in_order(const TimeSequence& arrivals, Time free, Time service) {
  TimeSequence departures;
  for (const TimeSequence::Segment& a : arrivals.segments()) {
    if (a.gap <= service) {
      // Later cells never find the server idle.
      departures.append(std::max(a.first, free) + service, service, a.count);
    } else {
      // The backlog shrinks by gap - service a cell; the first k cells still find it.
      const Time backlog = free - a.first;
      const std::int64_t k =
          backlog > Time{0} ? std::min<std::int64_t>(a.count, divide_up(backlog.count(), (a.gap - service).count()))
                            : 0;
      const auto queued = static_cast<std::uint32_t>(k);
      if (queued > 0) departures.append(free + service, service, queued);
      if (queued < a.count) departures.append(a.at(queued) + service, a.gap, a.count - queued);
    }
    free = departures.back();
  }
  return departures;
}

namespace {

// Both progressions start at the same index and have the same count.
void append_later(TimeSequence& out, TimeSequence::Segment a, TimeSequence::Segment b) {
  if (a.first < b.first || (a.first == b.first && a.gap < b.gap)) std::swap(a, b);
  // a leads at index 0; b overtakes where first_b + i gap_b > first_a + i gap_a.
  if (b.gap <= a.gap) {
    out.append(a);
    return;
  }
  const std::int64_t lead = (a.first - b.first).count();
  const std::int64_t closing = (b.gap - a.gap).count();
  const auto cross = static_cast<std::uint32_t>(std::min<std::int64_t>(a.count, divide(lead, closing) + 1));
  out.append(a.first, a.gap, cross);
  if (cross < a.count) out.append(b.at(cross), b.gap, a.count - cross);
}

// Goes through a sequence from the front on.
class Cursor {
 public:
  explicit Cursor(const TimeSequence& sequence) : at_(sequence.segments().begin()), end_(sequence.segments().end()) {}
  bool at_end() const { return at_ == end_; }
  Time now() const { return at_->at(used_); }
  void step() { use(1); }
  // The instants of the present progression up to `until`, which is not before now().
  TimeSequence::Segment take_by(Time until) {
    const std::uint32_t left = at_->count - used_;
    std::uint32_t count = left;
    if (at_->last() > until) {
      count = static_cast<std::uint32_t>(divide((until - now()).count(), at_->gap.count())) + 1;
    }
    const TimeSequence::Segment taken{now(), at_->gap, count};
    use(count);
    return taken;
  }

 private:
  void use(std::uint32_t count) {
    used_ += count;
    if (used_ == at_->count) ++at_, used_ = 0;
  }
  decltype(std::declval<const TimeSequence&>().segments().begin()) at_, end_;
  std::uint32_t used_ = 0;
};

}  // namespace

Time work_left(const TimeSequence& departures, Time service, Time now) {
  const std::uint32_t gone = departures.count_by(now);
  const std::uint32_t left = departures.size() - gone;
  if (left == 0) return Time{0};
  return std::min(service, departures.at(gone) - now) + service * (left - 1);
}

TimeSequence later_of(const TimeSequence& a, const TimeSequence& b) {
  assert(a.size() == b.size());
  if (a.empty() || a.front() >= b.back()) return a;
  if (b.front() >= a.back()) return b;
  TimeSequence out;
  auto ia = a.segments().begin();
  auto ib = b.segments().begin();
  std::uint32_t used_a = 0;
  std::uint32_t used_b = 0;
  while (ia != a.segments().end() && ib != b.segments().end()) {
    const std::uint32_t count = std::min(ia->count - used_a, ib->count - used_b);
    append_later(out, {ia->at(used_a), ia->gap, count}, {ib->at(used_b), ib->gap, count});
    used_a += count;
    used_b += count;
    if (used_a == ia->count) ++ia, used_a = 0;
    if (used_b == ib->count) ++ib, used_b = 0;
  }
  return out;
}

TimeSequence not_before(const TimeSequence& a, Time t) {
  return a.empty() || a.front() >= t ? a : later_of(a, TimeSequence::regular(t, Time{0}, a.size()));
}

TimeSequence merged(const TimeSequence& a, const TimeSequence& b) {
  if (a.empty()) return b;
  if (b.empty()) return a;
  TimeSequence out;
  if (a.back() <= b.front() || b.back() <= a.front()) {
    const bool a_first = a.back() <= b.front();
    out = a_first ? a : b;
    out.append(a_first ? b : a);
    return out;
  }
  Cursor ia(a), ib(b);
  while (!ia.at_end() && !ib.at_end()) {
    Cursor& first = ia.now() <= ib.now() ? ia : ib;
    const Time until = &first == &ia ? ib.now() : ia.now() - Time{1};
    out.append(first.take_by(until));
  }
  for (Cursor* rest : {&ia, &ib}) {
    while (!rest->at_end()) out.append(rest->take_by(kNever));
  }
  return out;
}

TimeSequence without(const TimeSequence& a, const TimeSequence& b) {
  TimeSequence out;
  Cursor ia(a), ib(b);
  while (!ia.at_end()) {
    if (ib.at_end()) {
      out.append(ia.take_by(kNever));
    } else if (ia.now() == ib.now()) {
      ia.step();
      ib.step();
    } else if (ia.now() < ib.now()) {
      out.append(ia.take_by(ib.now() - Time{1}));
    } else {
      break;
    }
  }
  if (!ib.at_end()) throw std::logic_error("taking an instant out of a sequence that does not have it");
  return out;
}

}  // namespace faultline::sim
